"""A process of a history: its lives, and the operator who gives it commands."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, Self

from ktsafe.state.ledger import PendingCut
from ktsafe.state.store import GraphStore
from ktsafe.state.store_base import StateCorrupted
from ktsafe.stream.errors import Exit, Refused, exit_code
from ktsafe.stream.service.control import Arguments
from ktsafe.stream.service.service import Operations
from tests.histories import feed, rows
from tests.histories.one_state import Apart, LockedStore, Task, open_when_free
from tests.histories.surroundings import Actor, Beside, LateSink, WatchedSource
from tests.memory_connectors import Crash, MemoryDeadLetterSink
from tests.memory_store import MemoryDisk, MemoryStore
from tests.stream.service.simulation import SCHEMA, Inline, Tripwire, World

if TYPE_CHECKING:
    from tests.histories.history import History

ROUNDS_MAX: Final = 5_000
"""A last life that goes on for longer does not end."""
IS_SUPERVISED: Final = 0.8
"""Of the lives on a state that two services share; the others end at once if it is held."""
WATCHED: Final = frozenset(
    {
        *("commit", "prune", "scrub"),
        *("stage", "mark_published", "drop_cut", "note_erased", "record_audits", "start_sequence"),
        *("open", "poll", "acknowledge", "last", "present", "publish", "write"),
    }
)
"""Calls at which something may happen."""


class Wire(Tripwire):
    """Lets the history decide at every step of one process."""

    def __init__(self, history: History) -> None:
        super().__init__()
        self._history = history

    def watches(self, method: str) -> bool:
        """Whether something may happen at calls of a method."""
        return method in WATCHED

    def step(self, name: str) -> None:
        """Let something happen, or not."""
        self._history.step(name)


class WatchedStore(MemoryStore):
    """A store that shows the history every cut."""

    def __init__(self, history: History, disk: MemoryDisk) -> None:
        super().__init__(SCHEMA, disk)
        self._history = history

    def commit(self, *args: Any, cut: PendingCut | None = None, **kwargs: Any) -> None:
        """Show a cut, then take it."""
        if cut is not None:
            self._history.cut_taken(cut)
        super().commit(*args, cut=cut, **kwargs)


class Process:
    """A service with a state of its own; two of them may share feed and sink."""

    def __init__(self, history: History, world: World, disk: MemoryDisk) -> None:
        self.history, self.world, self.disk = history, world, disk
        self.store: MemoryStore | None = None
        self.tasks: list[Task] = []
        self.actor: Actor | None = None
        world.open_store = self._open
        world.open_source = lambda: WatchedSource(world, history, lambda: self.disk.positions)
        world.open_sink = lambda: LateSink(world, history)
        world.open_dead_letters = lambda: MemoryDeadLetterSink(history.world.letters)

    def _open(self) -> GraphStore:
        self.store = (
            LockedStore(self.history, self.disk)
            if self._is_one_of_two
            else WatchedStore(self.history, self.disk)
        )
        return self.store

    @property
    def _is_one_of_two(self) -> bool:
        return self.history.theme == "one state"

    def read_only(self) -> MemoryStore:
        """Return the state as it is now, whoever holds it."""
        return MemoryStore(SCHEMA, self.disk)

    def _open_when_free(self) -> GraphStore:
        return open_when_free(self, self._open)

    def executor(self) -> Any:
        """Return what does the work of releases in a life that may be disturbed."""
        kinds: list[Callable[[], Any]] = [Inline, lambda: Beside(self.history)]
        if self.actor is not None and self._is_one_of_two:
            kinds += [lambda: Apart(self)] * 2
        return self.history.dice.choice(kinds)()

    def die(self) -> None:
        """End the process, as one of its threads found out: it does nothing more."""
        if self.actor is not None:
            self.actor.is_dying = True

    def end_tasks(self) -> None:
        """End the threads of a process that is gone."""
        turn, self.history.turn = self.history.turn, None
        for task in self.tasks:
            task.actor.end()
        self.history.turn = turn
        self.tasks.clear()

    def live(self, *, is_last: bool = False) -> Exit | None:
        """Run the service until it ends; return its exit code, None where it was killed.

        The threads of one that was not killed may go on until `end_tasks`.
        """
        code = self._live(is_last=is_last)
        if code is None:
            self.end_tasks()
        return code

    def _live(self, *, is_last: bool) -> Exit | None:
        history, dice, world = self.history, self.history.dice, self.world
        waits = self._is_one_of_two and not is_last and dice.random() < IS_SUPERVISED
        world.open_store = self._open_when_free if waits else self._open
        rounds = (
            ROUNDS_MAX if is_last else dice.choice((5, 20, 60, 200)) * (1 + 4 * history.is_sharp)
        )
        left = iter(range(rounds))
        is_drain = is_last or dice.random() < 0.3
        history.is_commanded = False

        def stopping() -> bool:
            is_over = next(left, None) is None
            if is_over and is_last:
                history.wrong("the last life does not end")
            return is_over

        history.idle_s = dice.choice((0.02, 0.2, 60.0)) if not history.is_strict else 1e9
        try:
            world.run(
                wire=Wire(history),
                observer=history.observer,
                stopping=stopping,
                loop={
                    "drain": is_drain if not history.is_strict else is_last,
                    "idle_s": history.idle_s,
                    "erase_within_s": dice.choice((0.001, 3600.0)),
                    "prune_interval_s": 10.0,
                    "lateness_max_s": feed.LATENESS_S,
                },
                ingest={
                    "batch_records_max": dice.choice((1, 3, 10)),
                    "lateness_max_s": feed.LATENESS_S,
                    "tables": rows.TABLES if history.is_of_rows else (),
                },
                open_control=lambda: Operator(self),
                executor=Inline() if is_last else self.executor(),
            )
        except Crash:
            return None
        except Exception as error:  # noqa: BLE001 -- told by its exit code
            code = exit_code(error)
            if code not in {Exit.STATE, Exit.UNAVAILABLE, Exit.MISMATCH}:
                history.wrong(f"exit {code:d}: {type(error).__name__}: {error}")
            if isinstance(error, StateCorrupted) and not history.misfortunes.is_damaged:
                history.wrong(f"the state is called damaged: {error}")
            history.last_error = error
            if history.debug:
                traceback.print_exc()
            return code
        return Exit.OK


class Operator:
    """Gives commands between two rounds, and takes backups. Stands for `Control`."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def __enter__(self) -> Self:
        """Do nothing."""
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def advance(self, operations: Operations) -> None:
        """Give a command, or not."""
        history = self._process.history
        if history.is_quiet:
            if history.asked.keys() - history.erased.keys():
                self._erase(operations)
            return
        rate = 0.1 if history.is_sharp else 0.03
        if history.dice.random() >= rate or not history.commands:
            return
        command = history.dice.choice(history.commands)
        if command == "erase":
            self._erase(operations)
        elif operations.must_wait("freeze" if command == "backup" else command):
            return
        elif command == "rebase":
            history.is_commanded = True
            operations.do("rebase", Arguments(inputs_digest=operations.inputs_digest))
            history.is_commanded = False
            history.counts["rebases"] += 1
            history.misfortunes.forget_former()
        elif command == "release":
            history.is_commanded = True
            with suppress(Refused):
                operations.do("release", Arguments())
            history.is_commanded = False
        else:
            history.take_backup(self._process)

    def _erase(self, operations: Operations) -> None:
        history = self._process.history
        leaver, store = history.leaver, operations.store
        is_read = all(
            store.positions().get((history.topics[number], number), (0,))[0] > offset
            for number, offset in history.last_of_leaver.items()
        )
        if leaver is None or not is_read or leaver in history.erased:
            return
        if operations.must_wait("erase"):
            return
        last = store.ledger.last()
        number = last.index if last else 0
        # From here on it may have had its effect, until the command is known to have ended.
        history.asked.setdefault(leaver, number)
        try:
            operations.do("erase", Arguments([leaver]))
        except Refused:
            return
        history.erased[leaver] = number
        history.counts["erasures"] += 1
