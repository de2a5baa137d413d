"""Slots by the wall clock: cut on time, and a clock that is wrong for a while is not believed."""

from ktsafe.stream.release.wall_clock import SETTLE_S
from ktsafe.stream.service.loop import Clock
from tests.stream.service.simulation import SLOT_US, World, event
from tests.stream.service.simulation_feed import FIRST, known, small_world

DAY_S = 86_400.0


def test_wall_clock_slots_cut_wherever_ingest_is(tmp_path):
    """By the wall clock a slot needs no event, and an unchanged graph no release."""
    world = small_world(tmp_path)
    world.now_s = 1_000.5  # between two slots
    rounds = iter(range(60))

    def stopping():
        world.now_s += 1.0
        return next(rounds, None) is None

    world.run(loop={"drain": False, "clock": Clock.WALL}, stopping=stopping)
    assert len(world.releases.releases) == 1
    ((time_ms, _),) = world.releases.releases.values()
    assert time_ms % (SLOT_US // 1000) == 0
    assert world.graph() == known()


def by_wall_clock(world, ahead):
    """Run a service, a second per round; `ahead` gives by round how far its wall clock is ahead.

    Each round something happens, so that each slot has a release.
    """
    begin = world.now_s
    names = iter(range(1_000_000))

    def stopping():
        world.now_s += 1.0
        n = int(world.now_s - begin)
        world.extend(0, [event("vertex.upsert", 45, f"n{next(names)}", gender="f")])
        found = ahead(n)
        world.wall_ahead_s = found or 0.0
        return found is None

    world.run(loop={"drain": False, "clock": Clock.WALL}, stopping=stopping)
    return [time_ms / 1000 for time_ms, _ in world.releases.releases.values()]


def test_a_clock_that_jumps_ahead_is_not_believed(tmp_path, caplog):
    """A day ahead for 22 s: no release of tomorrow, a word of it, and the next slots as ever."""
    world = World(tmp_path, [FIRST])
    world.now_s = begin = 1_000_000.5
    jump = lambda n: None if n > 120 else DAY_S if 40 <= n < 62 else 0.0  # noqa: E731
    slots = by_wall_clock(world, jump)
    assert max(slots) < begin + 130
    assert len([slot for slot in slots if slot > begin + 62]) >= 4
    assert slots == sorted(set(slots))
    assert "jumped ahead" in caplog.text
    assert "believed again" in caplog.text


def test_a_clock_that_keeps_its_new_time_is_believed(tmp_path, caplog):
    """A machine that stood still, or a clock set right at last: an hour later releases go on."""
    world = World(tmp_path, [FIRST])
    world.now_s = begin = 1_000_000.5
    late = SETTLE_S - 30.0

    def ahead(n):
        if n == 20:
            world.now_s += late  # an hour, almost, without a round
        return None if n > late + 100 else DAY_S if n >= 10 else 0.0

    slots = by_wall_clock(world, ahead)
    future = [slot for slot in slots if slot > begin + DAY_S]
    assert min(future) >= begin + DAY_S + SETTLE_S
    assert len(future) >= 3
    assert "believed again" in caplog.text


def test_a_last_release_ahead_of_the_clock_is_told_of(tmp_path, caplog):
    """A clock that was wrong from the start and is set right: said once, and at every start."""
    world = World(tmp_path, [FIRST])
    world.now_s, world.wall_ahead_s = 1_000_000.5, DAY_S
    by_wall_clock(world, lambda n: None if n > 30 else DAY_S)
    world.wall_ahead_s = 0.0
    n_releases = len(world.releases.releases)
    for _ in range(2):
        caplog.clear()
        by_wall_clock(world, lambda n: None if n > 30 else 0.0)
        assert caplog.text.count("dated ahead of the wall clock") == 1
    # The cut that was pending at the stop is of tomorrow too; nothing else came.
    assert len(world.releases.releases) <= n_releases + 1
