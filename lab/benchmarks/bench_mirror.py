"""Rows of tables as Debezium tells them, beside the same network as plain events.

    python -m lab.benchmarks.bench_mirror [--records N] [--turns N]

Both are read from memory into a store on disk, by turns, in one process: once as plain events, once
as envelopes, once as envelopes that carry their schema, as Connect writes them by default. Prints
core microseconds per record (the median of the turns), the ratios, and a hash of the final graph,
which is the same for all.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import tempfile
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ktsafe import Schema
from ktsafe.state.rocksdb import RocksDBStore
from ktsafe.stream.ingest.debezium import MirroredTable
from ktsafe.stream.ingest.ingest import Ingest, IngestSettings
from ktsafe.stream.observer import Observer
from ktsafe.stream.process import process
from ktsafe.stream.slots import Clocks
from tests.memory_connectors import MemoryDeadLetterSink, MemoryLog, MemorySource

PARTITIONS = 3
SCHEMA = Schema(("gender", "age", "region"), "health", frozenset({"chronic"}))
TABLES = (
    MirroredTable("people", {"id": "id"}),
    MirroredTable("ties", {"source": "a", "target": "b"}),
)
BEGIN_US = 1_767_225_600_000_000
PEOPLE = {
    "id": "string",
    "gender": "string",
    "age": "int32",
    "region": "string",
    "health": "string",
}
TIES = {"k": "int64", "a": "string", "b": "string", "since": "string"}

Told = tuple[str, str, dict[str, Any]]
"""What happens to a row: table, operation, and the row."""


def network(count: int, seed: int) -> list[Told]:
    """Return so many changes of rows: a tenth joins, then ties, changes of people, removals."""
    rng = np.random.default_rng(seed)
    n_people = max(count // 10, 2)
    told: list[Told] = []
    held: dict[tuple[int, int], dict[str, Any]] = {}
    pairs: list[tuple[int, int]] = []
    while len(told) < count:
        joins = len(told) < n_people
        kind = rng.random()
        if joins or kind < 0.1:
            i = len(told) if joins else int(rng.integers(n_people))
            told.append(("people", "c" if joins else "u", _person(i, int(rng.integers(1 << 16)))))
        elif kind < 0.95 or not pairs:
            u, v = sorted(rng.integers(0, n_people, 2).tolist())
            if u != v and (u, v) not in held:
                row = {"k": len(told), "a": _id(u), "b": _id(v), "since": "producer-0001"}
                held[u, v] = row
                pairs.append((u, v))
                told.append(("ties", "c", row))
        else:
            at = int(rng.integers(len(pairs)))
            pairs[at], pairs[-1] = pairs[-1], pairs[at]
            told.append(("ties", "d", held.pop(pairs.pop())))
    return told


def _id(i: int) -> str:
    return f"person-{i:012d}"


def _person(i: int, bits: int) -> dict[str, Any]:
    return {
        "id": _id(i),
        "gender": "fm"[bits & 1],
        "age": 20 + 5 * (bits >> 1 & 7),
        "region": f"region-{bits >> 4 & 7}",
        "health": "chronic" if bits >> 7 & 15 == 0 else "well",
    }


def event(told: Told, n: int) -> tuple[bytes | None, bytes]:
    """Return a change as a plain event."""
    table, op, row = told
    at = {"time": f"2026-01-01T00:{n // 60_000 % 60:02d}:{n // 1000 % 60:02d}.{n % 1000:03d}Z"}
    if table == "people":
        values = {name: value for name, value in row.items() if name != "id"}
        said = {"type": "vertex.upsert", "id": row["id"], "attributes": values} | at
    else:
        kind = "edge.remove" if op == "d" else "edge.add"
        said = {"type": kind, "source": row["a"], "target": row["b"]} | at
    return None, _encoded(said)


def envelope(told: Told, n: int, *, schemas: bool) -> tuple[bytes | None, bytes]:
    """Return a change as Debezium 3.6 tells it of a PostgreSQL."""
    table, op, row = told
    key_of, columns = ("id", PEOPLE) if table == "people" else ("k", TIES)
    at_us = BEGIN_US + n * 1000
    times = {"ts_ms": at_us // 1000, "ts_us": at_us, "ts_ns": at_us * 1000}
    source = {"version": "3.6.1.Final", "connector": "postgresql", "name": "shop"}
    source |= {"ts_ms": times["ts_ms"], "snapshot": "false", "db": "postgres"}
    source |= {"sequence": f'["{n}","{n}"]', "ts_us": at_us, "ts_ns": at_us * 1000}
    source |= {"schema": "public", "table": table, "txId": 700 + n, "lsn": 23_287_976 + 100 * n}
    source |= {"xmin": None, "origin": None, "origin_lsn": None}
    keyed = {c: row[c] if c == key_of else None for c in columns}
    both = {"before": keyed, "after": None} if op == "d" else {"before": None, "after": row}
    order = {"id": f"{700 + n}:{n}", "total_order": 1, "data_collection_order": 1}
    value = both | {"source": source, "transaction": order, "op": op} | times
    key = {key_of: row[key_of]}
    if schemas:
        fields = [_field(c, kind, optional=c != key_of) for c, kind in columns.items()]
        name = f"shop.public.{table}"
        of_key = {"type": "struct", "fields": [each for each in fields if not each["optional"]]}
        of_key |= {"optional": False, "name": f"{name}.Key"}
        value = {"schema": _schema(name, fields), "payload": value}
        key = {"schema": of_key, "payload": key}
    return _encoded(key), _encoded(value)


def _schema(name: str, fields: list[Any]) -> Any:
    """Return the schema of an envelope, with all that the converter writes."""
    row = {"type": "struct", "fields": fields, "optional": True, "name": f"{name}.Value"}
    texts = ("version", "connector", "name", "snapshot", "db", "sequence", "schema", "table")
    numbers = ("ts_ms", "ts_us", "ts_ns", "txId", "lsn", "xmin", "origin", "origin_lsn")
    source = [_field(c, "string") for c in texts] + [_field(c, "int64") for c in numbers]
    of_source = {"type": "struct", "fields": source, "optional": False}
    of_source |= {"name": "io.debezium.connector.postgresql.Source", "version": 1}
    order = [_field(c, "int64") for c in ("id", "total_order", "data_collection_order")]
    of_order = {"type": "struct", "fields": order, "optional": True, "name": "event.block"}
    all_fields = [row | {"field": "before"}, row | {"field": "after"}]
    all_fields += [of_source | {"field": "source"}, of_order | {"field": "transaction"}]
    all_fields += [
        _field("op", "string"),
        *(_field(f"ts_{u}", "int64") for u in ("ms", "us", "ns")),
    ]
    return {"type": "struct", "fields": all_fields, "optional": False, "name": f"{name}.Envelope"}


def _field(name: str, kind: str, *, optional: bool = True) -> Any:
    return {"type": kind, "optional": optional, "field": name}


def _encoded(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def filled(told: Sequence[Told], way: str) -> MemoryLog:
    """Return a topic with all changes; those of a row, or a person, are on one partition."""
    log = MemoryLog(partitions=PARTITIONS)
    for n, each in enumerate(told):
        key, value = event(each, n) if way == "events" else envelope(each, n, schemas=way != "rows")
        row_key = str(next(iter(each[2].values()))).encode()
        log.append(zlib.crc32(row_key) % PARTITIONS, value, key=key)
    return log


def read(log: MemoryLog, way: str, folder: Path) -> tuple[float, str]:
    """Return the core seconds that a topic takes into a new store, and a hash of the graph."""
    store = RocksDBStore.open(folder, SCHEMA)
    source = MemorySource(log)
    source.open({}, {})
    letters = MemoryDeadLetterSink()
    ingest = Ingest(
        source,
        store,
        letters,
        schema=SCHEMA,
        settings=IngestSettings(tables=() if way == "events" else TABLES),
        observer=Observer(),
        clocks=Clocks(wall_us=lambda: 0),
    )
    started = time.process_time()
    while ingest.round(lambda *_: True, 2**62, waits=False):
        if ingest.checkpoint_due():
            ingest.checkpoint()
    ingest.checkpoint()
    seconds = time.process_time() - started
    assert not letters.letters
    snapshot = store.snapshot()
    names = snapshot.ids
    pairs = sorted(tuple(sorted((names[u], names[v]))) for u, v in snapshot.graph.edges.tolist())
    people = sorted((name, str(snapshot.graph.values(v))) for v, name in enumerate(names))
    store.close()
    return seconds, hashlib.sha256(repr((people, pairs)).encode()).hexdigest()[:16]


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--turns", type=int, default=3)
    given = parser.parse_args()
    told = network(given.records, seed=1)
    ways = ("events", "rows", "rows with schemas")
    took: dict[str, list[float]] = {way: [] for way in ways}
    hashes = set()
    process.collect_seldom()  # As every command does.
    logs = {way: filled(told, way) for way in ways}
    for _ in range(given.turns):
        for way in ways:
            with tempfile.TemporaryDirectory(prefix="ktsafe-bench-") as folder:
                seconds, digest = read(logs[way], way, Path(folder) / "state")
            took[way].append(seconds)
            hashes.add(digest)
    (digest,) = hashes
    core_us = {way: statistics.median(took[way]) / given.records * 1e6 for way in ways}
    found = {
        "records": given.records,
        "core_us": {way: round(each, 2) for way, each in core_us.items()},
        "records_per_s_beside_events": {
            way: round(core_us["events"] / core_us[way], 3) for way in ways[1:]
        },
        "graph_hash": digest,
    }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
