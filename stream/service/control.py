"""The control socket: commands of an operator to a running service.

    <private>/control.sock    mode 0600: a user that may read the state may command the service

A connection carries one question and its answer: see `ktsafe.stream.service.control_wire`.

Threads listen. `status` they answer themselves, so a stuck service still tells; everything
else waits for the main loop, which does it between two rounds, one thing at a time. A question that
nobody waits for any more is not begun. Nothing of a question is logged but the command's name.
"""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

import msgspec

from ktsafe.errors import KtsafeError
from ktsafe.state.errors import StateUnusable
from ktsafe.stream.errors import Exit, Refused, exit_code
from ktsafe.stream.monitoring.serving import CLIENTS_MAX, Bounded, Listener
from ktsafe.stream.process.logs import get_logger
from ktsafe.stream.service.control_wire import (
    COMMANDS,
    LINE_BYTES_MAX,
    SOCKET,
    STATUS,
    TRANSFER_S,
    VERSION,
    Answer,
    Arguments,
    ControlFailure,
    address,
    decoded,
)

log = get_logger(__name__)

PATIENCE_MAX_S: Final = 86_400.0


class Operator(Protocol):
    """Executes commands, called by the main loop."""

    def must_wait(self, command: str) -> bool:
        """Whether a command cannot be done now, but later."""

    def do(self, command: str, arguments: Arguments) -> dict[str, Any]:
        """Do a command and return what came of it.

        Raises
        ------
        Refused
            If it cannot be done; nothing has happened then.
        """


def stopping() -> Refused:
    """Return the error for a question to a service that stops."""
    return Refused("The service stops; nothing was done.", code=Exit.UNAVAILABLE)


class _Task:
    """A command on its way to the loop."""

    def __init__(self, command: str, arguments: Arguments) -> None:
        self.command = command
        self.arguments = arguments
        self.outcome: Future[dict[str, Any]] = Future()


class Control(Listener):
    """Listens on a service's socket from `start` to `close`.

    A `with` block closes it, too.

    The caller holds the store's lock: a socket that is there already is one of a service that
    ended without removing it.

    Parameters
    ----------
    folder:
        The private folder.
    report:
        Gives what `status` answers; called from several threads.

    Raises
    ------
    StateUnusable
        If the socket cannot be made.
    """

    def __init__(self, folder: Path, report: Callable[[], dict[str, Any]]) -> None:
        self._path = folder / SOCKET
        self._report = report
        self._tasks: list[_Task] = []
        self._lock = threading.Lock()
        self._is_open = True
        try:
            self._path.unlink(missing_ok=True)
            with address(self._path) as place:
                server = _ControlServer(place, self)
            self._path.chmod(0o600)
        except OSError as error:
            hint = f"{error.strerror}. The folder must be on a file system that has sockets."
            raise StateUnusable("open the control socket", str(self._path), hint) from error
        super().__init__(server, "ktsafe-control")

    def close(self) -> None:
        """Tell waiting clients that the service stops.

        Remove the socket. Safe to call twice.
        """
        with self._lock:
            was_open, self._is_open = self._is_open, False
            left, self._tasks = self._tasks, []
        for task in left:
            if task.outcome.set_running_or_notify_cancel():  # Its client may just have given up.
                task.outcome.set_exception(stopping())
        if was_open:  # Later the path may be another service's.
            with suppress(OSError):  # What a disk that failed keeps is removed at the next start.
                self._path.unlink()
        super().close()

    def advance(self, operator: Operator) -> None:
        """Execute the commands that can be done now.

        Called by the main loop, every round.

        Raises
        ------
        Exception
            What goes wrong beyond a refusal ends the service, as it would anywhere in the loop.
        """
        for task in self._tasks.copy():
            if operator.must_wait(task.command):
                continue
            with self._lock:
                if task in self._tasks:
                    self._tasks.remove(task)
            if not task.outcome.set_running_or_notify_cancel():
                continue
            log.info("command of the operator", op=task.command)
            try:
                task.outcome.set_result(operator.do(task.command, task.arguments))
            except Refused as error:
                task.outcome.set_exception(error)
            except BaseException as error:
                task.outcome.set_exception(error)
                raise

    def answer(self, line: bytes) -> bytes:
        """Return a question's answer, within the patience it states."""
        try:
            result = self._result(line)
        except KtsafeError as error:
            code = exit_code(error)
            return msgspec.json.encode(Answer(VERSION, error=ControlFailure(code, str(error))))
        except Exception as error:  # noqa: BLE001 -- the loop raises it too, and logs its place
            message = f"{type(error).__name__}: see the service's log."
            failure = ControlFailure(Exit.INTERNAL, message)
            return msgspec.json.encode(Answer(VERSION, error=failure))
        return msgspec.json.encode(Answer(VERSION, result=result))

    def _result(self, line: bytes) -> dict[str, Any]:
        question = decoded(line)
        if question.command == STATUS:
            return self._report()
        if question.command not in COMMANDS:
            known = ", ".join((STATUS, *COMMANDS))
            raise Refused("There is no such command.", hint=f"This service knows {known}.")
        task = _Task(question.command, question.arguments)
        self._take(task)
        patience_s = min(max(question.patience_s, 0.0), PATIENCE_MAX_S)
        try:
            return task.outcome.result(patience_s)
        except TimeoutError:
            self._give_up(task)
            raise

    def _take(self, task: _Task) -> None:
        with self._lock:
            if not self._is_open:
                raise stopping()
            self._tasks.append(task)  # At most one for each of the bounded connections.

    def _give_up(self, task: _Task) -> None:
        """Raise the end of a command that outlasted its client."""
        with self._lock:
            if task in self._tasks:
                self._tasks.remove(task)
        if task.outcome.cancel():
            raise Refused(
                "The service did not come to it in time; nothing was done.",
                hint="A release is being built, or the service is stuck: see `ktsafe status`.",
                code=Exit.UNAVAILABLE,
            )
        raise Refused(
            "The service is still at it.",
            hint="The service does it later; the log says when.",
            code=Exit.UNAVAILABLE,
        )


class _ControlServer(Bounded, socketserver.UnixStreamServer):
    request_queue_size = CLIENTS_MAX

    def __init__(self, place: str, control: Control) -> None:
        self.control = control
        super().__init__(place, _ControlHandler)


class _ControlHandler(socketserver.StreamRequestHandler):
    timeout = TRANSFER_S
    server: _ControlServer

    def handle(self) -> None:
        line = self.rfile.readline(LINE_BYTES_MAX + 1)
        if len(line) <= LINE_BYTES_MAX:
            self.wfile.write(self.server.control.answer(line) + b"\n")
