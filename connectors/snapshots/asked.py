"""Dumps that the source makes itself: at each slot a database is asked, once.

1. The answer is written beside the dumps, under a hidden name, and synced.
2. It is read, and checked as any other dump.
3. It gets its name, which is that of the slot. From here on it is a dump like any other.

Nothing came of an answer before step 3, so one that a stop interrupts is asked for again; after it
the slot is never asked for.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ktsafe.connectors.bundles import sync_folder
from ktsafe.connectors.errors import ConnectorError, Misconfigured, Unavailable
from ktsafe.connectors.snapshots.dumps import REMOVED, name_of, remove
from ktsafe.connectors.snapshots.queries import QueriedDatabase

RETRY_FOR_S: Final = 300.0
"""How long a database may be away, or refuse what it answered before, until the service ends."""
ANSWER_MAX_S: Final = 3600.0
"""How long an answer may take."""
_PAUSE_S: Final = (1.0, 60.0)
_OWN: Final = ".written-by-ktsafe"
"""Marks dumps that were made here, and may be removed here."""

log = logging.getLogger(__name__)


def _wall_us() -> int:
    return time.time_ns() // 1000


@dataclass(slots=True)
class _Asking:
    """A question on its way, in a thread: a slow database does not hold the service up."""

    name: str
    since_s: float
    answer: Future[Path]


class AskedDumps:
    """Asks a database for the dump of each slot.

    Parameters
    ----------
    folder:
        Where dumps lie.
    slot_at:
        The last slot that is not after a moment, both in microseconds since the epoch. Slots are
        whole minutes.
    wall_us, monotonic:
        Clocks.
    """

    def __init__(
        self,
        folder: Path,
        database: QueriedDatabase,
        slot_at: Callable[[int], int],
        *,
        wall_us: Callable[[], int] = _wall_us,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folder = folder
        self._database = database
        self._slot_at = slot_at
        self._wall_us = wall_us
        self._monotonic = monotonic
        self._asking: _Asking | None = None
        self._has_answered = False
        self._failed_since_s: float | None = None
        self._pause_s, self._again_s = 0.0, 0.0

    def open(self) -> None:
        """Make the folder, for its owner only; check that the database could be asked.

        A removal that was interrupted is ended.

        Raises
        ------
        Misconfigured
        """
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            for left in self._folder.glob(f"{REMOVED}*"):
                shutil.rmtree(left)
        except OSError as error:
            hint = f"{error.strerror}. Name a folder that this user may make, and write."
            raise Misconfigured("open source", str(self._folder), hint) from error
        self._database.engine()

    def due(self, last: str) -> str | None:
        """Return the name of the dump to be asked for, if it is later than `last`."""
        name = name_of(self._slot_at(self._wall_us()) // 1000)
        return name if name > last else None

    def answered(self, last: str) -> Path | None:
        """Return the hidden folder of an answer to a slot after `last`, once it is there.

        Raises
        ------
        Misconfigured
            If the database refuses a query: at once if it never answered, else if that lasts.
        Unavailable
            If it has been away for too long.
        """
        now_s, asking = self._monotonic(), self._asking
        if asking is None:
            name = self.due(last)
            if name is not None and now_s >= self._again_s:
                self._asking = _Asking(name, now_s, _in_thread(lambda: self._write(name)))
            return None
        if not asking.answer.done():
            if now_s - asking.since_s > ANSWER_MAX_S:
                hint = f"it has not answered for {ANSWER_MAX_S:.0f} s. Try the queries by hand."
                raise Unavailable("ask database", self._database.subject, hint)
            return None
        self._asking = None
        try:
            folder = asking.answer.result()
        except (Misconfigured, Unavailable) as error:
            # A table that queries found before is made anew, perhaps.
            if isinstance(error, Misconfigured) and not self._has_answered:
                raise
            self._failed(error, now_s)
            return None
        self._has_answered, self._failed_since_s, self._pause_s = True, None, 0.0
        return folder

    def keep(self, hidden: Path) -> Path:
        """Give an answer its name; return where it lies."""
        place = self._folder / hidden.name.removeprefix(".")
        hidden.rename(place)
        sync_folder(self._folder)
        return place

    def forget(self, before: str) -> None:
        """Remove dumps of before a date that were made here."""
        for folder in sorted(self._folder.iterdir()):
            if folder.name[0] != "." and folder.name < before and (folder / _OWN).exists():
                remove(folder)

    def _write(self, name: str) -> Path:
        """Ask, and return the hidden folder of the answer."""
        hidden = self._folder / f".{name}"
        try:
            for left in self._folder.glob(".*"):
                if (left / _OWN).exists():
                    remove(left)
            hidden.mkdir(mode=0o700)
            (hidden / _OWN).touch()
        except OSError as error:
            hint = f"no dump can be written there ({error.strerror})."
            raise Unavailable("ask database", str(self._folder), hint) from error
        self._database.write(hidden)
        sync_folder(hidden)
        return hidden

    def _failed(self, error: ConnectorError, now_s: float) -> None:
        """Ask again later; give up if that has lasted."""
        if self._failed_since_s is None:
            self._failed_since_s = now_s
        if now_s - self._failed_since_s > RETRY_FOR_S:
            raise error
        least_s, most_s = _PAUSE_S
        self._pause_s = min(max(2 * self._pause_s, least_s), most_s)
        self._again_s = now_s + self._pause_s
        log.warning("the database is asked again in %.0f s: %s", self._pause_s, error.hint)


def _in_thread(task: Callable[[], Path]) -> Future[Path]:
    """Run a task in a daemon thread: a stop does not wait for it."""
    future: Future[Path] = Future()

    def run() -> None:
        try:
            future.set_result(task())
        except BaseException as error:  # noqa: BLE001 -- raised where the result is taken
            future.set_exception(error)

    threading.Thread(target=run, name="ktsafe-database", daemon=True).start()
    return future
