"""Ingest end to end (poll, decode, apply, checkpoint) beside a bare poll loop, on a real broker.

    python -m tests.benchmarks.bench_ingest [--records N] [--kafka HOST:PORT]

Both loops read the same topic with the same fetch settings in one run; the bare loop goes first, so
that the pages are warm for both. Prints events per second, their ratio, and a hash of the final
graph.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
from kafka import KafkaProducer

from connectors.base import TopicPartition
from connectors.kafka_topics import KafkaSettings, Role, TopicSpec, create_topics
from connectors.memory import MemoryDeadLetterSink
from ktsafe import Schema
from ops.broker.broker import Broker
from state.store import GraphStore
from stream import assembly, config
from stream.ingest import Ingest, IngestSettings
from stream.observer import Observer

PARTITIONS = 3
SCHEMA = {
    "quasi_identifiers": ["gender", "age", "region"],
    "sensitive": "health",
    "sensitive_values": ["chronic"],
}


def records(count: int, seed: int) -> Iterator[bytes]:
    """Yield `count` encoded events of about 150 bytes: joins, ties, changes and removals."""
    rng = np.random.default_rng(seed)
    people = max(count // 10, 2)
    encode = msgspec.json.Encoder().encode
    kinds = rng.random(count)
    pairs = rng.integers(0, people, (count, 2))
    values = rng.integers(0, 1 << 16, count)
    for i in range(count):
        time_text = (
            f"2026-01-01T{i // 3_600_000 % 24:02d}:{i // 60_000 % 60:02d}:00.{i % 1000:03d}Z"
        )
        u, v = (f"person-{x:012d}" for x in pairs[i])
        joins = i < people
        if joins or kinds[i] < 0.1:
            bits = int(values[i])
            attributes = {
                "gender": "fm"[bits & 1],
                "age": str(20 + 5 * (bits >> 1 & 7)),
                "region": f"region-{bits >> 4 & 7}",
                "health": "chronic" if bits >> 7 & 15 == 0 else "well",
            }
            name = f"person-{i:012d}" if joins else u
            yield encode(
                {"type": "vertex.upsert", "id": name, "attributes": attributes, "time": time_text}
            )
        elif u != v:
            kind = "edge.add" if kinds[i] < 0.95 else "edge.remove"
            padding = "producer-0001/session-0000001"
            yield encode(
                {"type": kind, "source": u, "target": v, "time": time_text, "origin": padding}
            )
        else:
            yield encode({"type": "vertex.upsert", "id": u, "attributes": {}, "time": time_text})


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--kafka", help="bootstrap server; default: start a broker for the run")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ktsafe-bench-") as temporary:
        if given.kafka:
            measure(given.kafka, given.records, Path(temporary))
            return

        broker = Broker(Path(temporary) / "broker")
        try:
            measure(broker.start().bootstrap, given.records, Path(temporary))
        finally:
            broker.stop()


def measure(server: str, count: int, folder: Path) -> None:
    """Fill a topic, read it both ways, print what was seen."""
    topic = f"bench-{uuid.uuid4().hex[:8]}"
    size = _fill(server, topic, count)
    settings = config.check(
        {
            "attributes": SCHEMA,
            "source": {"kind": "kafka", "topic": topic},
            "sink": {"kind": "files", "folder": "releases"},
            "dead_letters": {"kind": "files", "path": "dead.jsonl"},
            "state": {"folder": "state"},
            "release": {"every": "1d"},
            "kafka": {"bootstrap_servers": [server]},
        },
        folder,
        "bench",
    )
    bare_s = _bare(settings, count)
    store = assembly.open_store(settings)
    try:
        ingest_s = _ingest(settings, store, count)
        digest = _hash(store)
    finally:
        store.close()
    print(
        json.dumps(
            {
                "records": count,
                "mean_bytes": round(size / count, 1),
                "bare_poll_per_s": round(count / bare_s),
                "ingest_per_s": round(count / ingest_s),
                "ratio": round(bare_s / ingest_s, 3),
                "graph_hash": digest,
            }
        )
    )


def _fill(server: str, topic: str, count: int) -> int:
    spec = TopicSpec(name=topic, role=Role.EVENTS, partitions=PARTITIONS)
    create_topics(KafkaSettings(bootstrap_servers=(server,)), [spec])
    producer = KafkaProducer(
        bootstrap_servers=server, compression_type="lz4", linger_ms=50, batch_size=262_144
    )
    size = 0
    failures: list[Exception] = []
    for number, value in enumerate(records(count, seed=1)):
        size += len(value)
        sent = producer.send(topic, value, partition=number % PARTITIONS)
        sent.add_errback(failures.append)
    producer.flush()
    producer.close()
    assert not failures, failures[0]
    return size


def _bare(settings: config.Settings, count: int) -> float:
    """Return the seconds that polling alone takes."""
    source = assembly.source(settings)
    source.open({}, {})
    seen = 0
    started = time.perf_counter()
    while seen < count:
        seen += len(source.poll(0.2, 2_000))
    seconds = time.perf_counter() - started
    source.close()
    return seconds


def _ingest(settings: config.Settings, store: GraphStore, count: int) -> float:
    """Return the seconds that the whole way into the store takes."""
    source = assembly.source(settings)
    source.open({}, {})
    ingest = Ingest(
        source,
        store,
        MemoryDeadLetterSink(),
        schema=Schema(
            tuple(SCHEMA["quasi_identifiers"]), "health", frozenset(SCHEMA["sensitive_values"])
        ),
        settings=IngestSettings(),
        observer=Observer(),
        monotonic=time.monotonic,
    )
    seen = 0
    started = time.perf_counter()
    while seen < count:
        seen += ingest.round(lambda _partition, _time_us: True)
        if ingest.checkpoint_due():
            ingest.checkpoint()
    ingest.checkpoint()
    seconds = time.perf_counter() - started
    source.close()
    expected = {TopicPartition(settings.config.source.topic, p) for p in range(PARTITIONS)}
    assert set(store.positions()) == expected
    assert sum(position.next_offset for position in store.positions().values()) == count
    return seconds


def _hash(store: GraphStore) -> str:
    snapshot = store.snapshot()
    digest = hashlib.sha256()
    names = snapshot.ids
    digest.update("\n".join(sorted(names)).encode())
    pairs = sorted(tuple(sorted((names[u], names[v]))) for u, v in snapshot.graph.edges.tolist())
    digest.update(repr(pairs).encode())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    main()
