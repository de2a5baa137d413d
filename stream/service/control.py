"""The control socket: commands of an operator to a running service.

Bounds may be tuned. A command is a name in `COMMANDS`, a case of `service.Operations`, and perhaps
of `must_wait`; a changed line of the protocol needs another `VERSION`
(tests/stream/service/test_control.py).

    <private>/control.sock    mode 0600: a user that may read the state may command the service

A connection carries one question and its answer, a line of JSON each:

    {"version": 1, "command": "erase", "arguments": {"ids": ["p1"]}, "patience_s": 60}
    {"version": 1, "result": {...}}
    {"version": 1, "error": {"code": 4, "message": "what went wrong, and the remedy"}}

Threads listen. `status` they answer themselves, so a stuck service still tells; everything
else waits for the main loop, which does it between two rounds, one thing at a time. A question that
nobody waits for any more is not begun. Nothing of a question is logged but the command's name.
"""

from __future__ import annotations

import os
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Protocol, TypeVar

import msgspec

from ktsafe.connectors.base import Unavailable
from ktsafe.errors import KtsafeError
from ktsafe.state.store_base import StateUnusable
from ktsafe.stream.errors import Exit, Refused, exit_code
from ktsafe.stream.monitoring.serving import CLIENTS_MAX, Bounded, Listener
from ktsafe.stream.process.logs import get_logger

Result = TypeVar("Result")
"""What came of a command: a struct of its own for each."""

SOCKET: Final = "control.sock"
VERSION: Final = 1
STATUS: Final = "status"
COMMANDS: Final = ("erase", "freeze", "rebase", "release")
"""What the main loop does; `status` needs no loop."""

LINE_BYTES_MAX: Final = 4 << 20
TRANSFER_S: Final = 10.0
"""Longest pause while a line comes in or goes out."""
ADDRESS_BYTES_MAX: Final = 100
"""Longer paths do not fit the address of a Unix socket everywhere."""


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """People to erase; digest of what a new sequence begins with."""

    ids: list[str] = []
    inputs_digest: str | None = None


NONE: Final = Arguments()


class FrozenState(msgspec.Struct, frozen=True):
    """Where a copy of the state lies that stays as it is."""

    folder: str


class BegunSequence(msgspec.Struct, frozen=True):
    """The sequence that a rebase began."""

    sequence_id: str


class BegunRelease(msgspec.Struct, frozen=True):
    """The slot of a release that was asked for, RFC 3339."""

    slot: str


class Question(msgspec.Struct, forbid_unknown_fields=True):
    """A client's request; `patience_s` is its wait for the answer."""

    command: str
    version: int = VERSION
    arguments: Arguments = NONE
    patience_s: float = 60.0


class ControlFailure(msgspec.Struct):
    """The reason without a result, with the command's exit code."""

    code: int
    message: str


class Answer(msgspec.Struct, omit_defaults=True):
    """What a service sends back: a result or an error."""

    version: int
    result: msgspec.Raw = msgspec.Raw()
    error: ControlFailure | None = None


class _OfVersion(msgspec.Struct):
    version: int = VERSION


def decoded(line: bytes) -> Question:
    """Return the question in a line.

    Raises
    ------
    Refused
        If there is none, or of another version.
    """
    try:
        # The version is looked at first: later ones may say what this one does not know.
        if msgspec.json.decode(line, type=_OfVersion).version != VERSION:
            raise Refused(
                f"This service speaks version {VERSION} of the control protocol.",
                hint="Use the `ktsafe` of the version that runs.",
            )
        return msgspec.json.decode(line, type=Question)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Refused("This is no question of the control protocol.") from error


@contextmanager
def address(path: Path) -> Iterator[str]:
    """Yield a short enough address of a socket's path, however deep."""
    if len(os.fsencode(path)) <= ADDRESS_BYTES_MAX:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


# Asking a running service, from the process of a command.


def ask(
    folder: Path,
    command: str,
    kind: type[Result],
    arguments: Arguments = NONE,
    *,
    patience_s: float,
) -> Result | None:
    """Ask the service of a private folder, from another process.

    Return what the command gives, of its `kind`; None if no service listens there.

    Raises
    ------
    Refused
        With the service's own words and exit code.
    Unavailable
        If it does not answer.
    """
    path = folder / SOCKET
    question = Question(command, arguments=arguments, patience_s=patience_s)
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(patience_s + TRANSFER_S)
            with address(path) as place:
                connection.connect(place)
            connection.sendall(msgspec.json.encode(question) + b"\n")
            with connection.makefile("rb") as file:
                answer = msgspec.json.decode(file.readline(), type=Answer)
            if answer.error is None:
                return msgspec.json.decode(answer.result, type=kind)
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        hint = (
            "a service listens there and gives no answer. Look at its log; a second signal ends "
            "it at once, which loses nothing."
        )
        raise Unavailable("ask the service", str(path), hint) from error
    raise Refused(answer.error.message, code=Exit(answer.error.code))


log = get_logger(__name__)

PATIENCE_MAX_S: Final = 86_400.0


class Operator(Protocol):
    """Executes commands, called by the main loop."""

    def must_wait(self, command: str) -> bool:
        """Whether a command cannot be done now, but later."""

    def do(self, command: str, arguments: Arguments) -> msgspec.Struct:
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
        self.outcome: Future[msgspec.Struct] = Future()


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

    def __init__(self, folder: Path, report: Callable[[], msgspec.Struct]) -> None:
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
        return msgspec.json.encode(Answer(VERSION, msgspec.Raw(msgspec.json.encode(result))))

    def _result(self, line: bytes) -> msgspec.Struct:
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
