"""The program of one pair of classes.

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

    degrees = medians of the candidates at the members of each cohort
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

import numpy as np
from numpy.typing import NDArray

from ktsafe.anonymization import _pair_core as core
from ktsafe.anonymization.pair_ends import drawn_ends, make_even, reach_ends
from ktsafe.anonymization.request import Effort

TRIALS = 10
"""Pairs of steps that are tried, for each cohort; none at the effort `fast`."""

TRIALS_MAX = 1000
"""Pairs of steps that are tried at most; large pairs gain little by them."""

PARTNERS = 8
"""Second steps that are tried with a first one."""

SWEEPS = 8
"""Times that every cohort may be raised or lowered; most are then passed over."""

NODES_MAX = 60
"""Vertices that a search for an alternating path may reach."""

LEAN_MAX = 0.4
OFF_LITTLE = 20
"""Ends by which the sides may differ before the price leans."""


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


@dataclasses.dataclass(frozen=True, eq=False)
class Pair:
    """Two classes and the edges that may be shown between them.

    Attributes
    ----------
    cohort:
        int32, shape (n,): the cohort of every vertex of the graph.
    sizes:
        int64, shape (cohorts,): members of every cohort of the graph.
    a, b:
        int32: the cohorts of the two classes; the same object if it is one class.
    in_a, in_b:
        int32, ascending: the vertices of the two classes.
    edges:
        int32, shape (m, 2): candidates, the first end in a, the second in b.
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

    cohort: NDArray[np.int32]
    sizes: NDArray[np.int64]
    a: NDArray[np.int32]
    b: NDArray[np.int32]
    in_a: NDArray[np.int32]
    in_b: NDArray[np.int32]
    edges: NDArray[np.int32]
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
        edges: NDArray[np.int32],
        gain: NDArray[np.float64],
        price: float = 1.0,
    ) -> Pair:
        """Return the whole graph as a pair, vertices ordered by cohort.

        Parameters
        ----------
        n_first:
            How many of the cohorts are of the first class; all of them if it is one class.
        """
        numbers, vertices = (np.arange(n, dtype=np.int32) for n in (len(sizes), sizes.sum()))
        a, b = np.split(numbers, [n_first])
        in_a, in_b = np.split(vertices, [sizes[:n_first].sum()])
        cohort = np.repeat(numbers, sizes)
        return cls(cohort, sizes, a, b if len(b) else a, in_a, in_b, edges, gain, price)

    @property
    def is_one(self) -> bool:
        """Whether a and b are the same class."""
        return self.a is self.b

    @property
    def cohorts(self) -> NDArray[np.int32]:
        """All cohorts of the pair, those of a first."""
        return self.a if self.is_one else np.concatenate((self.a, self.b))

    @property
    def signs(self) -> NDArray[np.int64]:
        """1 for cohorts of a, -1 for those of b.

        Int64, shape (cohorts of the pair,).
        """
        signs = np.ones(len(self.cohorts), dtype=np.int64)
        signs[len(self.a) :] = -1
        return signs

    def members(self) -> NDArray[np.int32]:
        """Return the vertices of the pair.

        Those of a, then those of b.
        """
        return self.in_a if self.is_one else np.concatenate((self.in_a, self.in_b))

    def price_max(self) -> float:
        """Return the price from which on nothing is shown.

        No edge can pay.

        Each edge has an end on either side. A neighbour for each member of a cohort gains at most
        what the members with a candidate do, a second one no more: on some side nothing pays.
        """
        vertices, cohorts = self.members(), self.cohorts
        has_any = np.zeros(len(self.cohort), dtype=np.bool_)
        has_any[self.edges] = True
        able = np.bincount(self.cohort[vertices], has_any[vertices], len(self.sizes))[cohorts]
        share = able / self.sizes[cohorts]
        sides = (share,) if self.is_one else np.split(share, [len(self.a)])
        return float(self.gain.max(initial=0.0) * min(side.max(initial=0.0) for side in sides))


