"""A release's locations and similar pairs, carried along releases.

A location is a distinct (quasi-identifiers, degree, histogram); PS(v) is a union of locations.
What the last release has shown already is not looked at again: profiles are built for the vertices
near a change, and compared for the locations that were not occupied before.

Source: Definitions 2 and 3, one hop, walk reading, from the release's bytes alone. Beware of `t`:
it bounds the distance of non-sensitive attributes, unlike classical t-closeness.

Sizes of parts may be tuned (tests/ktsafe/audit/sequence/test_parts.py runs with others). `SIZE_MAX`
keeps products inside int64. Work must follow what changed (test_breaking.py), and what a release
shows be read from its bytes.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.audit.sequence import _profiles_core as core
from ktsafe.audit.sequence._candidates_core import Rows
from ktsafe.audit.sequence.audited_release import (
    AuditedRelease,
    CopyOnExtend,
    Numbering,
    grown,
    stable_codes,
)
from ktsafe.errors import InvalidGraph
from ktsafe.params import PrivacyParams
from ktsafe.verify import CheckedTies

SIZE_MAX = 10_000_000
"""Neighbourhoods beyond which the exact comparison could leave int64."""

PAIRS_AT_ONCE = 1_000_000
EDGES_AT_ONCE = 1_000_000
"""Pairs, and edges, that are looked at together: some dozens of megabytes."""

BUILT_AT_ONCE = 10_000
"""Profiles that are held twice, as they were built and as bytes."""

SPARE_LOCATIONS = 4096
"""Locations that nobody occupies any more are dropped where they outnumber others by so many."""


@dataclasses.dataclass(frozen=True, eq=False)
class Structure:
    """What a release looks like.

    Attributes
    ----------
    vertices:
        int64, shape (n,): the number of each vertex.
    group:
        int64, shape (n,): vertices of one group have equal protection sets.
    similar:
        For each group the groups that make up its protection set.
    edges:
        int64, shape (m,): keys of the ties, ascending.
    gained, lost:
        int64: keys of the ties that appeared and disappeared since the release before, ascending.
    tuple_now, tuple_before:
        int64, by vertex number: the quasi-identifier tuple in this release and in the one before,
        -1 where the vertex is absent.
    """

    vertices: NDArray[np.int64]
    group: NDArray[np.int64]
    similar: Rows
    edges: NDArray[np.int64]
    gained: NDArray[np.int64]
    lost: NDArray[np.int64]
    tuple_now: NDArray[np.int64]
    tuple_before: NDArray[np.int64]


class Profiler(CopyOnExtend):
    """Reads one sequence's releases in order; vertices are persistent numbers.

    Parameters
    ----------
    workers:
        Threads that compare locations; None: one per core.
    """

    NOT_SAVED = frozenset({"_locations", "_threads", "edges"})

    def __init__(
        self, params: PrivacyParams, n_attributes: int, workers: int | None = None
    ) -> None:
        self._params = params
        self._threads = workers or os.cpu_count() or 1
        self._q = n_attributes
        # Added to or replaced, so copies may share them.
        self._locations: dict[bytes, int] = {}
        self._profiles: list[bytes] = []
        self._tuples: dict[bytes, int] = {}
        self._tuple_of_location: list[int] = []
        # By vertex number, as the last release had it; -1 where absent.
        self._location = np.zeros(0, dtype=np.int64)
        self._tuple = np.zeros(0, dtype=np.int64)
        self._codes = np.zeros((0, n_attributes), dtype=np.int64)
        self.edges = np.zeros(0, dtype=np.int64)
        self._pairs = np.zeros(0, dtype=np.int64)
        self.profiles_built = 0
        self.pairs_compared = 0

    def read(
        self,
        vertices: NDArray[np.int64],
        n_numbers: int,
        codes: NDArray[np.int64],
        ties: CheckedTies,
    ) -> Structure:
        """Take the next release.

        Parameters
        ----------
        vertices:
            int64, shape (n,): the number of each vertex, below `n_numbers`.
        codes:
            int64, shape (n, q), meaning the same in every release.
        ties:
            Edges between positions in `vertices`.
        """
        self._location = grown(self._location, n_numbers, -1)
        self._tuple = grown(self._tuple, n_numbers, -1)
        self._codes = grown(self._codes, n_numbers, -1)
        keys = edge_keys(vertices, ties.edges)
        # Mostly in order already: vertices are numbered as they came, in the order of their ids.
        keys.sort(kind="stable")
        gained, lost = keys, self.edges
        if len(self.edges):
            gained, lost = core.difference(keys, self.edges)
        location = self._locate(vertices, codes, ties, gained, lost)
        self._pairs = self._similar_locations(self._location, location)
        tuples = np.full(n_numbers, -1, dtype=np.int64)
        table = np.array(self._tuple_of_location, dtype=np.int64)
        tuples[vertices] = table[location[vertices]]
        group_of_location, similar = _groups(self._pairs, len(self._profiles))
        structure = Structure(
            vertices,
            group_of_location[location[vertices]],
            similar,
            keys,
            gained,
            lost,
            tuples,
            self._tuple,
        )
        self._location, self._tuple, self.edges = location, tuples, keys
        self._codes = self._codes.copy()
        self._codes[vertices] = codes
        occupied = np.count_nonzero(group_of_location >= 0)
        if len(self._profiles) > 2 * occupied + SPARE_LOCATIONS:
            self.settle()
        return structure

    def settle(self) -> None:
        """Forget locations that the last release does not show.

        A new one is compared anyway.
        """
        is_there = self._location >= 0
        occupied, first = np.unique(self._location[is_there], return_index=True)
        # In the order of their first vertices, so it does not matter what was shown before.
        occupied = occupied[np.argsort(first)]
        number = np.full(len(self._profiles), -1, dtype=np.int64)
        number[occupied] = np.arange(len(occupied))
        kept = occupied.tolist()
        self._profiles = [self._profiles[x] for x in kept]
        self._tuple_of_location = [self._tuple_of_location[x] for x in kept]
        location = np.full(len(self._location), -1, dtype=np.int64)
        location[is_there] = number[self._location[is_there]]
        ends = number[edge_ends(self._pairs)]
        self._location, self._pairs = location, np.sort((ends[:, 0] << 32) | ends[:, 1])
        self.resume()

    def resume(self) -> None:
        """Number the locations as they are listed."""
        self._locations = {profile: i for i, profile in enumerate(self._profiles)}

    def _locate(
        self,
        vertices: NDArray[np.int64],
        codes: NDArray[np.int64],
        ties: CheckedTies,
        gained: NDArray[np.int64],
        lost: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Return the location by vertex number, building profiles near changes only."""
        indptr, indices = ties.adjacency
        if int(np.diff(indptr).max(initial=0)) >= SIZE_MAX:
            raise InvalidGraph(f"A neighbourhood of {SIZE_MAX} or more cannot be audited.")
        is_moved = self._location[vertices] < 0
        is_moved |= (self._codes[vertices] != codes).any(axis=1)
        is_dirty = is_moved.copy()
        is_dirty[indices[np.repeat(is_moved, np.diff(indptr))]] = True
        is_end = np.zeros(len(self._location), dtype=np.bool_)
        for changed in (gained, lost):
            for here in runs(len(changed)):
                is_end[edge_ends(changed[here])] = True
        is_dirty |= is_end[vertices]
        dirty = np.flatnonzero(is_dirty)

        location = np.full(len(self._location), -1, dtype=np.int64)
        location[vertices] = self._location[vertices]
        codes = np.ascontiguousarray(codes)
        n_values = codes.max(axis=0, initial=0) + 1
        for first in range(0, len(dirty), BUILT_AT_ONCE):
            some = dirty[first : first + BUILT_AT_ONCE]
            pointer, flat = core.profiles(some, indptr, indices, codes, n_values)
            raw = flat.tobytes()
            cuts = itertools.pairwise((8 * pointer).tolist())
            location[vertices[some]] = [self._number(raw[a:b]) for a, b in cuts]
        self.profiles_built += len(dirty)
        return location

    def _number(self, profile: bytes) -> int:
        known = self._locations.get(profile)
        if known is not None:
            return known
        number = self._locations[profile] = len(self._profiles)
        self._profiles.append(profile)
        values = profile[8 : 8 * (1 + self._q)]
        self._tuple_of_location.append(self._tuples.setdefault(values, len(self._tuples)))
        return number

    def _similar_locations(
        self, before: NDArray[np.int64], now: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the similar pairs of occupied locations as sorted keys, both directions."""
        is_occupied = np.zeros(len(self._profiles), dtype=np.bool_)
        is_occupied[now[now >= 0]] = True
        occupied = np.flatnonzero(is_occupied)
        was_occupied = np.zeros(len(self._profiles), dtype=np.bool_)
        was_occupied[before[before >= 0]] = True
        known = self._pairs
        known = known[is_occupied[known >> 32] & is_occupied[known & 0xFFFFFFFF]]
        first, second = self._compared(occupied, ~was_occupied[occupied]).T
        own = occupied[~was_occupied[occupied]]
        new = (first << 32) | second, (second << 32) | first, (own << 32) | own
        # Mostly few, after many that ascend, which a stable sort sees.
        return np.sort(np.concatenate((known, np.sort(np.concatenate(new)))), kind="stable")

    def _compared(
        self, occupied: NDArray[np.int64], is_new: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        """Return similar pairs with a new location, once each, (., 2)."""
        band = self._params.epsilon // 2
        # Of equal degree, and with equal shares of all values, there is one location.
        if not is_new.any() or not (self._params.t or band):
            return np.zeros((0, 2), dtype=np.int64)
        texts = [self._profiles[x] for x in occupied.tolist()]
        degree = np.frombuffer(b"".join(text[:8] for text in texts), dtype=np.int64)
        tuples = np.array(self._tuple_of_location, dtype=np.int64)[occupied]
        order = np.lexsort((degree, tuples))
        flat = np.frombuffer(b"".join([texts[x] for x in order.tolist()]), dtype=np.int64)
        lengths = np.array([len(texts[x]) // 8 for x in order.tolist()], dtype=np.int64)
        stored = core.Profiles(np.concatenate(([0], np.cumsum(lengths))), flat)
        # Classes are laid so far apart that a band never reaches into the next one.
        place = tuples[order] * (int(degree.max()) + band + 1) + degree[order]
        begin = np.searchsorted(place, place - band, side="left")
        stop = np.searchsorted(place, place + band, side="right")
        is_sought = is_new[order]
        upto = np.concatenate(([0], np.cumsum((stop - begin) * is_sought)))
        self.pairs_compared += int(upto[-1])
        t = (self._params.t.numerator, self._params.t.denominator)

        def similar(part: tuple[int, int]) -> NDArray[np.int64]:
            first, last = part
            room = np.empty((upto[last] - upto[first], 2), dtype=np.int64)
            written = core.similar_pairs(
                stored, self._q, is_sought, begin, stop, t, first, last, room
            )
            return room[:written].copy()

        cuts = np.searchsorted(upto, np.arange(PAIRS_AT_ONCE, upto[-1], PAIRS_AT_ONCE)).tolist()
        parts = itertools.pairwise([0, *cuts, len(order)])
        with ThreadPoolExecutor(self._threads) as pool:
            found: NDArray[np.int64] = np.concatenate(list(pool.map(similar, parts)))
        return occupied[order[found]]


def _groups(pairs: NDArray[np.int64], n_locations: int) -> tuple[NDArray[np.int64], Rows]:
    """Group locations that are similar to exactly the same locations.

    Parameters
    ----------
    pairs:
        Sorted keys of all similar pairs of occupied locations, each location's with itself
        included.
    n_locations:
        How many locations there are.

    Returns
    -------
    tuple
        The group of every location, -1 of those that are not occupied; and the groups that each
        is similar to: a protection set is a union of groups, because similarity is symmetric.
    """
    first, second = pairs >> 32, pairs & 0xFFFFFFFF
    begin = np.flatnonzero(np.diff(first, prepend=-1))
    cuts = np.append(begin, len(pairs)).tolist()
    raw = second.tobytes()
    groups: dict[bytes, int] = {}
    group = np.full(n_locations, -1, dtype=np.int64)
    group[first[begin]] = [
        groups.setdefault(raw[8 * a : 8 * b], len(groups)) for a, b in itertools.pairwise(cuts)
    ]
    # `np.unique` hashes, several times as long.
    links = np.sort((group[first] << 32) | group[second])
    links = links[np.diff(links, prepend=-1) != 0]
    counts = np.bincount(links >> 32, minlength=len(groups))
    return group, Rows(np.concatenate(([0], np.cumsum(counts))), links & 0xFFFFFFFF)


def edge_keys(number: NDArray[np.int64], edges: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Return a key for each undirected edge, -1 without an end.

    Parameters
    ----------
    number:
        int64: the number of every position, below 2**31; negative for none.
    edges:
        Integers, shape (m, 2): positions.
    """
    keys = np.empty(len(edges), dtype=np.int64)
    for here in runs(len(edges)):
        first, second = number[edges[here]].T
        low = np.minimum(first, second)
        keys[here] = np.where(low < 0, -1, (low << 32) | np.maximum(first, second))
    return keys


def edge_ends(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the numbers that edge keys are made of, (., 2)."""
    return np.column_stack((keys >> 32, keys & 0xFFFFFFFF)).reshape(-1, 2)


def among(values: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which values are among others, which ascend.

    `np.isin` hashes, ten times as long.
    """
    found = np.zeros(len(values), dtype=np.bool_)
    for here in runs(len(values) if len(others) else 0):
        place = np.searchsorted(others, values[here])
        np.minimum(place, len(others) - 1, out=place)
        found[here] = others[place] == values[here]
    return found


def runs(n: int) -> Iterator[slice]:
    """Yield slices of n edges that are worked on together.

    All at once would take room of each.
    """
    for first in range(0, n, EDGES_AT_ONCE):
        yield slice(first, first + EDGES_AT_ONCE)


# The releases of one sequence as structures, stars as they are.


class StructureReader(CopyOnExtend):
    """Reads the releases of one sequence, in order, with so many threads."""

    def __init__(
        self, params: PrivacyParams, n_attributes: int, workers: int | None = None
    ) -> None:
        # Shared by copies: a code, once given, means the same for ever.
        self._values = [Numbering() for _ in range(n_attributes)]
        self._profiler = Profiler(params, n_attributes, workers)

    def read(
        self,
        release: AuditedRelease,
        vertices: NDArray[np.int64],
        n_numbers: int,
    ) -> Structure:
        """Take the next release.

        Parameters
        ----------
        vertices, n_numbers:
            See `Profiler.read`.

        Raises
        ------
        InvalidGraph
            If the release is no simple graph, or its attributes do not fit the sequence.
        """
        codes = stable_codes(release, self._values)
        return self._profiler.read(vertices, n_numbers, codes, release.ties)

    def know(self, edges: NDArray[np.int64]) -> None:
        """Go on after a release with these edges, by their keys, ascending."""
        self._profiler.edges = edges

    @property
    def work(self) -> dict[str, int]:
        """Profiles built and pairs of locations compared."""
        profiler = self._profiler
        return {"profiles": profiler.profiles_built, "comparisons": profiler.pairs_compared}
