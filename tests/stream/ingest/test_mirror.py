"""Whatever statements a database runs, the graph made of its log is the one that it holds."""

from __future__ import annotations

import csv
import dataclasses
import datetime
import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import numpy as np
import pytest

from ktsafe import Schema
from ktsafe.connectors.files.dumps import place_of, read_dump
from ktsafe.reader.published import StudiedRelease
from ktsafe.state import store as stores
from ktsafe.state.changes import Stamp, VertexUpsert
from ktsafe.state.inspection import examine
from ktsafe.state.rocksdb import RocksDBStore
from ktsafe.state.store_base import StateMismatch
from ktsafe.stream.config.places import STORE
from ktsafe.stream.files.releases_read import Manifest
from ktsafe.stream.ingest.debezium import MirroredTable
from ktsafe.stream.ingest.own_tables import OwnTables
from ktsafe.stream.maintenance import backup
from ktsafe.stream.maintenance.erasure import erase_persons, remains
from ktsafe.stream.service.housekeeping import check_parts
from tests import feeds
from tests.databases import scripts
from tests.databases.mirrors import (
    BEGIN_US,
    CHOICES,
    SCHEMA,
    SECOND_US,
    Mirror,
    Written,
    compared,
    differences,
    expected,
    graph,
    scattered,
    tables,
    written,
)
from tests.databases.networks import History, truth
from tests.databases.tables import UNAVAILABLE, Database, Delete, Insert, Transaction
from tests.memory_connectors import MemoryLog
from tests.memory_store import MemoryDisk, MemoryStore
from tests.stream.service.simulation import World, disk_store


@pytest.mark.parametrize("part", range(4))
def test_a_history_of_statements_leaves_the_graph_of_the_database(part: int, monkeypatch) -> None:
    """Partitions, redelivery, batches, crashes, and the snapshot's time are drawn, too.

    In every other part what was said is folded after a few changes.
    """
    if part % 2:
        monkeypatch.setattr(stores, "LOGGED_MIN", 3)
    found = {seed: differences(seed) for seed in range(part * 25, part * 25 + 25)}
    assert not {seed: each for seed, each in found.items() if each}


def test_a_store_on_disk_does_the_same(tmp_path) -> None:
    """Rows are read back as they were held, whenever it is opened again."""
    for seed in range(1000, 1006):
        path = tmp_path / str(seed)
        assert not differences(
            seed, lambda schema, path=path: lambda: RocksDBStore.open(path, schema)
        )


@pytest.mark.parametrize("seed", range(6))
def test_every_release_shows_what_the_database_held_at_its_slot(tmp_path, seed: int) -> None:
    """Of one partition or three, with the service and its slots: the truth at each of them."""
    world, at = _world(tmp_path, seed)
    world.run(ingest={"tables": tables()})
    assert world.cuts
    assert not world.letters
    for name, (people, ties) in world.cuts.items():
        slot_us = _slot_us(name)
        right = expected(*at[max(time_us for time_us in at if time_us <= slot_us)])
        assert not compared((people, {frozenset(tie) for tie in ties}), right), name


