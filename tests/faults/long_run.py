"""Days of a level network, replayed as fast as it goes, with kills and without.

    python -m tests.faults.long_run [--events 7200000] [--kills 30]

The feed's own truth is the yardstick: after every run the final graph is that of the feed, and
every slot has its release, cut at the feed's own offsets, made of exactly that slot's people and
ties. A process on a real broker runs undisturbed, with its memory measured, and then killed with
SIGKILL. Prints one line per run, and exits with an error if anything differs.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import json
import math
import os
import random
import re
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

from ktsafe.connectors.kafka_topics import KafkaSettings, Role, TopicSpec, create_topics
from ktsafe.state.ledger import ReleaseRecord
from ktsafe.stream.service import assembly
from ops.broker.broker import Broker
from tests import running
from tests.faults import level_feed, memory, processes
from tests.faults.level_feed import Truth
from tests.faults.memory import Sample
from tests.faults.trials import commit, put_section

# After the connectors, which import kafka-python without its warnings.
from kafka import KafkaProducer  # isort: skip

SECTION = """\
`{command}`, revision `{commit}`: a network of {people:,} people, as many of whom join as leave,
replayed as fast as it goes, beside other work. After each run the final graph is that of the feed,
and every slot has its release, cut at the feed's own offsets and made of that slot's people and
ties.

| run | events | kills | releases | final graph | time |
|---|---|---|---|---|---|
{rows}

Resident memory of the service on the broker, undisturbed, of the last three quarters of its run
one half and the other: {memory}. Events are {step_s:g} s apart in their own time, and tombstones of
the last {late_s:,} s are kept: of {kept:,} events. With the 7 days of the default memory would be
level after {week:,} events.
"""
ROWS: list[str] = []
STEP_US = 100_000
"""Event time from one event to the next."""
LATENESS_S = 1800
"""Tombstones of so much event time are kept: memory is level once they fill it."""
BATCH = 10_000
ATTRIBUTES: dict[str, Any] = {
    "quasi_identifiers": list(level_feed.SCHEMA.quasi_identifiers),
    "sensitive": level_feed.SCHEMA.sensitive,
    "sensitive_values": sorted(level_feed.SCHEMA.sensitive_values),
}


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is run.

    Attributes
    ----------
    people:
        Level of the network; it has four times as many ties.
    every_s:
        Event time between releases.
    """

    events: int
    people: int
    every_s: int
    kills: int
    seed: int


def main() -> None:
    """Run everything and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=7_200_000)
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--releases", type=int, default=8)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="put the table into this page")
    given = parser.parse_args()
    revision = commit()
    every_s = max(1, given.events * STEP_US // 1_000_000 // given.releases)
    plan = Plan(given.events, given.people, every_s, given.kills, given.seed)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ktsafe-long-") as temporary:
        folder = Path(temporary)
        every_us = plan.every_s * 1_000_000
        truths = level_feed.write_feed(
            folder / "feed", plan.events, plan.people, plan.seed, every_us=every_us, step_us=STEP_US
        )
        say("feed", plan.events, "-", truths, started)
        samples = on_broker(folder, plan, truths)
    told = memory.drift(samples)
    print(f"all in {time.monotonic() - started:.0f} s")
    if given.out:
        section = SECTION.format(
            command=" ".join(["python -m tests.faults.long_run", *sys.argv[1:]]),
            people=plan.people,
            step_s=STEP_US / 1_000_000,
            late_s=LATENESS_S,
            kept=LATENESS_S * 1_000_000 // STEP_US,
            week=7 * 86_400 * 1_000_000 // STEP_US,
            commit=revision,
            rows="\n".join(ROWS),
            memory=told,
        )
        put_section(given.out, "Long run", section)


def say(what: str, events: int, faults: object, truths: list[Truth], started: float) -> None:
    """Print the line of one run."""
    seconds = time.monotonic() - started
    times = os.times()
    cores = times.user + times.system + times.children_user + times.children_system
    last = truths[-1]
    ROWS.append(
        f"| {what} | {events:,} | {faults} | {len(truths)} | "
        f"{last.digest}: {len(last.graph[0]):,} people, {len(last.graph[1]):,} ties | "
        f"{seconds:.0f} s, {cores:.0f} core s so far |"
    )
    print(ROWS[-1], flush=True)


def bounds() -> dict[str, Any]:
    """Return the bounds of ingest."""
    return {"batch_records_max": BATCH, "lateness_max_s": LATENESS_S}


def check_ledger(records: list[ReleaseRecord], truths: list[Truth]) -> None:
    """Check that every slot has its release, cut where the feed says.

    The ledger has the offsets of the last two; of the others the callers compare the graphs.
    """
    found = [(r.slot_us, tuple(offset for _, offset in sorted(r.offsets.items()))) for r in records]
    expected = [(truth.slot_us, ()) for truth in truths[:-2]]
    expected += [(truth.slot_us, truth.offsets) for truth in truths[-2:]]
    assert found == expected, "another history"


def on_broker(folder: Path, plan: Plan, truths: list[Truth]) -> list[Sample]:
    """Run the feed on a real broker undisturbed and with kills; return memory undisturbed."""
    libs = Path(__file__).resolve().parents[2] / "var/broker/libs"
    broker = Broker(folder / "broker", libs=libs)
    try:
        server = broker.start().bootstrap
        started = time.monotonic()
        topic = fill(server, folder / "feed", len(truths[-1].offsets))
        say("sent to the broker", plan.events, "-", truths, started)

        started = time.monotonic()
        site = site_of(folder / "quiet", server, topic, plan)
        samples = drained(site)
        print(f"memory after warm-up: {memory.drift(samples)}", flush=True)
        check_site(site, truths, folder / "quiet-read")
        say("broker, undisturbed", plan.events, "-", truths, started)

        started = time.monotonic()
        site = site_of(folder / "killed", server, topic, plan)
        kill_and_drain(site, plan)
        check_site(site, truths, folder / "killed-read")
        say("broker, kill -9", plan.events, plan.kills, truths, started)
    finally:
        broker.stop()
    return samples


def fill(server: str, feed: Path, partitions: int) -> str:
    """Send the feed to a new topic and return its name."""
    topic = f"long-{uuid.uuid4().hex[:8]}"
    spec = TopicSpec(name=topic, role=Role.EVENTS, partitions=partitions)
    create_topics(KafkaSettings(bootstrap_servers=(server,)), [spec])
    producer = KafkaProducer(
        bootstrap_servers=server, compression_type="lz4", linger_ms=50, batch_size=262_144
    )
    failures: list[Exception] = []
    for number, value in level_feed.in_turn(level_feed.mapped(feed)):
        producer.send(topic, value, partition=number).add_errback(failures.append)
    producer.flush()
    producer.close()
    assert not failures, failures[0]
    return topic


def site_of(folder: Path, server: str, topic: str, plan: Plan) -> running.Site:
    """Return a service of its own on the feed's topic."""
    releases = f"releases-{uuid.uuid4().hex[:8]}"
    spec = TopicSpec(name=releases, role=Role.RELEASES)
    create_topics(KafkaSettings(bootstrap_servers=(server,)), [spec])
    return running.site(
        folder,
        attributes=ATTRIBUTES,
        source=f'kind = "kafka"\ntopic = "{topic}"',
        sink=f'kind = "kafka"\ntopic = "{releases}"',
        every=f"{plan.every_s}s",
        kafka=f'\n[kafka]\nbootstrap_servers = ["{server}"]\n',
        batch_records_max=BATCH,
        lateness_max_s=LATENESS_S,
    )


