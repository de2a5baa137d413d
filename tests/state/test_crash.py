"""A crash at any moment: every event took effect exactly once, and the ledger is whole."""

from __future__ import annotations

import functools
import itertools
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from ktsafe.state import keys
from ktsafe.state.changes import VertexUpsert
from ktsafe.state.database import Database
from ktsafe.state.folder import Witness
from ktsafe.state.ledger import PendingCut
from ktsafe.state.rocksdb import CutFolder, RocksDBStore
from ktsafe.state.store_base import StateCorrupted, StateUnusable
from tests.state import crash_child
from tests.state.crash_child import PARTITION, event, pages_of
from tests.state.naive_fold import fold
from tests.state.support import SCHEMA, plain, published, stamp

ROUNDS = 12
STEPS = (
    *((Database, name) for name in ("commit", "flush", "checkpoint")),
    *((Witness, "write"), (CutFolder, "keep")),
)
CUT = PendingCut(slot_us=7, offsets={"t/0": 2})


def test_kill_at_random_moments(path: Path) -> None:
    """Killed 12 times, positions and graph always agree, and no acknowledged commit is lost.

    Each release stands in the ledger once, and shows the graph exactly as of its cut. Pages are
    those of the last one, and no other is on the disk.
    """
    rng = random.Random(5)
    acknowledged = 0
    for number in range(ROUNDS):
        with subprocess.Popen(
            [sys.executable, "-m", "tests.state.crash_child", str(path)],
            stdout=subprocess.PIPE,
            text=True,
        ) as child:
            assert child.stdout is not None
            # The first rounds end while the store is made; later ones between a few commits.
            lines = 0 if number < 2 else rng.randrange(1, 25)
            for _ in range(lines):
                acknowledged = int(child.stdout.readline())
            time.sleep(rng.random() * 0.3 if number < 2 else rng.random() * 0.02)
            child.kill()
            rest = child.stdout.read().split("\n")[:-1]
        acknowledged = int(rest[-1]) if rest else acknowledged
        _check_after_crash(path, acknowledged)
    assert acknowledged > 1000


def _check_after_crash(path: Path, acknowledged: int) -> None:
    store = RocksDBStore.open(path, SCHEMA)
    position = store.positions().get(PARTITION)
    offset = position.next_offset if position else 0
    assert offset >= acknowledged
    assert plain(store.snapshot()) == _folded(offset)
    cut, last = store.ledger.pending_cut(), store.ledger.last()
    if cut is not None:
        frozen = store.cut_snapshot()
        assert frozen is not None
        assert plain(frozen) == _folded(cut.offsets["feed/0"])
    releases = store.ledger.releases()
    assert len({record.slot_us for record in releases}) == len(releases)
    assert [record.index for record in releases] == list(range(1, len(releases) + 1))
    if last is not None:
        vertices, edges = _folded(last.slot_us)
        assert (last.n_vertices, last.n_edges) == (len(vertices), len(edges))
        assert store.ledger.pages() == pages_of(last.index)
    kept = [key for key, _ in store.database.all(keys.PAGES)]
    assert len(kept) == len(store.ledger.pages())
    store.close()


_event = functools.cache(event)


def _folded(offset: int) -> tuple[object, ...]:
    vertices, edges = fold(_event(i) for i in range(offset))
    return published(vertices), edges


class Stop(Exception):
    """The process ends here."""


@contextmanager
def ending(owner: type, name: str, when: str, after: int) -> Iterator[None]:
    """End the process before or after a call that changes the disk, when so many went well."""
    left = itertools.count(-after)
    call = getattr(owner, name)

    def run(*args: object, **kwargs: object) -> object:
        is_last = not next(left)
        if is_last and when == "before":
            raise Stop
        result = call(*args, **kwargs)
        if is_last:
            raise Stop
        return result

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, run)
        yield


