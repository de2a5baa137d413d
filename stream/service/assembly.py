"""From checked settings to a running service, and its notes to systemd.

A new key is passed on here, in the slice that its part takes (`IngestSettings`, `LoopSettings`,
`BuildSettings`). Whatever is opened is closed in reverse, also where a start fails
(tests/stream/service/test_processes.py, test_room.py).
"""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

from ktsafe.connectors.base import DeadLetterSink, ReleaseReader, Source
from ktsafe.connectors.letters import BareLetters
from ktsafe.kernels import kernel_cache
from ktsafe.state.rocksdb import RocksDBStore
from ktsafe.state.store import GraphStore
from ktsafe.state.store_base import StateFull, StateUnusable
from ktsafe.statistics import MICRO
from ktsafe.stream.config.places import (
    STAGING,
    STORE,
    TASKS,
    audit_folder,
    check_finished,
    check_room,
    private_folder,
)
from ktsafe.stream.config.settings import Settings
from ktsafe.stream.ingest.ingest import IngestSettings
from ktsafe.stream.maintenance.erasure import note
from ktsafe.stream.monitoring.monitoring import status_board, status_server
from ktsafe.stream.monitoring.summary import Counts, Summary, live_display
from ktsafe.stream.observer import Observer, Observers
from ktsafe.stream.process import logs
from ktsafe.stream.process.pool import Workers
from ktsafe.stream.process.process import one_heap
from ktsafe.stream.release.linked import LinkedReleases
from ktsafe.stream.release.snapshotter import BuildSettings
from ktsafe.stream.service.control import Control
from ktsafe.stream.service.service import Ports, ServiceSettings, run_service
from ktsafe.stream.service.slot_clock import LoopSettings

log = logs.get_logger(__name__)

ROOM_RETRY_S: Final = 5.0
"""Pause before a state is opened again whose disk has no room."""


def serve(settings: Settings, *, drain: bool, shows_status: bool = True) -> Counts:
    """Run the configured service until it ends; return its counts.

    `shows_status` serves status and metrics over HTTP.
    """
    one_heap()
    summary = Summary()
    with live_display(summary, drain=drain):
        run_from_settings(settings, drain=drain, summary=summary, shows_status=shows_status)
    return summary.counts


def run_from_settings(
    settings: Settings, *, drain: bool, summary: Summary, shows_status: bool = True
) -> None:
    """Run the configured service here, until it is stopped or drained."""
    config = settings.config
    logs.configure(format=config.log.format)
    logs.install_crash_hooks()
    if kernel_cache.is_cold("anonymization"):
        log.info("kernels are compiled once, with the first release")
    with ExitStack() as stack:
        stopping = stack.enter_context(stop_on_signals())
        maker = mechanism(settings)
        board = status_board(settings, summary.counts)
        told: list[Observer] = [summary, board, Notifier(os.environ)]
        if shows_status:
            metrics, server = status_server(settings, board)
            stack.enter_context(server)
            told.insert(0, metrics)
        observer = Observers(*told)
        ports = Ports(
            open_store=lambda: _open_with_room(settings, observer, stopping),
            open_dead_letters=lambda: dead_letter_sink(settings),
            source=source(settings, drain=drain),
            sink=config.sink.release_sink(settings.site),
            open_control=lambda: Control(
                private_folder(settings), lambda: board.report(secrets=True)
            ),
            erase_letters=lambda ids: config.dead_letters.erase(settings.site, ids),
            note_erased=lambda aliases: note(private_folder(settings), aliases),
            open_reader=release_reader(settings),
        )
        plan = _service_settings(settings, maker, drain=drain)
        run_service(ports, plan, observer=observer, stopping=stopping.is_set)


def _open_with_room(
    settings: Settings, observer: Observer, stopping: threading.Event
) -> GraphStore:
    """Return the configured store, open; wait while its disk is full."""
    while True:
        try:
            check_room(private_folder(settings))
            return open_store(settings)
        except StateFull as error:
            observer.retry("state")
            observer.alive()
            log.error("the disk of the state has no room: the service waits", subject=error.subject)
            if stopping.wait(ROOM_RETRY_S):
                raise


def _service_settings(settings: Settings, maker: LinkedReleases, *, drain: bool) -> ServiceSettings:
    """Return what each part of a service needs of the configuration."""
    config = settings.config
    return ServiceSettings(
        schema=settings.schema,
        ingest=IngestSettings(
            lateness_max_s=config.ingest.lateness_max_s,
            tables=config.source.tables,
        ),
        loop=_loop_settings(settings, drain=drain),
        build=BuildSettings(
            params=settings.params,
            mechanism=maker,
            staging_dir=private_folder(settings) / STAGING,
            audit_dir=audit_folder(settings),
            options=settings.sequence,
            seed=config.release.seed,
            formats=config.release.format,
            about=config.release.about.given(),
            min_f1=config.release.min_f1,
            attack=config.attack.settings(),
            slots=settings.slots,
            epsilon_per_year_micro=int(config.statistics.epsilon_per_year * MICRO),
            signer=None if config.signing is None else config.signing.signer(settings.site),
        ),
    )


def mechanism(settings: Settings) -> LinkedReleases:
    """Return what makes the releases."""
    return LinkedReleases(
        settings.params,
        settings.sequence,
        open_reader=release_reader(settings),
        audit_dir=audit_folder(settings),
        change_max=settings.config.release.change_max,
        workers=workers(settings),
    )


