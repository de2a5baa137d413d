"""Kills the service a thousand times with SIGKILL, in files and on a broker, and looks after it.

    python -m tests.faults.kills [--files 1000] [--broker 200] [--seed 1]

One feed after the other is read by a service that is killed again and again at random moments of
its life, from its start to its last release, until one start reaches the end. Half of the feeds
make single releases, half a sequence. Then the graph is the independent fold of all events, every
record was consumed once, each release is there once, and its tables have the bytes that they have
where nobody is killed (an undisturbed run of the same seed; only the random `sequence_id` differs).
Anything else ends the command. A service is a process of its own, forked from one that is loaded
already (`warm_service`); starts from nothing are killed by `python -m tests.faults`.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from ktsafe.connectors.kafka_topics import (
    KafkaReleaseReader,
    KafkaSettings,
    Role,
    TopicSpec,
    chunks,
    create_topics,
)
from ktsafe.stream.files.releases_read import read_release
from ktsafe.verify import verify
from tests import feeds, running, services
from tests.faults import on_broker, warm_service
from tests.faults.trials import commit, put_section

PEOPLE, PARTITIONS = 60, 2
ATTRIBUTES = {**services.ATTRIBUTES, "quasi_identifiers": ["gender"]}
"""So few groups of people that most are shown."""
TABLES = ("vertices.csv", "edges.csv")
KILLS_PER_FEED = 25
PATIENCE_S = 240.0
OPTIONS = "[release]\nseed = {seed}"
SECTION = """\
`{command}`, revision `{commit}`. A service reads one feed after the other and is killed with
SIGKILL at random moments between its start and its last release, until one start reaches the end.
Every second feed makes a sequence, the others single releases.

After each feed: the graph is the
independent fold of its events, each record was consumed once, each release is there once and
kt-safe, and its tables are, byte for byte, those of a service that nobody killed.

The service is forked from a process that has loaded all modules; seconds under other load.

| way | kill -9 | feeds | events | releases | lost | double | bytes | start to kill, median |
|---|---|---|---|---|---|---|---|---|
{rows}
"""

forks = get_context("forkserver")
forks.set_forkserver_preload(["tests.faults.warm_service"])


@dataclasses.dataclass
class Tally:
    """What was seen so far, of one way to read and publish."""

    kills: int = 0
    feeds: int = 0
    events: int = 0
    releases: int = 0
    seconds: list[float] = dataclasses.field(default_factory=list)

    def told(self, way: str) -> str:
        """Return the line of the table."""
        return (
            f"| {way} | {self.kills:,} | {self.feeds} | {self.events:,} | {self.releases:,} "
            f"| 0 | 0 | identical | {statistics.median(self.seconds):.2f} s |"
        )


def main() -> None:
    """Kill as often as asked for, and print a row for each way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--broker", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="put the table into this page")
    given = parser.parse_args()
    command = " ".join(["python -m tests.faults.kills", *sys.argv[1:]]).partition(" --out")[0]
    rows, revision = [], commit()
    for way, kills, make in (("files", given.files, on_files), ("broker", given.broker, on_topics)):
        tally, seed = Tally(), given.seed
        while tally.kills < kills:
            with TemporaryDirectory(prefix="ktsafe-kills-") as folder:
                try:
                    one_feed(make, Path(folder), seed, kills - tally.kills, tally)
                except BaseException:
                    print(f"FAILED: {way}, seed {seed}", file=sys.stderr, flush=True)
                    raise
            seed += 1
            if tally.feeds % 10 == 0:
                print(f"{way}: {tally.kills} kills, {tally.feeds} feeds", flush=True)
        if kills:
            rows.append(tally.told(way))
    told = SECTION.format(command=command, commit=revision, rows="\n".join(rows))
    print(told)
    if given.out:
        put_section(given.out, "Kills", told)


Make = Callable[[Path, list[list[feeds.Event]]], tuple[running.Site, running.Site]]
"""Makes two services on one feed: one to be killed, and one that is left alone."""


def on_files(
    folder: Path, partitions: list[list[feeds.Event]]
) -> tuple[running.Site, running.Site]:
    """Make two services on the same files."""
    site = running.files_site(folder / "killed", partitions, ATTRIBUTES, "month")
    return site, copied(site, folder / "alone")


