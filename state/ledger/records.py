"""Records of the ledger: sequences, cuts, releases, erasures; past releases; pages.

Fields may be added with a default; others are a format, and unknown ones are refused. What is read
may be forged, from a restored store: names stay plain and sizes bounded. `PART_BYTES` may be tuned.
"""

from __future__ import annotations

import enum
import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Final, Self

import msgspec


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


# Past releases in rows of the ledger, of each the needed part.
#
# The manifest lists the sha256 of a release's other files and has, encrypted, the offsets of its
# cut. So its own sha256 is enough to prove both by what lies at the sink; it stays for ever, since
# nothing else says what a past release is whose neighbours at the sink are gone.

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


# Pages: what a mechanism remembers from release to release, as named bytes.
#
# A page that changes is written under a new key, and counts once the list of pages names that key.
# So pages may be written in parts before the release that they belong to is staged: memory holds
# one part, and after a crash the list is as it was. Keys begin with the index of the release that
# brought the page; those of pages that an older version wrote are their names.

Writes = dict[bytes, bytes | None]
"""Values by key; None deletes."""

NamedPages = Iterable[tuple[str, bytes | None]]
"""Name and bytes of all pages of a release; None for those that the release before left so."""

PART_BYTES: Final = 32 << 20
"""Of pages that are held and written at once; a single page may be longer."""
_DIGEST_BYTES: Final = 16


class Pages:
    """Which pages there are.

    Under which key each is kept, and its digest. Immutable.

    Parameters
    ----------
    listed:
        By name: the digest, and the index of the release that brought the page, if it is known.
    """

    def __init__(self, listed: Mapping[str, bytes] | None = None) -> None:
        self._listed = dict(listed or {})

    @classmethod
    def unpacked(cls, value: bytes) -> Self:
        """Return what was `packed`."""
        return cls(msgspec.msgpack.decode(value, type=dict[str, bytes]))

    def packed(self) -> bytes | None:
        """Return the list as it is kept.

        None if there are no pages.
        """
        return msgspec.msgpack.encode(self._listed) if self._listed else None

    def __len__(self) -> int:
        return len(self._listed)

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed)

    def listed(self, name: str) -> bytes:
        """Return the digest of a page, and the index of its release.

        Empty if there is none.
        """
        return self._listed.get(name, b"")

    def key(self, name: str) -> bytes:
        """Return the key under which a page is kept."""
        return _key(self._listed[name], name)

    def gone(self, after: Pages) -> list[bytes]:
        """Return the keys of pages that others replace, or none."""
        listed = self._listed.items()
        return [_key(known, name) for name, known in listed if after.listed(name) != known]

    def holds(self, name: str, page: bytes) -> bool:
        """Whether this is the page of that name, byte for byte."""
        return self.listed(name)[:_DIGEST_BYTES] == _digest(page)


class StoredPages(Mapping[str, bytes]):
    """Pages by name, in order, each read when it is asked for.

    Together they may be very large.

    Parameters
    ----------
    listed:
        Which there are.
    read:
        Returns the pages under these keys, None where there is none.
    damaged:
        Makes the error of a page that does not read back as written.
    """

    def __init__(
        self,
        listed: Pages,
        read: Callable[[list[bytes]], list[bytes | None]],
        damaged: Callable[[], Exception],
    ) -> None:
        self._listed = listed
        self._read = read
        self._damaged = damaged

    def __getitem__(self, name: str) -> bytes:
        (page,) = self._read([self._listed.key(name)])
        if page is None or not self._listed.holds(name, page):
            raise self._damaged()
        return page

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._listed))

    def __len__(self) -> int:
        return len(self._listed)


class NextPages:
    """The pages of a release, taken one after the other.

    Only those that change are kept.

    Parameters
    ----------
    before:
        The pages of the release before.
    index:
        Of the release.
    """

    def __init__(self, before: Pages, index: int) -> None:
        self._before = before
        self._index = index
        self._listed: dict[str, bytes] = {}
        self._part: Writes = {}
        self._n_bytes = 0
        self.n_changed = 0

    def take(self, name: str, page: bytes | None) -> None:
        """Take a page.

        Raises
        ------
        ValueError
            If it is to be as before, and was not there.
        """
        listed = self._before.listed(name)
        if page is None and not listed:
            raise ValueError("there was no such page before")
        if page is not None and listed[:_DIGEST_BYTES] != (digest := _digest(page)):
            listed = digest + self._index.to_bytes(8, "big")
            self._part[_key(listed, name)] = page
            self._n_bytes += len(page)
            self.n_changed += 1
        self._listed[name] = listed

    def early(self) -> Writes:
        """Return what may be written before the release is staged.

        Empty as long as it is little.

        Nothing of it is listed yet, and nothing that is listed goes.
        """
        if self._n_bytes < PART_BYTES:
            return {}
        part, self._part, self._n_bytes = self._part, {}, 0
        return part

    def end(self) -> tuple[Pages, Writes]:
        """Return the pages of the release, and rows of its staging write."""
        after = Pages(self._listed)
        return after, {**dict.fromkeys(self._before.gone(after)), **self._part}


def prefix(index: int) -> bytes:
    """Return how the keys of pages begin that a release brought."""
    return b"@" + index.to_bytes(8, "big")


def _key(listed: bytes, name: str) -> bytes:
    index = listed[_DIGEST_BYTES:]
    return (prefix(int.from_bytes(index, "big")) if index else b"") + name.encode()


def _digest(page: bytes) -> bytes:
    return hashlib.blake2b(page, digest_size=_DIGEST_BYTES).digest()