def workers(settings: Settings) -> Workers:
    """Return the workers on the parts of releases."""
    table = settings.config.workers
    folder = settings.path(table.folder) if table.folder else private_folder(settings) / TASKS
    return Workers(table.threads, table.dask, folder)


def source(settings: Settings, *, drain: bool) -> Source:
    """Return the configured source, not opened."""
    return settings.config.source.source(settings.site, drain=drain)


def release_reader(settings: Settings) -> Callable[[], ReleaseReader]:
    """Return what opens a reader of the configured sink."""
    return lambda: settings.config.sink.release_reader(settings.site)


def dead_letter_sink(settings: Settings) -> DeadLetterSink:
    """Return the configured dead-letter sink, open."""
    table = settings.config.dead_letters
    sink = table.dead_letter_sink(settings.site)
    return BareLetters(sink) if table.payload == "none" else sink


def open_store(settings: Settings, *, accept_schema: bool = False) -> GraphStore:
    """Return the configured store, open and locked, in a private folder.

    With `accept_schema` a store made with another schema is taken over (`ktsafe rebase`).

    Raises
    ------
    StateUnusable
        If the folder cannot be created or made private, or an import has not ended.
    """
    folder = make_private_folder(settings)
    check_finished(folder)
    return RocksDBStore.open(folder / STORE, settings.schema, accept_schema=accept_schema)


def make_private_folder(settings: Settings) -> Path:
    """Make the private folder for its owner only, and return it.

    Raises
    ------
    StateUnusable
        If it cannot be created or made private.
    """
    folder = private_folder(settings)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        hint = f"{error.strerror}. Name a folder in [state] that this user may create and write."
        raise StateUnusable("open state", str(folder), hint) from error
    return folder


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """Give an event that the first SIGTERM or SIGINT sets."""
    stopping = threading.Event()

    def handle(signum: int, _frame: FrameType | None) -> None:
        if stopping.is_set():
            signal.signal(signum, signal.SIG_DFL)
            signal.raise_signal(signum)
        stopping.set()

    signals = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(signum, handle) for signum in signals]
    try:
        yield stopping
    finally:
        for signum, handler in zip(signals, before, strict=True):
            signal.signal(signum, handler)


def _loop_settings(settings: Settings, *, drain: bool) -> LoopSettings:
    table = settings.config.release
    return LoopSettings(
        slots=settings.slots,
        idle_s=table.idle_s,
        drain=drain,
        gives_whole_moments=settings.config.source.gives_whole_moments,
        lateness_max_s=settings.config.ingest.lateness_max_s,
        audits_kept=settings.config.state.audits_kept,
    )


# Tells the service manager how the service is (systemd's `Type=notify`, `WatchdogSec=`).
#
# The manager names a datagram socket in NOTIFY_SOCKET and, with a watchdog, how often it wants to
# hear in WATCHDOG_USEC. Without them nothing is told. The watchdog is fed by the main loop alone,
# so that a loop that hangs is started anew although its other threads live.
#
# Source: sd_notify(3), sd_watchdog_enabled(3).

SOCKET: Final = "NOTIFY_SOCKET"
WATCHDOG: Final = "WATCHDOG_USEC"
WATCHDOG_PID: Final = "WATCHDOG_PID"
PER_WATCHDOG: Final = 3
"""Notices per time that the manager waits for one."""


class Notifier(Observer):
    """Passes readiness, life and end on to the service manager.

    Parameters
    ----------
    environment:
        Where the manager says how to reach it. It is taken out, so no child of this process
        speaks for it.
    """

    def __init__(
        self,
        environment: MutableMapping[str, str],
        *,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._monotonic_s = monotonic_s
        self._address = _address(environment.pop(SOCKET, ""))
        self._interval_s = _interval_s(
            environment.pop(WATCHDOG, ""), environment.pop(WATCHDOG_PID, "")
        )
        self._told_at_s = -float("inf")

    def ready(self, is_ready: bool) -> None:
        """Tell that the service consumes, or that it comes to its end."""
        self._tell("READY=1\nSTATUS=consuming" if is_ready else "STOPPING=1\nSTATUS=stopping")

    def alive(self) -> None:
        """Feed the watchdog, if there is one and it is time."""
        if self._interval_s is None:
            return
        now = self._monotonic_s()
        if now - self._told_at_s >= self._interval_s:
            self._told_at_s = now
            self._tell("WATCHDOG=1")

    def _tell(self, text: str) -> None:
        if self._address is None:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
                channel.settimeout(1.0)
                channel.sendto(text.encode(), self._address)
        except OSError:
            # Nobody listens, or not now: the service does not depend on being watched.
            return


def _address(name: str) -> str | None:
    """Return the manager's socket address, None if not ours."""
    if name.startswith("@"):  # Of the abstract name space.
        return "\0" + name[1:]
    return name if name.startswith("/") else None


def _interval_s(period_us: str, pid: str) -> float | None:
    """Return the watchdog's interval, None if it does not wait."""
    if not period_us.isdecimal() or int(period_us) == 0:
        return None
    if pid and pid != str(os.getpid()):
        return None
    return int(period_us) / 1e6 / PER_WATCHDOG
