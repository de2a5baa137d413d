"""Past releases in rows of the ledger, of each the needed part.

The manifest lists the sha256 of a release's other files and has, encrypted, the offsets of its cut.
So its own sha256 is enough to prove both by what lies at the sink; it stays for ever, since nothing
else says what a past release is whose neighbours at the sink are gone.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Annotated, Final

import msgspec

FileName = Annotated[str, msgspec.Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,199}\Z")]
"""A plain file name: what is read from a store, a restored one too, leads to no other folder."""

ROW: Final = 64
"""Releases in a row of which the last one is full."""
_ROW_BYTES_MAX: Final = 1 << 20
"""Of a row that is unpacked: one of a restored, forged store fills no memory."""


class PastRelease(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """A published release that no sink is sent again.

    Fields as in `ReleaseRecord`.

    `manifest` and the values of `audit` are sha256 in bytes.
    """

    release_id: FileName
    sequence_id: str
    slot_us: int
    manifest: bytes
    n_vertices: int
    n_edges: int
    n_lives: int
    epsilon_micro: Annotated[int, msgspec.Meta(ge=0)]
    audit: dict[FileName, bytes]
    has_audit: bool


class _Row(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    first: int
    releases: list[PastRelease]


def packed(first: int, releases: Sequence[PastRelease]) -> bytes:
    """Return a row of successive releases from the index `first` on."""
    return zlib.compress(msgspec.msgpack.encode(_Row(first, list(releases))), 9)


def unpacked(row: bytes) -> tuple[int, list[PastRelease]]:
    """Return a row's first index, and all of its releases.

    Raises
    ------
    ValueError, msgspec.DecodeError
        If it does not read back as written.

    Examples
    --------
    >>> one = PastRelease("000064-x", "s", 5, bytes(32), 10, 20, 10, 0, {}, has_audit=False)
    >>> unpacked(packed(64, [one])) == (64, [one])
    True
    """
    reader = zlib.decompressobj()
    try:
        data = reader.decompress(row, _ROW_BYTES_MAX)
    except zlib.error as error:
        raise ValueError("a row of past releases is damaged") from error
    if not reader.eof or reader.unused_data:
        raise ValueError("a row of past releases is damaged")
    found = msgspec.msgpack.decode(data, type=_Row)
    return found.first, found.releases
