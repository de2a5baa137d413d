"""Pages of numbers, with each person and its released values.

    number = page * PLACES + place

A number is held while its person exists or a tie hangs on it. The smallest free one is given next.

Layout and `PLACES` are a format. How free numbers and people are found may be changed
(tests/state/test_fold.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe.state.change_log import HASH
from ktsafe.state.keys import NUMBER_MAX, PAGE_KEY
from ktsafe.state.ledger import Writes
from ktsafe.state.registers import VertexRecord
from ktsafe.state.snapshot import Categories

PLACES: Final = 512
"""Numbers of a page: as many as are read with the cost of one row, few enough to be rewritten."""
_Column = tuple[list[str | None], bytes]  # distinct texts; the place of each value there, <u2


class _Page(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Page as stored; what numbers do not need is decoded later."""

    hashes: bytes  # 16 for a place, zero where it is free
    lives: bytes  # <i8, -1 where nobody exists
    ids: msgspec.Raw  # list[str | None]
    values: msgspec.Raw  # dict[int, _Column], by the number of the attribute


_decoder: Final = msgspec.msgpack.Decoder(_Page)
_ids_decoder: Final = msgspec.msgpack.Decoder(list[str | None])
_values_decoder: Final = msgspec.msgpack.Decoder(dict[int, _Column])
_encode: Final = msgspec.msgpack.Encoder().encode


