"""Messages over the control socket, and the client that asks.

A question and its answer are a line of JSON each.

{"version": 1, "command": "erase", "arguments": {"ids": ["p1"]}, "patience_s": 60}
{"version": 1, "result": {...}}
{"version": 1, "error": {"code": 4, "message": "what went wrong, and the remedy"}}
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from ktsafe.connectors.errors import Unavailable
from ktsafe.stream.errors import Exit, Refused

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
    result: dict[str, Any] | None = None
    error: ControlFailure | None = None


def decoded(line: bytes) -> Question:
    """Return the question in a line.

    Raises
    ------
    Refused
        If there is none, or of another version.
    """
    try:
        # The version is looked at first: later ones may say what this one does not know.
        version = msgspec.json.decode(line, type=dict[str, Any]).get("version", VERSION)
        if version != VERSION:
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
    folder: Path, command: str, arguments: Arguments = NONE, *, patience_s: float
) -> dict[str, Any] | None:
    """Ask the service of a private folder, from another process.

    None if none listens there.

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
    except (FileNotFoundError, ConnectionRefusedError):
        return None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        hint = (
            "a service listens there and gives no answer. Look at its log; a second signal ends "
            "it at once, which loses nothing."
        )
        raise Unavailable("ask the service", str(path), hint) from error
    if answer.error is not None:
        raise Refused(answer.error.message, code=Exit(answer.error.code))
    assert answer.result is not None
    return answer.result
