"""Runs the service as its users do, as a process, and reads back what it left behind."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import signal
import subprocess
import sys
import time
import tomllib
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, Final, TextIO

from ktsafe.connectors.kafka_topics import KafkaSettings, Role, TopicSpec, create_topics
from ktsafe.stream.cli import run_command
from ktsafe.stream.config import settings as config
from ktsafe.stream.errors import Exit
from ktsafe.stream.files.releases_read import read_manifest
from ktsafe.stream.service import assembly
from tests import feeds
from tests.launcher import Overrides, overridden

# After the connectors, which import kafka-python without its warnings.
from kafka import KafkaProducer  # isort: skip

UNATTACKED = """\
[attack]
budget = 0
"""
"""Attacks take most of what a small release costs, and few tests ask for their figures."""

SMALL_BATCHES: Final = {"ingest": {"batch_records_max": 500}}
"""A small feed has several checkpoints."""

CONFIG = (
    """\
[attributes]
{attributes}

[source]
{source}

[sink]
{sink}

[dead_letters]
kind = "files"
path = "dead-letters.jsonl"

[state]
folder = "state"

[privacy]

[release]
min_f1 = 0.0
every = "{every}"
effort = "fast"
idle_s = 3600

[ingest]
lateness_max_s = {lateness_max_s}

[metrics]
listen = "127.0.0.1:0"

