"""The ledger: which releases exist, with the bytes they consist of for ever.

    cut ──▶ STAGED ──▶ PUBLISHED
             ▲  │
             └──┘  any error or unknown outcome tries to publish the same bytes again

`stage` is the point of no return: from then on release i is exactly the staged files.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Annotated, Final, Protocol

import msgspec

FileName = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,199}\Z")]
"""A plain file name: what is read from a store, a restored one too, leads to no other folder."""


class Status(enum.StrEnum):
    """How far a release has come."""

    STAGED = "staged"
    PUBLISHED = "published"


class SequenceRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is fixed for a sequence of releases; any change needs a new sequence.

    `secret` (hexadecimal, private) is what the randomness of its releases is drawn from, so that a
    release that is built again after a crash comes out the same.
    """

    sequence_id: str
    inputs_digest: str
    started_us: int
    secret: str = ""


class PendingCut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A release cut that no staged release has consumed yet.

    `offsets` maps "topic/partition" to the first offset that is not part of the release.
    """

    slot_us: int
    offsets: dict[str, int]


class ReleaseRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One release: its cut and its bytes (name to sha256, the manifest included).

    `n_lives` is how many lives the store had given by the cut: see `GraphStore.gone`.
    """

    index: int
    release_id: FileName
    sequence_id: str
    slot_us: int
    offsets: dict[str, int]
    files: dict[FileName, str]
    status: Status
    n_vertices: int
    n_edges: int
    n_lives: int = 0


NO_PAGES: Final[Mapping[str, bytes | None]] = {}


class Ledger(Protocol):
    """The durable list of releases. Every call that writes is synced before it returns.

    Beside the releases it keeps the *pages* of the current sequence: what the mechanism must
    remember from release to release, as named bytes. They change with a release that is staged, in
    the same write, and go when another sequence starts.
    """

    def sequence(self) -> SequenceRecord | None:
        """Return the current sequence, None before the first."""

    def start_sequence(self, sequence: SequenceRecord) -> None:
        """Record the sequence that following releases belong to; the former one's pages go."""

    def pages(self) -> dict[str, bytes]:
        """Return the pages as of the last staged release of this sequence ({} before it).

        Raises
        ------
        StateCorrupted
            If one does not read back as written.
        """

    def pending_cut(self) -> PendingCut | None:
        """Return the cut taken but not yet staged."""

    def drop_cut(self) -> None:
        """Give up the pending cut (its release was withheld); its frozen state is freed."""

    def last(self) -> ReleaseRecord | None:
        """Return the last release, staged or published."""

    def releases(self) -> list[ReleaseRecord]:
        """Return all releases in order."""

    def stage(self, record: ReleaseRecord, pages: Mapping[str, bytes | None] = NO_PAGES) -> None:
        """Append `record` (status STAGED, index one above the last) and consume the pending cut.

        `pages` are those that changed, None where one goes; all of it is one write.
        """

    def mark_published(self, release_id: str) -> None:
        """Record that the sink confirmed the release. Repeating it does nothing."""
