"""Ingest end to end (poll, decode, apply, checkpoint) beside a bare poll loop, on a real broker.

    python -m lab.benchmarks.bench_ingest [--records N] [--kafka HOST:PORT]

All loops read the same topic with the same fetch settings in one run, the garbage collected as
seldom as in the service: the consumer of kafka-python as it is, which goes first, so the pages
are warm for all, our source by itself, and ingest. Prints events per second, ratios by the clock
and by core time, a hash of the final graph, and where the time goes: core and clock microseconds
per record of each stage. On a busy machine only the core microseconds tell anything.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ktsafe import Schema
from ktsafe.connectors.kafka_topics import KafkaSettings, Role, TopicSpec, create_topics
from ktsafe.connectors.kafka_topics.consumer import FetchedRecords
from ktsafe.state import change_log
from ktsafe.state.database import Database
from ktsafe.state.registers import AlteredPeople
from ktsafe.state.store import GraphStore
from ktsafe.stream.config import settings as config
from ktsafe.stream.ingest.ingest import Ingest, IngestSettings
from ktsafe.stream.observer import Observer
from ktsafe.stream.process import process
from ktsafe.stream.service import assembly
from ktsafe.stream.slots import Clocks
from ops.broker.broker import Broker
from tests.memory_connectors import MemoryDeadLetterSink

# After the connectors, which import kafka-python without its warnings.
from kafka import KafkaProducer  # isort: skip
from kafka.consumer.fetcher import Fetcher  # isort: skip

PARTITIONS = 3
AT_ONCE = IngestSettings().batch_records_max
BEYOND_ALL_US = 2**62
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


class Stages:
    """Core and clock seconds by stage; what a stage calls that is one too counts there only."""

    def __init__(self) -> None:
        self.core: defaultdict[str, float] = defaultdict(float)
        self.clock: defaultdict[str, float] = defaultdict(float)
        self._within: list[tuple[float, float]] = []

    def watch(self, owner: Any, method: str, stage: str) -> None:
        """Count the calls of a method of a class or an object under a stage."""
        call = getattr(owner, method)

        def counted(*args: Any, **kwargs: Any) -> Any:
            self._within.append((0.0, 0.0))
            core, clock = time.thread_time(), time.perf_counter()
            try:
                return call(*args, **kwargs)
            finally:
                core, clock = time.thread_time() - core, time.perf_counter() - clock
                core_within, clock_within = self._within.pop()
                self.core[stage] += core - core_within
                self.clock[stage] += clock - clock_within
                if self._within:
                    core_around, clock_around = self._within[-1]
                    self._within[-1] = (core_around + core, clock_around + clock)

        setattr(owner, method, counted)

    def per_record(self, count: int) -> dict[str, dict[str, float]]:
        """Return microseconds per record by stage."""
        return {
            stage: {
                "core_us": round(self.core[stage] / count * 1e6, 2),
                "clock_us": round(self.clock[stage] / count * 1e6, 2),
            }
            for stage in self.core
        }


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
            server = broker.start().bootstrap
            measure(server, given.records, Path(temporary))
        finally:
            broker.stop()


def measure(server: str, count: int, folder: Path) -> None:
    """Fill a topic, read it both ways, print what was seen."""
    topic = f"bench-{uuid.uuid4().hex[:8]}"
    size = _fill(server, topic, count)
    settings = _settings(server, topic, folder)
    stages = Stages()
    process.collect_seldom()  # As every command does. It helps the bare loop too.
    client_s = _bare(settings, count, stages, "bare poll of the client", Fetcher.PartitionRecords)
    source_s = _bare(settings, count, stages, "bare poll of the source", FetchedRecords)
    before_s = sum(stages.core.values())
    ingest_s, digest = _ingest(settings, count, stages)
    core_s = sum(stages.core.values()) - before_s
    print(
        json.dumps(
            {
                "records": count,
                "mean_bytes": round(size / count, 1),
                "client_per_s": round(count / client_s),
                "source_per_s": round(count / source_s),
                "ingest_per_s": round(count / ingest_s),
                "ratio_to_client": round(client_s / ingest_s, 3),
                "ratio_to_client_core": round(stages.core["bare poll of the client"] / core_s, 3),
                "graph_hash": digest,
                "stages": stages.per_record(count),
            },
            indent=2,
        )
    )


def _settings(server: str, topic: str, folder: Path) -> config.Settings:
    return config.check(
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


def _bare(
    settings: config.Settings, count: int, stages: Stages, stage: str, reading: type[Any]
) -> float:
    """Return the seconds that polling alone takes, records read from batches by `reading`."""
    source: Any = assembly.source(settings, drain=True)
    source.open({}, {})
    source._consumer._fetcher.PartitionRecords = reading
    stages.watch(source, "poll", stage)
    seen = 0
    started = time.perf_counter()
    while seen < count:
        seen += len(source.poll(0.2, AT_ONCE))
    seconds = time.perf_counter() - started
    source.close()
    return seconds


def _ingest(settings: config.Settings, count: int, stages: Stages) -> tuple[float, str]:
    """Return the seconds that the whole way into the store takes, and a hash of the graph."""
    store = assembly.open_store(settings)
    source = assembly.source(settings, drain=True)
    source.open({}, {})
    stages.watch(source, "poll", "poll")
    stages.watch(Ingest, "_take", "decode and judge")
    stages.watch(store, "commit", "checkpoint, all else")
    stages.watch(change_log, "said", "checkpoint, hashes and columns")
    stages.watch(AlteredPeople, "merge", "checkpoint, people")
    stages.watch(Database, "commit", "checkpoint, synced write")
    ingest = Ingest(
        source,
        store,
        MemoryDeadLetterSink(),
        schema=Schema(
            tuple(SCHEMA["quasi_identifiers"]), "health", frozenset(SCHEMA["sensitive_values"])
        ),
        settings=IngestSettings(),
        observer=Observer(),
        clocks=Clocks(wall_us=lambda: 0),
    )
    seen = 0
    started = time.perf_counter()
    while seen < count:
        seen += ingest.round(lambda _partition, _time_us: True, BEYOND_ALL_US)
        if ingest.checkpoint_due():
            ingest.checkpoint()
    ingest.checkpoint()
    seconds = time.perf_counter() - started
    source.close()
    assert {partition for _, partition in store.positions()} == set(range(PARTITIONS))
    assert sum(position.next_offset for position in store.positions().values()) == count
    digest = _hash(store)
    store.close()
    return seconds, digest


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
