"""What the service does about each error: one table, by remedy.

An error gets its action by a case of `exit_code` and a row in ops/runbook.md
(tests/ops/test_runbook.py). The numbers of `Exit` are read by scripts: never give one another
meaning.

| Action                                   | Errors                                          |
| ---------------------------------------- | ----------------------------------------------- |
| refuse to start, fix the input (2)       | `ConfigError`, `InvalidParams`, `InvalidGraph`, `ReleaseUnreadable`, `Misconfigured` |
| dead-letter, count, continue             | `MalformedEvent` (in `ktsafe.stream.ingest.events`)           |
| retry, bounded; then exit (5)            | `Unavailable`                                   |
| exit (5); wait for room at the start     | `StateFull`                                     |
| refuse to start or go on, restore (4)    | `StateCorrupted`, `StateUnusable`, `StateMismatch`, `StateLocked` |
| refuse to start, name source or sink (6) | `SourceMismatch`, `OffsetLost`, `SinkConflict`  |
| withhold the release, alert; CLI: (1)    | `NotKTSafe`, `Infeasible`, `BelowMinimumUtility`, `FoundByAttack` |
| withhold the first release; CLI: (2)     | `AbsentFromGraph`                               |
| withhold the release; CLI: (2)           | `WrittenOtherwise`                              |
"""  # noqa: E501 -- a table

from __future__ import annotations

import enum

from ktsafe.connectors.base import OffsetLost, SinkConflict, SourceMismatch, Unavailable
from ktsafe.errors import BelowMinimumUtility, Infeasible, KtsafeError, NotKTSafe
from ktsafe.state.store_base import StateError, StateFull


class ConfigError(KtsafeError):
    """The configuration cannot work: nothing was started."""


class Refused(KtsafeError):
    """A running service does not do what it was asked for.

    Nothing has happened.
    """

    def __init__(self, message: str, *, hint: str = "", code: Exit | None = None) -> None:
        super().__init__(message, hint=hint)
        self.code = Exit.USAGE if code is None else code


class FoundByAttack(KtsafeError):
    """A safe release with an attack that exceeds its bound."""


class Exit(enum.IntEnum):
    """Exit codes of every command."""

    OK = 0
    UNSAFE = 1
    USAGE = 2
    INTERNAL = 3
    STATE = 4
    UNAVAILABLE = 5
    MISMATCH = 6
    INTERRUPTED = 130
    NOT_READ = 141


def exit_code(error: Exception) -> Exit:
    """Return the exit code of an error that ends a command."""
    match error:
        case Refused():
            return error.code
        case NotKTSafe() | Infeasible() | BelowMinimumUtility() | FoundByAttack():
            return Exit.UNSAFE
        case StateFull():
            return Exit.UNAVAILABLE
        case StateError():
            return Exit.STATE
        case SourceMismatch() | OffsetLost() | SinkConflict():
            return Exit.MISMATCH
        case Unavailable():
            return Exit.UNAVAILABLE
        case KtsafeError():
            return Exit.USAGE
        case _:
            return Exit.INTERNAL
