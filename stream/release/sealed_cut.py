"""Where in the feed a release was cut, sealed in its manifest: a lost state is made again from it.

Whoever holds the secret of the sequence reads it; to everybody else it is noise. Its length tells
the names of the feed's partitions at most, and how many persons were erased by command, in steps of
about ten: offsets have a fixed width, and the text is filled up to whole blocks.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from ktsafe.state.ledger import Erased, PendingCut, SequenceRecord

BLOCK_BYTES: Final = 768
"""Sealed texts are filled up to multiples of it."""
_WIDTH: Final = 19


class SealedCut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a manifest tells the owner of the sequence's secret.

    Attributes
    ----------
    slot_us, offsets:
        The cut of the release, as in `PendingCut`.
    erased:
        Whom commands erased since the release before.
    """

    slot_us: int
    offsets: Mapping[str, int]
    erased: Sequence[Erased] = ()


def seal(
    sequence: SequenceRecord, release_id: str, cut: PendingCut, erased: Sequence[Erased]
) -> str | None:
    """Return the cut of a release for its manifest; None in a sequence without a secret.

    Examples
    --------
    >>> sequence = SequenceRecord("s", "d", 0, secret="00" * 32)
    >>> sealed = seal(sequence, "000001-x", PendingCut(5, {"feed/0": 7}), [])
    >>> unseal(sequence, "000001-x", sealed).offsets
    {'feed/0': 7}
    """
    if not sequence.secret:
        return None
    offsets = sorted((name, f"{offset:0{_WIDTH}d}") for name, offset in cut.offsets.items())
    plain = msgspec.json.encode([cut.slot_us, offsets, erased])
    plain = plain.ljust(-(-len(plain) // BLOCK_BYTES) * BLOCK_BYTES)
    return base64.b64encode(_veiled(sequence, release_id, plain)).decode()


def unseal(sequence: SequenceRecord, release_id: str, sealed: str) -> SealedCut:
    """Return what `seal` was given.

    Raises
    ------
    ValueError, msgspec.DecodeError
        If it is not the cut of this release of this sequence.
    """
    veiled = base64.b64decode(sealed, validate=True)
    plain = _veiled(sequence, release_id, veiled)
    slot_us, offsets, erased = msgspec.json.decode(
        plain, type=tuple[int, list[tuple[str, str]], list[Erased]]
    )
    return SealedCut(slot_us, {name: int(offset) for name, offset in offsets}, erased)


def _veiled(sequence: SequenceRecord, release_id: str, text: bytes) -> bytes:
    """Return a text under the one-time pad of a release, or what it was before.

    A release has one text, for ever. That nobody changed it, the digest of the manifest tells.
    """
    drawn = hashlib.shake_256(bytes.fromhex(sequence.secret) + f"/cut/{release_id}".encode())
    pad = int.from_bytes(drawn.digest(len(text)), "big")
    return (int.from_bytes(text, "big") ^ pad).to_bytes(len(text), "big")
