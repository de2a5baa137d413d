"""Two services on one state: its lock, a supervisor, and threads that outlive their service.

A service that stops lets go of the lock before its process is gone. Until then the thread that
makes its release goes on, beside a second service that has taken over.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from ktsafe.state.ledger import Writes
from ktsafe.state.store import GraphStore
from ktsafe.state.store_base import StateLocked
from tests.histories.surroundings import Actor
from tests.memory_connectors import Crash
from tests.memory_store import MemoryDisk, MemoryStore
from tests.stream.service.simulation import SCHEMA

if TYPE_CHECKING:
    from tests.histories.history import History
    from tests.histories.process import Process


class Lock:
    """The lock of a state, which its process lets go of when it ends, whatever ended that."""

    def __init__(self) -> None:
        self.holder: LockedStore | None = None


class LockedStore(MemoryStore):
    """A store that only one process has open, and that nobody else writes to."""

    def __init__(self, history: History, disk: MemoryDisk) -> None:
        self._history, self._held = history, history.lock
        if self._held.holder is not None:
            raise StateLocked("open the store", "memory", "Another process holds it.")
        self._held.holder = self
        super().__init__(SCHEMA, disk)

    def close(self) -> None:
        """Let go of the lock."""
        if self._held.holder is self:
            self._held.holder = None

    def _committed(self, commits: int) -> None:
        self._check_held()
        super()._committed(commits)

    def _write_ledger(self, entries: Writes, pages: Writes) -> None:
        self._check_held()
        super()._write_ledger(entries, pages)

    def _check_held(self) -> None:
        if self._held.holder is not self:
            self._history.wrong("a state is written to by a process that does not hold it")


def open_when_free(process: Process, open_store: Callable[[], GraphStore]) -> GraphStore:
    """Open the state as a supervisor has it done: again and again, while another one holds it."""
    history = process.history
    tries_max = history.dice.choice((3, 30, 300))
    for n_refused in range(tries_max):
        try:
            store = open_store()
        except StateLocked:
            process.world.now_s += 1.0
            history.end_turn()
        else:
            history.counts["takeovers"] += bool(n_refused)
            return store
    return open_store()


class Apart:
    """Does the work of releases in threads that have turns of their own."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def submit(self, task: Callable[[], Any]) -> Task:
        """Begin `task`; it goes on whenever it has a turn."""
        begun = Task(self._process, task)
        self._process.tasks.append(begun)
        return begun


class Task:
    """Work of a thread, and what came of it. Stands for a future."""

    def __init__(self, process: Process, task: Callable[[], Any]) -> None:
        self._process, self._task = process, task
        self._future: Future[Any] = Future()
        self.actor = Actor(self._run)

    def done(self) -> bool:
        """Whether it is over."""
        return self._future.done()

    def result(self) -> Any:
        """Return what came of it."""
        return self._future.result()

    def _run(self) -> None:
        try:
            self._future.set_result(self._task())
        except Crash:
            self._process.die()
        except Exception as error:  # noqa: BLE001 -- handed to whoever asks the future
            self._future.set_exception(error)
