"""Wire one service from its configuration and run it.

Opening goes from the inside out, so what refuses to start leaves nothing half open:

1. the store, with its lock;
2. the sequence: parameters and schema must be those of the state, and what the mechanism remembers
   must read back;
3. the sink, compared with the ledger;
4. the source, seeked to the stored offsets.

This order must stay. A command of the control socket is a case of `Operations.do`; what must wait
for a release on its way is said in `must_wait` (tests/stream/service/test_operations.py).
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, closing
from typing import Final, TypeVar

import msgspec

from ktsafe import Schema
from ktsafe.connectors.base import (
    DeadLetterSink,
    ReleaseReader,
    ReleaseSink,
    Source,
    TopicPartition,
)
from ktsafe.state.store import GraphStore
from ktsafe.stream.errors import Exit, Refused
from ktsafe.stream.files.release_figures import recent_releases
from ktsafe.stream.ingest.ingest import Ingest, IngestSettings
from ktsafe.stream.maintenance import backup
from ktsafe.stream.maintenance.erasure import (
    EraseLetters,
    Eraser,
    ErasureReport,
    NoteErased,
    erase_again,
    erase_everywhere,
)
from ktsafe.stream.observer import Observer
from ktsafe.stream.process.logs import get_logger
from ktsafe.stream.process.process import give_back, keep_loaded
from ktsafe.stream.release.known_releases import check_feed
from ktsafe.stream.release.publish import Executor, Publisher
from ktsafe.stream.release.sequence_inputs import ensure_sequence, inputs_digest, new_sequence
from ktsafe.stream.release.snapshotter import BuildSettings, Snapshotter
from ktsafe.stream.service.control import (
    Arguments,
    BegunRelease,
    BegunSequence,
    Control,
    FrozenState,
)
from ktsafe.stream.service.housekeeping import Housekeeping
from ktsafe.stream.service.loop import Loop
from ktsafe.stream.service.slot_clock import LoopSettings
from ktsafe.stream.slots import REAL_CLOCKS, Clocks, rfc3339

log = get_logger(__name__)

T = TypeVar("T")


ALL_LOADED: Final = 2
"""Tasks after which all code is loaded: a release is made, then published."""


class OneThread:
    """Runs a task in a daemon thread, so stops never wait.

    What a task used goes back to the system when it has ended.
    """

    def __init__(self) -> None:
        self._n_ended = 0

    def submit(self, task: Callable[[], T]) -> Future[T]:
        """Start `task` and return its future."""
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(task())
            except BaseException as error:  # noqa: BLE001 -- handed to the caller of the future
                future.set_exception(error)
            give_back()
            self._n_ended += 1
            if self._n_ended == ALL_LOADED:
                keep_loaded()

        threading.Thread(target=run, name="ktsafe-release", daemon=True).start()
        return future


@dataclasses.dataclass(frozen=True, slots=True)
class Ports:
    """A service's source and sinks, closed again once opened.

    Without `open_control` nobody can command it; `erase_letters` blanks dead letters of those who
    are erased, `note_erased` notes them. Without `open_reader` of the sink a state that is behind
    it cannot catch up.
    """

    open_store: Callable[[], GraphStore]
    open_dead_letters: Callable[[], DeadLetterSink]
    source: Source
    sink: ReleaseSink
    open_control: Callable[[], Control] | None = None
    erase_letters: EraseLetters = lambda _: None
    note_erased: NoteErased = lambda _: False
    open_reader: Callable[[], ReleaseReader] | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class ServiceSettings:
    """What a service does, and when.

    `publish_retry_s` is the pause before publishing again.
    """

    schema: Schema
    ingest: IngestSettings
    loop: LoopSettings
    build: BuildSettings
    publish_retry_s: float = 5.0


def run_service(
    ports: Ports,
    settings: ServiceSettings,
    *,
    observer: Observer,
    stopping: Callable[[], bool],
    executor: Executor | None = None,
    clocks: Clocks = REAL_CLOCKS,
) -> None:
    """Run one service until `stopping()`, or drained with `loop.drain`.

    Everything opened here is closed again, whatever happens.
    """
    build = settings.build
    wiring = _Wiring(ports, settings, observer, stopping, executor or OneThread(), clocks)
    with ExitStack() as stack:
        # Step 1
        store = stack.enter_context(closing(ports.open_store()))
        # Step 2
        inputs = build.params, settings.schema, build.options
        ensure_sequence(store.ledger, *inputs, clocks.wall_us(), seed=build.seed)
        if (erased := store.ledger.erased()) and store.ledger.pending_cut() is None:
            erase_again(store, erased)  # of a command that did not come to its end
        snapshotter = wiring.snapshotter()
        snapshotter.open(store.ledger)
        for figures in recent_releases(store.ledger, build.audit_dir):
            observer.release_audited(figures)
        # Step 3
        stack.callback(ports.sink.close)
        ports.sink.open()
        publisher = wiring.publisher(store, snapshotter)
        publisher.recover()
        # Step 4
        stack.callback(ports.source.close)
        offsets = {TopicPartition(*p): at.start for p, at in store.positions().items()}
        ports.source.open(offsets, store.source_identity())
        if publisher.known:
            check_feed(publisher.known, {(p[0], p[1]): n for p, n in ports.source.ends().items()})
        dead_letters = stack.enter_context(closing(ports.open_dead_letters()))
        loop = wiring.loop(store, dead_letters, publisher)
        if ports.open_control is None:
            loop.run()
            return
        operations = Operations(
            loop,
            store,
            snapshotter,
            build=build,
            inputs_digest=inputs_digest(*inputs),
            erase_letters=ports.erase_letters,
            note_erased=ports.note_erased,
            wall_us=clocks.wall_us,
        )
        control = stack.enter_context(ports.open_control())
        loop.run(lambda: control.advance(operations))


@dataclasses.dataclass(frozen=True, slots=True)
class _Wiring:
    """Makes the parts of one service; nothing is opened here."""

    ports: Ports
    settings: ServiceSettings
    observer: Observer
    stopping: Callable[[], bool]
    executor: Executor
    clocks: Clocks

    def snapshotter(self) -> Snapshotter:
        """Return what makes releases."""
        return Snapshotter(
            self.settings.build,
            observer=self.observer,
            monotonic=self.clocks.monotonic,
            cancelled=self.stopping,
        )

    def publisher(self, store: GraphStore, snapshotter: Snapshotter) -> Publisher:
        """Return what carries releases to the sink."""
        return Publisher(
            store.ledger,
            self.ports.sink,
            snapshotter,
            self.executor,
            observer=self.observer,
            monotonic=self.clocks.monotonic,
            retry_s=self.settings.publish_retry_s,
            open_reader=self.ports.open_reader,
        )

    def loop(self, store: GraphStore, dead_letters: DeadLetterSink, publisher: Publisher) -> Loop:
        """Return what goes round."""
        source, settings, monotonic = self.ports.source, self.settings, self.clocks.monotonic
        schema = settings.schema
        if settings.loop.gives_whole_moments:  # Dumps tell those ties only that are asked for.
            schema = dataclasses.replace(schema, ties="any")
        ingest = Ingest(
            source,
            store,
            dead_letters,
            schema=schema,
            settings=settings.ingest,
            observer=self.observer,
            clocks=self.clocks,
        )
        within_s = settings.loop.erase_within_s
        housekeeping = Housekeeping(
            source,
            store,
            Eraser(store, settings.build.audit_dir, within_s=within_s, monotonic=monotonic),
            settings.build.audit_dir,
            settings=settings.loop,
            observer=self.observer,
            monotonic=monotonic,
        )
        return Loop(
            source,
            store,
            ingest,
            publisher,
            housekeeping,
            settings=settings.loop,
            observer=self.observer,
            clocks=self.clocks,
            stopping=self.stopping,
        )


# An operator's requests, done between two rounds of the loop.

_NEEDS_NO_CUT: Final = ("erase", "freeze")
"""A release that was cut shows whom an erasure would take out, and its bytes are fixed once staged;
a copy of the state from before that point is behind as soon as the release is out."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False, repr=False)
class Operations:
    """Implements `ktsafe.stream.service.control.Operator` on the parts of one service.

    Attributes
    ----------
    build:
        What releases are made with.
    inputs_digest:
        What a new sequence begins with: see `ktsafe.stream.release.sequence_inputs`.
    erase_letters:
        Blanks dead letters, which nobody writes meanwhile.
    note_erased:
        Notes who is erased, for whoever restores a backup.
    wall_us:
        The wall clock, microseconds since the epoch.
    """

    loop: Loop
    store: GraphStore
    snapshotter: Snapshotter
    build: BuildSettings
    inputs_digest: str
    erase_letters: EraseLetters
    note_erased: NoteErased
    wall_us: Callable[[], int]

    def must_wait(self, command: str) -> bool:
        """Whether a release in flight, or to be remade, interferes."""
        if self.loop.is_catching_up:
            return True  # Whatever the command changes, the releases would not come out the same.
        if command in _NEEDS_NO_CUT:
            return self.store.ledger.pending_cut() is not None
        return command == "rebase" and self.loop.is_releasing

    def do(self, command: str, arguments: Arguments) -> msgspec.Struct:
        """Do a command and return what came of it.

        Raises
        ------
        Refused
            If it cannot be done; nothing has happened then, or the erasure is not complete.
        """
        match command:
            case "erase":
                return self._erase(arguments.ids)
            case "rebase":
                return self._rebase(arguments.inputs_digest)
            case "release":
                return self._release()
            case _:
                assert command == "freeze"
                folder = backup.freeze(self.store, self.snapshotter.staging_folder)
                return FrozenState(str(folder))

    def _erase(self, ids: Sequence[str]) -> ErasureReport:
        """Erase persons, after applying what was read of them.

        Else that would bring them back.
        """
        if not ids:
            raise Refused("The command needs ids.")
        if not self.loop.checkpoint():
            raise Refused("The service stops; nothing was done.", code=Exit.UNAVAILABLE)
        try:
            return erase_everywhere(
                self.store, ids, self.build.audit_dir, self.erase_letters, self.note_erased
            )
        except OSError as error:
            # The service goes on; what the graph has let go of leaves the disk when it has room.
            raise Refused(
                f"The erasure is not complete: {error.strerror}.",
                hint="Make room for past mappings, then give the command again.",
                code=Exit.UNAVAILABLE,
            ) from error

    def _rebase(self, digest: str | None) -> BegunSequence:
        if digest != self.inputs_digest:
            raise Refused(
                "The configuration has changed since the service started.",
                hint="Stop the service, run `ktsafe rebase`, and start it again.",
            )
        sequence = new_sequence(self.inputs_digest, self.wall_us(), seed=self.build.seed)
        self.store.ledger.start_sequence(sequence)
        self.snapshotter.open(self.store.ledger)
        self.loop.forget_last_cut()
        return BegunSequence(sequence.sequence_id)

    def _release(self) -> BegunRelease:
        if self.loop.is_releasing:
            raise Refused("A release is being made already.", code=Exit.UNAVAILABLE)
        slot_us = self.loop.release_now()
        if slot_us is None:
            raise Refused("Nothing was read since the last release; another would be the same.")
        return BegunRelease(rfc3339(slot_us))
