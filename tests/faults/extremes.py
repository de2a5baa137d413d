"""Sizes and neighbours that nobody should have: what the service does, how long, how much memory.

    python -m tests.faults.extremes [--only NAME] [--ties 1000000] [--partitions 10000] [--out FILE]

Every case runs as a process of its own, or in one; a process that does not do what the table says
of it ends the command.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import NamedTuple

from ktsafe.connectors.errors import SinkConflict
from ktsafe.connectors.kafka_topics import KafkaReleaseReader, chunks
from ktsafe.graph.datasets import SOCIAL_FEED_SCHEMA
from ktsafe.stream.monitoring.metrics import PrometheusMetrics
from ktsafe.stream.monitoring.monitoring import Endpoints, StatusServer
from ktsafe.stream.slots import FixedSlots
from ops.broker.broker import Broker
from tests import feeds, running, services
from tests.connectors import test_chunks
from tests.faults import on_broker, processes
from tests.faults.trials import commit, put_section
from tests.integration.cluster import Cluster
from tests.integration.conftest import SETTINGS
from tests.stream.service.simulation import World, disk_store

from kafka.errors import KafkaError  # isort: skip
from kafka import KafkaConsumer  # isort: skip -- after the connectors, which quieten its import

PLAIN = {"quasi_identifiers": ["gender"], "sensitive": "health", "sensitive_values": ["ill"]}
PROBES, DRIPPING = 100, 64
LATENESS_S = 3_153_600_000
HEAP_MB = 3072
"""Memory of a broker of very many partitions: with 512 MB it refused after 8,000."""
STEP = 500
"""Partitions are added so many at a time."""
BOUND_S, BOUND_BYTES = 10, 512 << 20
"""What reading a hostile topic may take of core and memory."""
SECTION = """\
`python -m tests.faults.extremes`, revision `{commit}`, beside other work. Seconds are core seconds
of the process, memory is its greatest.

| what | seen | core | memory |
|---|---|---|---|
{rows}
"""


class Seen(NamedTuple):
    """What one case showed."""

    seen: str
    core_s: float
    bytes_max: int


def main() -> None:
    """Try every case and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="cases whose name holds this text")
    parser.add_argument("--ties", type=int, default=1_000_000)
    parser.add_argument("--partitions", type=int, default=10_000)
    parser.add_argument("--out", type=Path, help="put the table into this page")
    parser.add_argument("--topic", choices=TOPICS, help="only read this topic, in this process")
    given = parser.parse_args()
    if given.topic:
        print(hostile_topic(given.topic))
        return
    cases: dict[str, Callable[[Path], Seen]] = {
        f"a hub of {given.ties:,} ties": lambda folder: hub(folder, given.ties),
        f"{given.partitions:,} partitions": lambda folder: partitions(folder, given.partitions),
        f"{given.partitions:,} partitions, simulated": lambda folder: simulated_partitions(
            folder, given.partitions
        ),
        f"`/healthz` beside {DRIPPING} dripping connections": dripping,
        **{f"release topic: {name}": reading(name) for name in TOPICS},
    }
    rows, revision = [], commit()
    for name, case in cases.items():
        if given.only in name:
            with TemporaryDirectory(prefix="ktsafe-extreme-") as folder:
                seen, core_s, bytes_max = case(Path(folder))
            rows.append(f"| {name} | {seen} | {core_s:.1f} s | {bytes_max >> 20} MB |")
            print(rows[-1], flush=True)
    if given.out:
        section = SECTION.format(commit=revision, rows="\n".join(rows))
        put_section(given.out, "Extremes", section)


