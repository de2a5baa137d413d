"""Where in the feed a release was cut, encrypted in its manifest.

A lost state is rebuilt from it.

The owner of the sequence's secret reads it; to everybody else it is noise. Its length tells
the names of the feed's partitions at most, and how many persons were erased by command, in steps of
about ten: offsets have a fixed width, and the text is filled up to whole blocks.

Equal cuts give equal bytes, since a release that is made again must be the same. So the pad is
drawn from a tag of the text (a synthetic initialization vector): other text has another pad, also
where a state that was restored publishes a release of the same id to another sink.

Source: RFC 5297 (the construction).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from ktsafe.state.ledger import Erased, PendingCut, SequenceRecord

BLOCK_BYTES: Final = 768
"""Texts are filled up to multiples of it."""
TAG_BYTES: Final = 24
"""Of the tag before the text; with it base64 needs no filling."""
_WIDTH: Final = 19


class PublishedCut(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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


def encrypt_cut(
    sequence: SequenceRecord, release_id: str, cut: PendingCut, erased: Sequence[Erased]
) -> str | None:
    """Return the cut of a release for its manifest.

    None in a sequence without a secret.

    Examples
    --------
    >>> sequence = SequenceRecord("s", "d", 0, secret="00" * 32)
    >>> encrypted = encrypt_cut(sequence, "000001-x", PendingCut(5, {"feed/0": 7}), [])
    >>> decrypt_cut(sequence, "000001-x", encrypted).offsets
    {'feed/0': 7}
    """
    if not sequence.secret:
        return None
    offsets = sorted((name, f"{offset:0{_WIDTH}d}") for name, offset in cut.offsets.items())
    plain = msgspec.json.encode([cut.slot_us, offsets, erased])
    plain = plain.ljust(-(-len(plain) // BLOCK_BYTES) * BLOCK_BYTES)
    tag = _tag(sequence, release_id, plain)
    return base64.b64encode(tag + _veiled(sequence, tag, plain)).decode()


def decrypt_cut(sequence: SequenceRecord, release_id: str, encrypted: str) -> PublishedCut:
    """Return what `encrypt_cut` was given.

    Raises
    ------
    ValueError, msgspec.DecodeError
        If it is not the cut of this release of this sequence.
    """
    found = base64.b64decode(encrypted, validate=True)
    tag = found[:TAG_BYTES]
    plain = _veiled(sequence, tag, found[TAG_BYTES:])
    if not hmac.compare_digest(tag, _tag(sequence, release_id, plain)):
        raise ValueError("the cut was encrypted for another release, or with another secret")
    slot_us, offsets, erased = msgspec.json.decode(
        plain, type=tuple[int, list[tuple[str, str]], list[Erased]]
    )
    return PublishedCut(slot_us, {name: int(offset) for name, offset in offsets}, erased)


def _tag(sequence: SequenceRecord, release_id: str, plain: bytes) -> bytes:
    """Return what tells this text of this release from every other one."""
    text = release_id.encode() + b"\0" + plain
    key = bytes.fromhex(sequence.secret)
    return hashlib.blake2b(text, key=key, digest_size=TAG_BYTES, person=b"cut").digest()


def _veiled(sequence: SequenceRecord, tag: bytes, text: bytes) -> bytes:
    """Return a text under its tag's pad, or its former self."""
    drawn = hashlib.shake_256(bytes.fromhex(sequence.secret) + b"/cut/" + tag)
    pad = int.from_bytes(drawn.digest(len(text)), "big")
    return (int.from_bytes(text, "big") ^ pad).to_bytes(len(text), "big")
