"""The whole service in simulated time: real loop, real mechanism, in-memory surroundings.

A `World` is what outlives a crash of the service: log, disk, releases, dead letters, staged files.
`World.run` starts a service in it, which reads back its state; a `Tripwire` ends that service at an
exact step.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from ktsafe import PrivacyParams, Schema
from ktsafe.connectors.base import DeadLetter, DeadLetterSink, ReleaseSink, Source
from ktsafe.connectors.secrets import Signer
from ktsafe.sequence import SequenceOptions
from ktsafe.state.rocksdb import RocksDBStore
from ktsafe.state.snapshot import GraphSnapshot
from ktsafe.state.store import GraphStore
from ktsafe.stream.assessment import AttackSettings
from ktsafe.stream.files.releases_write import release_id
from ktsafe.stream.ingest.ingest import IngestSettings
from ktsafe.stream.monitoring.summary import Counts, Summary
from ktsafe.stream.observer import Observer, Observers
from ktsafe.stream.process.pool import Workers
from ktsafe.stream.release.linked import LinkedReleases
from ktsafe.stream.release.mechanism import Built, DueRelease
from ktsafe.stream.release.publish import Executor
from ktsafe.stream.release.snapshotter import BuildSettings
from ktsafe.stream.service.service import Ports, ServiceSettings, run_service
from ktsafe.stream.service.slot_clock import LoopSettings
from ktsafe.stream.slots import Clocks, FixedSlots, Slots
from tests import feeds
from tests.memory_connectors import (
    Crash,
    Faults,
    MemoryDeadLetterSink,
    MemoryLog,
    MemoryReleaseReader,
    MemoryReleases,
    MemoryReleaseSink,
    MemorySource,
)
from tests.memory_store import MemoryDisk, MemoryStore

SCHEMA = Schema(
    ("gender",), "health", frozenset({"ill"}), expect_absent={"ill", "gender", "health"}
)
PARAMS = PrivacyParams(k=2, alpha="1/2")
SLOT_US = 10_000_000
SEQUENCE = SequenceOptions(sybil_margin=0, margin=0, effort="fast")


class Inline:
    """Runs a task at once, so that steps come in one order."""

    def submit(self, task: Callable[[], Any]) -> Future[Any]:
        """Run `task` and return its finished future."""
        future: Future[Any] = Future()
        try:
            future.set_result(task())
        except Exception as error:  # noqa: BLE001 -- handed to whoever asks the future
            future.set_exception(error)
        return future


def event(kind: str, seconds: float, *ends: str, **attributes: str) -> feeds.Event:
    """Return an event at `seconds` after the epoch."""
    time = feeds.iso(round(seconds * 1_000_000))
    if kind.startswith("vertex"):
        found = {"type": kind, "id": ends[0], "time": time}
        return found | ({"attributes": attributes} if attributes else {})
    return {"type": kind, "source": ends[0], "target": ends[1], "time": time}


class Tripwire:
    """Counts the steps of every object it is tied to, and fails at one of them.

    A step is the moment before or after a call of one of the object's methods. How it fails is said
    by `error`, which is given the name of the step; by default the service crashes.
    """

    def __init__(
        self, at_step: int | None = None, error: Callable[[str], BaseException] = Crash
    ) -> None:
        self.at_step = at_step
        self.error = error
        self.steps = 0
        self.crashed_in = ""

    def tied(self, thing: Any) -> Any:
        """Return a stand-in for `thing` whose method calls count as steps."""
        return _Tied(self, thing)

    def watches(self, method: str) -> bool:
        """Whether calls of a method count as steps."""
        del method
        return True

    def step(self, name: str) -> None:
        """Count one step; fail if it is the one."""
        if self.steps == self.at_step:
            self.crashed_in = name
            self.steps += 1
            raise self.error(name)
        self.steps += 1


class _Tied:
    def __init__(self, wire: Tripwire, thing: Any) -> None:
        self._wire = wire
        self._thing = thing

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._thing, name)
        if name == "ledger":
            return _Tied(self._wire, value)
        if not callable(value) or not self._wire.watches(name):
            return value

        def call(*args: Any, **kwargs: Any) -> Any:
            self._wire.step(f"before {type(self._thing).__name__}.{name}")
            result = value(*args, **kwargs)
            self._wire.step(f"after {type(self._thing).__name__}.{name}")
            return result

        return call


class World:
    """Everything around a service that outlives it."""

    def __init__(
        self,
        folder: Path,
        partitions: Sequence[Sequence[feeds.Event | bytes | None]],
        *,
        store: Callable[[], GraphStore] | None = None,
        params: PrivacyParams = PARAMS,
        schema: Schema = SCHEMA,
        slots: Slots | None = None,
        sequence: SequenceOptions = SEQUENCE,
        seed: int | None = None,
    ) -> None:
        self.folder = folder
        self.schema = schema
        self.params = params
        self.slots = slots or FixedSlots(SLOT_US)
        self.seed = seed
        self.sequence = sequence
        self.log = MemoryLog(partitions=len(partitions))
        for number, events in enumerate(partitions):
            self.extend(number, events)
        self.disk = MemoryDisk()
        self.open_store = store or (lambda: MemoryStore(self.schema, self.disk))
        self.releases = MemoryReleases()
        self.letters: list[DeadLetter] = []
        self.faults = Faults()
        self.open_source: Callable[[], Source] = lambda: MemorySource(self.log)
        self.open_sink: Callable[[], ReleaseSink] = lambda: MemoryReleaseSink(
            self.releases, self.faults
        )
        self.open_dead_letters: Callable[[], DeadLetterSink] = lambda: MemoryDeadLetterSink(
            self.letters, self.faults
        )
        self.min_f1 = 0.0
        """The owner's floor at the gate."""
        self.change_max = 1.0
        """How many may change at once; whatever is drawn is meant."""
        self.epsilon_per_year_micro = 0
        """What statistics beside the releases may cost."""
        self.attack = AttackSettings()
        """How releases are attacked; not at all, unless a test asks for it."""
        self.signer: Signer | None = None
        """Who signs releases."""
        self.now_s = 0.0
        self.mappings: dict[str, dict[str, str]] = {}
        """Who was who when a release was built; the files forget who is deleted later."""
        self.value_at: dict[str, dict[str, str]] = {}
        """For each vertex of a release the one that shows its value, where they are exchanged."""
        self.built: dict[str, str] = {}
        """The sealed cut of every release that was built: another service's may be what lands."""
        self.cuts: dict[str, feeds.Graph] = {}
        """The true graph that every release was built from: a release may hide some of it."""

    def extend(self, partition: int, events: Sequence[feeds.Event | bytes | None]) -> None:
        """Append events to the log."""
        for item in events:
            value = json.dumps(item).encode() if isinstance(item, dict) else item
            self.log.append(partition, value)

    def run(
        self,
        *,
        wire: Tripwire | None = None,
        observer: Observer | None = None,
        stopping: Callable[[], bool] = lambda: False,
        loop: dict[str, Any] | None = None,
        ingest: dict[str, Any] | None = None,
        open_control: Callable[[], Any] | None = None,
        executor: Executor | None = None,
    ) -> Counts:
        """Run one service until its feed is drained, it is stopped, or it crashes."""
        tied = wire.tied if wire else lambda thing: thing
        summary = Summary()

        def monotonic() -> float:
            self.now_s += 0.001
            return self.now_s

        def sleep(seconds: float) -> None:
            self.now_s += seconds

        ports = Ports(
            open_store=lambda: tied(self.open_store()),
            open_dead_letters=lambda: tied(self.open_dead_letters()),
            source=tied(self.open_source()),
            sink=tied(self.open_sink()),
            open_control=open_control,
            open_reader=lambda: MemoryReleaseReader(self.releases),
        )
        settings = ServiceSettings(
            schema=self.schema,
            ingest=IngestSettings(**({"batch_records_max": 3} | (ingest or {}))),
            loop=LoopSettings(**({"slots": self.slots, "drain": True} | (loop or {}))),
            build=BuildSettings(
                params=self.params,
                mechanism=_Watched(self),
                staging_dir=self.folder / "staging",
                audit_dir=self.folder / "audit",
                seed=self.seed,
                min_f1=self.min_f1,
                slots=self.slots,
                epsilon_per_year_micro=self.epsilon_per_year_micro,
                signer=self.signer,
                attack=self.attack,
                options=self.sequence,
            ),
            publish_retry_s=0.5,
        )
        run_service(
            ports,
            settings,
            observer=Observers(summary, _Mappings(self), observer or Observer()),
            stopping=stopping,
            clocks=Clocks(lambda: round(self.now_s * 1_000_000), monotonic, sleep),
            executor=executor or Inline(),
        )
        return summary.counts

    def graph(self) -> feeds.Graph:
        """Return the true graph, in the form of `feeds.fold`."""
        store = self.open_store()
        try:
            return folded(store.snapshot())
        finally:
            store.close()

    def digests(self) -> dict[str, str]:
        """Return the manifest of every release published so far, by id."""
        return {
            name: files["manifest.json"].decode()
            for name, (_, files) in self.releases.releases.items()
        }

    def released_people(self, name: str) -> feeds.Graph:
        """Return a release under true ids, by the private mapping, without inserted vertices."""
        files = self.releases.releases[name][1]
        mapping, value_at = self.mappings[name], self.value_at[name]
        rows = {row[0]: row[1:] for row in _rows(files["vertices.csv"].decode())}
        told = {v: [*row[:-1], rows[value_at.get(v, v)][-1]] for v, row in rows.items()}
        vertices = {
            mapping[v]: dict(zip(self.schema.attributes, row, strict=True))
            for v, row in told.items()
            if mapping[v]
        }
        ties = {
            (min(mapping[a], mapping[b]), max(mapping[a], mapping[b]))
            for a, b in _rows(files["edges.csv"].decode())
            if mapping[a] and mapping[b]
        }
        return vertices, ties


