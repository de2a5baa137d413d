"""The program of one pair of classes.

The search may be changed: tests/ktsafe/anonymization/test_pair_program.py compares its plans with
the optimum and asks that they are valid. Constants and draws settle the bytes of releases; what is
found in haste must follow from the pair alone.

Which ties are shown, and how many each cohort needs.

Let a and b be two classes, or one and the same. Each member of a cohort C of a gets r[C]
neighbours in b, each member of a cohort D of b gets s[D] neighbours in a. With x[e] = 1 for the
candidate edges that are shown

    maximize    sum of gain[e] x[e]  -  price * (sum of |C| r[C])
    such that   shown candidates at v  <=  r of v's cohort
                sum of |C| r[C] over a  =  sum of |D| s[D] over b

For a = b each edge counts at both of its ends: half the sum is paid, and it is even. What a vertex
lacks is inserted (`ktsafe.anonymization.pair_edges`). A single release has the true ties for
candidates: a hidden tie costs 1 and an inserted edge costs 1, so each edge costs 1 beforehand and a
shown tie gains 2. The edge cost is (ties - objective).

    degrees = medians of the candidates at the members of each cohort, fewer where edges are dear
    show what fits, along alternating paths
    repeat: raise or lower single cohorts while that pays,
        at a price that leans against the side with too many ends
    balance: the steps of cohorts that lose least                    (pair_ends)
    a pair with a total: steps until that many edges are shown       (pair_ends)
    repeat: two steps that keep the balance, while that pays

Integer programs took several times as long and came no nearer to the linear bound (decision 23).
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.anonymization import _pair_core as core
from ktsafe.anonymization import _steps_core as steps_core
from ktsafe.anonymization.pair_ends import drawn_ends, make_even, reach_ends
from ktsafe.anonymization.request import Effort
from ktsafe.graph.numbering import small

TRIALS = 3
"""Pairs of steps that are tried, for each cohort; none at the effort `fast`. With 10 F1 of cora and
fb-reed98 is .0003 higher at most."""

TRIALS_MAX = 300
"""Pairs of steps that are tried at most: with 1000 F1 of 10,000 people is .0003 higher, for a fifth
more time in all."""

SWEEPS = 4
"""Times that every cohort may be raised or lowered; most are then passed over. With 2, .77 and .79
of the triangles of ego-facebook are left (two seeds); with 8, .79 and .81, in more time."""

LEAN_MAX = 0.4
"""Share of a price by which a side bears more than half: at .5 the other would bear nothing.
With .2 F1 is the same."""

OFF_LITTLE = 20
"""Ends by which the sides may differ before the price leans: two cohorts of ten. With
0 or 100 F1 of fb-reed98 is up to .001 lower."""


@dataclasses.dataclass(frozen=True, eq=False)
class Searched:
    """What a search found, before it looks at totals.

    Attributes
    ----------
    degree:
        int64: neighbours that each member of the cohorts of the pair gets.
    shown:
        uint8, shape (m / 8,): the candidates that are shown, as bits.
    value:
        What the objective comes to, added up in the order of the search.
    is_balanced:
        Whether both sides have equally many ends.
    """

    degree: NDArray[np.int64]
    shown: NDArray[np.uint8]
    value: float
    is_balanced: bool


Edges = NDArray[np.int32]
"""int32, shape (x, 2): the first end in the first class of a pair."""


class Side(NamedTuple):
    """A class: the cohort of each member, and members of each cohort."""

    cohort: NDArray[np.int32]
    sizes: NDArray[np.int64]


@dataclasses.dataclass(frozen=True, eq=False)
class Pair:
    """Two classes and the edges that may be shown between them.

    Vertices and cohorts are numbered from 0, those of the first class first.

    Attributes
    ----------
    sides:
        The two classes, or the one.
    edges:
        int32, shape (m, 2): candidates, the first end in the first class.
    gain:
        float64, shape (m,): what is gained by each that is shown, above 0.
    price:
        What each edge costs beforehand.
    total:
        How many edges are shown, nearly, and in expectation exactly; None: as many as pay.
    slack:
        By what share a total may be missed.
    found:
        What a search at this price found in haste; None: nothing is known.
    """

    sides: tuple[Side, ...]
    edges: Edges
    gain: NDArray[np.float64]
    price: float = 1.0
    total: float | None = None
    slack: float = 0.0
    found: Searched | None = None

    @classmethod
    def in_order(
        cls,
        sizes: NDArray[np.int64],
        n_first: int,
        edges: Edges,
        gain: NDArray[np.float64],
        price: float = 1.0,
    ) -> Pair:
        """Return a pair with vertices ordered by cohort.

        Parameters
        ----------
        n_first:
            How many of the cohorts are of the first class; all of them if it is one class.
        """
        parts = np.split(sizes, [n_first]) if n_first < len(sizes) else [sizes]
        sides = [Side(np.repeat(np.arange(len(x), dtype=np.int32), x), x) for x in parts]
        return cls(tuple(sides), edges, gain, price)

    @property
    def is_one(self) -> bool:
        """Whether both classes are the same."""
        return len(self.sides) == 1

    @property
    def n_first(self) -> int:
        """How many of the cohorts are of the first class."""
        return len(self.sides[0].sizes)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Members of each cohort."""
        return np.concatenate([side.sizes for side in self.sides])

    @property
    def cohort(self) -> NDArray[np.int32]:
        """The cohort of each vertex."""
        first, *second = (side.cohort for side in self.sides)
        return np.concatenate((first, *(cohort + np.int32(self.n_first) for cohort in second)))

    @property
    def signs(self) -> NDArray[np.int64]:
        """1 for cohorts of the first class, -1 for others."""
        return np.repeat((1, -1)[: len(self.sides)], [len(side.sizes) for side in self.sides])

    def price_max(self) -> float:
        """Return the price from which on nothing is shown.

        No edge can pay.

        Each edge has an end on either side. A neighbour for each member of a cohort gains at most
        what the members with a candidate do, a second one no more: on some side nothing pays.
        """
        has_any = np.zeros(len(self.cohort), dtype=np.bool_)
        has_any[self.edges] = True
        share = np.bincount(self.cohort, has_any, len(self.sizes)) / self.sizes
        sides = np.split(share, [self.n_first])[: len(self.sides)]
        return float(self.gain.max(initial=0.0) * min(side.max(initial=0.0) for side in sides))