def test_an_end_at_any_step(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits, cuts, folds and staging take effect or do not; a store that failed is unusable."""
    for name, value in (("BATCH", 10), ("CUT_EVERY", 2)):
        monkeypatch.setattr(crash_child, name, value)
    for module, name, value in crash_child.SMALL:
        monkeypatch.setattr(module, name, value)
    told = [0]
    for step, when, after in itertools.product(STEPS, ("before", "after"), (0, 1, 3, 8)):
        with closing(RocksDBStore.open(path, SCHEMA)) as store:
            with ending(*step, when, after), pytest.raises(Stop):
                told.extend(crash_child.work(store))
            calls = (functools.partial(store.commit, [], {}), store.snapshot, store.fold)
            for call in calls:
                with pytest.raises(StateUnusable, match="Start again"):
                    call()
        _check_after_crash(path, told[-1])
    assert told[-1] > 1000


def test_leftovers_of_frozen_states_are_removed(path: Path) -> None:
    """Folders of cuts that are not pending go at the next start, half-made ones too."""
    store = RocksDBStore.open(path, SCHEMA)
    store.commit([VertexUpsert(stamp(1), "ann", {})], {}, cut=CUT)
    store.close()
    for name in ("5", "7.tmp"):
        (path / "cuts" / name).mkdir()
    store = RocksDBStore.open(path, SCHEMA)
    assert [folder.name for folder in (path / "cuts").iterdir()] == ["7"]
    assert store.cut_snapshot() is not None
    store.close()


def test_a_lost_frozen_state_is_noticed(path: Path) -> None:
    """If the folder of a pending cut goes after later commits, another state never stands in."""
    store = RocksDBStore.open(path, SCHEMA)
    store.commit([VertexUpsert(stamp(1), "ann", {})], {}, cut=CUT)
    store.commit([VertexUpsert(stamp(2), "bob", {})], {})
    store.close()
    (path / "cuts" / "7").rename(path / "elsewhere")
    store = RocksDBStore.open(path, SCHEMA)
    with pytest.raises(StateCorrupted, match="ktsafe state restore"):
        store.cut_snapshot()
    store.close()
    (path / "elsewhere").rename(path / "cuts" / "7")
    store = RocksDBStore.open(path, SCHEMA)
    frozen = store.cut_snapshot()
    assert frozen is not None
    assert set(plain(frozen)[0]) == {"ann"}
    store.close()


def test_a_lost_frozen_state_can_be_given_up(path: Path) -> None:
    """Dropping the cut is all that a lost frozen state costs; the live graph is untouched."""
    store = RocksDBStore.open(path, SCHEMA)
    store.commit([VertexUpsert(stamp(1), "ann", {})], {}, cut=CUT)
    store.commit([VertexUpsert(stamp(2), "bob", {})], {})
    store.close()
    shutil.rmtree(path / "cuts")
    store = RocksDBStore.open(path, SCHEMA)
    store.ledger.drop_cut()
    assert store.cut_snapshot() is None
    assert set(plain(store.snapshot())[0]) == {"ann", "bob"}
    store.close()


def test_a_full_disk_is_named(path: Path) -> None:
    """When a commit cannot be written the store says so, and goes on from the disk afterwards."""
    code = (
        "import resource, sys\n"
        "from ktsafe.state.changes import VertexUpsert\n"
        "from ktsafe.state.store_base import StateUnusable\n"
        "from ktsafe.state.rocksdb import RocksDBStore\n"
        "from tests.state.support import SCHEMA, stamp\n"
        "store = RocksDBStore.open(sys.argv[1], SCHEMA)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        "try:\n"
        "    for i in range(10_000):\n"
        "        store.commit([VertexUpsert(stamp(i), f'p{i}', {'gender': 'f' * 100})],"
        " {('t', 0): (i + 1, i)})\n"
        "except StateUnusable as error:\n"
        "    print(i, error.op)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    acknowledged, _, op = done.stdout.strip().partition(" ")
    assert op == "write to the store"
    store = RocksDBStore.open(path, SCHEMA)
    # The commit that failed may have become durable or not; those before it did.
    position = store.positions()["t", 0].next_offset
    assert position in {int(acknowledged), int(acknowledged) + 1}
    assert store.snapshot().graph.n_vertices == position
    store.close()
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_a_frozen_state_of_another_commit_is_refused(path: Path) -> None:
    """A folder under the right slot with the state of an earlier cut is never taken for it."""
    store = RocksDBStore.open(path, SCHEMA)
    store.commit([VertexUpsert(stamp(1), "ann", {})], {}, cut=CUT)
    shutil.copytree(path / "cuts" / "7", path / "earlier")
    store.ledger.drop_cut()
    store.commit([VertexUpsert(stamp(2), "bob", {})], {}, cut=CUT)
    store.close()
    shutil.rmtree(path / "cuts" / "7")
    (path / "earlier").rename(path / "cuts" / "7")
    store = RocksDBStore.open(path, SCHEMA)
    with pytest.raises(StateCorrupted):
        store.cut_snapshot()
    store.close()
