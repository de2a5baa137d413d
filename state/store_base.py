"""Errors of the store by the operator's remedy, and its progress.

An error gets its action in `ktsafe.stream.errors` and a row of the runbook. `Progress` is a format:
fields may be added at the end, with a default.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ktsafe.errors import OperationFailed


class StateError(OperationFailed):
    """Base of every error the store raises."""


class StateLocked(StateError):
    """Another process holds the store: stop it first."""


class StateUnusable(StateError):
    """The folder cannot be created, read or written."""


class StateFull(StateUnusable):
    """The disk has no room.

    Make some. A service ends, and waits for room when it starts again.
    """


class StateCorrupted(StateError):
    """The store does not read back as written.

    Restore a backup, or rebase.
    """


class StateMismatch(StateError):
    """The store belongs to another source, schema, parameter set or format."""


# Progress of a store: its counts in every commit's write.


class Position(NamedTuple):
    """Progress in a partition, durable with the changes read so far.

    `next_offset` is that behind the last record read. `time_us_max` is M_p, the greatest accepted
    event time (None before the first). Up to `passed` there is no record more, if that is further:
    offsets between may have held the marks of transactions.
    """

    next_offset: int
    time_us_max: int | None
    passed: int = 0

    @property
    def start(self) -> int:
        """The offset from which reading goes on."""
        return max(self.next_offset, self.passed)


class Progress(msgspec.Struct, array_like=True, frozen=True):
    """Count written with every batch, and checked when read back.

    Attributes
    ----------
    commits:
        Batches so far; a release cut is identified by the number of its own.
    cut_commits:
        Value of `commits` at the pending release cut; -1 without one.
    n_lives:
        Lives given so far.
    n_ended, n_scrubbed:
        Lives that ended so far, and how many of them were so when the store was last scrubbed.
    n_people, n_downs, n_log, n_places, n_pages:
        Rows there must be of people, deletions, changes, pages of numbers and pages of ties.
    n_logged:
        Changes to ties and people that are not folded yet.
    vertices, edges, edges_waiting, tombstones:
        As of the last fold.
    """

    commits: int = 0
    cut_commits: int = -1
    n_lives: int = 0
    n_ended: int = 0
    n_scrubbed: int = 0
    n_people: int = 0
    n_downs: int = 0
    n_log: int = 0
    n_places: int = 0
    n_pages: int = 0
    n_logged: int = 0
    vertices: int = 0
    edges: int = 0
    edges_waiting: int = 0
    tombstones: int = 0


def counted(progress: Progress) -> dict[str, int]:
    """Return what there is of each, as of the last fold."""
    names = ("vertices", "edges", "edges_waiting", "tombstones")
    return {name: getattr(progress, name) for name in names}
