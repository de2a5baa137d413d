"""The ledger: which releases exist, with the bytes they consist of for ever.

    cut ──▶ STAGED ──▶ PUBLISHED
             ▲  │
             └──┘  any error or unknown outcome tries to publish the same bytes again

`stage` is the point of no return: from then on release i is exactly the staged files.
"""

from __future__ import annotations

import enum
from typing import Protocol

import msgspec


class Status(enum.StrEnum):
    """How far a release has come."""

    STAGED = "staged"
    PUBLISHED = "published"


class Sequence(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is fixed for a sequence of releases; any change needs a new sequence."""

    sequence_id: str
    inputs_digest: str
    started_us: int


class PendingCut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A release cut that no staged release has consumed yet.

    `offsets` maps "topic/partition" to the first offset that is not part of the release.
    """

    slot_us: int
    offsets: dict[str, int]


class ReleaseRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One release: its cut and its bytes (name to sha256, the manifest included)."""

    index: int
    release_id: str
    sequence_id: str
    slot_us: int
    offsets: dict[str, int]
    files: dict[str, str]
    status: Status
    n_vertices: int
    n_edges: int


class Ledger(Protocol):
    """The durable list of releases. Every call that writes is synced before it returns."""

    def sequence(self) -> Sequence | None:
        """Return the current sequence, None before the first."""

    def start_sequence(self, sequence: Sequence) -> None:
        """Record the sequence that following releases belong to."""

    def pending_cut(self) -> PendingCut | None:
        """Return the cut taken but not yet staged."""

    def drop_cut(self) -> None:
        """Give up the pending cut (its release was withheld); its frozen state is freed."""

    def last(self) -> ReleaseRecord | None:
        """Return the last release, staged or published."""

    def releases(self) -> list[ReleaseRecord]:
        """Return all releases in order."""

    def stage(self, record: ReleaseRecord) -> None:
        """Append `record` (status STAGED, index one above the last) and consume the pending cut."""

    def mark_published(self, release_id: str) -> None:
        """Record that the sink confirmed the release. Repeating it does nothing."""
