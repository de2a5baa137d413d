"""What surrounds the service in a history, beyond `World`: cheap releases, late effects, turns."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from ktsafe.connectors import bundles
from ktsafe.connectors.base import MANIFEST, Record, ReleaseBundle, TopicPartition
from ktsafe.errors import NotKTSafe
from ktsafe.state.ledger import Ledger, ReleaseRecord, Status
from ktsafe.stream.files import releases_write
from ktsafe.stream.files.release_figures import release_figures
from ktsafe.stream.files.releases_read import Manifest, ManifestSchema, StatedGuarantee
from ktsafe.stream.release.cut import encrypt_cut
from ktsafe.stream.release.mechanism import DueRelease
from ktsafe.stream.release.snapshotter import Snapshotter, StagedRelease
from tests import feeds
from tests.memory_connectors import Crash, MemoryReleaseSink, MemorySource, unavailable
from tests.stream.service.simulation import Inline, World, folded

if TYPE_CHECKING:
    from tests.histories.history import History

TABLE = "vertices.csv"
WITHHELD_ONE_IN = 13


class CheapSnapshotter(Snapshotter):
    """Stages the true graph as it is, with all that protocol and recovery look at.

    A release holds the digest of the one before it, its cut in cipher, and what was drawn from the
    secret. Some graphs are refused, as a verifier would: the same ones whenever they are built.
    """

    history: History

    def open(self, ledger: Ledger) -> None:
        """Need nothing of former releases."""
        started = self._monotonic()
        self._ledger = ledger
        self._observer.sequence_read(self._monotonic() - started)

    def end_build(self, *, staged: bool) -> None:
        """Remember nothing."""

    def build(self, due: DueRelease) -> StagedRelease:
        """Write one table, a manifest and a mapping."""
        self._check_cancelled()
        assert self._ledger is not None
        self.history.step("before Staging.write")
        release_id = releases_write.release_id(due.index, due.cut.slot_us)
        folder = self.staging_folder(release_id)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        people, ties = folded(due.snapshot)
        before = self._ledger.releases()
        table = json.dumps(
            {
                "before": before[-1].files[MANIFEST] if before else "",
                "drawn": due.drawn("ids", 8).hex(),
                "people": dict(sorted(people.items())),
                "ties": sorted(ties),
            }
        ).encode()
        params = self._settings.params
        manifest = Manifest(
            format=1,
            release_id=release_id,
            sequence_id=due.series.sequence_id,
            nominal_time=None,
            params={"k": params.k},
            guarantee=StatedGuarantee(1, "none"),
            schema=ManifestSchema([], "", []),
            vertices=len(people),
            edges=len(ties),
            sha256={TABLE: _sha256(table)},
            cut=encrypt_cut(due.series, release_id, due.cut, self._erased()),
        )
        text = msgspec.json.encode(manifest)
        (folder / TABLE).write_bytes(table)
        (folder / MANIFEST).write_bytes(text)
        self.history.step("after Staging.write")
        is_refused = due.cut.slot_us // 10_000_000 % WITHHELD_ONE_IN == self.history.refused
        if is_refused and not self.history.is_sharp:
            raise NotKTSafe("planned")
        audit = self._settings.audit_dir / release_id
        audit.mkdir(parents=True, exist_ok=True)
        rows = "".join(f"v{number},{name}\r\n" for number, name in enumerate(sorted(people)))
        mapping = ("release_id,original_id\r\n" + rows).encode()
        (audit / releases_write.MAPPING).write_bytes(mapping)
        self.history.step("after Audit.write")
        if is_refused:  # Its mapping stays, and whoever is deleted later must go from it.
            raise NotKTSafe("planned")
        record = ReleaseRecord(
            index=due.index,
            release_id=release_id,
            sequence_id=due.series.sequence_id,
            slot_us=due.cut.slot_us,
            offsets=due.cut.offsets,
            files={MANIFEST: _sha256(text), TABLE: _sha256(table)},
            status=Status.STAGED,
            n_vertices=len(people),
            n_edges=len(ties),
            n_lives=due.snapshot.n_lives,
            audit={releases_write.MAPPING: _sha256(mapping)},
        )
        return StagedRelease(record, {}, {}, release_figures(record, None))


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class LateSink(MemoryReleaseSink):
    """A sink that tells the history what lands, and where a release may land later than told."""

    def __init__(self, world: World, history: History) -> None:
        super().__init__(world.releases, world.faults)
        self._history = history

    def publish(self, bundle: ReleaseBundle) -> None:
        """Publish, now or when the history says so; then nobody knows what came of it."""
        history, there = self._history, self._releases.releases
        if history.is_late():
            release = bundles.check_bundle(bundle)
            files = {name: (bundle.folder / name).read_bytes() for name in bundle.files}
            item = bundle.nominal_time_ms, files

            def land() -> None:
                last = self.last()
                is_first = last is None or last.release_id < release.release_id
                # A later attempt that landed has ended this one, even if somebody deleted it since.
                is_first &= release.release_id not in history.landings
                if self._epoch == self._releases.epoch and is_first:
                    there[bundle.release_id] = item
                    history.landed(bundle.release_id, files)

            history.in_flight.append(land)
            history.misfortunes.change_staged(bundle)
            raise unavailable() if history.dice.random() < 0.5 else Crash
        if history.misfortunes.another_publishes(bundle, there):
            other = there[bundle.release_id]
            try:
                super().publish(bundle)
            finally:
                if there.pop(bundle.release_id) is not other:
                    history.wrong("the release of another service is written over")
        before = there.get(bundle.release_id)
        super().publish(bundle)
        if there.get(bundle.release_id) != before:
            history.landed(bundle.release_id, there[bundle.release_id][1])


class WatchedSource(MemorySource):
    """A source that compares what is acknowledged with what is durable."""

    def __init__(self, world: World, history: History, durable: Callable[[], Mapping[Any, Any]]):
        super().__init__(world.log)
        self._history = history
        history.source = self
        self._durable = durable
        self._world = world
        self._heard_s: dict[TopicPartition, float] = {}
        self._silent: set[TopicPartition] = set()
        self._should_cut = False

    def poll(self, timeout_s: float, records_max: int) -> list[Record]:
        """Return the next records of partitions that give something now.

        Where all others had arrived or were silent for long, the slot was due in the last round.
        """
        arrived, is_busy = set(self._paused), self._history.is_releasing()
        if (
            not is_busy
            and self._history.cuts_by_time()
            and arrived
            and self._is_silent(arrived)
            and self._should_cut
        ):
            self._history.wrong("a slot waits for partitions that are silent for long enough")
        held = self._history.misfortunes.held_back(self.partitions()) - self._paused
        self._paused |= held
        try:
            records = super().poll(timeout_s, records_max)
        finally:
            self._paused -= held
        self._heard_s.update(
            (TopicPartition(r.topic, r.partition), self._world.now_s) for r in records
        )
        self._silent = {
            at
            for at in self.partitions()
            if self.at_end(at)
            and self._world.now_s - self._heard_s.get(at, self._world.now_s) >= self._history.idle_s
        }
        self._should_cut = not is_busy
        return records

    def _is_silent(self, arrived: set[TopicPartition]) -> bool:
        return set(self.partitions()) - arrived <= self._silent

    def acknowledge(self, positions: Mapping[TopicPartition, int]) -> None:
        """Take it, if it is durable."""
        durable = self._durable()
        for at, offset in positions.items():
            if (at.topic, at.partition) not in durable or (
                durable[at.topic, at.partition].start < offset
            ):
                self._history.wrong("an offset was acknowledged before it was durable")
        super().acknowledge(positions)


class Beside(Inline):
    """Runs the work of releases later, as another thread would: the loop goes on meanwhile."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._left: list[tuple[Any, Callable[[], Any]]] = []

    def submit(self, task: Callable[[], Any]) -> Any:
        """Run `task` at once, or put it off by some rounds."""
        if self._history.dice.random() < 0.5:
            return super().submit(task)
        return _Later(self._history, task)


