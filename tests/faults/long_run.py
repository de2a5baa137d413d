"""Two hours of a level network, replayed as fast as it goes, with faults and without.

    python -m tests.faults.long_run [--events 7200000] [--faults 120] [--kills 30] [--plot FILE]

The feed's own truth is the yardstick: after every run the final graph is that of the feed, and
every slot has its release, cut at the feed's own offsets, with exactly the people of that slot and
all their ties. Runs: in simulation (real loop, store on disk) undisturbed and with faults; as a
process on a real broker undisturbed, with its memory measured, and killed with SIGKILL. Prints one
line per run, and exits with an error if anything differs.
"""

from __future__ import annotations

import argparse
import csv
import dataclasses
import random
import statistics
import tempfile
import threading
import time
import uuid
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from kafka import KafkaProducer

from connectors.kafka_topics import KafkaSettings, Role, TopicSpec, create_topics
from ktsafe import PrivacyParams
from ops.broker.broker import Broker
from state.ledger import ReleaseRecord
from stream import assembly
from stream.slots import FixedSlots
from tests.faults import errors, level_feed
from tests.faults.level_feed import Truth
from tests.stream.simulation import Tripwire, World, disk_store
from tests.trials import running

LATENESS_S = 300
BATCH = 2_000
WARM_UP = 0.25
"""Share of a run before its memory counts."""
SAMPLE_S = 0.5
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
    faults: int
    kills: int
    seed: int


def main() -> None:
    """Run everything and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, default=7_200_000)
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--releases", type=int, default=8)
    parser.add_argument("--faults", type=int, default=120)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--memory", type=Path, help="write seconds and resident bytes as CSV")
    parser.add_argument("--plot", type=Path, help="plot them too; needs matplotlib")
    given = parser.parse_args()
    every_s = max(1, given.events // 1000 // given.releases)
    plan = Plan(given.events, given.people, every_s, given.faults, given.kills, given.seed)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ktsafe-long-") as temporary:
        folder = Path(temporary)
        every_us = plan.every_s * 1_000_000
        truths = level_feed.write_feed(
            folder / "feed", plan.events, plan.people, plan.seed, every_us=every_us
        )
        say("feed", plan.events, "-", truths, started)
        # The simulation needs no broker: it runs beside the rest, on another core.
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as beside:
            simulated = beside.submit(simulate, folder, plan, truths)
            memory = on_broker(folder, plan, truths)
            simulated.result()
    told = drift(memory)
    print(f"memory after warm-up: {told}")
    if given.memory:
        write_memory(given.memory, memory)
    if given.plot:
        plot(given.plot, memory, told)
    print(f"all in {time.monotonic() - started:.0f} s")


def say(what: str, events: int, faults: object, truths: list[Truth], started: float) -> None:
    """Print the line of one run."""
    seconds = time.monotonic() - started
    last = truths[-1]
    print(
        f"{what} | {events:,} events | {faults} | {len(truths)} slots | "
        f"graph {last.digest} ({len(last.graph[0]):,} people, {len(last.graph[1]):,} ties) | "
        f"{seconds:.0f} s",
        flush=True,
    )


def simulate(folder: Path, plan: Plan, truths: list[Truth]) -> tuple[int, Counter[str]]:
    """Run the feed in simulated time undisturbed, then with faults; return steps and faults."""
    started = time.monotonic()
    wire = Tripwire()
    world = world_of(folder / "undisturbed", folder / "feed", plan)
    world.run(wire=wire, ingest=bounds(), loop={"lateness_max_s": LATENESS_S})
    check_world(world, truths)
    say("simulation, undisturbed", plan.events, "-", truths, started)
    started = time.monotonic()
    world = world_of(folder / "disturbed", folder / "feed", plan)
    done = run_with_faults(world, plan, wire.steps)
    check_world(world, truths)
    say("simulation, with faults", plan.events, dict(done), truths, started)
    return wire.steps, done


def bounds() -> dict[str, Any]:
    """Return the bounds of ingest, the same in simulation and on the broker."""
    return {"batch_records_max": BATCH, "lateness_max_s": LATENESS_S}


def world_of(folder: Path, feed: Path, plan: Plan) -> World:
    """Return a world around a store on disk that reads the mapped feed."""
    world = World(
        folder,
        [],
        store=disk_store(folder / "store", level_feed.SCHEMA),
        params=PrivacyParams(),
        schema=level_feed.SCHEMA,
        slots=FixedSlots(plan.every_s * 1_000_000),
    )
    world.log = level_feed.log_of(feed)
    return world


def run_with_faults(world: World, plan: Plan, steps: int) -> Counter[str]:
    """Run a world to its end, failing it `plan.faults` times; return how often in which way."""
    dice = random.Random(plan.seed)
    done: Counter[str] = Counter()
    kinds = list(errors.KINDS)
    while True:
        # A little closer together than they would fit, so that all of them happen.
        gap = dice.randrange(1, max(2, round(1.5 * steps / max(plan.faults, 1))))
        left = done.total() < plan.faults
        kind = kinds[done.total() % len(kinds)]
        wire = Tripwire(gap if left else None, errors.KINDS[kind])
        try:
            world.run(wire=wire, ingest=bounds(), loop={"lateness_max_s": LATENESS_S})
        except errors.ENDS:
            assert wire.crashed_in, "ended by something that was not planned"
        done[kind] += bool(wire.crashed_in)
        if not wire.crashed_in:
            break
    assert done.total() == plan.faults, f"{done.total()} faults happened"
    return done


def check_world(world: World, truths: list[Truth]) -> None:
    """Check the history of a simulated service against the feed's own truth."""
    store = world.open_store()
    try:
        records = store.ledger.releases()
    finally:
        store.close()
    check_ledger(records, truths)
    for record, truth in zip(records, truths, strict=True):
        people, ties = world.released_people(record.release_id)
        assert people == truth.graph[0], f"other people in {record.release_id}"
        assert ties >= truth.graph[1], f"a tie is missing in {record.release_id}"
    assert level_feed.digest_of(world.graph()) == truths[-1].digest, "another final graph"