"""
    + UNATTACKED
)


@dataclasses.dataclass(frozen=True, slots=True)
class Site:
    """A folder with one service's configuration and everything it keeps."""

    folder: Path
    overrides: Overrides = dataclasses.field(default_factory=lambda: SMALL_BATCHES)
    """What its processes have in place of constants of the program: see `tests.launcher`."""

    @property
    def config(self) -> Path:
        """The configuration file."""
        return self.folder / "ktsafe.toml"

    @property
    def settings(self) -> config.Settings:
        """The checked configuration."""
        return config.load(self.config)

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start `ktsafe run` as a process of its own."""
        command = [sys.executable, "-m", "tests.launcher", json.dumps(self.overrides)]
        command += ["run", str(self.config), *arguments]
        with (self.folder / "log.txt").open("ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log)

    def drain(self) -> None:
        """Run the service in this process until the feed has ended; raises if it fails."""
        path = self.folder / "log.txt"
        with path.open("a") as log, overridden(self.overrides):
            code, _ = commanded(["run", str(self.config), "--drain"], log)
        assert code == Exit.OK, f"exit {code}:\n{path.read_text()[-2000:]}"

    def drain_apart(self, timeout_s: float) -> None:
        """Run the service in a process of its own until the feed has ended; raises if it fails."""
        process = self.start("--drain")
        if process.wait(timeout_s) != 0:
            msg = f"exit {process.returncode}:\n{(self.folder / 'log.txt').read_text()[-2000:]}"
            raise AssertionError(msg)

    def wait_until(
        self, holds: Callable[[], bool], process: subprocess.Popen[bytes], within_s: float = 240.0
    ) -> None:
        """Wait until something holds; the process must not end before."""
        deadline = time.monotonic() + within_s
        while not holds():
            log = (self.folder / "log.txt").read_text()[-2000:]
            assert process.poll() is None, log
            assert time.monotonic() < deadline, log
            time.sleep(0.02)

    def has_audits(self, number: int = 1) -> bool:
        """Whether so many releases were made, published or not yet."""
        return len([*self.folder.glob("state/audit/*/audit.json")]) >= number

    def graph(self) -> feeds.Graph:
        """Return the true graph in the store, in the form of `feeds.fold`."""
        store = assembly.open_store(self.settings)
        try:
            snapshot = store.snapshot()
        finally:
            store.close()
        vertices = {name: snapshot.graph.values(v) for v, name in enumerate(snapshot.ids)}
        named = ((snapshot.ids[u], snapshot.ids[v]) for u, v in snapshot.graph.edges.tolist())
        return vertices, {(min(pair), max(pair)) for pair in named}

    def offsets(self) -> dict[tuple[str, int], int]:
        """Return the stored next offsets."""
        store = assembly.open_store(self.settings)
        try:
            return {p: position.next_offset for p, position in store.positions().items()}
        finally:
            store.close()

    def releases(self, into: Path) -> dict[str, tuple[str, int]]:
        """Rebuild all releases in `into`: id to (manifest sha256, vertices)."""
        sink, site = self.settings.config.sink, self.settings.site
        folder = sink.folder_handed_out(site)
        if folder is not None and not folder.exists():
            return {}  # Killed before its sink was opened for the first time.
        reader = sink.release_reader(site)
        into.mkdir(parents=True, exist_ok=True)
        try:
            return {
                bundle.release_id: (bundle.digest(), read_manifest(bundle.folder).vertices)
                for bundle in reader.read(into)
            }
        finally:
            reader.close()

    def dead_letters(self) -> int:
        """Return the number of lines in the dead-letter file."""
        path = self.folder / "dead-letters.jsonl"
        return len(path.read_bytes().splitlines()) if path.exists() else 0


def site(
    folder: Path,
    *,
    attributes: dict[str, Any],
    source: str,
    sink: str,
    every: str,
    kafka: str = "",
    batch_records_max: int = 500,
    lateness_max_s: int = 3_153_600_000,
) -> Site:
    """Write a configuration into a new folder."""
    folder.mkdir(parents=True)
    text = CONFIG.format(
        attributes="\n".join(f"{name} = {json.dumps(value)}" for name, value in attributes.items()),
        source=source,
        sink=sink,
        every=every,
        lateness_max_s=lateness_max_s,
    )
    (folder / "ktsafe.toml").write_text(text + kafka, encoding="utf-8")
    return Site(folder, {"ingest": {"batch_records_max": batch_records_max}})


def files_site(
    folder: Path,
    partitions: Sequence[Sequence[feeds.Event]],
    attributes: dict[str, Any],
    every: str,
) -> Site:
    """Return a service that reads one file per partition and publishes to a folder."""
    feed = folder.parent / "feed"
    feed.mkdir()
    names = [f"../feed/{name}" for name in write_feed(feed, partitions)]
    source = f'kind = "files"\npaths = {json.dumps(names)}'
    return site(
        folder,
        attributes=attributes,
        source=source,
        sink='kind = "files"\nfolder = "releases"',
        every=every,
    )


def sequence_site(
    folder: Path,
    events: Sequence[feeds.Event],
    attributes: dict[str, Any],
    every: str,
    sequence: str,
) -> Site:
    """Return a service on one file with default effort and some options of sequences, as TOML."""
    made = files_site(folder, [events], attributes, every)
    text = made.config.read_text(encoding="utf-8").replace('effort = "fast"\n', "")
    made.config.write_text(text, encoding="utf-8")
    return dataclasses.replace(
        made, overrides={**made.overrides, "sequence": tomllib.loads(sequence)}
    )


def kafka_site(
    folder: Path,
    partitions: Sequence[Sequence[feeds.Event]],
    attributes: dict[str, Any],
    every: str,
    server: str,
) -> Site:
    """Return a service on new topics of a broker, the feed sent already."""
    run = uuid.uuid4().hex[:8]
    specs = [
        TopicSpec(name=f"events-{run}", role=Role.EVENTS, partitions=len(partitions)),
        TopicSpec(name=f"releases-{run}", role=Role.RELEASES),
    ]
    create_topics(KafkaSettings(bootstrap_servers=(server,)), specs)
    send(server, f"events-{run}", partitions)
    return site(
        folder,
        attributes=attributes,
        source=f'kind = "kafka"\ntopic = "events-{run}"',
        sink=f'kind = "kafka"\ntopic = "releases-{run}"',
        every=every,
        kafka=f'\n[kafka]\nbootstrap_servers = ["{server}"]\n',
    )


def send(server: str, topic: str, partitions: Sequence[Sequence[feeds.Event]]) -> None:
    """Send a feed to a topic, as dealt out to its partitions."""
    producer = KafkaProducer(bootstrap_servers=server, compression_type="lz4", linger_ms=20)
    failures: list[Exception] = []
    for number, events in enumerate(partitions):
        for event in events:
            sent = producer.send(topic, json.dumps(event).encode(), partition=number)
            sent.add_errback(failures.append)
    producer.flush()
    producer.close()
    assert not failures, failures[0]


def write_feed(folder: Path, partitions: Sequence[Sequence[feeds.Event]]) -> list[str]:
    """Write one file per partition and return their names."""
    names = []
    for number, events in enumerate(partitions):
        path = folder / f"feed-{number}.jsonl"
        path.write_text("".join(json.dumps(event) + "\n" for event in events), encoding="utf-8")
        names.append(path.name)
    return names


def verify_releases(folders: Iterable[Path]) -> None:
    """Run `ktsafe verify` on releases; raises unless all are kt-safe."""
    said = io.StringIO()
    code, told = commanded(["verify", *map(str, folders)], said)
    assert code == Exit.OK, told[-2000:] + said.getvalue()[-2000:]


def audit_history(site: Site, releases: Path, feed: Path) -> dict[str, Any]:
    """Run `ktsafe audit` on a folder of releases, with the mappings and the feed as the truth.

    Returns its part on the only sequence. Raises unless the promise is kept, w = all with cover.
    """
    beside = [f"--map={site.folder / 'state' / 'audit'}", f"--truth={feed}"]
    said = io.StringIO()
    code, told = commanded(["audit", "--json", *beside, str(releases)], said)
    assert code in (Exit.OK, Exit.UNSAFE), said.getvalue()[-2000:]
    report = json.loads(told)
    broken = {found["kind"] for found in report["violations"]}
    assert all(kind.startswith("linked_") for kind in broken), broken
    assert report["promise"] == {"window": "all", "cover": True}
    (sequence,) = report["sequences"]
    found: dict[str, Any] = sequence
    return found


def commanded(words: list[str], said: TextIO) -> tuple[int, str]:
    """Run a command in this process; return its exit code and what it printed."""
    told = io.StringIO()
    with redirect_stdout(told), redirect_stderr(said):
        return run_command(words), told.getvalue()


def kill_at_random(process: subprocess.Popen[bytes], after_s: float) -> bool:
    """Kill -9 a running service after a time; False if it had ended by itself before."""
    deadline = time.monotonic() + after_s
    while time.monotonic() < deadline:
        if process.poll() is not None:
            return False
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    return True