@dataclasses.dataclass(frozen=True, eq=False)
class PairPlan:
    """A solution of the program.

    Attributes
    ----------
    r, s:
        int64: neighbours that each member of the cohorts of a and of b gets; equal if a = b.
    shown:
        bool, shape (m,): the candidates that are shown.
    value:
        What the objective comes to; without a total never below 0, the value of showing nothing.
    """

    r: NDArray[np.int64]
    s: NDArray[np.int64]
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
    matching = _matching_state(pair)
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
    matching = _matching_state(pair)
    is_balanced = _search(matching, pair)
    shown, value = np.packbits(matching.is_shown), float(matching.value[0])
    found = Searched(matching.degree.copy(), shown, value, is_balanced)
    rng = np.random.default_rng(0)
    return _plan(matching, pair, rng, "fast", is_balanced=is_balanced), found


def _search(matching: core.MatchingState, pair: Pair) -> bool:
    """Search degrees and shown edges, and balance the sides; return the success."""
    core.show_all(matching, _order(matching), NODES_MAX)
    core.exchange_all(matching, NODES_MAX)
    _search_degrees(matching, pair)
    return _balance(matching, pair)


def _take_up(matching: core.MatchingState, found: Searched) -> bool:
    """Let a fresh state be what a search found.

    Return whether it balanced the sides.
    """
    degree, is_shown = found.degree, np.unpackbits(found.shown, count=len(matching.gain)) == 1
    shown = np.bincount(matching.ends[is_shown].reshape(-1), minlength=len(matching.room))
    matching.degree[:] = degree
    matching.is_shown[:] = is_shown
    matching.is_shown_at[:] = is_shown[matching.at]
    matching.hidden[:] -= shown
    matching.room[matching.members] = np.repeat(degree, np.diff(matching.member_first))
    matching.room[:] -= shown
    matching.value[0] = found.value
    return found.is_balanced


def _order(matching: core.MatchingState) -> NDArray[np.int64]:
    """Return the vertices, those of fewest candidates first."""
    return np.argsort(np.diff(matching.first), kind="stable")


