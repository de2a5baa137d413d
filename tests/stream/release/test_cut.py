"""The release cut, by event time and by the wall clock."""

from hypothesis import given
from hypothesis import strategies as st

from ktsafe.stream.release.cut import Cut, EventTimeCut, WallClockCut, resume_slot
from ktsafe.stream.release.wall_clock import LAG_US, SETTLE_S, WallClock
from ktsafe.stream.slots import FixedSlots

SLOTS = FixedSlots(10)
A, B = ("feed", 0), ("feed", 1)


def test_the_earliest_first_event_decides_the_first_slot():
    """Before any slot is known all partitions wait at their first event."""
    cut = EventTimeCut(SLOTS, None)
    assert not cut.admits(A, 57)
    assert not cut.due([A, B], [])
    assert not cut.admits(B, 3)
    assert cut.due([A, B], [])
    assert cut.take() is None
    assert cut.slot_us == 10


def test_a_slot_is_cut_when_every_partition_has_arrived():
    """A partition that has arrived waits for the others."""
    cut = EventTimeCut(SLOTS, 10)
    assert cut.admits(A, 10)
    assert not cut.admits(A, 11)
    assert cut.admits(B, 9)
    assert not cut.due([A, B], [])
    assert not cut.admits(B, 14)
    assert cut.due([A, B], [])
    assert cut.take() == Cut(10, collapsed=0)
    assert cut.slot_us == 20
    assert not cut.arrived


def test_slots_crossed_in_one_jump_collapse_to_the_last():
    """The earliest waiting event names the last slot that the graph as it stands is right for."""
    cut = EventTimeCut(SLOTS, 10)
    cut.admits(A, 55)
    cut.admits(B, 41)
    assert cut.take() == Cut(40, collapsed=3)
    assert cut.slot_us == 50


def test_finished_partitions_do_not_hold_a_slot_up():
    """An idle or ended partition counts as arrived, but never alone."""
    cut = EventTimeCut(SLOTS, 10)
    assert not cut.due([A, B], [A, B])
    cut.admits(A, 11)
    assert cut.due([A, B], [B])


def test_the_end_of_the_feed_cuts_the_slot_as_it_stands():
    """With nothing waiting the current slot itself is cut, and the next one follows."""
    cut = EventTimeCut(SLOTS, 10)
    assert cut.take() == Cut(10, collapsed=0)
    assert cut.slot_us == 20


@given(st.lists(st.integers(-100, 100), min_size=1), st.integers(0, 20))
def test_a_restart_goes_on_with_the_slot_it_was_collecting_for(times, stop_after):
    """Wherever a single partition stops, the resumed slot is the one that was being collected."""
    cut = EventTimeCut(SLOTS, None)
    clock, last = None, None
    for time in times[:stop_after]:
        while not cut.admits(A, time):
            taken = cut.take()
            last = taken.slot_us if taken else last
        clock = time if clock is None else max(clock, time)
    expected = cut.slot_us
    assert resume_slot(SLOTS, last_slot_us=last, clocks=[clock]) == expected


class Wall:
    """A clock that a test moves."""

    def __init__(self, now_us):
        self.now_us = now_us

    def __call__(self):
        return self.now_us


def clocked(wall, last_slot_us=None):
    """Return a cut by that clock, which never jumps: the other clock goes along with it."""
    clock = WallClock(wall, lambda: wall.now_us / 1e6)
    return WallClockCut(SLOTS, clock, last_slot_us=last_slot_us)


def test_by_the_wall_clock_no_partition_waits():
    """Events of any time are admitted; the slot is due when its time has come, not before."""
    wall = Wall(25)
    cut = clocked(wall)
    assert cut.slot_us == 30
    assert cut.admits(A, 1_000)
    assert not cut.arrived
    assert not cut.due([A], [A])
    wall.now_us = 30
    assert cut.due([A], [])
    assert cut.take() == Cut(30, collapsed=0)
    assert cut.slot_us == 40


