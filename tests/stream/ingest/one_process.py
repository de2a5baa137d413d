"""Reading ahead without another process: what is asked is answered at once, in simulated time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from ktsafe import Schema
from ktsafe.connectors.base import Source
from ktsafe.stream.ingest.read_ahead import ReadAhead, ReaderPlan
from ktsafe.stream.ingest.reader_process import ReaderProcess


class Wire:
    """Both ends of a socket: what is sent from here is answered before `send` returns."""

    def __init__(self, plan: ReaderPlan) -> None:
        self._answers: deque[Any] = deque()
        there: Any = Answers(self._answers)
        self._reader = ReaderProcess(there, plan)

    def send(self, message: tuple[str, tuple[Any, ...]]) -> None:
        """Ask something."""
        self._reader.answer(*message)

    def recv(self) -> Any:
        """Return the next answer."""
        return self._answers.popleft()

    def poll(self, timeout_s: float) -> bool:
        """Whether there is an answer."""
        del timeout_s
        return bool(self._answers)

    def close(self) -> None:
        """Do nothing: a reader in another process lets go of its source then."""


class Answers:
    """The other end."""

    def __init__(self, answers: deque[Any]) -> None:
        self.send = answers.append

    def poll(self, timeout_s: float) -> bool:
        """Return that something else is asked: a read that finds nothing does not wait."""
        del timeout_s
        return True


class ReadAheadHere(ReadAhead):
    """Reads ahead in this process."""

    def __init__(self, source: Callable[[], Source], schema: Schema) -> None:
        super().__init__(ReaderPlan(source, schema, 1_048_576, "plain", "warning", "text"))

    def open(self, positions: Any, identity: Any) -> None:
        """Open the source."""
        wire: Any = Wire(self._plan)
        self._wire = wire
        self._ask("open", dict(positions), dict(identity))