def measured(process: subprocess.Popen[bytes], say: Callable[[int], str]) -> Seen:
    """Wait for a process; return what `say` makes of its exit code, and what it used."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Seen(say(process.returncode), used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)


def hub(folder: Path, ties: int) -> Seen:
    """Let one person have a million ties, among a million people with one each."""
    feed = folder / "feed.jsonl"
    with feed.open("w") as file:
        for line in hub_feed(ties):
            file.write(line)
    site = running.site(
        folder / "site",
        attributes=PLAIN,
        source='kind = "files"\npaths = ["../feed.jsonl"]',
        sink='kind = "files"\nfolder = "releases"',
        every="1d",
        batch_records_max=10_000,
    )
    started = time.monotonic()

    def say(code: int) -> str:
        log = (site.folder / "log.txt").read_text()
        assert code == 0, log[-2000:]
        figures = [line for line in log.splitlines() if line.strip().startswith(("last", "withh"))]
        running.verify_releases([site.folder / "releases"])
        told = "; ".join(" ".join(line.split()) for line in figures)
        return f"{2 * ties + 1:,} events, {told}, kt-safe; {time.monotonic() - started:.0f} s"

    return measured(site.start("--drain"), say)


def hub_feed(ties: int) -> Iterator[str]:
    """Yield the lines of the hub's feed: everybody joins, then everybody ties with one."""
    for number in range(ties + 1):
        values = {"gender": "fm"[number % 2], "health": "ill" if number % 20 == 0 else "well"}
        event = {"type": "vertex.upsert", "id": f"p{number}", "attributes": values}
        yield json.dumps({**event, "time": "2026-01-01T08:00:00Z"}) + "\n"
    for number in range(1, ties + 1):
        tie = {"type": "edge.add", "source": "p0", "target": f"p{number}"}
        yield json.dumps({**tie, "time": "2026-01-01T09:00:00Z"}) + "\n"


def partitions(folder: Path, count: int) -> Seen:
    """Read a feed that is dealt out to very many partitions of a real broker."""
    dealt = feeds.assigned(services.small_feed(), count, 1)
    libs = on_broker.ROOT / "var/broker/libs"
    broker = Broker(folder / "broker", libs=libs, settings=SETTINGS, heap_mb=HEAP_MB)
    try:
        return drained_partitions(folder, dealt, broker.start().bootstrap)
    finally:
        broker.stop()


def drained_partitions(folder: Path, dealt: list[list[feeds.Event]], server: str) -> Seen:
    """Make a topic for the feed, send it, read and release all of it."""
    count = len(dealt)
    # Kafka makes fewer than 10,000 partitions at a time, and takes a while for each.
    first = dealt[:STEP]
    site = running.kafka_site(folder / "site", first, services.ATTRIBUTES, "month", server)
    topic = site.settings.config.source.topic
    cluster = Cluster(server)

    def has(total: int) -> bool:
        with suppress(KafkaError):  # A busy broker refuses now and then.
            cluster.admin.create_partitions({topic: total})
        return known_partitions(server, topic) == total

    for total in range(2 * STEP, count + 1, STEP):
        processes.seconds_until(lambda total=total: has(total))
    cluster.close()
    running.send(server, topic, [[] for _ in first] + dealt[len(first) :])
    started = time.monotonic()

    def say(code: int) -> str:
        assert code == 0, (site.folder / "log.txt").read_text()[-2000:]
        seconds = time.monotonic() - started
        services.check(site, dealt, folder / "read")
        filled = sum(map(bool, dealt))
        events = sum(map(len, dealt))
        return f"{events:,} events in {filled:,} of them, all read and released in {seconds:.0f} s"

    return measured(site.start("--drain"), say)


def simulated_partitions(folder: Path, count: int) -> Seen:
    """Read such a feed with the real loop and a store on disk; the broker is in memory."""
    dealt = feeds.assigned(services.small_feed(), count, 1)
    month_us = 30 * 86_400_000_000
    before = time.process_time()
    store = disk_store(folder / "store", SOCIAL_FEED_SCHEMA)
    slots = FixedSlots(month_us)
    world = World(folder, dealt, store=store, schema=SOCIAL_FEED_SCHEMA, slots=slots)
    late = {"lateness_max_s": LATENESS_S}
    world.run(loop=late, ingest={**late, "batch_records_max": 500})
    assert world.graph() == feeds.fold(dealt, SOCIAL_FEED_SCHEMA.attributes)
    assert not world.letters
    used = resource.getrusage(resource.RUSAGE_SELF)
    events, releases = sum(map(len, dealt)), len(world.releases.releases)
    seen = f"{events:,} events in {sum(map(bool, dealt)):,} of them, all read, {releases} releases"
    return Seen(seen, time.process_time() - before, used.ru_maxrss * 1024)


def known_partitions(server: str, topic: str) -> int:
    """Return how many partitions a new client is told of."""
    consumer = KafkaConsumer(bootstrap_servers=server, metrics_enabled=False)
    found = consumer.partitions_for_topic(topic)
    consumer.close()
    return len(found or ())