def on_topics(
    folder: Path, partitions: list[list[feeds.Event]]
) -> tuple[running.Site, running.Site]:
    """Make two services on the same topic of events, with topics of their own for releases."""
    server = on_broker.bootstrap()
    site = running.kafka_site(folder / "killed", partitions, ATTRIBUTES, "month", server)
    topic = release_topic(site)
    spec = TopicSpec(name=f"{topic}-alone", role=Role.RELEASES)
    create_topics(KafkaSettings(bootstrap_servers=(server,)), [spec])
    return site, copied(site, folder / "alone", (f'"{topic}"', f'"{topic}-alone"'))


def copied(site: running.Site, folder: Path, *changes: tuple[str, str]) -> running.Site:
    """Return another service with the same configuration but for some changes."""
    folder.mkdir()
    text = site.config.read_text()
    for before, after in changes:
        text = text.replace(before, after)
    (folder / "ktsafe.toml").write_text(text)
    return dataclasses.replace(site, folder=folder)


def release_topic(site: running.Site) -> str:
    """Return the topic that a service publishes to; empty if it publishes to a folder."""
    return site.settings.config.sink.kafka_topic or ""


def one_feed(make: Make, folder: Path, seed: int, kills_max: int, tally: Tally) -> None:
    """Kill the reader of one feed until it reaches the end, and check what it left."""
    events = feeds.perturbed(services.small_feed(people=PEOPLE, seed=seed), seed)
    partitions = feeds.assigned(events, PARTITIONS, seed)
    killed, alone = make(folder, partitions)
    for site in (killed, alone):
        text = site.config.read_text().replace("[privacy]", '[privacy]\nk = 2\nalpha = "1/2"')
        site.config.write_text(text.replace("[release]", OPTIONS.format(seed=seed)))
    undisturbed_s = lived(alone, None)
    assert undisturbed_s is not None
    wanted = tables(alone, folder / "wanted")
    dice = random.Random(seed)
    for _ in range(min(kills_max, KILLS_PER_FEED)):
        started = time.monotonic()
        if lived(killed, dice.uniform(0.0, 0.7 * undisturbed_s)) is not None:
            break
        tally.kills += 1
        tally.seconds.append(time.monotonic() - started)
    else:
        lived(killed, None)
    found = tables(killed, folder / "found")
    assert found == wanted, f"other releases: {sorted(found)}, {sorted(wanted)}"
    assert len(found) >= 3
    assert repeated(killed) == [], "a release was committed to its topic twice"
    assert killed.graph() == feeds.fold(partitions, ("gender", ATTRIBUTES["sensitive"]))
    consumed = sum(killed.offsets().values())
    assert consumed == sum(map(len, partitions)), f"{consumed} records consumed"
    assert killed.dead_letters() == 0
    tally.feeds += 1
    tally.events += consumed
    tally.releases += len(found)


def lived(site: running.Site, for_s: float | None) -> float | None:
    """Start a service; return the seconds it took to its end, or None if it was killed before."""
    given = site.overrides, site.config, site.folder / "log.txt", "--drain"
    process = forks.Process(target=warm_service.serve, args=given, daemon=True)
    started = time.monotonic()
    process.start()
    process.join(PATIENCE_S if for_s is None else for_s)
    is_killed = process.is_alive()
    if is_killed:
        assert for_s is not None, "it hangs"
        process.kill()
        process.join()
    code = process.exitcode
    if is_killed and code == -9:
        return None
    assert code == 0, f"exit {code}: {(site.folder / 'log.txt').read_text()[-2000:]}"
    return time.monotonic() - started


def tables(site: running.Site, into: Path) -> dict[str, list[bytes]]:
    """Return the tables of each release that readers see; all are kt-safe."""
    found = {}
    for release_id in site.releases(into):
        release = read_release(into / release_id)
        parts = release.quasi_identifiers(), release.is_sensitive(), release.edges
        assert verify(*parts, release.params).is_safe, f"{release_id} is not safe"
        found[release_id] = [(into / release_id / name).read_bytes() for name in TABLES]
    return found


def repeated(site: running.Site) -> list[str]:
    """Return the releases that a topic holds twice, committed."""
    topic = release_topic(site)
    if not topic:
        return []
    settings = KafkaSettings(bootstrap_servers=(on_broker.bootstrap(),))
    parts = map(chunks.decode, KafkaReleaseReader(settings, topic)._records(follow=False))
    ids = Counter(part.release_id for part in parts if part and part.kind == chunks.MARKER)
    return [release_id for release_id, times in ids.items() if times > 1]


if __name__ == "__main__":
    main()
