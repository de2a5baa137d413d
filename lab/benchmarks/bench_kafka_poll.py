"""Polling a topic: the source of the service beside a bare kafka-python loop.

    python -m lab.benchmarks.bench_kafka_poll [--records 1000000] [--bootstrap host:port]

Writes events of about 150 bytes (lz4) to three partitions of a new topic, then reads all of them
with both, alternating, with the same fetch settings; the hash tells that both read the same. Starts
a broker of its own unless one is named. On a busy machine compare the processor time.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from ktsafe.connectors.kafka_topics import (
    KafkaSettings,
    KafkaSource,
    Role,
    TopicSpec,
    create_topics,
)
from ops.broker.broker import Broker

# After the connectors, which import kafka-python without its warnings.
from kafka import KafkaConsumer, KafkaProducer, TopicPartition  # isort: skip

PARTITIONS = 3
ROUNDS = 3


def event(index: int) -> bytes:
    return (
        b'{"type":"edge.add","source":"person-%08d","target":"person-%08d",'
        b'"time":"2026-01-01T%02d:%02d:%02dZ","comment":"%030d"}'
        % (
            index,
            index * 7919 % 10_000_019,
            index // 3600 % 24,
            index // 60 % 60,
            index % 60,
            index,
        )
    )


def fill(bootstrap: str, topic: str, count: int) -> float:
    producer = KafkaProducer(
        bootstrap_servers=bootstrap,
        compression_type="lz4",
        linger_ms=20,
        batch_size=256 * 1024,
        metrics_enabled=False,
    )
    started = time.perf_counter()
    for index in range(count):
        producer.send(topic, value=event(index), partition=index % PARTITIONS)
    producer.flush(timeout=120)
    elapsed = time.perf_counter() - started
    producer.close(timeout=10)
    return elapsed


def bare(settings: KafkaSettings, topic: str, count: int) -> tuple[float, list[bytes]]:
    consumer = KafkaConsumer(**KafkaSource(settings, topic)._options())
    partitions = [TopicPartition(topic, index) for index in range(PARTITIONS)]
    consumer.assign(partitions)
    for at, offset in consumer.beginning_offsets(partitions).items():
        consumer.seek(at, offset)
    values: list[bytes] = []
    started = time.perf_counter()
    while len(values) < count:
        for records in consumer.poll(timeout_ms=200, max_records=2000).values():
            values += [record.value for record in records]
    elapsed = time.perf_counter() - started
    consumer.close(autocommit=False, timeout_ms=1000)
    return elapsed, values


def ours(settings: KafkaSettings, topic: str, count: int) -> tuple[float, list[bytes]]:
    source = KafkaSource(settings, topic)
    source.open({}, {})
    values: list[bytes] = []
    started = time.perf_counter()
    while len(values) < count:
        values += [record.value or b"" for record in source.poll(0.2, 2000)]
    elapsed = time.perf_counter() - started
    source.close()
    return elapsed, values


def run(bootstrap: str, count: int) -> None:
    settings = KafkaSettings(bootstrap_servers=(bootstrap,), group_id="")
    topic = f"bench-{os.getpid()}"
    create_topics(settings, [TopicSpec(name=topic, role=Role.EVENTS, partitions=PARTITIONS)])
    elapsed = fill(bootstrap, topic, count)
    size = len(event(count - 1))
    print(f"produced {count} records of {size} B, lz4: {count / elapsed:,.0f}/s")
    loops: dict[str, Callable[[KafkaSettings, str, int], tuple[float, list[bytes]]]] = {
        "bare kafka-python poll loop": bare,
        "KafkaSource.poll": ours,
    }
    best: dict[str, float] = {}
    cheapest: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, loop in loops.items():
            busy = time.process_time()
            elapsed, values = loop(settings, topic, count)
            busy = time.process_time() - busy
            digest = hashlib.sha256(b"\n".join(sorted(values))).hexdigest()[:16]
            best[name] = max(best.get(name, 0.0), count / elapsed)
            cheapest[name] = min(cheapest.get(name, busy), busy)
            print(f"{name}: {count / elapsed:,.0f} records/s, {busy:.2f} s of cpu, hash {digest}")
    (bare_rate, our_rate), (bare_busy, our_busy) = best.values(), cheapest.values()
    print(f"best of {ROUNDS}: {our_rate / bare_rate:.2f} of the bare rate, ", end="")
    print(f"{our_busy / bare_busy:.2f} of its cpu time")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--bootstrap")
    options = parser.parse_args()
    if options.bootstrap:
        run(options.bootstrap, options.records)
        return
    home = Path(f"var/broker/bench-{os.getpid()}")
    broker = Broker(home, libs=Path("var/broker/libs"))
    try:
        run(broker.start().bootstrap, options.records)
    finally:
        broker.stop()
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