def _world(folder: Path, seed: int, **how: Any) -> tuple[World, dict[int, Any]]:
    """Return a service on a database's log, and the database at each time."""
    rng = random.Random(seed)
    history = History(seed)
    database, log, at = history.database, MemoryLog(partitions=rng.choice((1, 3))), {}
    for transaction in history.before:
        database.commit(transaction)
    now_us = BEGIN_US + SECOND_US
    told = written(database.snapshot(), database, now_us, 1, schemas=False)
    at[now_us] = truth(database.all_rows())
    for n, transaction in enumerate(history.after, 1):
        now_us += rng.choice((1, 3, 8)) * SECOND_US
        told += written(database.commit(transaction), database, now_us, 1000 * n, schemas=False)
        at[now_us] = truth(database.all_rows())
    scattered(log, told, rng)
    world = World(folder, [[]], schema=SCHEMA, **how)
    world.log, world.now_s = log, now_us / SECOND_US + 10
    return world, at


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_a_backup_of_rows_goes_on_to_the_same_bytes(tmp_path, seed: int) -> None:
    """Restored in the midst, with the first releases at the sink, and with all of them."""
    folder = tmp_path / "private"
    world, at = _world(folder, seed, store=disk_store(folder / STORE, SCHEMA))
    rows = {"tables": tables()}
    world.run(ingest=rows, stopping=lambda: bool(world.releases.releases))
    store = world.open_store()
    assert store.holds_rows
    frozen = backup.freeze(store, lambda name: folder / "staging" / name)
    parts = backup.parts_of(frozen, folder, frozen=True)
    check_parts(parts, SCHEMA)
    backup.copy(parts, tmp_path / "backup", now_us=7)
    first = dict(world.releases.releases)
    world.run(ingest=rows)
    wanted = world.releases.releases
    assert len(wanted) > len(first)
    for n, there in enumerate((first, wanted)):
        private = tmp_path / str(n)
        backup.restore(tmp_path / "backup", private, lambda path: examine(path, SCHEMA))
        again, _ = _world(private, seed, store=disk_store(private / STORE, SCHEMA))
        again.releases.releases.update(there)
        again.run(ingest=rows)
        assert again.releases.releases == wanted
        assert not compared(graph(again.open_store().snapshot()), expected(*at[max(at)]))


@pytest.mark.parametrize("ties", sorted(set(CHOICES), key=str))
def test_the_manifest_says_which_ties_counted(tmp_path, ties: str | frozenset[str]) -> None:
    """Unless any row counts: then its bytes are those of a feed of events. Readers see it."""
    rows = [{"a": 1, "b": 2, "kind": "friend"}, {"a": 2, "b": 1, "kind": "friend"}]
    told = [*PEOPLE, *(envelope("c", "ties", after=row, s=1000) for row in rows)]
    told.append(envelope("d", "ties", before=rows[0], s=60_000))
    schema = dataclasses.replace(SCHEMA, ties=ties, expect_absent=frozenset({"ill"}))
    world = World(tmp_path, [[value for _, value in told]], schema=schema)
    world.run(ingest={"tables": tables()})
    asked = jsonschema.Draft202012Validator(
        json.loads(Path("docs/schemas/release-manifest.schema.json").read_text())
    )
    assert world.releases.releases
    for _, files in world.releases.releases.values():
        manifest = json.loads(files["manifest.json"])
        asked.validate(manifest)
        assert ("ties" in manifest) == (ties != "any")
        right = ties if isinstance(ties, str) else sorted(ties)
        people: dict[str, Any] = {"gender": np.array(["f"])}
        assert StudiedRelease(manifest, people, people, np.zeros((0, 2), int)).ties == right
        assert msgspec.json.decode(files["manifest.json"], type=Manifest).ties == right


def _slot_us(name: str) -> int:
    moment = datetime.datetime.fromisoformat(name.partition("-")[2])
    return int(moment.timestamp()) * SECOND_US


@pytest.mark.parametrize("script", scripts.SCRIPTS, ids=lambda script: script.name)
@pytest.mark.parametrize(("n_partitions", "is_full"), [(1, False), (3, False), (1, True)])
def test_each_script_leaves_the_graph_of_the_database(
    script: scripts.Script, n_partitions: int, is_full: bool
) -> None:
    """Both directions, two types, truncation, moved rows, returns: each is as the tables say.

    With keys, and without: then rows go by what they said and say.
    """
    database = Database(script.layout.tables, is_full=is_full)
    told = _told(database, script.before, script.after)
    mirror = _read(told, n_partitions)
    assert not mirror.letters.letters
    assert not compared(graph(mirror.store.snapshot()), expected(*truth(database.all_rows())))


def _told(
    database: Database, before: Iterable[Transaction], after: Iterable[Transaction]
) -> list[Written]:
    for transaction in before:
        database.commit(transaction)
    told = written(database.snapshot(), database, BEGIN_US, 1, schemas=True)
    for n, transaction in enumerate(after, 1):
        records = database.commit(transaction)
        told += written(records, database, BEGIN_US + n, 1000 * n, schemas=True)
    return told


