"""Everybody gets what is lacking: stubs become edges, cohorts are raised where they do not fit.

The stubs of class a for class b become edges with those of b for a. Where they are not equally
many, cohorts are raised: all their members want one neighbour more. A cohort of at least 2m members
may be split for that. Vertices are inserted only where no sum of cohorts fits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.params import PrivacyParams
from ktsafe.sequence.exact import _stubs_core as core
from ktsafe.sequence.exact.naming import Lacking, indicators, named
from ktsafe.sequence.exact.sizes import (
    EXTRA_MAX,
    NEW,
    SIZES_TRIED_MAX,
    Choice,
    Reach,
    Unit,
    fitting,
    plus,
    reach,
)
from ktsafe.sequence.exact.splits import Kinds, division
from ktsafe.working.graph import WorkingGraph

ROUNDS_MAX = 8
"""Raises between two classes, until their stubs can all become edges."""

Members = NDArray[np.int64]

NONE_WANTED: Kinds = (0, 0, 0, 0)


class Cohorts:
    """Vertices that share, or shall share, a location; whole ones are raised, large ones split.

    Parameters
    ----------
    working:
        The graph that is completed; vertices are appended to it.
    group:
        int64, shape (n,): equal for the members of a cohort.
    params:
        The guarantee on exact locations.
    """

    def __init__(
        self, working: WorkingGraph, group: NDArray[np.int64], params: PrivacyParams
    ) -> None:
        self._working = working
        self._params = params
        order = np.argsort(group, kind="stable")
        starts = np.flatnonzero(np.diff(group[order])) + 1
        self.members: list[Members] = [*np.split(order, starts)] if len(group) else []
        self._of_class: list[list[int]] = [[] for _ in range(working.space.n_classes)]
        for label, members in enumerate(self.members):
            self._of_class[working.arrays.cls[members[0]]].append(label)

    def labels(self, cls: int) -> list[int]:
        """Return the cohorts of a class."""
        return self._of_class[cls]

    def units(self, cls: int, rng: np.random.Generator) -> list[Unit]:
        """Return the cohorts of a class in random order, with the sizes that may be raised."""
        units = [Unit(label, set()) for label in rng.permutation(self.labels(cls)).tolist()]
        for unit in units:
            unit.sizes = self._sizes(unit.label)
        # Those that can be split close what gap the others leave.
        units.sort(key=lambda unit: len(unit.sizes) > 1)
        return units

    def raised(self, cls: int, unit: Unit, size: int, rng: np.random.Generator) -> Members:
        """Return the members that are raised; a part becomes a cohort of its own."""
        if unit.label == NEW:
            return self._working.add_vertices(np.full(size, cls, dtype=np.int32)).astype(np.int64)
        members = self.members[unit.label]
        if size == len(members):
            return members
        kinds = self._kinds(members)
        wish = _counted(kinds[rng.permutation(len(members))[:size]])
        taken = division(self._params, _counted(kinds), NONE_WANTED, size, wish)
        assert taken is not None, "units offers no other size"
        part = np.concatenate(
            [rng.permutation(members[kinds == kind])[:count] for kind, count in enumerate(taken)]
        )
        self.members[unit.label] = np.setdiff1d(members, part)
        self._of_class[cls].append(len(self.members))
        self.members.append(np.sort(part))
        return part

    def _sizes(self, label: int) -> list[int]:
        """Return the sizes of parts, and the whole, that leave cohorts in order, ascending."""
        members, m = self.members[label], self._params.group_size_min
        tried = range(m, min(m + SIZES_TRIED_MAX, len(members) - m + 1))
        whole = _counted(self._kinds(members))
        parts = [
            size
            for size in tried
            if division(self._params, whole, NONE_WANTED, size, NONE_WANTED) is not None
        ]
        return [*parts, len(members)]

    def _kinds(self, members: Members) -> NDArray[np.int64]:
        """Return of which kind each member is (`splits.Kinds`)."""
        is_real = members < self._working.n_original
        return 2 * is_real + self._working.arrays.is_sensitive[members]


def _counted(kinds: NDArray[np.int64]) -> Kinds:
    harmless, sensitive, harmless_real, sensitive_real = np.bincount(kinds, minlength=4).tolist()
    return harmless, sensitive, harmless_real, sensitive_real


def complete(
    working: WorkingGraph,
    lacking: Lacking,
    cohorts: Cohorts,
    params: PrivacyParams,
    rng: np.random.Generator,
) -> bool:
    """Insert edges until nobody lacks anything, in place; return whether that was found.

    Parameters
    ----------
    working:
        The graph.
    lacking:
        What its vertices lack; raised cohorts will lack more.
    cohorts:
        The cohorts of all vertices.
    params:
        The guarantee on exact locations.
    """
    if lacking.space.columns.shape[1] > 1:
        _raise_for_values(lacking, cohorts)
    stubs = named(lacking, rng)
    if stubs is None:
        return False
    n_classes = lacking.space.n_classes
    for a in range(n_classes):
        for b in range(a, n_classes):
            sides = [stubs[a, b]] if a == b else [stubs[a, b], stubs[b, a]]
            if not _joined(working, cohorts, (a, b), sides, params.group_size_min, rng):
                return False
    return True


def _raise_for_values(lacking: Lacking, cohorts: Cohorts) -> None:
    """Raise cohorts while that lets values want each other more nearly equally often."""
    one_hot = indicators(lacking.space)
    surplus = lacking.surplus()
    turn = np.zeros(len(one_hot), dtype=np.int64)
    is_there = np.array([bool(cohorts.labels(cls)) for cls in range(len(one_hot))])
    while len(one_hot):
        # Class a shall want b more where its values are wanted by those of b, but not conversely.
        gain = np.where(is_there[:, None], -(one_hot @ surplus @ one_hot.T), 0)
        a, b = divmod(int(gain.argmax()), len(one_hot))
        labels = cohorts.labels(a)
        members = cohorts.members[labels[turn[a] % len(labels)]] if labels else []
        step = np.outer(one_hot[a], one_hot[b])
        after = surplus + len(members) * (step - step.T)
        if np.abs(after).sum() >= np.abs(surplus).sum():
            return
        surplus = after
        turn[a] += 1
        lacking.residual[np.ix_(members, lacking.space.columns[b])] += 1


def _joined(
    working: WorkingGraph,
    cohorts: Cohorts,
    pair: tuple[int, int],
    sides: list[Members],
    m: int,
    rng: np.random.Generator,
) -> bool:
    """Turn the stubs between two classes into edges; return whether all became some.

    Stubs that are left, because their vertices are adjacent already, meet those of further cohorts.
    """
    random = rng.integers(1 << 63, size=1, dtype=np.uint64)
    least = 0
    for _ in range(ROUNDS_MAX):
        sides = _evened(cohorts, pair, sides, least, m, rng)
        left, right = sides if len(sides) == 2 else _halves(sides[0], rng)
        working.reserve_edges(len(left))
        is_missing = core.join(working.arrays, left, right, random)
        if not is_missing.any():
            return True
        sides = [left[is_missing], right[is_missing]]
        if pair[0] == pair[1]:
            sides = [np.concatenate(sides)]
        least = len(sides[0])
    return False


def _halves(stubs: Members, rng: np.random.Generator) -> tuple[Members, Members]:
    """Split stubs in two; vertices with most of them are in the first half, and do not meet."""
    order = np.argsort(-np.bincount(stubs, minlength=1)[stubs], kind="stable")
    half = len(stubs) // 2
    return stubs[order[:half]], rng.permutation(stubs[order[half:]])


def _evened(
    cohorts: Cohorts,
    pair: tuple[int, int],
    sides: list[Members],
    least: int,
    m: int,
    rng: np.random.Generator,
) -> list[Members]:
    """Return the stubs of each side and those of raised cohorts, equally many, or an even number.

    Each side gets at least `least` more.
    """
    gap = abs(len(sides[0]) - len(sides[-1])) if len(sides) == 2 else len(sides[0]) % 2
    if not gap and not least:
        return [rng.permutation(side) for side in sides]
    light = int(len(sides[-1]) < len(sides[0])) if len(sides) == 2 else 0
    labels = cohorts.labels(pair[light])
    everybody = np.concatenate([cohorts.members[label] for label in labels] or [sides[0][:0]])
    # Where the gap is nearly as large as the class, all of it is raised, perhaps several times.
    while len(everybody) > 2 * m and gap > len(everybody) - 2 * m:
        sides[light] = np.concatenate((sides[light], everybody))
        gap -= len(everybody)
    known = [cohorts.units(cls, rng) for cls in pair[: len(sides)]]
    more = _chosen(known, [len(side) for side in sides], least, m)
    return [
        rng.permutation(
            np.concatenate((side, *(cohorts.raised(cls, *unit, rng) for unit in choice)))
        )
        for cls, side, choice in zip(pair, sides, more, strict=False)
    ]


def _chosen(units: list[list[Unit]], totals: list[int], least: int, m: int) -> list[Choice]:
    """Return the units of each side that make its total fit, with their sizes."""
    top = max(totals) - min(totals) + least + EXTRA_MAX * m
    new = Unit(NEW, set())
    none: Reach = {0: []}
    inserted: Reach = {**none, **{size: [(new, size)] for size in range(m, top + 2 * m)}}
    reached = [
        plus({total: []}, reach(known, top)) for total, known in zip(totals, units, strict=True)
    ]
    for fillers in (none, inserted):
        sums = [plus(part, fillers) for part in reached]
        enough = [
            {size: choice for size, choice in part.items() if size >= total + least}
            for total, part in zip(totals, sums, strict=True)
        ]
        found = fitting(enough)
        if found is not None:
            return found
    raise AssertionError("inserted vertices fill any gap")
