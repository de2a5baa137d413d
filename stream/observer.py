"""Notices of the service to its observers.

The base class ignores everything. `ktsafe.stream.monitoring.metrics` implements it with Prometheus,
`ktsafe.stream.monitoring.board` for `ktsafe status`; processing code imports neither. Names and
counts only: no id of a person and no attribute value ever passes through here, and edit statistics
in `release_audited` alone.

A new notice is a method here and the source of a metric in `metrics_table`, or
tests/stream/monitoring/test_metrics.py fails.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from ktsafe.stream.files.release_figures import ReleaseFigures
from ktsafe.stream.process.pool import WorkInParts


class Observer:
    """Ignores every notice. Subclasses override what they care about."""

    def event(self, kind: str, outcome: str, count: int = 1) -> None:
        """`count` events of a type ("vertex.upsert", ..., "unknown") had an outcome.

        Outcomes: "applied", "dead_letter", "ignored".
        """

    def dead_letter(self, reason: str, count: int = 1) -> None:
        """Records went to the dead-letter sink for a reason."""

    def dropped_attributes(self, count: int) -> None:
        """Attributes that the schema does not list were dropped unstored."""

    def other_tables(self, names: Collection[str]) -> None:
        """Rows of tables came that the configuration does not name.

        All such names so far.
        """

    def applied(self, seconds: float) -> None:
        """A batch was decoded and judged."""

    def checkpoint(self, seconds: float) -> None:
        """A checkpoint became durable."""

    def lag(self, records: Mapping[tuple[str, int], int | None]) -> None:
        """Records not yet read, by partition."""

    def state(self, counts: Mapping[str, int], size_bytes: int) -> None:
        """Sizes of the true graph and of its store."""

    def slot_skipped(self, count: int) -> None:
        """Release slots were crossed in one jump of event time."""

    def open_transactions(self, partitions: int) -> None:
        """A slot was cut.

        So many partitions end with a transaction that was open for too long.
        """

    def release_begun(self) -> None:
        """A release was cut, and is being built."""

    def release_phase(self, phase: str, seconds: float) -> None:
        """A phase of a release ended.

        Phases: "anonymize", "stage", "verify", "attack", "audit", "publish".
        """

    def release_parts(self, work: WorkInParts) -> None:
        """A release was made, so much of it in parts."""

    def release_audited(self, figures: ReleaseFigures) -> None:
        """A release was staged, or is a last one at start. SECRET."""

    def release_published(
        self, release_id: str, nominal_us: int, vertices: int, edges: int
    ) -> None:
        """The sink confirmed a release, which the strict verifier had passed."""

    def releases_gone(self, count: int) -> None:
        """So many published releases are gone from the sink.

        Older ones are there.
        """

    def release_withheld(self, reason: str, why: str = "") -> None:
        """A release was not published, for one of `metrics_table.WITHHELD_REASONS`.

        `why` says more, and what to do, to who may see the configuration.
        """

    def sequence(self, counts: Mapping[str, int]) -> None:
        """A staged release's withheld people and pages, by name."""

    def sequence_read(self, seconds: float) -> None:
        """The ledger's memory of the sequence was read at the start."""

    def erasures(self, pending: int, overdue_s: float) -> None:
        """Deletions have not reached the disk yet."""

    def retry(self, op: str) -> None:
        """An operation failed in a way that is worth another try."""

    def ready(self, is_ready: bool) -> None:
        """Whether the service is consuming and able to publish."""

    def alive(self) -> None:
        """The main loop went round once more."""


NOTICES: Final = tuple(name for name in vars(Observer) if not name.startswith("_"))
"""The names of all notices."""


class Observers(Observer):
    """Passes every notice on to several observers, in order."""

    def __init__(self, *observers: Observer) -> None:
        for name in NOTICES:
            setattr(self, name, _fan_out([getattr(observer, name) for observer in observers]))


def _fan_out(receivers: list[Callable[..., None]]) -> Callable[..., None]:
    def notify(*args: Any, **kwargs: Any) -> None:
        for receiver in receivers:
            receiver(*args, **kwargs)

    return notify