def test_slots_that_passed_collapse_to_the_last():
    """A loop that was held up cuts once."""
    wall = Wall(5)
    cut = clocked(wall)
    wall.now_us = 47
    assert cut.due([A], [])
    assert cut.take() == Cut(40, collapsed=3)
    assert cut.slot_us == 50


def test_a_slot_may_be_brought_forward():
    """Taken before its time it is the next slot, also where the clock went back."""
    wall = Wall(25)
    cut = clocked(wall)
    assert [cut.take(), cut.take()] == [Cut(30, collapsed=0), Cut(40, collapsed=0)]
    wall.now_us = 3
    assert cut.take() == Cut(50, collapsed=0)


def test_after_a_restart_no_slot_is_cut_twice_and_none_is_made_up_for():
    """The next slot follows the last cut and the present time."""
    assert clocked(Wall(25), 40).slot_us == 50
    assert clocked(Wall(77), 40).slot_us == 80


class Times:
    """A wall clock, a clock that never steps, and a feed; a test moves all three."""

    def __init__(self, wall_s=0.0, feed_s=None):
        self.wall_s, self.mono_s, self.feed_s = wall_s, 0.0, feed_s

    def watched(self, known_s=None):
        """Return what watches them."""
        return WallClock(
            lambda: round(self.wall_s * 1e6),
            lambda: self.mono_s,
            known_us=None if known_s is None else round(known_s * 1e6),
            feed_us=lambda: None if self.feed_s is None else round(self.feed_s * 1e6),
        )

    def on(self, seconds, *, feed=False):
        """Let time pass, in the feed too where it goes on."""
        self.wall_s += seconds
        self.mono_s += seconds
        if feed:
            self.feed_s += seconds


DAY_S = 86_400.0
STEP_US = 60_000_000


def test_a_start_does_not_believe_a_clock_a_day_ahead():
    """Neither at once, nor after hours of a feed that goes on at the true time; set right, it is.

    A feed of the clock's own time confirms it at once, as after a day without the service.
    """
    times = Times(wall_s=10 * DAY_S, feed_s=9 * DAY_S)
    clock = times.watched(known_s=9 * DAY_S)
    for _ in range(300):
        assert clock.now_us(STEP_US) is None
        times.on(60.0, feed=True)
    times.wall_s -= DAY_S
    assert clock.now_us(STEP_US) == round(times.wall_s * 1e6)

    stopped = Times(wall_s=10 * DAY_S, feed_s=9 * DAY_S)
    clock = stopped.watched(known_s=9 * DAY_S)
    assert clock.now_us(STEP_US) is None
    stopped.feed_s = 10 * DAY_S - LAG_US / 1e6
    assert clock.now_us(STEP_US) == round(10 * DAY_S * 1e6)


def test_a_clock_that_goes_back_and_comes_back_is_believed():
    """The correction is no jump."""
    times = Times(wall_s=10 * DAY_S)
    clock = times.watched()
    for step_s in (0.0, -DAY_S, DAY_S, -3600.0, 3600.0):
        times.on(35.0)
        times.wall_s += step_s
        assert clock.now_us(STEP_US) == round(times.wall_s * 1e6)


def test_where_the_feed_is_silent_an_hour_confirms_a_clock():
    """Nothing else can; a further jump begins the hour again."""
    times = Times(wall_s=10 * DAY_S, feed_s=1.0)
    clock = times.watched()
    times.wall_s += DAY_S
    assert clock.now_us(STEP_US) is None
    times.on(SETTLE_S / 2)
    times.wall_s += DAY_S
    assert clock.now_us(STEP_US) is None
    times.on(SETTLE_S / 2 + 1)
    assert clock.now_us(STEP_US) is None
    times.on(SETTLE_S / 2)
    assert clock.now_us(STEP_US) is not None
