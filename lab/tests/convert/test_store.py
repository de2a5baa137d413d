"""A state of an earlier format is the same state once it is converted."""

from __future__ import annotations

import struct
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
import rocksdict

from ktsafe.connectors.base import WITHDRAWN
from ktsafe.state import keys
from ktsafe.state.changes import EdgeAdd, Stamp, VertexUpsert
from ktsafe.state.database import Database
from ktsafe.state.inspection import examine
from ktsafe.state.ledger import EMPTY, PendingCut
from ktsafe.state.recovery import schema_digest
from ktsafe.state.rocksdb import RocksDBStore
from ktsafe.state.store_base import Position, StateCorrupted, StateMismatch
from ktsafe.stream.files.private_audits import marker, note, noted
from lab.convert.store import FAMILIES, convert
from tests.state.support import SCHEMA, plain

SECRET = bytes(range(32))
CUT = PendingCut(7, {"t/0": 4})


def old_database(path: Path, *, commits: int, is_cut: bool) -> None:
    """Write a database as format 4 has it: all kinds of people and ties, with holes of numbers."""
    alias = keys.Hashes(SECRET).of
    told = {0: ((3, 0, 1), "f"), 2: ((3, 0, 1), "flu")}
    people = {
        0: ["ann", None, (3, 0, 1), None, told, 4],
        2: ["bob", None, (3, 0, 2), (1, 0, 0), {}, 5],
        3: [None, alias("cyd"), None, (9, 0, 3), {}, None],
        6: [None, alias("dan"), None, None, {}, None],
    }
    edges = {(0, 2): (1, 0, 4, 4), (0, 6): (1, 0, 4, 5), (2, 6): (0, 0, 4, 6)}
    rows = {
        "vertices": {struct.pack(">I", n): msgspec.msgpack.encode(r) for n, r in people.items()},
        "edges": {struct.pack(">II", *e): struct.pack(">BIqq", *v) for e, v in edges.items()},
        "meta": {
            b"format": b"4",
            b"schema": schema_digest(SCHEMA).encode(),
            b"secret": SECRET,
            b"origins": b'[["t",0]]',
            b"attributes": msgspec.json.encode(SCHEMA.attributes),
            b"identity": b'{"t":"x"}',
            b"progress": msgspec.msgpack.encode([commits, 4, 3, 11, 6, 2, 1]),
            b"position/\0\0\0\0": msgspec.msgpack.encode([7, 9]),
        },
        "ledger": {**EMPTY, **({b"cut": msgspec.json.encode(CUT)} if is_cut else {})},
        "pages": {},
    }
    options = rocksdict.Options(raw_mode=True)
    families = dict.fromkeys(FAMILIES, options)
    options.create_missing_column_families(True)
    with closing(rocksdict.Rdict(str(path), options, column_families=families)) as database:
        for family, held in rows.items():
            column = database.get_column_family(family)
            for key, value in held.items():
                column[key] = value
        del column


def old_state(folder: Path, *, has_cut: bool = False) -> Path:
    """Write a state folder of format 4, with a pending cut or without."""
    store = folder / "store"
    store.mkdir()
    old_database(store / "db", commits=12, is_cut=has_cut)
    if has_cut:
        (store / "cuts").mkdir()
        old_database(store / "cuts" / "7", commits=11, is_cut=True)
    (store / "COMMITS").write_bytes((12).to_bytes(8, "big"))
    (store / "STORE").write_text("4")
    return store


