"""Releases as the auditor carries them along, copied before one is tried.

Checks of what was read may be added to `AuditedRelease`. Constants such as `ID_DIGITS` stand
elsewhere too and are repeated on purpose: nothing is shared with what is judged. What `Numbering`
and subclasses of `CopyOnExtend` keep is saved in states; see `saved_state` before an attribute is
added or renamed.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ktsafe.errors import InvalidGraph
from ktsafe.params import PrivacyParams
from ktsafe.verify import CheckedTies


class CopyOnExtend:
    """Keeps its knowledge of each release so copies cost nothing.

    Arrays and tuples are replaced, never changed in place. Tables that give numbers are only ever
    added to and shared by copies: a number, once given, means the same for ever.

    Attributes
    ----------
    NOT_SAVED:
        Names of attributes that are no part of what was learned, or follow from the others.
    """

    NOT_SAVED: ClassVar[frozenset[str]] = frozenset()

    def settle(self) -> None:
        """Drop what no later release can need, before this is saved."""

    def resume(self) -> None:
        """Make what follows from the others, after this was read back."""

    def copy(self) -> Self:
        """Return one that goes on by itself, with its parts."""
        other = copy.copy(self)
        for name, part in vars(self).items():
            if isinstance(part, CopyOnExtend):
                setattr(other, name, part.copy())
        return other


# What the auditor is given.
#
# A release as published, and privately the person of each vertex.

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
        The published id of each of its n vertices. Where all are 16 hexadecimal digits, perhaps
        the numbers that they are, uint64.
    categories:
        For each quasi-identifier the texts of its codes; releases may code differently.
    codes:
        Integers, shape (n, q).
    is_sensitive:
        bool, shape (n,): whether each vertex shows a sensitive value.
    edges:
        Integers, shape (m, 2): positions, each undirected edge once; `ties` are these, checked.
    owners:
        Private: the person behind each vertex, None for an inserted vertex or one whose owner has
        left; or whole numbers, int64, -1 for nobody. None altogether: nothing is known.
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
    value_at:
        Private: for each position the one that shows the sensitive value of its owner, or of who
        left it. None: each shows its own.
    """

    release_id: str
    sequence_id: str
    params: PrivacyParams
    ids: Sequence[str] | NDArray[np.uint64]
    categories: Sequence[Sequence[str]]
    codes: NDArray[np.int64]
    is_sensitive: NDArray[np.bool_]
    edges: NDArray[np.integer[Any]]
    owners: Sequence[Hashable | None] | NDArray[np.int64] | None = None
    vacated: Collection[str] = ()
    unmatched: int = 0
    sensitive_texts: Sequence[str] | None = None
    schema: object = None
    value_at: NDArray[np.int64] | None = None
    ties: CheckedTies = dataclasses.field(init=False)

    @cached_property
    def has_owner(self) -> NDArray[np.bool_]:
        """Whether each vertex has a known person, bool, shape (n,)."""
        if isinstance(self.owners, np.ndarray):
            return self.owners >= 0
        owners = self.owners or [None] * len(self.ids)
        return np.array([owner is not None for owner in owners], dtype=np.bool_)

    def id_of(self, vertex: int) -> str:
        """Return the published id of a vertex as text."""
        name = self.ids[vertex]
        return name if isinstance(name, str) else f"{int(name):016x}"

    def __post_init__(self) -> None:
        n, q = len(self.ids), len(self.categories)
        codes = np.asarray(self.codes).astype(np.int64, copy=False).reshape(n, q)
        object.__setattr__(self, "codes", codes)
        object.__setattr__(self, "ties", CheckedTies.of(n, self.edges))
        flags = np.asarray(self.is_sensitive)
        if flags.shape != (n,) or flags.dtype != np.bool_:
            raise InvalidGraph("The sensitive flags must be booleans, one per vertex.")
        if self.owners is not None and len(self.owners) != n:
            raise InvalidGraph("There must be one owner, or none, per vertex.")
        if self.value_at is not None:
            object.__setattr__(self, "value_at", _checked_order(n, self.value_at))
        if not _are_distinct(self.ids):
            raise InvalidGraph("A release names an id twice.")
        for j, texts in enumerate(self.categories):
            if n and not (codes[:, j].min() >= 0 and codes[:, j].max() < len(texts)):
                raise InvalidGraph("A code names no category.")


