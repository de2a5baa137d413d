"""A service in a process of its own for histories on a broker, with short waits."""

from __future__ import annotations

import secrets
import time
from pathlib import Path
from typing import Any, Final

from ktsafe.connectors.kafka_topics import release_sink
from tests.faults import warm_service
from tests.launcher import Overrides

WAIT_S = 8.0
"""In place of the minute after which a broker aborts a transaction, and for which we doubt."""
LINGERS_S: Final = 0.3
"""So long a service waits between its last look at the topic and the first record it sends."""


def _unread(sink: Any) -> None:
    sink.last = lambda: None


def _nameless(sink: Any) -> None:
    sink._transactional_id = f"{sink._transactional_id}-{secrets.token_hex(4)}"


DEFECTS = {
    "the tail is not read before a release goes out": _unread,
    "nobody is fenced off": _nameless,
}
"""What a history must find: what is done to each sink when it is made."""


def sign_of_sending(config: Path) -> Path:
    """Return the file that is there while a service has looked at the topic and sends a release."""
    return config.with_suffix(".sending")


def serve(overrides: Overrides, config: Path, log: Path, defect: str, *arguments: str) -> None:
    """Be `ktsafe run CONFIG ...`, in the forked process; does not return."""
    release_sink.TRANSACTION_TIMEOUT_S = release_sink.DOUBT_S = WAIT_S  # type: ignore[misc]
    sink, sign = release_sink.KafkaReleaseSink, sign_of_sending(config)
    send, init = sink._send_all, sink.__init__

    def linger(self: Any, *args: Any) -> None:
        sign.touch()
        try:
            time.sleep(LINGERS_S)
            send(self, *args)
        finally:
            sign.unlink(missing_ok=True)

    def spoil(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        DEFECTS[defect](self)

    sink._send_all = linger  # type: ignore[method-assign]
    if defect:
        sink.__init__ = spoil  # type: ignore[method-assign]
    warm_service.serve(overrides, config, log, *arguments)
