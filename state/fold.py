"""Folds the log of changes into the graph.

How it is computed may be changed freely: tests/state/test_fold.py compares every fold with the
naive one (tests/state/naive_fold.py). Pages and rows are a format (`keys.FORMAT`).

What every commit said is resolved:

    changes ──┐
    downs  ───┼──▶ numbers, latest stamp of each tie, what departures cover ──▶ arrays of a snapshot
    people ───┘                                                            └──▶ places, ties, stamps

What was resolved stays in memory, and what is said from then on is taken in: a cut costs what was
said since the last one, and a pass over the ties. Pages are written seldom (`Folded.writes`); a
store that is only looked at, or opened again, resolves all of its log in the same way.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe import Schema
from ktsafe.state import change_log, keys
from ktsafe.state.change_log import (
    HASH,
    LoggedRows,
    TieChanges,
    counting,
    mark_of_row,
    people_of,
    rows_of,
    tie_changes,
    way_of,
)
from ktsafe.state.database import StoredRows
from ktsafe.state.ledger import Writes
from ktsafe.state.number_pages import NumberPages
from ktsafe.state.registers import MARK, Origins, decoded, forget_downs
from ktsafe.state.rows import CLOCK, tie_of, written
from ktsafe.state.snapshot import Categories, GraphArrays, lower, pair_codes, upper
from ktsafe.state.store_base import Progress
from ktsafe.state.tie_pages import MarkedPages, Registers, Stamps


@dataclasses.dataclass(frozen=True, slots=True)
class Known:
    """What a store knows beside its rows.

    Attributes
    ----------
    attributes:
        The number of each attribute of the schema, by position.
    kinds:
        The number of each kind of ties.
    """

    schema: Schema
    attributes: Sequence[int]
    origins: Origins
    kinds: dict[str, int]
    categories: Categories


class Folded:
    """Graph as of a commit: a store's pages and its later log.

    Parameters
    ----------
    progress:
        How far the store is.

    Attributes
    ----------
    counts:
        As `ktsafe.state.store.GraphStore.counts`.

    Raises
    ------
    ValueError, LookupError, msgspec.DecodeError
        If the rows do not read back as written.
    """

    def __init__(self, database: StoredRows, known: Known, progress: Progress) -> None:
        self._database, self._known = database, known
        # Numbers that no page holds yet are given anew by whoever resolves the log again.
        self._lineage = object()
        self.places = NumberPages(database.all(keys.PLACES))
        self._ties = MarkedPages(database.all(keys.TIES), database.get_many)
        if (len(self.places), self._ties.n_pages) != (progress.n_places, progress.n_pages):
            raise ValueError("rows are missing")
        self._log: list[bytes] = []
        self._edges = np.zeros(0, dtype=np.int64)
        self._rows: LoggedRows = {}  # Those of ties that are told and not written.
        self._is_settled = False
        self.counts: Mapping[str, int] = {}
        self.follow(progress)

    def follow(self, progress: Progress) -> None:
        """Take in what the log says since; nothing is written.

        Raises
        ------
        ValueError, LookupError, msgspec.DecodeError
            If the rows do not read back as written.
        """
        log = self._database.all(keys.CHANGES, after=self._log[-1] if self._log else None)
        downs = self._database.all(keys.DOWNS)
        self._log += [name for name, _ in log]
        if (len(self._log), len(downs)) != (progress.n_log, progress.n_downs):
            raise ValueError("rows are missing")
        rows = change_log.decoded(log)
        self._downs = _Downs(downs, self._known.origins)
        self._ties.rank(self._known.origins.ranks())
        told, first = people_of(rows)
        self._n_lives = progress.n_lives
        self._tell(told, first)
        for mark, news in self._news(tie_changes(rows)):
            self._ties.of(mark).take(news)
        if self._database.get_many(keys.ROWS, [CLOCK])[0] is None:
            self._drop_covered(told)
        else:  # Rows of ties stay when somebody departs.
            self._count(rows_of(rows), progress.commits)
        self._settle()

    def writes(
        self, progress: Progress, horizon_us: int | None = None
    ) -> tuple[Mapping[str, Writes], Progress]:
        """Return writes by column family, and the store's progress then.

        From here on it counts as written.

        Parameters
        ----------
        horizon_us:
            What was deleted before is forgotten: no event precedes it.

        Raises
        ------
        ValueError, LookupError, msgspec.DecodeError
            If the rows do not read back as written.
        """
        forgotten: tuple[Writes, Writes, int] = ({}, {}, 0)
        if horizon_us is not None:
            for ties in self._ties.values():
                absent = np.flatnonzero(ties.codes & 1 == 0)
                ties.drop(absent[ties.stamps(absent).time < horizon_us])
            old = self._downs.forget(horizon_us)
            forgotten = forget_downs(old, self._database.get_many(keys.PEOPLE, old))
            self._settle()
        codes, stamps = self._ties.writes()
        folded, self._log = self._log, []
        rows, self._rows = self._rows, {}
        writes = {
            keys.CHANGES: dict.fromkeys(folded),
            keys.PEOPLE: forgotten[0],
            keys.DOWNS: forgotten[1],
            keys.PLACES: self.places.writes(),
            keys.TIES: codes,
            keys.STAMPS: stamps,
            keys.ROWS: written(rows),
        }
        return writes, msgspec.structs.replace(
            progress,
            n_log=0,
            n_logged=0,
            n_people=progress.n_people - forgotten[2],
            n_downs=len(self._downs),
            n_places=len(self.places),
            n_pages=self._ties.n_pages,
            **self.counts,
        )

    def arrays(self) -> GraphArrays:
        """Return the graph.

        Raises
        ------
        ValueError, LookupError, msgspec.DecodeError
            If the rows do not read back as written.
        """
        known, names = self._known, self._known.schema.attributes
        positions = {attribute: j for j, attribute in enumerate(known.attributes)}
        codes = self.places.codes(known.categories, positions)
        told = {
            name: known.categories.told(j, column)
            for j, (name, column) in enumerate(zip(names, codes, strict=True))
        }
        return GraphArrays(
            schema=known.schema,
            codes=np.column_stack([each.codes for each in told.values()]),
            categories=tuple(each.texts for each in told.values()),
            values={name: each.values for name, each in told.items() if each.values},
            edges=self._edges,
            lives=self.places.lives,
            n_lives=self._n_lives,
            lineage=self._lineage,
        )

    def lives(self) -> dict[bytes, int]:
        """Return the lives that go on, by keyed hash."""
        places = self.places
        aliases = _as_bytes(places.hashes[places.lives >= 0])
        return dict(zip(aliases, places.lives_given().tolist(), strict=True))

    def _tell(self, told: NDArray[np.bytes_], first: NDArray[np.int64]) -> None:
        """Let people with altered registers show what those say now."""
        aliases = _as_bytes(told)
        values = self._database.get_many(keys.PEOPLE, aliases)
        if None in values:
            raise ValueError("a person has no registers")
        records = [decoded(value) for value in values if value is not None]
        exists = np.fromiter((r.life is not None for r in records), np.bool_, len(records))
        numbers = self._numbers(told, first, exists)
        known = np.flatnonzero(numbers >= 0).tolist()
        self.places.tell(numbers[known].tolist(), [records[i] for i in known])

    def _numbers(
        self, people: NDArray[np.bytes_], first: NDArray[np.int64], needs: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Return people's numbers, -1 for none, giving those needed.

        They are given in order of mention.
        """
        numbers = self.places.find(people)
        new = np.flatnonzero(needs & (numbers < 0))
        new = new[first[new].argsort()]
        numbers[new] = self.places.give(people[new])
        return numbers

    def _count(self, told: LoggedRows, time: int) -> None:
        """Count changed rows of ties by pair and mark."""
        asked = [key for key in told if key not in self._rows]
        values = self._database.get_many(keys.ROWS, asked)
        before = self._rows | {
            key: tie_of(value) for key, value in zip(asked, values, strict=True) if value
        }
        self._rows |= told
        ends: list[bytes] = []
        marks, steps = [], []
        for key, now in told.items():
            for tie, step in ((before.get(key), -1), (now, 1)):
                if tie is None or tie.source == tie.target:
                    continue
                way = way_of(tie.source, tie.target, is_directed=tie.is_directed)
                mark = mark_of_row(tie.kind, way, self._known.schema.ties)
                if mark is not None:
                    ends += tie.source, tie.target
                    marks.append(mark)
                    steps.append(step)
        named: NDArray[np.bytes_] = np.array(ends, dtype=HASH)
        people, first, places = np.unique(named, return_index=True, return_inverse=True)
        numbers = self._numbers(people, first, np.ones(len(people), dtype=np.bool_))
        both = numbers[places.reshape(-1, 2)]
        codes, of_mark = pair_codes(both[:, 0], both[:, 1]), np.array(marks, dtype=np.int64)
        for mark in set(marks):
            some = of_mark == mark
            pairs, place = np.unique(codes[some], return_inverse=True)
            more = np.bincount(place, np.array(steps)[some]).astype(np.int64)
            self._ties.of(mark).count(pairs[more != 0], more[more != 0], time)

    def _drop_covered(self, told: NDArray[np.bytes_]) -> None:
        """Forget the ties that the departures of some people cover."""
        left = self.places.find(told[self._downs.find(told) >= 0])
        left = left[left >= 0]
        if not len(left):
            return
        hashes = self.places.hashes
        is_left = np.zeros(len(hashes), dtype=np.bool_)
        is_left[left] = True
        for ties in self._ties.values():
            at = ties.around(is_left)
            codes, stamps = ties.codes[at], ties.stamps(at)
            is_covered = np.zeros(len(at), dtype=np.bool_)
            for ends in (lower(codes), upper(codes)):
                some, places = np.unique(ends, return_inverse=True)
                order = hashes[some].argsort()
                downs = np.empty(len(some), dtype=np.int64)
                downs[order] = self._downs.find(hashes[some][order])
                is_covered |= self._downs.cover(stamps, downs[places])
            ties.drop(at[is_covered])

    def _settle(self) -> None:
        """Free unused numbers, find the ties that exist, and count."""
        places = self.places
        is_absent = places.lives < 0
        told = {mark: ties.codes for mark, ties in self._ties.items()}
        there = {mark: codes & 1 == 1 for mark, codes in told.items()}
        edges = there
        # All ties are read only where one may lack an end; at first, whatever the pages say.
        if not self._is_settled or (places.hashes[is_absent] != b"").any():
            is_used = np.zeros(len(is_absent), dtype=np.bool_)
            edges = {}
            for mark, codes in told.items():
                low, high = lower(codes), upper(codes)
                lacks_end = is_absent[low] | is_absent[high]
                is_used[low[lacks_end]] = is_used[high[lacks_end]] = True
                edges[mark] = there[mark] & ~lacks_end
            if (places.hashes[is_used] == b"").any():
                raise ValueError("a tie has no end")
            places.free(is_used)
            self._is_settled = True
        self._edges = self._counting(told, edges)
        n_ties = sum(map(np.count_nonzero, there.values()))
        n_counting = n_ties if len(told) == 1 else len(self._counting(told, there))
        self.counts = {
            "vertices": len(is_absent) - int(np.count_nonzero(is_absent)),
            "edges": len(self._edges),
            "edges_waiting": int(n_counting) - len(self._edges),
            "tombstones": len(self._downs) + sum(map(len, told.values())) - int(n_ties),
        }

    def _counting(
        self, told: Mapping[int, NDArray[np.int64]], which: Mapping[int, NDArray[np.bool_]]
    ) -> NDArray[np.int64]:
        """Return the pairs that count as ties, given those of each mark."""
        some = {m: codes if which[m].all() else codes[which[m]] for m, codes in told.items()}
        return counting(some, self._known.kinds, self._known.schema.ties)

    def _news(self, changes: TieChanges) -> Iterator[tuple[int, Registers]]:
        """Yield by mark each tie's latest change not covered by departures."""
        ends, first, places = np.unique(changes.ends, return_index=True, return_inverse=True)
        both = places.reshape(-1, 2)
        ranks = self._known.origins.ranks()
        if (changes.origin < 0).any() or (changes.origin >= len(ranks)).any():
            raise ValueError("a change is of an unknown origin")
        stamps = Stamps(changes.time, ranks[changes.origin], changes.offset)
        downs = self._downs.find(ends)
        is_kept = ~self._downs.cover(stamps, downs[both[:, 0]])
        is_kept &= ~self._downs.cover(stamps, downs[both[:, 1]])
        both, stamps, present = both[is_kept], stamps.at(is_kept), changes.present[is_kept]
        marks = changes.marks[is_kept]
        is_named = np.zeros(len(ends), dtype=np.bool_)
        is_named[both] = True
        numbers = self._numbers(ends, first, is_named)
        codes = pair_codes(numbers[both[:, 0]], numbers[both[:, 1]]) | present
        for mark in np.unique(marks).tolist():
            of_mark = marks == mark
            yield mark, Registers(codes[of_mark], stamps.at(of_mark)).latest()


