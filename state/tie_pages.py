"""Ties of a store in pages of sorted codes, stamps in others.

    code = lower number << 32 | upper number << 1 | whether the tie is there

Codes of all pages are read for every release; stamps only of pages that may change. A page has the
name of its first tie; before it stands the mark of its ties, if it is not 0 (`change_log`).

`_PAGES_AT_ONCE` may be tuned; the layout of pages is a format, while pages of any size are read.
tests/state/test_fold.py uses pages so small that few changes divide and empty them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ktsafe.state import keys
from ktsafe.state.keys import LONG_KEY
from ktsafe.state.ledger import Writes
from ktsafe.state.snapshot import lower, upper

TIES: Final = 512
"""Ties of a page: 10 million are read in 0.2 core seconds, where rows of one tie each took 4. In
greater pages more is rewritten for each tie that changes."""
TIES_MAX: Final = 768
"""A longer page is divided."""
_STAMP_BYTES: Final = 20
_PAGES_AT_ONCE: Final = 1000
"""Of pages that are written anew: some 10 MB of stamps."""

ReadPages: TypeAlias = Callable[[str, Sequence[bytes]], Sequence[bytes | None]]
"""Reads stored pages: of a column family, by their names."""


class Stamps(NamedTuple):
    """Stamps in int64 columns (m,); `rank` is an origin's place."""

    time: NDArray[np.int64]
    rank: NDArray[np.int64]
    offset: NDArray[np.int64]

    def at(self, which: NDArray[np.integer] | NDArray[np.bool_]) -> Stamps:
        """Return some of them."""
        return Stamps(*(column[which] for column in self))

    def later(self, than: Stamps) -> NDArray[np.bool_]:
        """Return which are later than others: by time, then origin, then offset."""
        same_time, same_rank = self.time == than.time, self.rank == than.rank
        by_origin = np.where(same_rank, self.offset > than.offset, self.rank > than.rank)
        return np.where(same_time, by_origin, self.time > than.time)


class Registers(NamedTuple):
    """Registers of ties, shape (m,) each: ascending codes, and stamps."""

    codes: NDArray[np.int64]
    stamps: Stamps

    def latest(self) -> Registers:
        """Return the latest register of each tie."""
        stamps = self.stamps
        order = np.lexsort((stamps.offset, stamps.rank, stamps.time, self.codes >> 1))
        pairs = self.codes[order] >> 1
        is_last = np.ones(len(order), dtype=np.bool_)
        is_last[:-1] = pairs[1:] != pairs[:-1]
        order = order[is_last]
        return Registers(self.codes[order], stamps.at(order))


class MarkedPages(dict[int, "TiePages"]):
    """The pages of ties by mark; those of 0 are always there.

    Parameters
    ----------
    rows, read:
        As of `TiePages`, of all marks.
    """

    def __init__(self, rows: Sequence[tuple[bytes, bytes]], read: ReadPages) -> None:
        self._read = read
        self._ranks = np.zeros(0, dtype=np.int64)
        by_mark: dict[bytes, list[tuple[bytes, bytes]]] = {b"": []}
        for name, value in rows:
            by_mark.setdefault(name[: -LONG_KEY.size], []).append((name, value))
        for prefix, some in by_mark.items():
            self[int.from_bytes(prefix, "big")] = TiePages(some, read, prefix)

    def of(self, mark: int) -> TiePages:
        """Return the pages of a mark, which may be new."""
        if mark not in self:
            self[mark] = TiePages([], self._read, mark.to_bytes(4, "big"))
            self[mark].rank(self._ranks)
        return self[mark]

    @property
    def n_pages(self) -> int:
        """How many pages are stored."""
        return sum(map(len, self.values()))

    def rank(self, ranks: NDArray[np.int64]) -> None:
        """Take origins in their present order, given each one's place."""
        self._ranks = ranks
        for pages in self.values():
            pages.rank(ranks)

    def writes(self) -> tuple[Writes, Writes]:
        """Return writes to pages of codes and stamps, as `TiePages.writes`."""
        codes, stamps = Writes(), Writes()
        for pages in self.values():
            of_mark = pages.writes()
            codes |= of_mark[0]
            stamps |= of_mark[1]
        return codes, stamps