def check_ledger(records: list[ReleaseRecord], truths: list[Truth]) -> None:
    """Check that every slot has its release, cut where the feed says."""
    found = [(r.slot_us, tuple(offset for _, offset in sorted(r.offsets.items()))) for r in records]
    assert found == [(truth.slot_us, truth.offsets) for truth in truths], "another history"


def on_broker(folder: Path, plan: Plan, truths: list[Truth]) -> list[tuple[float, int]]:
    """Run the feed on a real broker undisturbed and with kills; return memory by seconds."""
    libs = Path(__file__).resolve().parents[2] / "var/broker/libs"
    broker = Broker(folder / "broker", libs=libs)
    try:
        server = broker.start().bootstrap
        started = time.monotonic()
        topic = fill(server, folder / "feed", len(truths[-1].offsets))
        say("sent to the broker", plan.events, "-", truths, started)

        started = time.monotonic()
        site = site_of(folder / "quiet", server, topic, plan)
        memory = drained(site)
        undisturbed_s = time.monotonic() - started
        check_site(site, truths, folder / "quiet-read")
        say("broker, undisturbed", plan.events, "-", truths, started)

        started = time.monotonic()
        site = site_of(folder / "killed", server, topic, plan)
        killed = kill_and_drain(site, plan, undisturbed_s)
        check_site(site, truths, folder / "killed-read")
        say("broker, kill -9", plan.events, killed, truths, started)
    finally:
        broker.stop()
    return memory


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
        sink=f'kind = "kafka"\ntopic = "{releases}"\ntransactional_id = "{releases}"',
        every=f"{plan.every_s}s",
        kafka=f'\n[kafka]\nbootstrap_servers = ["{server}"]\n',
        checkpoint_records_max=BATCH,
        lateness_max_s=LATENESS_S,
    )


def drained(site: running.Site) -> list[tuple[float, int]]:
    """Drain a feed undisturbed; return seconds since the start and resident bytes."""
    process = site.start("--drain")
    samples: list[tuple[float, int]] = []
    ended = threading.Event()

    def watch() -> None:
        started = time.monotonic()
        while not ended.wait(SAMPLE_S):
            if (resident := resident_bytes(process.pid)) is not None:
                samples.append((time.monotonic() - started, resident))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    code = process.wait()
    ended.set()
    watcher.join()
    assert code == 0, (site.folder / "log.txt").read_text()[-2000:]
    return samples


def resident_bytes(pid: int) -> int | None:
    """Return the resident memory of a process; None if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    lines = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(lines[0].split()[1]) * 1024 if lines else None


def kill_and_drain(site: running.Site, plan: Plan, undisturbed_s: float) -> int:
    """Drain a feed through `plan.kills` kills at random moments; return how many there were."""
    dice = random.Random(plan.seed)
    for done in range(plan.kills):
        # A start takes seconds before the first event; together the kills take the whole run.
        after_s = dice.uniform(1.0, 6.0 + 0.8 * undisturbed_s / plan.kills)
        if not running.kill_at_random(site.start("--drain"), after_s):
            return done
    site.drain(timeout_s=3600)
    return plan.kills


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
    """Check that a release shows exactly the people of its slot, and all ties among them.

    Who left since is blanked in the private mapping, so that only the others can be looked up.
    """
    mapping = dict(rows(site.folder / "state/audit" / release.name / "mapping.csv"))
    people = {name for name in mapping.values() if name}
    assert people == truth.graph[0].keys() & still_there, f"other people in {release.name}"
    ties = {
        (min(mapping[a], mapping[b]), max(mapping[a], mapping[b]))
        for a, b in rows(release / "edges.csv")
        if mapping[a] and mapping[b]
    }
    assert ties >= level_feed.shared_ties(truth.graph[1], people), f"a tie lacks in {release.name}"


def rows(path: Path) -> list[list[str]]:
    """Return the rows of a CSV file without its header."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def drift(memory: list[tuple[float, int]]) -> str:
    """Say how far resident memory moved after the warm-up."""
    warm = [size for _, size in memory[round(len(memory) * WARM_UP) :]]
    half = len(warm) // 2
    if not half:
        return "too short a run"
    before, after = statistics.median(warm[:half]), statistics.median(warm[half:])
    return (
        f"median {before / 2**20:.0f} MiB, then {after / 2**20:.0f} MiB "
        f"({(after - before) / before:+.1%}); least {min(warm) / 2**20:.0f}, "
        f"greatest {max(warm) / 2**20:.0f} MiB"
    )


def write_memory(path: Path, memory: list[tuple[float, int]]) -> None:
    """Write the samples as CSV."""
    lines = [f"{seconds:.1f},{size}\n" for seconds, size in memory]
    path.write_text("seconds,resident_bytes\n" + "".join(lines), encoding="utf-8")


def plot(path: Path, memory: list[tuple[float, int]], told: str) -> None:
    """Draw resident memory over time."""
    from matplotlib.figure import Figure  # noqa: PLC0415 -- only whoever plots needs it

    figure = Figure(figsize=(8, 3))
    axes = figure.subplots()
    axes.plot([s for s, _ in memory], [size / 2**20 for _, size in memory], linewidth=0.8)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("seconds")
    axes.set_ylabel("resident MiB")
    axes.set_title(told, fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


if __name__ == "__main__":
    main()