def _plan(
    matching: core.MatchingState,
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
    weight = pair.signs * pair.sizes[pair.cohorts]
    trials = 0 if effort == "fast" else min(TRIALS * len(weight), TRIALS_MAX)
    keeps_total = pair.total is not None
    if trials:
        core.double_steps(
            matching, weight, pair.is_one, keeps_total, trials, PARTNERS, rng, NODES_MAX
        )
    core.show_all(matching, _order(matching), NODES_MAX)
    value = float(matching.value[0])
    if value <= 0 and not keeps_total:
        return cleared(pair)
    r = matching.degree[: len(pair.a)]
    return PairPlan(
        r, r if pair.is_one else matching.degree[len(pair.a) :], matching.is_shown, value
    )


def cleared(pair: Pair) -> PairPlan:
    """Return the plan that shows nothing."""
    nothing = np.zeros(len(pair.a), dtype=np.int64)
    other = nothing if pair.is_one else np.zeros(len(pair.b), dtype=np.int64)
    return PairPlan(nothing, other, np.zeros(len(pair.edges), dtype=np.bool_), 0.0)


def _search_degrees(matching: core.MatchingState, pair: Pair) -> None:
    """Raise and lower single cohorts while that pays, near balance."""
    sizes, signs = pair.sizes[pair.cohorts], pair.signs
    lean = 0.0
    for _ in range(SWEEPS):
        steps = core.sweep(matching, NODES_MAX)
        ends = int((sizes * matching.degree).sum())
        off = 0 if pair.is_one else int((signs * sizes * matching.degree).sum())
        if ends == 0 or (abs(off) <= OFF_LITTLE and not steps):
            break
        if abs(off) > OFF_LITTLE:
            lean = min(max(lean + off / ends / 2, -LEAN_MAX), LEAN_MAX)
            _set_prices(matching, pair.price * sizes * (0.5 + signs * lean))
    _set_prices(matching, pair.price * sizes / 2)


def _set_prices(matching: core.MatchingState, price: NDArray[np.float64]) -> None:
    """Let the value be that at other prices."""
    matching.value[0] += ((matching.price - price) * matching.degree).sum()
    matching.price[:] = price


def _balance(matching: core.MatchingState, pair: Pair) -> bool:
    """Make the ends of both sides equally many, of one class even.

    Return whether that is done.
    """
    sizes = pair.sizes[pair.cohorts]
    if pair.is_one:
        make_even(matching, sizes, NODES_MAX)
        return True
    # What is found in haste follows from the pair, so the order of equals is a fixed one.
    rng, every = np.random.default_rng(0), np.arange(len(sizes))
    return reach_ends(matching, pair.signs * sizes, every, 0, rng, NODES_MAX)


def _at_total(
    matching: core.MatchingState, pair: Pair, rng: np.random.Generator, *, is_balanced: bool
) -> bool:
    """Show about as many edges as the total, both sides balanced.

    Return whether that is done.
    """
    assert pair.total is not None
    sizes, n_a = pair.sizes[pair.cohorts], len(pair.a)
    sides = [np.arange(len(sizes))] if pair.is_one else np.split(np.arange(len(sizes)), [n_a])
    wanted = pair.total * (3 - len(sides))
    ends = int((sizes[sides[0]] * matching.degree[sides[0]]).sum())
    if is_balanced and abs(ends - wanted) <= pair.slack * max(wanted, 1):
        return True
    drawn = drawn_ends(wanted, [sizes[side] for side in sides], rng)
    return all(reach_ends(matching, sizes, side, drawn, rng, NODES_MAX) for side in sides)


def _matching_state(pair: Pair) -> core.MatchingState:
    """Return the state of the search at the medians, with nothing shown."""
    cohorts, vertices = pair.cohorts, pair.members()
    sizes = pair.sizes[cohorts]
    n, m = len(vertices), len(pair.edges)
    local = np.empty(len(pair.cohort), dtype=np.int32)
    local[vertices] = np.arange(n, dtype=np.int32)
    number = np.empty(len(pair.sizes), dtype=np.int32)
    number[cohorts] = np.arange(len(cohorts), dtype=np.int32)
    cohort = number[pair.cohort[vertices]]
    ends = local[pair.edges]
    first, at, place, other = core.stand(ends, n)
    count = np.diff(first).astype(np.int64)
    member_first = np.concatenate(([0], np.cumsum(sizes)))
    degree = count[np.lexsort((count, cohort))][member_first[:-1] + (sizes - 1) // 2]
    price = pair.price * sizes / 2
    vertex = np.zeros(n + 1, dtype=core.VERTEX)
    vertex["first"] = first
    vertex["hidden"][:n] = count
    vertex["room"][:n] = degree[cohort]
    return core.MatchingState(
        ends=ends,
        gain=pair.gain,
        top=np.array([pair.gain.max(initial=0.0), pair.gain.min(initial=np.inf)]),
        is_shown=np.zeros(m, dtype=np.bool_),
        first=vertex["first"],
        at=at,
        place=place,
        other=other,
        gain_at=pair.gain[at],
        is_shown_at=np.zeros(2 * m, dtype=np.bool_),
        hidden=vertex["hidden"][:n],
        room=vertex["room"][:n],
        member_first=member_first,
        members=np.argsort(cohort, kind="stable").astype(np.int32),
        cohort=cohort,
        degree=degree,
        price=price,
        value=np.array([-(price * degree).sum()]),
        log=np.empty(core.log_size_for(n, m), dtype=np.int32),
        log_size=np.zeros(1, dtype=np.int64),
        raise_at=np.full(len(sizes), np.inf),
        lower_at=np.full(len(sizes), -np.inf),
        parent=vertex["parent"],
        by_hidden=vertex["by_hidden"],
        by_shown=vertex["by_shown"],
        net=vertex["net"],
        queue=np.zeros(NODES_MAX + 1, dtype=np.int32),
        as_start=vertex["as_start"],
        as_end=vertex["as_end"],
    )