class NumberPages:
    """All numbers of a store, read and then altered.

    Parameters
    ----------
    rows:
        The pages as they are stored, ascending.

    Attributes
    ----------
    hashes, lives:
        By number, shape (n,): whose it is, empty where it is free, and the person's life or -1.

    Raises
    ------
    ValueError, msgspec.DecodeError
        If they do not read back as written.
    """

    def __init__(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        self._pages = [_decoder.decode(value) for _, value in rows]
        names = b"".join([key for key, _ in rows])
        if names != np.arange(len(rows), dtype=">u4").tobytes():
            raise ValueError("pages of numbers are missing")
        self.hashes = np.frombuffer(b"".join([p.hashes for p in self._pages]), HASH).copy()
        self.lives = np.frombuffer(b"".join([p.lives for p in self._pages]), "<i8").copy()
        if not len(self.hashes) == len(self.lives) == PLACES * len(self._pages):
            raise ValueError("a page of numbers is not whole")
        # Views would keep hashes and lives a second time.
        self._pages = [_Page(b"", b"", p.ids.copy(), p.values.copy()) for p in self._pages]
        self._altered: set[int] = set()

    def __len__(self) -> int:
        return len(self._pages)

    def find(self, wanted: NDArray[np.bytes_]) -> NDArray[np.int64]:
        """Return the numbers of people, given ascending; -1 for none."""
        found = np.full(len(wanted), -1, dtype=np.int64)
        if not len(wanted) or not len(self.hashes):
            return found
        # Parts of hashes are numbers, which are compared far quicker; few places pass.
        is_begun = np.zeros(1 << 16, dtype=np.bool_)
        is_begun[wanted.view("<u2")[::8]] = True
        maybe = np.flatnonzero(is_begun[self.hashes.view("<u2")[::8]])
        halves = np.sort(wanted.view("<u8")[::2])
        half = self.hashes.view("<u8")[::2][maybe]
        maybe = maybe[halves.take(halves.searchsorted(half), mode="clip") == half]
        at = wanted.searchsorted(self.hashes[maybe])
        is_there = wanted.take(at, mode="clip") == self.hashes[maybe]
        found[at[is_there]] = maybe[is_there]
        return found

    def give(self, people: NDArray[np.bytes_]) -> NDArray[np.int64]:
        """Give people without a number the smallest free ones, in their order."""
        if not len(people):
            return np.zeros(0, dtype=np.int64)
        n_free = int(np.count_nonzero(self.hashes == b""))
        n_more = -(-max(len(people) - n_free, 0) // PLACES)
        assert (len(self._pages) + n_more) * PLACES - 1 <= NUMBER_MAX
        self._altered.update(range(len(self._pages), len(self._pages) + n_more))
        self._pages += [_blank_page()] * n_more
        more = PLACES * n_more
        self.hashes = np.concatenate((self.hashes, np.zeros(more, dtype=HASH)))
        self.lives = np.concatenate((self.lives, np.full(more, -1, dtype=np.int64)))
        numbers = np.flatnonzero(self.hashes == b"")[: len(people)]
        self.hashes[numbers] = people
        self._altered.update((numbers // PLACES).tolist())
        return numbers

    def tell(self, numbers: Sequence[int], records: Sequence[VertexRecord]) -> None:
        """Let people show what their registers say; the absent show nothing."""
        self.lives = self.lives.copy()  # A snapshot may have what was.
        by_page: dict[int, list[tuple[int, VertexRecord]]] = {}
        for number, told in sorted(zip(numbers, records, strict=True), key=itemgetter(0)):
            self.lives[number] = -1 if told.life is None else told.life
            by_page.setdefault(number // PLACES, []).append((number % PLACES, told))
        for number, changes in by_page.items():
            page = self._pages[number]
            ids, columns = _ids_decoder.decode(page.ids), _values_decoder.decode(page.values)
            for place, told in changes:
                ids[place] = told.id
            attributes = columns.keys() | {a for _, told in changes for a in told.attributes}
            columns = {
                attribute: column
                for attribute in sorted(attributes)
                if (column := _changed(columns.get(attribute), attribute, changes))
            }
            packed = (msgspec.Raw(_encode(each)) for each in (ids, columns))
            self._pages[number] = _Page(b"", b"", *packed)
        self._altered.update(by_page)

    def free(self, is_used: NDArray[np.bool_]) -> None:
        """Free the numbers of absent people without ties."""
        numbers = np.flatnonzero((self.hashes != b"") & (self.lives < 0) & ~is_used)
        self.hashes[numbers] = b""
        self._altered.update((numbers // PLACES).tolist())

    def writes(self) -> Writes:
        """Return the pages altered since they were read or written."""
        out: Writes = {}
        for number in sorted(self._altered):
            page, part = self._pages[number], slice(number * PLACES, (number + 1) * PLACES)
            hashes, lives = self.hashes[part].tobytes(), self.lives[part].astype("<i8").tobytes()
            out[PAGE_KEY.pack(number)] = _encode(_Page(hashes, lives, page.ids, page.values))
        self._altered.clear()
        return out

    def lives_given(self) -> NDArray[np.int64]:
        """Return the lives that go on, by number."""
        return self.lives[self.lives >= 0]

    def ids(self) -> list[str]:
        """Return the ids of the present people, by number.

        Raises
        ------
        ValueError, msgspec.DecodeError
            If somebody exists without one.
        """
        ids: list[str] = []
        for page in self._pages:
            ids += filter(None, _ids_decoder.decode(page.ids))
        if len(ids) != np.count_nonzero(self.lives >= 0):
            raise ValueError("a person exists by halves")
        return ids

    def codes(
        self, categories: Categories, attributes: Mapping[int, int]
    ) -> list[NDArray[np.int32]]:
        """Return codes of attributes by number, 0 where free; int32, (n,).

        Parameters
        ----------
        attributes:
            Of each attribute, its number and its position in the schema.
        """
        columns = [np.zeros(len(self.hashes), dtype=np.int32) for _ in attributes]
        for number, page in enumerate(self._pages):
            part = slice(number * PLACES, (number + 1) * PLACES)
            stored = _values_decoder.decode(page.values)
            for column, (attribute, position) in zip(columns, attributes.items(), strict=True):
                if found := stored.get(attribute):
                    texts, places = found
                    table = np.array(categories.coded(position, texts), dtype=np.int32)
                    column[part] = table[np.frombuffer(places, dtype="<u2")]
        return columns


def _blank_page() -> _Page:
    nobody, nothing = msgspec.Raw(_encode([None] * PLACES)), msgspec.Raw(_encode({}))
    return _Page(b"", b"", nobody, nothing)


def page_rows(
    people: Iterable[tuple[bytes, VertexRecord]],
) -> Iterable[tuple[bytes, bytes]]:
    """Yield a new store's pages of people, numbered from 0."""
    some: list[tuple[bytes, VertexRecord]] = []
    number = 0

    def page() -> tuple[bytes, bytes]:
        places = NumberPages([])
        places.give(np.array([alias for alias, _ in some], dtype=HASH))
        places.tell(range(len(some)), [record for _, record in some])
        ((_, value),) = places.writes().items()
        assert value is not None
        return PAGE_KEY.pack(number), value

    for each in people:
        some.append(each)
        if len(some) == PLACES:
            yield page()
            some.clear()
            number += 1
    if some:
        yield page()


def _changed(
    column: _Column | None, attribute: int, changes: Sequence[tuple[int, VertexRecord]]
) -> _Column | None:
    """Return a column with other values, and without unused texts."""
    texts, stored = column or ([None], bytes(2 * PLACES))
    places = np.frombuffer(stored, dtype="<u2").copy()
    known = {text: place for place, text in enumerate(texts)}
    for place, told in changes:
        _, value = told.attributes.get(attribute, (None, None)) if told.id else (None, None)
        places[place] = known.setdefault(value, len(known))
    used, places = np.unique(places, return_inverse=True)
    every = list(known)
    kept = [every[place] for place in used.tolist()]
    return None if kept == [None] else (kept, places.astype("<u2").tobytes())
