"""What the auditor is given: a release as published, and privately the person of each vertex."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ktsafe.errors import InvalidGraph
from ktsafe.params import PrivacyParams

Scalar = TypeVar("Scalar", bound=np.generic)

CODES_MAX = 2**31
"""Distinct values per attribute beyond which columns would leave their 32 bits."""


@dataclasses.dataclass(frozen=True, eq=False)
class AuditedRelease:
    """One release of a sequence.

    Attributes
    ----------
    release_id, sequence_id:
        As in its manifest.
    params:
        What it claims to keep.
    ids:
        The published id of each of its n vertices.
    categories:
        For each quasi-identifier the texts of its codes; releases may code differently.
    codes:
        Integers, shape (n, q).
    is_sensitive:
        bool, shape (n,): whether each vertex shows a sensitive value.
    edges:
        Integers, shape (m, 2): positions, each undirected edge once.
    owners:
        Private: the person behind each vertex, None for an inserted vertex or one whose owner has
        left. None altogether: nothing is known.
    vacated:
        Private: ids whose owner is said to have left since the release before. `owners` may
        not contain them: departed people are erased from it.
    unmatched:
        Private: ids that the mapping has and the release has not, or the other way round.
    sensitive_texts:
        What each vertex shows for the sensitive attribute; needed beside a true graph. Without
        them only changes between sensitive and harmless values are seen.
    schema:
        Anything JSON-ready that says what the attributes mean; it must be equal throughout a
        sequence.
    shift:
        Private: for each position another one, a map that is claimed to take the release onto
        itself. Needed beyond stars only; it is checked.
    """

    release_id: str
    sequence_id: str
    params: PrivacyParams
    ids: Sequence[str]
    categories: Sequence[Sequence[str]]
    codes: NDArray[np.int64]
    is_sensitive: NDArray[np.bool_]
    edges: NDArray[np.int64]
    owners: Sequence[Hashable | None] | None = None
    vacated: Collection[str] = ()
    unmatched: int = 0
    sensitive_texts: Sequence[str] | None = None
    schema: object = None
    shift: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        n, q = len(self.ids), len(self.categories)
        codes = np.asarray(self.codes).astype(np.int64, copy=False).reshape(n, q)
        object.__setattr__(self, "codes", codes)
        object.__setattr__(self, "edges", _checked_edges(n, self.edges))
        flags = np.asarray(self.is_sensitive)
        if flags.shape != (n,) or flags.dtype != np.bool_:
            raise InvalidGraph("The sensitive flags must be booleans, one per vertex.")
        if self.owners is not None and len(self.owners) != n:
            raise InvalidGraph("There must be one owner, or none, per vertex.")
        if len(set(self.ids)) != n:
            raise InvalidGraph("A release names an id twice.")
        for j, texts in enumerate(self.categories):
            if n and not (codes[:, j].min() >= 0 and codes[:, j].max() < len(texts)):
                raise InvalidGraph("A code names no category.")


class CodedTexts(Sequence[str]):
    """A column of few distinct texts: the texts, and by row the position of its text.

    Examples
    --------
    >>> list(CodedTexts(["B", "X"], np.array([1, 0, 1])))
    ['X', 'B', 'X']
    """

    def __init__(self, texts: Sequence[str], codes: NDArray[np.integer[Any]]) -> None:
        self.texts = texts
        self.codes = codes

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, at: int) -> str: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[str]: ...
    def __getitem__(self, at: int | slice) -> str | Sequence[str]:
        if isinstance(at, slice):
            return CodedTexts(self.texts, self.codes[at])
        return self.texts[int(self.codes[at])]

    def __iter__(self) -> Iterator[str]:
        return map(self.texts.__getitem__, self.codes.tolist())


SEAL_BYTES = 16
"""Of the keyed hash that stands for a thing in a saved numbering."""


class Numbering:
    """Gives every distinct thing a number for ever: 0, 1, 2 and so on.

    Saved, it names nothing: a keyed hash stands for each thing, until the thing is met again.
    """

    def __init__(self, known: Iterable[Hashable] = ()) -> None:
        self._number: dict[Hashable, int] = {}
        self._seals = bytearray()
        self._sealed: dict[bytes, int] = {}
        self._key = b""
        # Things with numbers from `len(_seals) // SEAL_BYTES` on, whose hashes nobody wanted yet.
        self._unsealed: list[Hashable] = []
        self.of(known)

    def __len__(self) -> int:
        return len(self._seals) // SEAL_BYTES + len(self._unsealed)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._number)

    def of(self, things: Iterable[Hashable] | NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of `things`, new ones where they are met for the first time."""
        if isinstance(things, CodedTexts):
            numbers: NDArray[np.int64] = self.of(things.texts)[things.codes]
            return numbers
        wanted = things.tolist() if isinstance(things, np.ndarray) else list(things)
        # Most are known, and a plain map over the table is by far the fastest way to ask.
        found = list(map(self._number.get, wanted))
        if None in found:
            found = list(map(self._met, wanted))
        return np.array(found, dtype=np.int64)

    def sealed(self, key: bytes) -> bytes:
        """Return the keyed hashes of all things, in the order of their numbers."""
        for thing in self._unsealed:
            self._seals += _seal(thing, key)
        self._unsealed = []
        return bytes(self._seals)

    @classmethod
    def of_sealed(cls, seals: bytes, key: bytes) -> Numbering:
        """Return the numbering whose things had these keyed hashes."""
        numbering = cls()
        numbering._key, numbering._seals = key, bytearray(seals)
        places = range(len(seals) // SEAL_BYTES)
        numbering._sealed = {seals[SEAL_BYTES * i : SEAL_BYTES * (i + 1)]: i for i in places}
        return numbering

    def _met(self, thing: Hashable) -> int:
        number = self._number.get(thing)
        if number is None and self._sealed:
            number = self._sealed.pop(_seal(thing, self._key), None)
        if number is None:
            number = len(self)
            self._unsealed.append(thing)
        self._number[thing] = number
        return number


def stable_codes(release: AuditedRelease, numberings: list[Numbering]) -> NDArray[np.int64]:
    """Return codes, shape (n, q), that mean the same text in every release.

    Raises
    ------
    InvalidGraph
        If releases differ in the number of attributes, or an attribute has too many values.
    """
    if len(release.categories) != len(numberings):
        raise InvalidGraph("Releases of one sequence have different numbers of attributes.")
    codes = np.zeros(release.codes.shape, dtype=np.int64)
    for j, (texts, numbering) in enumerate(zip(release.categories, numberings, strict=True)):
        codes[:, j] = numbering.of(texts)[release.codes[:, j]]
        if len(numbering) >= CODES_MAX:
            raise InvalidGraph("An attribute has too many distinct values.")
    return codes


def grown(array: NDArray[Scalar], size: int, fill: int) -> NDArray[Scalar]:
    """Return `array` lengthened to `size` along its first axis; it is returned as it is if long."""
    if len(array) >= size:
        return array
    tail = np.full((size - len(array), *array.shape[1:]), fill, dtype=array.dtype)
    return np.concatenate((array, tail))


def _seal(thing: Hashable, key: bytes) -> bytes:
    # Texts, flags and whole numbers: those that are equal to Python are written alike.
    plain = thing if isinstance(thing, str) else int(thing) if isinstance(thing, int) else None
    if plain is None:
        raise TypeError("only texts, flags and whole numbers can be sealed")
    return hashlib.blake2b(repr(plain).encode(), key=key, digest_size=SEAL_BYTES).digest()


def _checked_edges(n: int, edges: ArrayLike) -> NDArray[np.int64]:
    pairs = np.asarray(edges, dtype=np.int64).reshape(-1, 2)
    if len(pairs) and (pairs.min() < 0 or pairs.max() >= n):
        raise InvalidGraph("An edge names a vertex that does not exist.")
    if np.any(pairs[:, 0] == pairs[:, 1]):
        raise InvalidGraph("A vertex has an edge to itself.")
    return np.ascontiguousarray(pairs)
