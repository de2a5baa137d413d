"""A service in a process of its own for histories on a broker, with short waits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ktsafe.connectors.kafka_topics import release_sink
from tests.faults import warm_service

WAIT_S = 8.0
"""In place of the minute after which a broker aborts a transaction, and for which we doubt."""


def _unread(sink: Any) -> None:
    sink.last = lambda: None


def _nameless(sink: Any) -> None:
    sink._transactional_id = f"{sink._transactional_id}-{id(sink)}"


DEFECTS = {
    "the tail is not read before a release goes out": _unread,
    "nobody is fenced off": _nameless,
}
"""What a history must find: what is done to each sink when it is made."""


def serve(config: Path, log: Path, defect: str, *arguments: str) -> None:
    """Be `ktsafe run CONFIG ...`, in the forked process; does not return."""
    release_sink.TRANSACTION_TIMEOUT_S = release_sink.DOUBT_S = WAIT_S  # type: ignore[misc]
    if defect:
        real = release_sink.KafkaReleaseSink.__init__

        def init(self: Any, *args: Any, **kwargs: Any) -> None:
            real(self, *args, **kwargs)
            DEFECTS[defect](self)

        release_sink.KafkaReleaseSink.__init__ = init  # type: ignore[method-assign]
    warm_service.serve(config, log, *arguments)
