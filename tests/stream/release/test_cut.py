"""The release cut."""

from hypothesis import given
from hypothesis import strategies as st

from ktsafe.stream.release.cut import Cut, EventTimeCut, resume_slot
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


@given(st.lists(st.integers(-100, 100), min_size=1), st.integers(0, 20), st.integers(0, 3))
def test_a_restart_goes_on_with_the_slot_it_was_collecting_for(times, stop_after, cut_early):
    """Wherever a partition stops, and if slots are cut before their time; no slot comes twice."""
    cut = EventTimeCut(SLOTS, None)
    clock, last = None, None
    for time in times[:stop_after]:
        while not cut.admits(A, time):
            taken = cut.take()
            last = taken.slot_us if taken else last
        clock = time if clock is None else max(clock, time)
    for _ in range(cut_early if cut.slot_us is not None else 0):
        # As a drained feed ends, or a release is made by command.
        before, last = last, cut.take().slot_us
        assert before is None or before < last
    expected = cut.slot_us
    assert last is None or expected > last
    assert resume_slot(SLOTS, last_slot_us=last, clocks=[clock]) == expected