@dataclasses.dataclass(frozen=True, eq=False)
class PairPlan:
    """A solution of the program.

    Attributes
    ----------
    degree:
        int64: neighbours that each member of the cohorts of the pair gets.
    shown:
        bool, shape (m,): the candidates that are shown.
    value:
        What the objective comes to; without a total never below 0, the value of showing nothing.
    """

    degree: NDArray[np.int64]
    shown: NDArray[np.bool_]
    value: float


def solve(
    pair: Pair,
    *,
    rng: np.random.Generator,
    effort: Effort = "balanced",
) -> PairPlan:
    """Return degrees and shown candidates of a pair.

    Parameters
    ----------
    pair:
        The classes and the candidates.
    rng:
        Draws the steps that are tried.
    effort:
        Whether any are.
    """
    if not len(pair.edges) or (pair.total is None and pair.price >= pair.price_max()):
        return cleared(pair)
    matching = matching_of(pair)
    found = pair.found
    is_balanced = _search(matching, pair) if found is None else _take_up(matching, found)
    return _plan(matching, pair, rng, effort, is_balanced=is_balanced)


def solve_in_haste(pair: Pair) -> tuple[PairPlan, Searched | None]:
    """Return the plan without a total, and where one with begins.

    That has no steps which are drawn, so the plan follows from the pair. Without candidates
    there is nothing to begin with.
    """
    if not len(pair.edges):
        return cleared(pair), None
    matching = matching_of(pair)
    is_balanced = _search(matching, pair)
    shown, value = np.packbits(matching.candidates.is_shown), float(matching.value[0])
    found = Searched(degrees(matching).copy(), shown, value, is_balanced)
    rng = np.random.default_rng(0)
    return _plan(matching, pair, rng, "fast", is_balanced=is_balanced), found


