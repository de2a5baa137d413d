"""A crash at any moment: every event took effect exactly once, and the ledger is whole."""

from __future__ import annotations

import functools
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ktsafe.state import keys
from ktsafe.state.changes import EdgeAdd, EdgeRemove, VertexDelete, VertexUpsert
from ktsafe.state.database import Database
from ktsafe.state.fold import Folded
from ktsafe.state.folder import Witness
from ktsafe.state.ledger import PendingCut, ReleaseRecord, SequenceRecord, Status
from ktsafe.state.rocksdb import CutFolder, RocksDBStore
from ktsafe.state.store_base import Position, StateCorrupted, StateUnusable
from tests.state.crash_child import PARTITION, event, pages_of
from tests.state.naive_fold import fold
from tests.state.support import SCHEMA, exactly, plain, published, stamp

ROUNDS = 12
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


def stop(*_args: object, **_kwargs: object) -> None:
    """Stand in for a step that is never reached."""
    raise Stop


def _after(step: Callable[..., object]) -> Callable[..., None]:
    def run(*args: object, **kwargs: object) -> None:
        step(*args, **kwargs)
        raise Stop

    return run


STEPS = {
    "before the write": (Database, "commit", stop, False),
    "after the write": (Database, "commit", _after(Database.commit), True),
    "before the count": (Witness, "write", stop, True),
    "before keeping the cut": (CutFolder, "keep", stop, True),
    "before the checkpoint": (Database, "checkpoint", stop, True),
    "after the checkpoint": (Database, "checkpoint", _after(Database.checkpoint), True),
    "before it is resolved": (Folded, "__init__", stop, True),
    "after it is resolved": (Folded, "arrays", stop, True),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_release_cut_that_ends_at_any_step(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Whether the cut took effect is decided by the write alone; then it is readable for good."""
    owner, name, replacement, is_durable = STEPS[step]
    store = RocksDBStore.open(path, SCHEMA)
    store.commit([VertexUpsert(stamp(1), "ann", {})], {("t", 0): Position(1, 1)})
    before = {"ann"}
    changes = [VertexUpsert(stamp(2, 1), "bob", {}), VertexDelete(stamp(3, 2), "ann")]
    monkeypatch.setattr(owner, name, replacement)
    with pytest.raises(Stop):
        store.commit(changes, {("t", 0): Position(3, 3)}, cut=CUT)
    monkeypatch.undo()
    if "resolved" not in step:  # There nothing is left to be written.
        with pytest.raises(StateUnusable, match="Start again"):
            store.commit([], {})
        with pytest.raises(StateUnusable):
            store.snapshot()
        with pytest.raises(StateUnusable):
            store.prune(9)
    store.close()

    store = RocksDBStore.open(path, SCHEMA)
    frozen = store.cut_snapshot()
    if not is_durable:
        assert frozen is None
        assert store.ledger.pending_cut() is None
        assert set(plain(store.snapshot())[0]) == before
        assert store.positions() == {("t", 0): Position(1, 1)}
    else:
        assert frozen is not None
        assert store.ledger.pending_cut() == CUT
        assert set(plain(frozen)[0]) == {"bob"}
        assert store.positions() == {("t", 0): Position(3, 3)}
        store.commit([VertexUpsert(stamp(4, 3), "cyd", {})], {("t", 0): Position(4, 4)})
        assert exactly(store.cut_snapshot() or store.snapshot()) == exactly(frozen)
    store.close()


FOLD_STEPS = {
    "before the write": (Database, "commit", stop),
    "after the write": (Database, "commit", _after(Database.commit)),
    "before the count": (Witness, "write", stop),
}


@pytest.mark.parametrize("step", FOLD_STEPS)
def test_a_fold_that_ends_at_any_step(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Whether pages are written or not, the graph is the same, also after more of it."""
    store = RocksDBStore.open(path, SCHEMA)
    people = [VertexUpsert(stamp(1, n), name, {}) for n, name in enumerate(("ann", "bob", "cyd"))]
    ties = [EdgeAdd(stamp(2, 3), "ann", "bob"), EdgeAdd(stamp(2, 4), "bob", "cyd")]
    store.commit([*people, *ties], {})
    store.fold()
    store.commit([VertexDelete(stamp(3, 5), "ann"), EdgeRemove(stamp(3, 6), "bob", "cyd")], {})
    store.commit([EdgeAdd(stamp(4, 7), "cyd", "ann"), EdgeAdd(stamp(4, 8), "cyd", "bob")], {})
    before = plain(store.snapshot())
    monkeypatch.setattr(*FOLD_STEPS[step])
    with pytest.raises(Stop):
        store.fold()
    monkeypatch.undo()
    with pytest.raises(StateUnusable, match="Start again"):
        store.commit([], {})
    store.close()
    store = RocksDBStore.open(path, SCHEMA)
    assert plain(store.snapshot()) == before
    store.commit([VertexUpsert(stamp(5, 9), "ann", {})], {})
    later = plain(store.snapshot())
    assert later[1] == {frozenset(("ann", "cyd")), frozenset(("bob", "cyd"))}
    store.fold()
    assert plain(store.snapshot()) == later
    store.close()


LEDGER_STEPS = {
    "before the write": ("commit", stop, False),
    "after the write": ("commit", _after(Database.commit), True),
    "before the flush": ("flush", stop, True),
}


@pytest.mark.parametrize("step", LEDGER_STEPS)
def test_staging_that_ends_at_any_step(
    path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """A release is staged with its cut consumed, or not at all with its cut still readable."""
    name, replacement, is_durable = LEDGER_STEPS[step]
    store = RocksDBStore.open(path, SCHEMA)
    store.ledger.start_sequence(SequenceRecord("s", "digest", 0))
    store.commit([VertexUpsert(stamp(1), "ann", {})], {}, cut=CUT)
    record = ReleaseRecord(1, "r1", "s", CUT.slot_us, CUT.offsets, {}, Status.STAGED, 1, 0)
    monkeypatch.setattr(Database, name, replacement)
    with pytest.raises(Stop):
        store.ledger.stage(record)
    monkeypatch.undo()
    with pytest.raises(StateUnusable):
        store.commit([], {})
    store.close()

    store = RocksDBStore.open(path, SCHEMA)
    if is_durable:
        assert store.ledger.last() == record
        assert store.cut_snapshot() is None
        assert list((path / "cuts").glob("*")) == []
    else:
        assert store.ledger.last() is None
        frozen = store.cut_snapshot()
        assert frozen is not None
        assert set(plain(frozen)[0]) == {"ann"}
        store.ledger.stage(record)
        assert store.ledger.last() == record
    store.close()


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