class _Later:
    """A future that does its work when it has been asked often enough."""

    def __init__(self, history: History, task: Callable[[], Any]) -> None:
        self._task = task
        self._left = history.dice.randint(1, 4)
        self._future: Any = None

    def done(self) -> bool:
        """Whether the work is done; doing it may crash the service."""
        self._left -= 1
        if self._left <= 0 and self._future is None:
            self._future = Inline().submit(self._task)
        return self._future is not None

    def result(self) -> Any:
        """Return what came of it."""
        return self._future.result()


class Actor:
    """A process of its own: a thread that runs while it has its turn, and only then."""

    def __init__(self, task: Callable[[], None]) -> None:
        self._go, self._back = threading.Semaphore(0), threading.Semaphore(0)
        self._task = task
        self.is_over = self.is_dying = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def take_turn(self) -> None:
        """Let it run until it pauses or ends."""
        self._go.release()
        self._back.acquire()

    def pause(self) -> None:
        """End the turn; called from inside. It may be killed meanwhile."""
        self._back.release()
        self._go.acquire()
        if self.is_dying:
            self.is_dying = False
            raise Crash("paused")

    def end(self) -> None:
        """Kill it where it paused; called from outside."""
        if not self.is_over:
            self.is_dying = True
            self.take_turn()

    def _run(self) -> None:
        self._go.acquire()
        try:
            if not self.is_dying:
                self._task()
        except Crash:
            pass
        finally:
            self.is_over = True
            self._back.release()


def graph_in(table: bytes) -> feeds.Graph:
    """Return the graph that a cheap release holds."""
    held = json.loads(table)
    return held["people"], {(a, b) for a, b in held["ties"]}