def drained(site: running.Site) -> list[Sample]:
    """Drain a feed undisturbed; return the memory of the service."""
    process = site.start("--drain")
    samples = memory.watched_until_end(process)
    assert process.returncode == 0, (site.folder / "log.txt").read_text()[-2000:]
    return samples


def kill_and_drain(site: running.Site, plan: Plan) -> None:
    """Drain a feed through `plan.kills` kills, each somewhere in its own part of the feed."""
    seen = processes.watched(site)
    for point in spread(plan.events, plan.kills, plan.seed):
        process = site.start("--drain")
        processes.seconds_until(lambda left=plan.events - point: lag(seen) <= left, process)
        process.kill()
        process.wait()
    site.drain_apart(timeout_s=3600)


def lag(seen: processes.Watched) -> float:
    """Return how many events the running service has not read; infinity while it does not say."""
    found = re.findall(r"^ktsafe_source_lag_records\{[^}]*\} (\S+)", seen.metrics(), re.MULTILINE)
    return sum(map(float, found)) if found else math.inf


def spread(length: int, count: int, seed: int) -> list[int]:
    """Return a random point of each of `count` equal parts of the first 9 tenths of a length.

    So all of them are met, even if a run that is disturbed takes somewhat fewer steps.
    """
    dice = random.Random(seed)
    return [int(0.9 * length * (part + dice.random()) / count) for part in range(count)]


def check_site(site: running.Site, truths: list[Truth], into: Path) -> None:
    """Check graph, history and releases of a service against the feed's own truth."""
    store = assembly.open_store(site.settings)
    try:
        records = store.ledger.releases()
    finally:
        store.close()
    check_ledger(records, truths)
    assert level_feed.digest_of(site.graph()) == truths[-1].digest, "another final graph"
    releases = site.releases(into)
    assert sorted(releases) == sorted(record.release_id for record in records)
    running.verify_releases(sorted(into.iterdir()))
    for record, truth in zip(records, truths, strict=True):
        check_release(site, into / record.release_id, truth, set(truths[-1].graph[0]))
    assert site.dead_letters() == 0


def check_release(site: running.Site, release: Path, truth: Truth, still_there: set[str]) -> None:
    """Check that a release was made of its slot's graph, and says of it what its audit says.

    Who left since is blanked in the private mapping, so that only the others can be looked up; of
    the last slot everybody is there.
    """
    private = site.folder / "state/audit" / release.name
    told = json.loads((private / "audit.json").read_bytes())["usefulness"]
    vertices, ties = truth.graph
    assert told["vertices"]["true"] == len(vertices), f"other people in {release.name}"
    assert told["edges"]["true"] == len(ties), f"other ties in {release.name}"
    mapping = dict(rows(private / "mapping.csv"))
    people = {name for name in mapping.values() if name}
    assert people <= vertices.keys() & still_there, f"other people in {release.name}"
    named = ((mapping[a], mapping[b]) for a, b in rows(release / "edges.csv"))
    true = sum((min(pair), max(pair)) in ties for pair in named if all(pair))
    assert true <= told["edges"]["shared"], f"more true ties in {release.name}"
    if still_there >= vertices.keys():
        assert (len(people), true) == (told["vertices"]["shared"], told["edges"]["shared"])


def rows(path: Path) -> list[list[str]]:
    """Return the rows of a CSV file without its header."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


if __name__ == "__main__":
    main()
