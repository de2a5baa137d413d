"""What the service waits for: records while some may come, a release as soon as it is made."""

from types import SimpleNamespace

import pytest

from ktsafe.state.changes import Stamp, VertexDelete
from ktsafe.state.store_base import Position
from ktsafe.stream.observer import Observer
from ktsafe.stream.service.housekeeping import Housekeeping, HousekeepingSettings
from tests.memory_connectors import MemoryLog, MemorySource
from tests.memory_store import MemoryStore
from tests.stream.service.simulation import SCHEMA, Inline
from tests.stream.service.simulation_feed import small_world


class _Waiting(MemorySource):
    """A source that waits for records as long as it may, and counts the seconds."""

    def __init__(self, world):
        super().__init__(world.log)
        self._world = world
        self.waited_s = 0.0

    def poll(self, timeout_s, records_max):
        records = super().poll(timeout_s, records_max)
        if not records:
            self.waited_s += timeout_s
            self._world.now_s += timeout_s
        return records


class _TakesASecond(Inline):
    """Has every task take a second, by the clock of the world."""

    def __init__(self, world):
        self._world = world

    def submit(self, task):
        future, at_s = super().submit(task), self._world.now_s + 1.0
        done = future.done
        future.done = lambda: self._world.now_s >= at_s and done()
        return future


def test_a_release_is_noticed_as_soon_as_it_is_made(tmp_path):
    """While the feed waits at its cut or has ended nobody waits in the source: nothing comes."""
    world = small_world(tmp_path)
    source = _Waiting(world)
    world.open_source = lambda: source
    world.run(executor=_TakesASecond(world))
    n = len(world.releases.releases)
    assert n > 2
    assert source.waited_s == 0
    # One second to build and one to publish; by the clock, which goes on by 1 ms when asked.
    assert 2 * n <= world.now_s < 2.2 * n


def test_a_feed_that_may_give_more_is_waited_for(tmp_path):
    """Without drain, a service that has nothing to do waits in its source, not in a busy loop."""
    world = small_world(tmp_path)
    source = _Waiting(world)
    world.open_source = lambda: source
    rounds = iter(range(100))
    world.run(loop={"drain": False}, stopping=lambda: next(rounds, None) is None)
    assert len(world.releases.releases) > 1
    assert source.waited_s > 10


def test_a_long_release_is_looked_at_less_often(tmp_path):
    """A look costs a millisecond: a hundred a second would take a tenth of a core."""
    world = small_world(tmp_path)
    looks = []

    class Slow(_TakesASecond):
        def submit(self, task):
            future, at_s = Inline.submit(self, task), world.now_s + 100.0
            done = future.done
            future.done = lambda: looks.append(world.now_s) or (world.now_s >= at_s and done())
            return future

    world.run(executor=Slow(world))
    n = len(world.releases.releases)
    # A hundred seconds to build and a hundred to publish; a tenth of a second between looks, or a
    # hundredth of what the release has taken by then.
    assert 200 * n <= world.now_s < 201 * n
    assert len(looks) < n * 2_700


@pytest.mark.parametrize(
    ("clocks", "n_left"), [([], 1), ([9], 1), ([9, None], 1), ([9, 7], 1), ([9, 8], 0)]
)
def test_a_deletion_is_remembered_until_every_partition_is_beyond_it(tmp_path, clocks, n_left):
    """Lateness included; one that has not begun may tell of any time."""
    source, store = MemorySource(MemoryLog(partitions=2)), MemoryStore(SCHEMA)
    source.open({}, {})
    positions = {("feed", p): Position(1, at and at * 1_000_000) for p, at in enumerate(clocks)}
    store.commit([VertexDelete(Stamp(4_500_000, "feed", 0, 0), "ann")], positions)
    eraser = SimpleNamespace(advance=lambda now: None, overdue_s=lambda: 0.0)
    settings = HousekeepingSettings(lateness_max_s=3)
    house = Housekeeping(source, store, eraser, tmp_path, settings, Observer(), lambda: 0.0)
    house.advance()
    store.fold()
    assert store.counts()["tombstones"] == n_left
