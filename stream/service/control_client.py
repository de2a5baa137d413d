"""Asking a running service, from the process of a command."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from ktsafe.connectors.errors import Unavailable
from ktsafe.stream.errors import Exit, Refused
from ktsafe.stream.service.control_wire import SOCKET, TRANSFER_S, Answer, Question, address


def ask(
    folder: Path, command: str, arguments: Mapping[str, Any], *, patience_s: float
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
    question = Question(command, arguments=dict(arguments), patience_s=patience_s)
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