def disk_store(path: Path, schema: Schema) -> Callable[[], GraphStore]:
    """Return what opens a store on disk, as the process after a crash would.

    A process that ended holds no lock; here the former store may still be open.
    """
    former: list[RocksDBStore] = []

    def opened() -> GraphStore:
        for store in former:
            store.close()
        former[:] = [RocksDBStore.open(path, schema)]
        return former[0]

    return opened


class _Watched(LinkedReleases):
    """Makes the releases of one run, and keeps the true graph of each."""

    def __init__(self, world: World) -> None:
        super().__init__(
            world.params,
            world.sequence,
            open_reader=lambda: MemoryReleaseReader(world.releases),
            audit_dir=world.folder / "audit",
            change_max=world.change_max,
            workers=Workers(1),
        )
        self._world = world

    def build(self, due: DueRelease) -> Built:
        self._world.cuts[release_id(due.index, due.cut.slot_us)] = folded(due.snapshot)
        return super().build(due)


def folded(snapshot: GraphSnapshot) -> feeds.Graph:
    """Return a true graph in the form of `feeds.fold`."""
    vertices = {name: snapshot.graph.values(v) for v, name in enumerate(snapshot.ids)}
    named = ((snapshot.ids[u], snapshot.ids[v]) for u, v in snapshot.graph.edges.tolist())
    return vertices, {(min(pair), max(pair)) for pair in named}


class _Mappings(Observer):
    """Keeps the mapping of every release as it is when it has been built."""

    def __init__(self, world: World) -> None:
        self._world = world

    def release_phase(self, phase: str, seconds: float) -> None:
        if phase == "audit":
            path = max((self._world.folder / "audit").glob("*/mapping.csv"))
            name = path.parent.name
            self._world.mappings[name] = dict(_rows(path.read_text()))
            values = path.with_name("values.csv")
            self._world.value_at[name] = dict(_rows(values.read_text())) if values.exists() else {}
            manifest = self._world.folder / "staging" / name / "manifest.json"
            self._world.built[name] = json.loads(manifest.read_bytes())["cut"]


def _rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))[1:]