@pytest.mark.parametrize("has_cut", [False, True])
def test_a_converted_state_is_the_same(tmp_path: Path, has_cut: bool) -> None:
    """People, ties that wait, tombstones, lives, positions and the pending cut are as they were."""
    store = old_state(tmp_path, has_cut=has_cut)
    with pytest.raises(StateMismatch, match=r"python -m lab\.convert FOLDER"):
        RocksDBStore.open(store, SCHEMA)
    convert(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["store"]
    counts = {"vertices": 2, "edges": 1, "edges_waiting": 1, "tombstones": 3}
    assert examine(store, SCHEMA).counts == counts
    with closing(RocksDBStore.open(store, SCHEMA)) as opened:
        assert opened.counts() == counts
        snapshot = opened.snapshot()
        assert snapshot.lives.tolist() == [4, 5]
        assert plain(snapshot)[0]["ann"] == {"gender": "f", "age": "-", "illness": "flu"}
        assert plain(snapshot)[1] == {frozenset(("ann", "bob"))}
        assert opened.positions() == {("t", 0): Position(7, 9)}
        assert opened.source_identity() == {"t": "x"}
        assert opened.erasures_pending() == 1
        frozen = opened.cut_snapshot()
        assert opened.ledger.pending_cut() == (CUT if has_cut else None)
        assert (frozen is not None and plain(frozen) == plain(snapshot)) == has_cut
        opened.commit(
            [
                VertexUpsert(Stamp(8, "t", 0, 7), "cyd", {}),
                VertexUpsert(Stamp(10, "t", 0, 8), "dan", {}),
                EdgeAdd(Stamp(3, "t", 0, 9), "bob", "dan"),
            ],
            {},
        )
        vertices, edges = plain(opened.snapshot())
        assert set(vertices) == {"ann", "bob", "dan"}
        assert edges == {frozenset(("ann", "bob")), frozenset(("ann", "dan"))}


def test_an_interrupted_conversion_is_begun_again(tmp_path: Path) -> None:
    """Between two names the old store has neither: the next conversion gives it back its own."""
    store = old_state(tmp_path)
    store.rename(tmp_path / "store.former")
    (tmp_path / "store.converting").mkdir()
    convert(tmp_path)
    assert examine(store, SCHEMA).counts["vertices"] == 2
    convert(tmp_path)
    (store / "STORE").write_text("6")
    with pytest.raises(SystemExit, match="no state of formats 2 to 5"):
        convert(tmp_path)


def test_format_5_has_another_number_now(tmp_path: Path) -> None:
    """A store of the last build before 0.1.0 is the same store, with its pending cut."""
    store = old_state(tmp_path, has_cut=True)
    convert(tmp_path)
    before = examine(store, SCHEMA).counts
    for path in (store / "db", store / "cuts" / "7"):
        with closing(Database(path, create=False)) as database:
            batch = database.batch()
            batch.write(keys.META, {keys.META_FORMAT: b"5"})
            database.commit(batch)
    (store / "STORE").write_text("5")
    convert(tmp_path)
    assert examine(store, SCHEMA).counts == before
    with closing(RocksDBStore.open(store, SCHEMA)) as opened:
        assert opened.ledger.pending_cut() == CUT
        assert opened.cut_snapshot() is not None


def test_a_state_that_is_in_use_is_not_converted(tmp_path: Path) -> None:
    """A service of the version that made it holds its lock."""
    store = old_state(tmp_path)
    options = rocksdict.Options(raw_mode=True)
    families = dict.fromkeys(FAMILIES, options)
    held = rocksdict.Rdict(str(store / "db"), options, column_families=families)
    with closing(held):
        done = subprocess.run(
            [sys.executable, "-m", "lab.convert", str(tmp_path)],
            check=False,
            capture_output=True,
            text=True,
        )
    assert done.returncode != 0
    assert "StateLocked" in done.stderr
    assert (store / "STORE").read_text() == "4"


def test_markers_of_withdrawn_releases_get_a_sum(tmp_path: Path) -> None:
    """They had none; without it a damaged marker would be handed out."""
    old_state(tmp_path)
    audit, told = tmp_path / "audit" / "000001", marker("000001", "2026-01-01", "a mistake")
    note(audit, told)
    (audit / WITHDRAWN).write_bytes(told)
    with pytest.raises(StateCorrupted):
        noted(audit)
    command = [sys.executable, "-m", "lab.convert", str(tmp_path)]
    assert subprocess.run(command, check=False).returncode == 0
    assert noted(audit) == told