def dripping(_folder: Path) -> Seen:
    """Ask how the service is while others send a byte now and then of a request without end."""
    server = StatusServer(Endpoints(PrometheusMetrics()), port=0)
    server.start()

    def connect() -> socket.socket:
        client = socket.create_connection(("127.0.0.1", server.port))
        client.sendall(b"GET / HTTP/1.1\r\nX-a: ")
        return client

    clients, over = [connect() for _ in range(DRIPPING)], threading.Event()

    def drip() -> None:
        while not over.wait(0.2):
            for number, client in enumerate(clients):
                try:
                    client.sendall(b"x")
                except OSError:
                    clients[number] = connect()

    dripper = threading.Thread(target=drip)
    dripper.start()
    before, waited = time.process_time(), []
    for _ in range(PROBES):
        started = time.perf_counter()
        with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/healthz", timeout=5) as answer:
            answer.read()
        waited.append(time.perf_counter() - started)
        time.sleep(0.2)
    over.set()
    dripper.join()
    for client in clients:
        client.close()
    server.close()
    assert max(waited) < 1, f"{max(waited):.1f} s"
    core_s, used = time.process_time() - before, resource.getrusage(resource.RUSAGE_SELF)
    slowest = f"{PROBES} answers, the slowest after {1000 * max(waited):.0f} ms"
    return Seen(slowest, core_s, used.ru_maxrss * 1024)


def _endless() -> Iterator[chunks.ReleasePart]:
    block = b"x" * 512 * 1024
    return (chunks.part(f"s-{n:05d}", n, chunks.CHUNK, block) for n in range(2_000))


def _small() -> Iterator[chunks.ReleasePart]:
    return (chunks.part("s-0002", n, chunks.CHUNK, b"x" * 512) for n in range(200_000))


def _far() -> Iterator[chunks.ReleasePart]:
    yield chunks.part("s-0002", chunks.SEQ_MAX - 1, chunks.CHUNK, b"x" * 512 * 1024)
    forged = {"chunks": chunks.SEQ_MAX, "chunk_bytes": 512 * 1024}
    yield from test_chunks.release(b"content", release_id="s-0002", **forged)[-2:]


def _lies() -> Iterator[chunks.ReleasePart]:
    yield from test_chunks.release(b"content", release_id="s-0002", chunks=10**12)


TOPICS: dict[str, Callable[[], Iterator[chunks.ReleasePart]]] = {
    "2,000 releases begun and never ended, 1 GB": _endless,
    "200,000 chunks without a marker": _small,
    "one chunk with the greatest number, a marker that counts on all": _far,
    "a marker of 10^12 chunks": _lies,
}


def reading(name: str) -> Callable[[Path], Seen]:
    """Return a case that reads one hostile topic."""

    def read(_folder: Path) -> Seen:
        command = [sys.executable, "-m", "tests.faults.extremes", "--topic", name]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        text = process.stdout.read().decode().strip()
        found = measured(process, lambda code: f"{text}" if code == 0 else f"exit {code}")
        assert text, found
        assert found.bytes_max < BOUND_BYTES
        return found

    return read


def hostile_topic(name: str) -> str:
    """Read a topic with one good release before what is hostile; return how that ended."""
    honest = test_chunks.release(b"earlier")
    records = (
        SimpleNamespace(headers=part.headers(), value=part.value, timestamp=7)
        for part in itertools.chain(honest, TOPICS[name]())
    )
    reader: KafkaReleaseReader = test_chunks.reader_of([])
    reader._records = lambda *, follow: records  # type: ignore[method-assign, assignment]
    started = time.monotonic()
    with TemporaryDirectory(prefix="ktsafe-topic-") as folder:
        try:
            seen = [bundle.release_id for bundle in reader.read(Path(folder) / "out")]
            ended = f"{len(seen)} release read"
        except SinkConflict:
            ended = "refused"
        left = sum(path.stat().st_blocks * 512 for path in Path(folder).rglob("*"))
    assert left < 1 << 20
    assert time.process_time() < BOUND_S
    return f"{ended} after {time.monotonic() - started:.1f} s"


if __name__ == "__main__":
    main()