def matching_of(pair: Pair) -> core.PairSearch:
    """Return the search at first degrees, with nothing shown.

    A cohort begins at the median of its members' candidates, or lower, where one more neighbour
    for each member would not pay even if all of them who can show a candidate did.
    """
    ends, gain, cohort, sizes = pair.edges, pair.gain, pair.cohort, pair.sizes
    price = pair.price * sizes / 2
    n, m = len(cohort), len(ends)
    first, edge, place, other, best = core.stand(ends, gain, n)
    count = np.diff(first).astype(np.int64)
    vertices = np.zeros(n + 1, dtype=core.VERTEX)
    vertices["first"], vertices["hidden"][:n], vertices["cohort"][:n] = first, count, cohort
    cohorts = np.zeros(len(sizes) + 1, dtype=core.COHORT)
    cohorts["first"][1:] = np.cumsum(sizes)
    by_count = np.argsort(small(count), kind="stable")
    in_order = count[by_count[np.argsort(small(cohort[by_count]), kind="stable")]]
    # Either end of a candidate brings half of its gain.
    n_paying = np.ceil(2 * price / gain.mean()).astype(np.int64)
    rank = np.clip(sizes - n_paying, 0, (sizes - 1) // 2)
    cohorts["degree"][:-1] = in_order[cohorts["first"][:-1] + rank]
    cohorts["price"][:-1] = price
    cohorts["raise_below"], cohorts["lower_above"] = np.inf, -np.inf
    vertices["room"][:n], vertices["best"][:n] = cohorts["degree"][cohort], best
    return core.PairSearch(
        candidates=core.CandidateEdges(ends, gain, np.zeros(m, dtype=np.bool_), place),
        entries=core.Entries(edge, other, gain[edge], np.zeros(2 * m, dtype=np.bool_)),
        vertices=vertices,
        cohorts=cohorts,
        members=np.argsort(small(cohort), kind="stable").astype(np.int32),
        value=np.array([-(cohorts["price"] * cohorts["degree"])[:-1].sum()]),
        # Room for some dozens of searches from each vertex: more, and the search shows nothing.
        log=np.empty(40 * n + 20 * m + 10_000, dtype=np.int32),
        log_size=np.zeros(1, dtype=np.int64),
        queue=np.zeros(core.NODES_MAX + 1, dtype=np.int32),
    )


def degrees(matching: core.PairSearch) -> NDArray[np.int64]:
    """Return the degree of each cohort, by which it can be changed."""
    found: NDArray[np.int64] = matching.cohorts["degree"][:-1]
    return found


def _search(matching: core.PairSearch, pair: Pair) -> bool:
    """Search degrees and shown edges, and balance the sides; return the success."""
    steps_core.show_all(matching, _order(matching))
    _search_degrees(matching, pair)
    return _balance(matching, pair)


def _take_up(matching: core.PairSearch, found: Searched) -> bool:
    """Let a fresh search be where another one ended.

    Return whether it balanced the sides.
    """
    candidates, vertices = matching.candidates, matching.vertices[:-1]
    is_shown = np.unpackbits(found.shown, count=len(candidates.gain)) == 1
    shown = np.bincount(candidates.ends[is_shown].reshape(-1), minlength=len(vertices))
    degrees(matching)[:] = found.degree
    candidates.is_shown[:] = is_shown
    matching.entries.is_shown[:] = is_shown[matching.entries.edge]
    vertices["hidden"] -= shown
    vertices["room"] = found.degree[vertices["cohort"]] - shown
    matching.value[0] = found.value
    return found.is_balanced


def _order(matching: core.PairSearch) -> NDArray[np.int64]:
    """Return the vertices, those of fewest candidates first."""
    return np.argsort(small(np.diff(matching.vertices["first"])), kind="stable")


def _plan(
    matching: core.PairSearch,
    pair: Pair,
    rng: np.random.Generator,
    effort: Effort,
    *,
    is_balanced: bool,
) -> PairPlan:
    """Reach the pair's total, if any, and try steps; return its value."""
    if pair.total is not None:
        is_balanced = _at_total(matching, pair, rng, is_balanced=is_balanced)
    if not is_balanced:
        return cleared(pair)
    weight = pair.signs * pair.sizes
    trials = 0 if effort == "fast" else min(TRIALS * len(weight), TRIALS_MAX)
    keeps_total = pair.total is not None
    if trials:
        steps_core.double_steps(matching, weight, pair.is_one, keeps_total, trials, rng)
    steps_core.show_all(matching, _order(matching))
    value = float(matching.value[0])
    if value <= 0 and not keeps_total:
        return cleared(pair)
    return PairPlan(degrees(matching), matching.candidates.is_shown, value)


def cleared(pair: Pair) -> PairPlan:
    """Return the plan that shows nothing."""
    nothing = np.zeros(len(pair.sizes), dtype=np.int64)
    return PairPlan(nothing, np.zeros(len(pair.edges), dtype=np.bool_), 0.0)


def _search_degrees(matching: core.PairSearch, pair: Pair) -> None:
    """Raise and lower single cohorts while that pays, near balance."""
    sizes, signs = pair.sizes, pair.signs
    lean = 0.0
    for _ in range(SWEEPS):
        steps = steps_core.sweep(matching)
        ends = int((sizes * degrees(matching)).sum())
        off = 0 if pair.is_one else int((signs * sizes * degrees(matching)).sum())
        if ends == 0 or (abs(off) <= OFF_LITTLE and not steps):
            break
        if abs(off) > OFF_LITTLE:
            lean = min(max(lean + off / ends / 2, -LEAN_MAX), LEAN_MAX)
            _set_prices(matching, pair.price * sizes * (0.5 + signs * lean))
    _set_prices(matching, pair.price * sizes / 2)


def _set_prices(matching: core.PairSearch, price: NDArray[np.float64]) -> None:
    """Let the value be that at other prices."""
    known = matching.cohorts["price"][:-1]
    matching.value[0] += ((known - price) * degrees(matching)).sum()
    known[:] = price


def _balance(matching: core.PairSearch, pair: Pair) -> bool:
    """Make the ends of both sides equally many, of one class even.

    Return whether that is done.
    """
    if pair.is_one:
        make_even(matching, pair.sizes)
        return True
    # What is found in haste follows from the pair, so the order of equals is a fixed one.
    rng, every = np.random.default_rng(0), np.arange(len(pair.sizes))
    return reach_ends(matching, pair.signs * pair.sizes, every, 0, rng)


def _at_total(
    matching: core.PairSearch, pair: Pair, rng: np.random.Generator, *, is_balanced: bool
) -> bool:
    """Show about as many edges as the total, both sides balanced.

    Return whether that is done.
    """
    assert pair.total is not None
    sizes = pair.sizes
    sides = np.split(np.arange(len(sizes)), [pair.n_first])[: len(pair.sides)]
    wanted = pair.total * (3 - len(sides))
    ends = int((sizes[sides[0]] * degrees(matching)[sides[0]]).sum())
    if is_balanced and abs(ends - wanted) <= pair.slack * max(wanted, 1):
        return True
    drawn = drawn_ends(wanted, [sizes[side] for side in sides], rng)
    return all(reach_ends(matching, sizes, side, drawn, rng) for side in sides)