def _read(
    told: Iterable[Written], n_partitions: int = 1, listed: Any = None, schema: Schema = SCHEMA
) -> Mirror:
    log = MemoryLog(partitions=n_partitions)
    scattered(log, told, random.Random(1))
    disk = MemoryDisk()
    rng = random.Random(n_partitions)
    mirror = Mirror(log, lambda: MemoryStore(schema, disk), listed or tables(), rng, schema)
    mirror.read_all()
    return mirror


def envelope(op: str, table: str, before: Any = None, after: Any = None, s: int = 0) -> Written:
    """Return a line of a file: an envelope without a key."""
    source = {"db": "postgres", "schema": "public", "table": table, "ts_ms": BEGIN_US // 1000 + s}
    value = {"op": op, "before": before, "after": after, "source": source}
    return Written(None, json.dumps(value).encode())


PEOPLE = [
    envelope("r", "people", after={"id": i, "gender": "f", "age": 1, "health": "well"})
    for i in range(1, 10)
]


def test_lines_without_keys_count_rows_by_what_they_say() -> None:
    """Both directions and two types are rows of their own; one that goes leaves the others."""
    ties = [(1, 2, "x"), (2, 1, "x"), (2, 1, "y"), (3, 4, None)]
    rows = [{"a": a, "b": b, "kind": kind} for a, b, kind in ties]
    told = [*PEOPLE, *(envelope("c", "ties", after=row) for row in rows)]
    told += [envelope("d", "ties", before=rows[0]), envelope("d", "ties", before=rows[2])]
    told += [envelope("d", "ties", before=rows[3])]
    mirror = _read(told)
    assert graph(mirror.store.snapshot())[1] == {frozenset("12")}
    assert not mirror.letters.letters


def test_what_a_row_does_not_tell_is_as_before(tmp_path) -> None:
    """Values and ends; and who is erased takes along the rows that name them now, no others."""
    person = {"id": 10, "gender": "f", "age": 7, "health": "ill"}
    row = {"id": 10, "a": 1, "b": 2, "kind": None}
    told = [
        envelope("c", "people", after=person),
        envelope("c", "ties", after=row),
        envelope("u", "people", after=person | {"gender": "m", "age": UNAVAILABLE}),
        envelope("u", "ties", after=row | {"a": UNAVAILABLE, "b": 3}),
        envelope("u", "ties", after=row | {"a": 4, "b": UNAVAILABLE}),
    ]
    keyed = [Written(b'{"id":10}', value) for _, value in told]
    mirror = _read([*PEOPLE, *keyed[:2]])
    mirror.store.fold()
    for each in keyed[2:]:
        scattered(mirror.log, [each], random.Random(1))
        mirror.read_all()
        mirror.store.snapshot()
    erase_persons(mirror.store, ["1", "2"], tmp_path)
    people, ties = graph(mirror.store.snapshot())
    assert people["10"] == {"gender": "m", "age": "7", "health": "ill"}
    assert ties == {frozenset("34")}


def test_a_moved_row_without_key_or_former_row_is_a_letter() -> None:
    """Nobody can say which one moved."""
    row = {"id": 5, "a": 1, "b": 2, "kind": None}
    told = [*PEOPLE, envelope("c", "ties", after=row), envelope("u", "ties", after=row | {"b": 3})]
    mirror = _read(told)
    assert [letter.reason for letter in mirror.letters.letters] == ["unknown_row"]


def test_a_deletion_that_shows_no_id_and_has_no_key_is_a_letter() -> None:
    """By PostgreSQL's default `before` shows 0 where the key is another column."""
    gone = {"pk": 5, "id": 0, "gender": None, "age": None, "health": ""}
    mirror = _read([*PEOPLE, envelope("d", "people", before=gone)])
    (letter,) = mirror.letters.letters
    assert (letter.reason, "REPLICA IDENTITY" in letter.detail) == ("unknown_row", True)


def test_no_row_is_late_or_ahead_of_time() -> None:
    """One of years ago, one of years to come, one of no time at all: each is so from then on."""
    times = (0, -40 * 365 * 86_400_000, 60 * 365 * 86_400_000, -(BEGIN_US // 1000))
    rows = {"id": 1, "gender": "f", "age": 1, "health": "well"}
    told = [envelope("u", "people", after=rows | {"age": n}, s=ms) for n, ms in enumerate(times)]
    keyed = [Written(b'{"id":1}', value) for _, value in told]
    mirror = _read([*keyed, *keyed])
    assert not mirror.letters.letters
    assert graph(mirror.store.snapshot())[0]["1"]["age"] == "3"


def test_several_tables_may_tell_of_one_person() -> None:
    """It is there while one of them does; for each attribute one row counts, then the other."""
    listed = (MirroredTable("people", {"id": "id"}), MirroredTable("profiles", {"id": "person"}))
    told = [
        envelope("c", "people", after={"id": 1, "gender": "f"}),
        envelope("c", "profiles", after={"person": 1, "age": 30, "health": "ill"}),
        envelope("u", "people", after={"id": 1, "gender": None}),
    ]
    mirror = _read(told, listed=listed)
    assert graph(mirror.store.snapshot())[0] == {"1": {"gender": "-", "age": "30", "health": "ill"}}
    gone = [*told, envelope("d", "people", before={"id": 1})]
    mirror = _read(gone, listed=listed)
    assert graph(mirror.store.snapshot())[0]["1"]["age"] == "30"
    mirror = _read([*gone, envelope("d", "profiles", before={"person": 1})], listed=listed)
    assert graph(mirror.store.snapshot())[0] == {}
    unlike = [told[0], envelope("c", "profiles", after={"person": 1, "gender": "m"})]
    first, last = (_read(each, listed=listed).store.snapshot() for each in (unlike, unlike[::-1]))
    assert graph(first) == graph(last)


@pytest.mark.parametrize("ties", sorted(set(CHOICES), key=str))
def test_dumps_and_the_log_of_one_database_are_the_same_graph(
    tmp_path, ties: str | frozenset[str]
) -> None:
    """At each date, whatever counts as a tie; rows that name nobody are no rows of a dump."""
    schema = dataclasses.replace(SCHEMA, ties=ties)
    for seed in range(8):
        history, told = History(seed), []
        database = history.database
        for n, transaction in enumerate([*history.before, *history.after], 1):
            told += written(
                database.commit(transaction), database, BEGIN_US + n, 100 * n, schemas=False
            )
            if n % 7:
                continue
            rows = database.all_rows()
            folder = tmp_path / f"{seed}" / f"2026-01-{n:02}"
            _write_dump(folder, rows)
            dump = read_dump(place_of(folder), OwnTables(schema=schema), schema.attributes)
            values = [dict(zip(dump.columns, each, strict=True)) for each in dump.values]
            people = dict(zip(dump.position, values, strict=True))
            ids = list(dump.position)
            pairs = {frozenset((ids[k >> 32], ids[k & 0xFFFFFFFF])) for k in dump.edges.tolist()}
            mirror = _read(told, schema=schema)
            seen = graph(mirror.store.snapshot())
            assert not compared(seen, expected(people, pairs, schema))
            assert not compared(seen, expected(*truth(rows, ties), schema))


def _write_dump(folder: Path, rows: dict[str, list[dict[str, Any]]]) -> None:
    """Write tables as a database would, but for ties that name nobody."""
    folder.mkdir(parents=True)
    named = {row["id"] for row in rows["people"]}
    ties = [row for row in rows["ties"] if {row["a"], row["b"]} <= named]
    tables_of = {
        "vertices": (["id", "gender", "age", "health"], rows["people"]),
        "edges": (["a", "b", "kind"], ties),
    }
    for name, (columns, of) in tables_of.items():
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["source", "target", "kind"] if name == "edges" else columns)
            writer.writerows([row[column] for column in columns] for row in of)


def test_a_state_of_events_is_no_mirror_and_a_mirror_takes_no_events(tmp_path) -> None:
    """Either is refused by name before anything is read."""
    events = World(tmp_path / "a", [[_event()]], schema=SCHEMA)
    events.run()
    with pytest.raises(StateMismatch, match="new state folder"):
        events.run(ingest={"tables": tables()})
    rows = World(tmp_path / "b", [[value for _, value in PEOPLE]], schema=SCHEMA)
    rows.run(ingest={"tables": tables()})
    with pytest.raises(StateMismatch, match=r"source\.tables"):
        rows.run()
    store = rows.open_store()
    with pytest.raises(TypeError):
        store.commit([VertexUpsert(Stamp(0, "t", 0, 0), "x", {})], {})


def _event() -> feeds.Event:
    return {"type": "vertex.upsert", "id": "a", "time": BEGIN_US // 1000}


LONG = ("margarete-with-a-long-id", "balthasar-with-a-long-id", "charlotte-with-a-long-id")


def _long_store(tmp_path: Path) -> Mirror:
    """Return a mirror on disk of three people, each tied to each."""
    people = [{"id": name, "gender": "f", "age": 1, "health": "well"} for name in LONG]
    pairs = [(0, 1), (1, 2), (2, 0)]
    ties = [{"a": LONG[a], "b": LONG[b], "kind": None} for a, b in pairs]
    log = MemoryLog()
    told = [envelope("c", "people", after=row) for row in people]
    scattered(log, [*told, *(envelope("c", "ties", after=row) for row in ties)], random.Random(1))
    opened = disk_store(tmp_path / "state", SCHEMA)
    mirror = Mirror(log, opened, tables(), random.Random(7))
    mirror.read_all()
    return mirror


def test_of_somebody_who_left_no_id_is_kept_and_the_ties_return(tmp_path) -> None:
    """The rows of ties stay under keyed hashes; every byte of the state is read."""
    mirror = _long_store(tmp_path)
    gone = {"id": LONG[0], "gender": "f", "age": 1, "health": "well"}
    scattered(mirror.log, [envelope("d", "people", before=gone)], random.Random(1))
    mirror.read_all()
    assert graph(mirror.store.snapshot())[1] == {frozenset(LONG[1:])}
    mirror.store.scrub()
    mirror.crash()
    assert remains([LONG[0]], [tmp_path]).left == {}
    assert remains([LONG[1]], [tmp_path]).left
    scattered(mirror.log, [envelope("c", "people", after=gone)], random.Random(1))
    mirror.read_all()
    assert len(graph(mirror.store.snapshot())[1]) == 3


def test_erasure_by_command_forgets_all_rows_that_name_a_person(tmp_path) -> None:
    """No id is left, no hash either; what the database tells later counts again."""
    mirror = _long_store(tmp_path)
    (tmp_path / "audit").mkdir()
    store = mirror.store
    alias = store.alias(LONG[0])
    erase_persons(store, [LONG[0]], tmp_path / "audit")
    assert graph(store.snapshot())[1] == {frozenset(LONG[1:])}
    assert not [key for key, value in store.rows_from(b"") if alias in key + value]
    mirror.crash()
    assert remains([LONG[0]], [tmp_path]).left == {}
    back = {"id": LONG[0], "gender": "m", "age": 1, "health": "well"}
    tie = {"a": LONG[0], "b": LONG[1], "kind": None}
    told = [envelope("c", "people", after=back), envelope("c", "ties", after=tie)]
    scattered(mirror.log, told, random.Random(1))
    mirror.read_all()
    people, ties = graph(mirror.store.snapshot())
    assert people[LONG[0]]["gender"] == "m"
    assert ties == {frozenset(LONG[1:]), frozenset(LONG[:2])}


def test_a_row_can_be_deleted_and_inserted_as_one_transaction() -> None:
    """The tie of the same transaction holds, in whichever order partitions are read."""
    database = Database(scripts.PLAIN.tables)
    first = [[scripts.person(i) for i in range(1, 5)]]
    last = [[Delete("people", (1,)), scripts.person(1), Insert("ties", {"a": 1, "b": 4})]]
    told = _told(database, first, last)
    for n_partitions in (1, 2, 3):
        mirror = _read(told, n_partitions)
        assert graph(mirror.store.snapshot())[1] == {frozenset("14")}