class TiePages:
    """Ties of one mark: stored pages, and what became of them.

    Parameters
    ----------
    rows:
        The pages of codes as they are stored, ascending.
    read:
        Reads pages again, with their stamps, for the few ties of which those are asked.
    prefix:
        What the names of the pages begin with.

    Attributes
    ----------
    codes:
        Of all ties as of now, ascending. The array is never altered, so whoever has it may keep it.

    Raises
    ------
    ValueError
        If they do not read back as written.
    """

    def __init__(
        self, rows: Sequence[tuple[bytes, bytes]], read: ReadPages, prefix: bytes = b""
    ) -> None:
        self._read, self._prefix = read, prefix
        sizes = np.fromiter((len(value) for _, value in rows), np.int64, len(rows)) // 8
        self.codes: NDArray[np.int64] = np.frombuffer(b"".join([v for _, v in rows]), dtype="<i8")
        if (sizes == 0).any() or sizes.sum() != len(self.codes):
            raise ValueError("pages of ties are missing")
        _check_ascend(self.codes)
        firsts = b"".join([name.removeprefix(prefix) for name, _ in rows])
        self._firsts = np.frombuffer(firsts, dtype=">u8").astype(np.int64)  # By which pages go.
        if (self._firsts != self.codes[sizes.cumsum() - sizes] & -2).any():
            raise ValueError("a page of ties is not where it belongs")
        self._ranks = np.zeros(0, dtype=np.int64)
        self._news, self._is_dirty = self._no_news()

    def __len__(self) -> int:
        """Return how many pages are stored."""
        return len(self._firsts)

    def rank(self, ranks: NDArray[np.int64]) -> None:
        """Take origins in their present order, given each one's place."""
        if len(ranks) != len(self._ranks):
            old = self._news.stamps
            if len(old.rank):
                old = old._replace(rank=ranks[self._ranks.argsort()[old.rank]])
            self._news = Registers(self._news.codes, old)
            self._ranks = ranks

    def take(self, told: Registers) -> None:
        """Let the later stamp of each tie win, given one for each."""
        at, is_known = _found(self.codes, told.codes)
        by = np.flatnonzero(is_known)
        is_later = told.stamps.at(by).later(self.stamps(at[by]))
        is_new = ~is_known
        codes = np.insert(self.codes, at[is_new], told.codes[is_new])
        known = by[is_later]
        codes[at[known] + is_new.cumsum()[known]] = told.codes[known]
        self.codes = codes
        is_new[known] = True
        self._news = _merged(self._news, Registers(told.codes[is_new], told.stamps.at(is_new)))

    def count(self, codes: NDArray[np.int64], more: NDArray[np.int64], time: int) -> None:
        """Change how many rows say each tie.

        Their number is the offset of its stamp.

        Raises
        ------
        ValueError
            If fewer than none are left of one.
        """
        at, is_known = _found(self.codes, codes)
        number = more.copy()
        number[is_known] += self.stamps(at[is_known]).offset
        if (number < 0).any() or not number[~is_known].all():
            raise ValueError("a row is missing")
        self.drop(at[is_known & (number == 0)])
        left = number > 0
        columns = np.full(left.sum(), time), np.zeros(left.sum(), dtype=np.int64), number[left]
        self.take(Registers(codes[left] | 1, Stamps(*columns)))

    def drop(self, which: NDArray[np.int64]) -> None:
        """Forget ties, given where they are among all of them, ascending."""
        if not len(which):
            return
        dropped = self.codes[which]
        self._is_dirty[self._page_of(dropped)] = True
        self.codes = np.delete(self.codes, which)
        at, is_there = _found(self._news.codes, dropped)
        kept = np.ones(len(self._news.codes), dtype=np.bool_)
        kept[at[is_there]] = False
        self._news = Registers(self._news.codes[kept], self._news.stamps.at(kept))

    def around(self, is_there: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return where the ties of some people are, given by number."""
        return np.flatnonzero(is_there[lower(self.codes)] | is_there[upper(self.codes)])

    def stamps(self, which: NDArray[np.int64]) -> Stamps:
        """Return stamps of ties at these places among all.

        Raises
        ------
        ValueError
            If their pages do not read back as written.
        """
        codes = self.codes[which]
        at, is_new = _found(self._news.codes, codes)
        found = Stamps(*(np.empty(len(codes), dtype=np.int64) for _ in Stamps._fields))
        for column, new in zip(found, self._news.stamps, strict=True):
            column[is_new] = new[at[is_new]]
        if not is_new.all():
            stored = self._stored(np.unique(self._page_of(codes[~is_new])))
            at, is_there = _found(stored.codes, codes[~is_new])
            if not is_there.all():
                raise ValueError("a tie has no stamp")
            for column, old in zip(found, stored.stamps, strict=True):
                column[~is_new] = old[at]
        return found

    def writes(self) -> tuple[Writes, Writes]:
        """Return the writes to pages of codes and of stamps.

        From here on they count as stored.

        Raises
        ------
        ValueError
            If a page in which something changed does not read back as written.
        """
        self._is_dirty[self._page_of(self._news.codes)] = True
        is_thin = len(self) > 2 * (len(self.codes) // TIES) + 16
        if is_thin:  # After many were removed all are cut anew.
            self._is_dirty[:] = True
        dirty = np.flatnonzero(self._is_dirty)
        within = self.codes.searchsorted(self._firsts[1:])
        bounds = np.concatenate(([0], within, [len(self.codes)]))
        begin, end = bounds[dirty], bounds[dirty + 1]
        if is_thin:
            begin, end = bounds[:1], bounds[-1:]
        removed = self._names(dirty)
        codes: Writes = dict.fromkeys(removed)
        stamps: Writes = dict.fromkeys(removed)
        origins, sizes = self._ranks.argsort(), end - begin
        # So many pages at once: all stamps of a large graph take three times what its codes do.
        for some in np.array_split(np.arange(len(begin)), len(begin) // _PAGES_AT_ONCE + 1):
            which = _ranges(begin[some], sizes[some])
            told = Registers(self.codes[which], self.stamps(which))
            for part in _cuts(sizes[some]):
                first, *values = _packed(told, part, origins)
                codes[self._prefix + first], stamps[self._prefix + first] = values
        written = [LONG_KEY.unpack(x.removeprefix(self._prefix))[0] for x in codes if codes[x]]
        kept = self._firsts[~self._is_dirty] if len(self) else self._firsts
        self._firsts = np.sort(np.append(kept, np.array(written, dtype=np.int64)))
        self._news, self._is_dirty = self._no_news()
        return codes, stamps

    def _names(self, pages: NDArray[np.int64]) -> list[bytes]:
        """Return the names of some pages, if any are stored."""
        firsts = self._firsts[pages].tolist() if len(self) else []
        return [self._prefix + LONG_KEY.pack(first) for first in firsts]

    def _no_news(self) -> tuple[Registers, NDArray[np.bool_]]:
        """Return ties changed since the last writing, and pages with losses.

        None yet. Where no page is stored there is one in mind, in which all belongs.
        """
        none = np.zeros(0, dtype=np.int64)
        return Registers(none, Stamps(none, none, none)), np.zeros(
            max(len(self), 1), dtype=np.bool_
        )

    def _page_of(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the page in which each tie is, or would be."""
        return np.maximum(self._firsts.searchsorted(codes | 1, side="right") - 1, 0)

    def _stored(self, pages: NDArray[np.int64]) -> Registers:
        """Return the ties of some pages as they are stored."""
        names = self._names(pages)
        values = self._read(keys.TIES, names)
        if None in values:
            raise ValueError("a page of ties is missing")
        parts = [np.frombuffer(value, dtype="<i8") for value in values if value is not None]
        stamps = _unpacked(self._read(keys.STAMPS, names), parts, self._ranks)
        codes = _joined(parts)
        _check_ascend(codes)
        return Registers(codes, stamps)


def are_beside(ties: Sequence[tuple[bytes, bytes]], stamps: Sequence[tuple[bytes, bytes]]) -> bool:
    """Return whether the stored pages of stamps are those of the ties."""
    n_ties = [(name, len(value) // 8) for name, value in ties]
    return n_ties == [(name, len(value) / _STAMP_BYTES) for name, value in stamps]


def page_rows(codes: NDArray[np.int64]) -> list[tuple[bytes, slice]]:
    """Return a new store's pages of ties: name and part, ascending."""
    parts = [slice(first, first + TIES) for first in range(0, len(codes), TIES)]
    return [(LONG_KEY.pack(int(codes[part.start]) & -2), part) for part in parts]


def packed_stamps(
    time: NDArray[np.int64], origin: NDArray[np.int64], offset: NDArray[np.int64]
) -> bytes:
    """Return a page's stamps as stored, column after column."""
    columns = time.astype("<i8"), offset.astype("<i8"), origin.astype("<u4")
    return b"".join([column.tobytes() for column in columns])


def _unpacked(
    values: Sequence[bytes | None], codes: Sequence[NDArray[np.int64]], ranks: NDArray[np.int64]
) -> Stamps:
    """Return the stamps of pages, given the codes of each."""
    columns: tuple[list[NDArray[np.int64]], ...] = ([], [], [])
    for value, part in zip(values, codes, strict=True):
        n = len(part)
        if value is None or len(value) != n * _STAMP_BYTES:
            raise ValueError("the stamps of a page are missing")
        for column, dtype, first in zip(columns, ("<i8", "<i8", "<u4"), (0, 8, 16), strict=True):
            column.append(np.frombuffer(value, dtype=dtype, count=n, offset=n * first))
    time, offset, origin = map(_joined, columns)
    if len(origin) and origin.max() >= len(ranks):
        raise ValueError("a stamp is of an unknown origin")
    return Stamps(time, ranks[origin], offset)


def _packed(told: Registers, part: slice, origins: NDArray[np.int64]) -> tuple[bytes, bytes, bytes]:
    """Return a page's name, codes and stamps as stored."""
    codes, stamps = told.codes[part], told.stamps
    columns = stamps.time[part], origins[stamps.rank[part]], stamps.offset[part]
    name = LONG_KEY.pack(int(codes[0]) & -2)
    return name, codes.astype("<i8").tobytes(), packed_stamps(*columns)


def _ranges(begin: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers of all ranges, one after the other."""
    before = sizes.cumsum() - sizes
    return np.repeat(begin - before, sizes) + np.arange(sizes.sum())


def _cuts(sizes: NDArray[np.int64]) -> Iterator[slice]:
    """Cut runs of ties that stand one after the other into pages."""
    first = 0
    for size in sizes.tolist():
        n_pages = 1 if size <= TIES_MAX else -(-size // TIES)
        cuts = [first + size * n // n_pages for n in range(n_pages + 1)]
        yield from (slice(a, b) for a, b in itertools.pairwise(cuts) if a < b)
        first += size


def _found(
    codes: NDArray[np.int64], wanted: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return where ties stand among others, and which do; both ascend."""
    at = codes.searchsorted(wanted & -2)
    if not len(codes):
        return at, np.zeros(len(wanted), dtype=np.bool_)
    return at, codes.take(at, mode="clip") | 1 == wanted | 1


def _merged(old: Registers, new: Registers) -> Registers:
    """Return ties with their new stamps, if there are any."""
    at, is_known = _found(old.codes, new.codes)
    known, more = at[is_known], ~is_known
    columns = []
    for before, after in zip((old.codes, *old.stamps), (new.codes, *new.stamps), strict=True):
        changed = before.copy()
        changed[known] = after[is_known]
        columns.append(np.insert(changed, at[more], after[more]))
    return Registers(columns[0], Stamps(*columns[1:]))


def _check_ascend(codes: NDArray[np.int64]) -> None:
    pairs = codes >> 1
    if (pairs[1:] <= pairs[:-1]).any() or (lower(codes) >= upper(codes)).any():
        raise ValueError("ties are not in order")


def _joined(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate(parts).astype(np.int64) if parts else np.zeros(0, dtype=np.int64)
