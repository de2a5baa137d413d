"""Damaged bytes are refused with the remedy, or do not matter: never another graph."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ktsafe.state.changes import EdgeAdd, VertexUpsert
from ktsafe.state.folder import Witness
from ktsafe.state.inspection import examine
from ktsafe.state.keys import HEADER_BYTES, _records, has_false_end
from ktsafe.state.ledger import PendingCut, SequenceRecord
from ktsafe.state.rocksdb import RocksDBStore
from ktsafe.state.store_base import Position, StateCorrupted, StateError
from tests.state.support import SCHEMA, exactly, stamp

PEOPLE = 300


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[object, ...]]:
    """Return the folder of a store that ended without closing, and its graph.

    Part of it is in tables, part in the write-ahead log.
    """
    live = tmp_path_factory.mktemp("live") / "store"
    store = RocksDBStore.open(live, SCHEMA)
    store.ledger.start_sequence(SequenceRecord("s1", "digest", 1))
    for batch in range(6):
        if batch == 2:
            store.snapshot()
        if batch == 3:
            for family in ("people", "changes", "meta", "places", "ties", "stamps"):
                store.database.flush(family)
        people = [f"p{batch}-{i}" for i in range(PEOPLE)]
        upserts = [
            VertexUpsert(stamp(batch, i), name, {"gender": "f"}) for i, name in enumerate(people)
        ]
        ring = [
            EdgeAdd(stamp(batch, PEOPLE + i), name, people[i - 1]) for i, name in enumerate(people)
        ]
        store.commit([*upserts, *ring], {("t", 0): Position(batch, batch)})
    copy = tmp_path_factory.mktemp("crashed") / "store"
    shutil.copytree(live, copy)
    graph = exactly(store.snapshot())
    store.close()
    return copy, graph


def files(folder: Path, pattern: str) -> list[Path]:
    """Return the files that hold something, by name."""
    found = [file for file in sorted(folder.glob(pattern)) if file.stat().st_size]
    assert found
    return found


def open_damaged(folder: Path) -> tuple[object, ...] | str:
    """Return the graph of a store, or the message with which it is refused."""
    store = None
    try:
        store = RocksDBStore.open(folder, SCHEMA)
        graph = exactly(store.snapshot())
    except StateError as error:
        if store is not None:
            store.close()
        return f"{type(error).__name__} {error}"
    positions, sequence = store.positions(), store.ledger.sequence()
    store.close()
    assert positions == {("t", 0): Position(5, 5)}
    assert sequence == SequenceRecord("s1", "digest", 1)
    return graph


@pytest.mark.parametrize("pattern", ["db/*.sst", "db/*.log", "db/MANIFEST-*", "db/CURRENT"])
def test_a_flipped_byte_is_noticed(
    crashed: tuple[Path, tuple[object, ...]], tmp_path: Path, pattern: str
) -> None:
    """Wherever a byte changes, the store is refused with both remedies or reads back whole."""
    whole, graph = crashed
    refused = 0
    for source in files(whole, pattern):
        size = source.stat().st_size
        for position in sorted({0, 7, size // 4, size // 2, size * 3 // 4, size - 1}):
            folder = tmp_path / f"{source.name}-{position}"
            shutil.copytree(whole, folder)
            file = folder / source.relative_to(whole)
            data = bytearray(file.read_bytes())
            data[position % size] ^= 0x55
            file.write_bytes(data)
            outcome = open_damaged(folder)
            if outcome == graph:
                continue  # bytes that nothing reads: padding and statistics
            assert isinstance(outcome, str)
            assert outcome.startswith("StateCorrupted")
            assert "ktsafe state restore" in outcome
            assert "ktsafe rebase" in outcome
            refused += 1
    assert refused > 0


@pytest.mark.parametrize("pattern", ["db/*.sst", "db/*.log", "db/MANIFEST-*", "db/CURRENT"])
@pytest.mark.parametrize("keep", [lambda _: 0, lambda size: size // 2, lambda size: size - 1, None])
def test_a_file_cut_short_or_gone_is_noticed(
    crashed: tuple[Path, tuple[object, ...]],
    tmp_path: Path,
    pattern: str,
    keep: Callable[[int], int] | None,
) -> None:
    """No file that loses its end, or is lost, leads to an earlier or empty graph."""
    whole, graph = crashed
    source = max(files(whole, pattern), key=lambda file: file.stat().st_size)
    folder = tmp_path / "store"
    shutil.copytree(whole, folder)
    file = folder / source.relative_to(whole)
    if keep is None:
        file.unlink()
    else:
        os.truncate(file, keep(file.stat().st_size))
    outcome = open_damaged(folder)
    if pattern == "db/MANIFEST-*" and outcome == graph:
        return  # its last entry only repeats what the files say
    assert isinstance(outcome, str)
    assert outcome.startswith("StateCorrupted")


def test_a_log_cut_anywhere_is_refused_or_whole(
    crashed: tuple[Path, tuple[object, ...]], tmp_path: Path
) -> None:
    """Wherever the log ends, no counted commit is missed in silence."""
    whole, graph = crashed
    dice = random.Random(1)
    outcomes = []
    for log in files(whole, "db/*.log"):
        for _ in range(15):
            folder = tmp_path / f"{len(outcomes)}"
            shutil.copytree(whole, folder)
            os.truncate(folder / log.relative_to(whole), dice.randrange(log.stat().st_size))
            outcomes.append(open_damaged(folder))
    refused = [outcome for outcome in outcomes if outcome != graph]
    assert refused
    assert all(str(outcome).startswith("StateCorrupted") for outcome in refused)


def test_a_commit_that_was_not_counted_may_be_cut_off(
    crashed: tuple[Path, tuple[object, ...]], tmp_path: Path
) -> None:
    """Killed before the count, a commit has no consequence: without it the store is as before."""
    folder = tmp_path / "store"
    shutil.copytree(crashed[0], folder)
    witness = Witness(folder)
    witness.write(witness.read() - 1)
    witness.close()
    log = max(files(folder, "db/*.log"), key=lambda file: file.stat().st_size)
    os.truncate(log, log.stat().st_size - 1)
    store = RocksDBStore.open(folder, SCHEMA)
    assert store.positions() == {("t", 0): Position(4, 4)}
    assert len(store.snapshot().ids) == 5 * PEOPLE
    store.close()


def test_a_lost_database_is_not_made_anew(
    crashed: tuple[Path, tuple[object, ...]], tmp_path: Path
) -> None:
    """Where a store was finished and its database is gone, no empty one takes its place."""
    folder = tmp_path / "store"
    shutil.copytree(crashed[0], folder)
    shutil.rmtree(folder / "db")
    with pytest.raises(StateCorrupted):
        RocksDBStore.open(folder, SCHEMA)
    assert not (folder / "db").exists()


def test_a_refused_store_is_not_locked(
    crashed: tuple[Path, tuple[object, ...]], tmp_path: Path
) -> None:
    """After a refusal the folder is free: a repaired file is enough to open it."""
    folder = tmp_path / "store"
    shutil.copytree(crashed[0], folder)
    file = files(folder, "db/*.sst")[0]
    data = file.read_bytes()
    file.write_bytes(data[:40] + bytes([data[40] ^ 1]) + data[41:])
    with pytest.raises(StateCorrupted):
        RocksDBStore.open(folder, SCHEMA)
    file.write_bytes(data)
    assert open_damaged(folder) == crashed[1]


@pytest.mark.parametrize("family", ["changes", "downs", "places", "ties"])
def test_a_row_that_was_never_written_is_noticed(path: Path, family: str) -> None:
    """Rows that checksums accept and no commit wrote are refused all the same."""
    store = RocksDBStore.open(path, SCHEMA)
    store.commit([VertexUpsert(stamp(1), "ann", {})], {})
    batch = store.database.batch()
    batch.write(family, {b"\0\0\0\0\0\0\0\5": bytes(21)})
    store.database.commit(batch)
    with pytest.raises(StateCorrupted):
        store.snapshot()
    store.close()
    with pytest.raises(StateCorrupted):
        examine(path, SCHEMA)


def test_a_damaged_frozen_state_is_noticed(path: Path) -> None:
    """The release cut is not built from damaged bytes, while the live graph stays usable."""
    store = RocksDBStore.open(path, SCHEMA)
    people = [VertexUpsert(stamp(1, i), f"p{i}", {"gender": "f"}) for i in range(500)]
    store.commit(people, {}, cut=PendingCut(7, {}))
    # Later commits make tables of their own, so that damage can hit the frozen state alone.
    store.close()
    frozen = path / "cuts" / "7"
    for file in frozen.glob("*.sst"):
        data = bytearray(file.read_bytes())
        data[len(data) // 3] ^= 0x55
        file.unlink()  # it is a hard link: the live store has the same bytes under another name
        file.write_bytes(data)
    store = RocksDBStore.open(path, SCHEMA)
    with pytest.raises(StateCorrupted):
        store.cut_snapshot()
    assert store.snapshot().graph.n_vertices == 500
    store.ledger.drop_cut()
    assert store.cut_snapshot() is None
    store.close()


@pytest.mark.parametrize("name", ["MANIFEST-*", "*.log"])
def test_a_changed_type_of_a_record_does_not_keep_the_store_from_opening_for_ever(
    path: Path, name: str
) -> None:
    """RocksDB would read on without end; any of the types that are never written is refused."""
    store = RocksDBStore.open(path, SCHEMA)
    for number in range(3):
        store.commit([VertexUpsert(stamp(number), "a", {"gender": "f"})], {})
    copy = path.with_name("copy")
    shutil.copytree(path, copy)  # The log is not in tables yet.
    store.close()
    (file,) = [found for found in (copy / "db").glob(name) if found.stat().st_size]
    data = bytearray(file.read_bytes())
    second = 7 + int.from_bytes(data[4:6], "little")
    assert data[second + 6] == 1
    for kind in (5, 6, 7, 8, 11):
        data[second + 6] = kind
        file.write_bytes(data)
        with pytest.raises(StateCorrupted):
            RocksDBStore.open(copy, SCHEMA)
        with pytest.raises(StateCorrupted):
            examine(copy, SCHEMA)


def test_a_changed_length_in_the_manifest_does_not_hide_what_follows(path: Path) -> None:
    """RocksDB would take the record for one that a crash cut off, and forget its tables.

    A start after a crash puts the log into tables, family by family, and notes each by itself.
    """
    store = RocksDBStore.open(path, SCHEMA)
    store.ledger.start_sequence(SequenceRecord("s1", "digest", 1))
    store.commit([VertexUpsert(stamp(1), "a", {"gender": "f"})], {})
    crashed = path.with_name("crashed")
    shutil.copytree(path, crashed)
    store.close()
    store = RocksDBStore.open(crashed, SCHEMA)
    copy = path.with_name("copy")
    shutil.copytree(crashed, copy)
    store.close()
    (file,) = (copy / "db").glob("MANIFEST-*")
    data = file.read_bytes()
    starts = [begin - HEADER_BYTES for _, begin, _ in _records(data)]
    assert len(starts) > 5
    for start in starts:
        for bit in (0x01, 0x08, 0x40):
            changed = bytearray(data)
            changed[start + 5] ^= bit  # The length's upper byte.
            file.write_bytes(changed)
            ends_beyond = (
                start + HEADER_BYTES + int.from_bytes(changed[start + 4 : start + 6], "little")
            )
            assert has_false_end(file) == (ends_beyond > len(data))
            for opened in (RocksDBStore.open, examine):
                with pytest.raises(StateCorrupted):
                    opened(copy, SCHEMA)
    for size in range(starts[-1], len(data)):
        file.write_bytes(data[:size])
        assert not has_false_end(file)