class CodedTexts(Sequence[str]):
    """A column of few distinct texts.

    The texts, and by row the position of its text.

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
ID_DIGITS = 16
"""Of the ids that are held as integers."""
THINGS_AT_ONCE = 100_000
"""Texts that are made, or read, together."""


class Numbering:
    """Gives every distinct thing a number for ever.

    0, 1, 2 and so on.

    Saved, it names nothing: a keyed hash stands for each thing, until the thing is met again.
    Things of one plain kind, whole numbers or ids of 16 hexadecimal digits, are held as ascending
    integers: a tenth of the memory of a dictionary, which holds all others.
    """

    def __init__(self, known: Iterable[Hashable] = ()) -> None:
        self._size = 0
        self._seals = bytearray()
        self._sealed: dict[bytes, int] = {}
        self._key = b""
        # Plain things: their kind, a key of each, ascending, and their numbers.
        self._kind: type | None = None
        self._keys = np.zeros(0, dtype=np.uint64)
        self._numbers = np.zeros(0, dtype=np.int64)
        # All things, once one of them is not of that kind.
        self._number: dict[Hashable, int] | None = None
        self.of(known)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Hashable]:
        """Yield the known things, in order unless some were sealed."""
        return self._things() if self._number is None else iter(self._number)

    def of(self, things: Iterable[Hashable] | NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the numbers of `things`, new ones at first sight."""
        if isinstance(things, CodedTexts):
            numbers: NDArray[np.int64] = self.of(things.texts)[things.codes]
            return numbers
        if not isinstance(things, (Sequence, np.ndarray)):
            things = list(things)
        if len(things) == 0:
            return np.zeros(0, dtype=np.int64)
        if self._number is None:
            kind, keys = _plain(things)
            if keys is not None and self._kind in (None, kind):
                self._kind = kind
                return self._of_plain(keys)
            numbered = self._numbers[self._order()].tolist()
            self._number = dict(zip(self, numbered, strict=True))
        # Most are known, and a plain map over the table is by far the fastest way to ask.
        if not isinstance(things, np.ndarray):
            wanted = list(things)
        else:
            wanted = list(_ids_of(things) if things.dtype == np.uint64 else things.tolist())
        found = list(map(self._number.get, wanted))
        if None in found:
            found = list(map(self._met, wanted))
        return np.array(found, dtype=np.int64)

    def sealed(self, key: bytes) -> bytes:
        """Return the keyed hashes of all things, in number order."""
        n_sealed = len(self._seals) // SEAL_BYTES
        if self._number is None:
            things = self._things(n_sealed)
        else:
            things = (thing for thing, number in self._number.items() if number >= n_sealed)
        for thing in things:
            self._seals += _seal(thing, key)
        return bytes(self._seals)

    @classmethod
    def of_sealed(cls, seals: bytes, key: bytes) -> Numbering:
        """Return the numbering of things with these keyed hashes."""
        numbering = cls()
        numbering._key, numbering._seals = key, bytearray(seals)
        numbering._size = len(seals) // SEAL_BYTES
        places = range(numbering._size)
        numbering._sealed = {seals[SEAL_BYTES * i : SEAL_BYTES * (i + 1)]: i for i in places}
        return numbering

    def _met(self, thing: Hashable) -> int:
        assert self._number is not None
        number = self._number.get(thing)
        if number is None:
            self._number[thing] = number = self._next(thing)
        return number

    def _next(self, thing: Hashable) -> int:
        """Return the number of a thing new, or new since sealing."""
        number = self._sealed.pop(_seal(thing, self._key), None) if self._sealed else None
        if number is None:
            number = self._size
            self._size += 1
        return number

    def _of_plain(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        numbers = self._found(keys)
        is_new = numbers < 0
        if is_new.any():
            self._add(keys[is_new])
            numbers[is_new] = self._found(keys[is_new])
        return numbers

    def _found(self, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the number of each key, -1 of unknown ones."""
        numbers = np.full(len(keys), -1, dtype=np.int64)
        if not len(self._keys):
            return numbers
        # Keys that ascend are found in a fraction of the time.
        is_ordered = (keys[1:] >= keys[:-1]).all()
        order = slice(None) if is_ordered else np.argsort(keys, kind="stable")
        ordered = keys[order]
        place = np.searchsorted(self._keys, ordered)
        np.minimum(place, len(self._keys) - 1, out=place)
        numbers[order] = np.where(self._keys[place] == ordered, self._numbers[place], -1)
        return numbers

    def _add(self, keys: NDArray[np.uint64]) -> None:
        """Give numbers to unknown keys, in order of arrival."""
        new, first = np.unique(keys, return_index=True)
        order = np.argsort(first)
        numbers = np.empty(len(new), dtype=np.int64)
        if self._sealed:
            numbers[order] = [self._next(thing) for thing in self._named(new[order])]
        else:
            numbers[order] = np.arange(self._size, self._size + len(new))
            self._size += len(new)
        place = np.searchsorted(self._keys, new)
        self._keys = np.insert(self._keys, place, new)
        self._numbers = np.insert(self._numbers, place, numbers)

    def _order(self, least: int = 0) -> NDArray[np.int64]:
        """Return the places of plain things by number, from `least` on."""
        places = np.flatnonzero(self._numbers >= least)
        ordered: NDArray[np.int64] = places[np.argsort(self._numbers[places])]
        return ordered

    def _things(self, least: int = 0) -> Iterator[Hashable]:
        return self._named(self._keys[self._order(least)])

    def _named(self, keys: NDArray[np.uint64]) -> Iterator[Hashable]:
        yield from keys.view(np.int64).tolist() if self._kind is int else _ids_of(keys)


def stable_codes(release: AuditedRelease, numberings: list[Numbering]) -> NDArray[np.int64]:
    """Return codes (n, q) with the same text in every release.

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
    """Return `array` lengthened to `size` along its first axis.

    It is returned as it is if long.
    """
    if len(array) >= size:
        return array
    tail = np.full((size - len(array), *array.shape[1:]), fill, dtype=array.dtype)
    return np.concatenate((array, tail))


def _plain(
    things: Sequence[Hashable] | NDArray[Any],
) -> tuple[type | None, NDArray[np.uint64] | None]:
    """Return the kind of uniform things, and a key of each.

    Kinds are whole numbers and ids.

    An id is 16 hexadecimal digits as Python writes them, or the number without a sign that they
    are; things of any other kind have no key.
    """
    if isinstance(things[0], (str, np.uint64)):
        return str, _keys_of_ids(things)
    try:
        numbers = np.asarray(things)
    except ValueError:
        return None, None
    if numbers.ndim != 1 or numbers.dtype.kind != "i":
        return None, None
    return int, numbers.astype(np.int64).view(np.uint64)


def _are_distinct(ids: Sequence[str] | NDArray[np.uint64]) -> bool:
    keys = _keys_of_ids(ids)
    if keys is None:
        return len(set(ids)) == len(ids)
    keys.sort(kind="stable")
    return bool((keys[1:] != keys[:-1]).all())


def _keys_of_ids(texts: Sequence[Hashable] | NDArray[Any]) -> NDArray[np.uint64] | None:
    """Return a key for each id.

    What `ktsafe.graph.numbering.Ids` does, which auditors do not share.
    """
    if isinstance(texts, np.ndarray) and texts.dtype == np.uint64:
        return texts.copy()
    keys = np.empty(len(texts), dtype=np.uint64)
    for begin in range(0, len(texts), THINGS_AT_ONCE):
        some = list(texts[begin : begin + THINGS_AT_ONCE])
        if {type(text) for text in some} != {str} or set(map(len, some)) != {ID_DIGITS}:
            return None
        joined = "".join(some)
        try:
            octets = bytes.fromhex(joined)
        except ValueError:
            return None
        # Capital letters and spaces can be read as well, and are no part of an id.
        if octets.hex() != joined:
            return None
        keys[begin : begin + len(some)] = np.frombuffer(octets, dtype=">u8")
    return keys


def _ids_of(keys: NDArray[np.integer[Any]]) -> Iterator[str]:
    """Yield the ids that keys stand for."""
    for begin in range(0, len(keys), THINGS_AT_ONCE):
        some = keys[begin : begin + THINGS_AT_ONCE]
        yield from some.astype(">u8").tobytes().hex(",", 8).split(",")


def _seal(thing: Hashable, key: bytes) -> bytes:
    # Texts, flags and whole numbers: those that are equal to Python are written alike.
    plain = thing if isinstance(thing, str) else int(thing) if isinstance(thing, int) else None
    if plain is None:
        raise TypeError("only texts, flags and whole numbers can be sealed")
    return hashlib.blake2b(repr(plain).encode(), key=key, digest_size=SEAL_BYTES).digest()


def _checked_order(n: int, places: ArrayLike) -> NDArray[np.int64]:
    order = np.asarray(places, dtype=np.int64)
    if not np.array_equal(np.sort(order), np.arange(n)):
        raise InvalidGraph("The values must stand at each vertex once.")
    return order
