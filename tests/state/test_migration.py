"""A store of an earlier format becomes one of the present format, whatever interrupts that."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from state import migration
from state.changes import VertexDelete, VertexUpsert
from state.database import Batch, Database
from state.errors import StateMismatch, StateUnusable
from state.folder import MARKER
from state.inspection import overview
from state.ledger import PendingCut
from state.recovery import schema_digest
from state.rocksdb import RocksDBStore
from tests.state import format_1
from tests.state.support import SCHEMA, exactly, plain, stamp


@pytest.fixture
def old(path: Path) -> Path:
    """Return a store of format 1."""
    format_1.write(path, schema_digest(SCHEMA))
    return path


def check(path: Path) -> tuple[object, ...]:
    """Check that everything of the old store is there; return its graph."""
    with closing(RocksDBStore.open(path, SCHEMA)) as store:
        vertices, edges = plain(store.snapshot())
        assert len(vertices) == format_1.PEOPLE - 1
        assert vertices["ann"] == {"gender": "f", "age": "-", "illness": "flu"}
        assert vertices["cyd"] == {"gender": "-", "age": ">=65", "illness": "-"}
        assert "bob" not in vertices
        assert edges == {frozenset(("ann", "cyd"))}
        assert store.counts() == {
            "vertices": format_1.PEOPLE - 1,
            "edges": 1,
            "edges_waiting": 1,
            "tombstones": 2,
        }
        assert store.positions() == {("t", 0): (5, 7)}
        assert store.source_identity() == {"t": "x"}
        last = store.ledger.last()
        assert last is not None
        assert (last.release_id, last.n_lives) == (
            format_1.RELEASE["release_id"],
            format_1.PEOPLE - 1,
        )
        assert store.ledger.pending_cut() is None
        assert store.ledger.pages() == {}
        lives = store.snapshot().lives
        assert sorted(lives.tolist()) == list(range(format_1.PEOPLE - 1))
        return exactly(store.snapshot())


def test_everything_is_there_and_goes_on(old: Path) -> None:
    """Graph, offsets and ledger are kept; later changes and cuts work; mappings can be blanked."""
    check(old)
    assert (old / MARKER).read_text() == "2"
    with closing(RocksDBStore.open(old, SCHEMA)) as store:
        changes = [
            VertexDelete(stamp(8), "ann"),
            VertexUpsert(stamp(9), "ann", {}),
            VertexUpsert(stamp(9), "bob", {}),
        ]
        store.commit(changes, {}, cut=PendingCut(20, {"t/0": 5}))
        last = store.ledger.last()
        assert last is not None
        assert store.gone(["ann", "bob", "cyd"], last.n_lives) == [True, True, False]
        assert store.cut_snapshot() is not None
        assert store.erasures_pending() == 1


def test_an_interruption_anywhere_changes_nothing(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before or after any of its writes, the migration is done again to the same end."""
    commit = Database.commit
    step = 0
    while True:
        writes = [0]

        def killed(
            self: Database, batch: Batch, step: int = step, writes: list[int] = writes
        ) -> None:
            writes[0] += 1
            if step % 2 == 1 and writes[0] == step // 2 + 1:
                commit(self, batch)
            if writes[0] == step // 2 + 1:
                raise KeyboardInterrupt
            commit(self, batch)

        with monkeypatch.context() as patched:
            patched.setattr(Database, "commit", killed)
            try:
                RocksDBStore.open(old, SCHEMA).close()
            except KeyboardInterrupt:
                step += 1
                continue
        break
    assert step >= 6
    check(old)


def test_a_crash_before_the_marker_is_made_up_for(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The marker alone is behind: nothing is migrated twice."""

    def killed(_: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("state.opening.mark_made", killed)
        with pytest.raises(KeyboardInterrupt):
            RocksDBStore.open(old, SCHEMA)
    with monkeypatch.context() as patched:
        patched.setattr(migration, "_STEPS", {})
        check(old)
    assert (old / MARKER).read_text() == "2"


@pytest.mark.parametrize(("version", "remedy"), [("3", "Upgrade ktsafe"), ("0", "earlier version")])
def test_unknown_formats_are_refused_with_a_remedy(old: Path, version: str, remedy: str) -> None:
    """Newer than this version, or older than any that can be migrated: nothing is changed."""
    (old / MARKER).write_text(version)
    with pytest.raises(StateMismatch, match=remedy):
        RocksDBStore.open(old, SCHEMA)
    assert (old / MARKER).read_text() == version


def test_looking_does_not_migrate(old: Path) -> None:
    """Who only looks at a store of an earlier format is told how it becomes readable."""
    with pytest.raises(StateUnusable, match="Start the service once"):
        overview(old)
    assert (old / MARKER).read_text() == "1"