class _Downs:
    """Deleted persons that are remembered, ascending, and since when."""

    def __init__(self, rows: Sequence[tuple[bytes, bytes]], origins: Origins) -> None:
        self.people = np.frombuffer(b"".join([key for key, _ in rows]), dtype=HASH)
        marks: Any = np.frombuffer(b"".join([value for _, value in rows]), dtype=MARK)
        if not len(rows) == len(self.people) == len(marks):
            raise ValueError("a mark is not whole")
        if len(marks) and marks["origin"].max() >= len(origins.names):
            raise ValueError("a mark is of an unknown origin")
        time, offset = (marks[name].astype(np.int64) for name in ("time", "offset"))
        self._stamps = Stamps(time, origins.ranks()[marks["origin"]], offset)

    def __len__(self) -> int:
        return len(self.people)

    def find(self, wanted: NDArray[np.bytes_]) -> NDArray[np.int64]:
        """Return the places of people here, -1 for others."""
        if not len(self.people):
            return np.full(len(wanted), -1, dtype=np.int64)
        at = self.people.searchsorted(wanted)
        return np.where(self.people.take(at, mode="clip") == wanted, at, -1)

    def cover(self, stamps: Stamps, places: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which stamps are no later than the deletion here.

        A place of -1 stands for no deletion.
        """
        covered = places >= 0
        which = np.flatnonzero(covered)
        covered[which] = ~stamps.at(which).later(self._stamps.at(places[which]))
        return covered

    def forget(self, horizon_us: int) -> list[bytes]:
        """Forget and return the people deleted before a time."""
        is_old = self._stamps.time < horizon_us
        old = _as_bytes(self.people[is_old])
        self.people, self._stamps = self.people[~is_old], self._stamps.at(~is_old)
        return old


def _as_bytes(hashes: NDArray[np.bytes_]) -> list[bytes]:
    """Return hashes as bytes, zeros at their ends included."""
    out: list[bytes] = np.ascontiguousarray(hashes).view(f"V{keys.HASH_BYTES}").tolist()
    return out
