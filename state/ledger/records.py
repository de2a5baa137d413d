"""Records of the ledger: sequences, the pending cut, releases, erasures by command."""

from __future__ import annotations

import enum
import hashlib
from typing import Annotated

import msgspec

from ktsafe.state.ledger.past_releases import FileName


class Status(enum.StrEnum):
    """How far a release has come."""

    STAGED = "staged"
    PUBLISHED = "published"


class SequenceRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The constants of a sequence; any change needs a new sequence.

    `secret` (hexadecimal, private) is what the randomness of its releases is drawn from, so a
    release that is built again after a crash comes out the same.
    """

    sequence_id: str
    inputs_digest: str
    started_us: int
    secret: str = ""

    def text_key(self) -> bytes:
        """Return the key of the hashes that stand for unused attribute texts."""
        return hashlib.sha256(f"texts {self.secret or self.sequence_id}".encode()).digest()


class PendingCut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A release cut that no staged release has consumed yet.

    `offsets` maps "topic/partition" to the first offset that is not part of the release.
    """

    slot_us: int
    offsets: dict[str, int]


class Erased(msgspec.Struct, frozen=True, array_like=True):
    """A person erased by command: the id's keyed hash, and the time."""

    alias: str
    time_us: int


class ReleaseRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One release: its cut and its bytes (name to sha256).

    The manifest is included.

    `n_lives` is how many lives the store had given by the cut: see `GraphStore.gone`.
    `epsilon_micro` is what its statistics cost, in millionths of epsilon; 0 without any. `audit`
    has the sha256 of the files of its private audit; older versions recorded none. `has_audit`:
    whether it must be there still.

    Of releases before the last two `files` has the manifest alone, and `offsets` is empty.
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
    epsilon_micro: Annotated[int, msgspec.Meta(ge=0)] = 0
    audit: dict[FileName, str] = {}
    has_audit: bool = True
