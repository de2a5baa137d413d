"""What a release aims at: prices and totals of pairs of classes.

Constants may be tuned, since each release is judged afterwards; its bytes change.
`lab/benchmarks/bench_exact.py` measures what they do. No aim may cost more than to show nothing,
and each must be the best at its own figure (tests/ktsafe/anonymization/test_aims.py).

A tie that is shown gains 2 and each edge has its price, so a pair shows the edges that are
true with a chance of at least half its price. At price 1 this is the least cost. At a price equal
to F1 it is the greatest F1. At either, pairs of classes with few ties show next to none, and a
reader takes people for more alike than they are. Balanced prices show as many edges as there are
ties in each cell: between the people of two values of an attribute.

    price of all pairs  =  what F1 is likely to be
    repeat: plan in haste all pairs that can pay at their prices
        raise the prices of pairs in cells with too many edges, lower those of others
    each pair chooses among its plans, by what its cells lack
    pairs of cells that are still off get totals: their edges, raked to the ties of all cells

Nothing forces the single pair of classes while its cells are right: what a thin pair lacks is shown
by another one. A price for each of them by its own number of ties loses several times as much F1
(decision 38). Where balance costs more than showing nothing would, the aim is the greatest F1.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.anonymization.pair_program import Pair, Searched, solve_in_haste
from ktsafe.anonymization.request import Aim, Request

Run = Callable[..., Iterable[Any]]

FIRST_PRICE = 0.65
"""The price that all pairs begin at: what F1 is likely to be."""

PRICE_MIN, PRICE_MAX = 0.1, 1.0
"""Bounds of prices: at 0 every edge pays, and at more than 1 a release costs more and has less F1.
What cells have too many then, totals say: in further releases they contradict each other."""

ROUNDS = 4
"""Times that pairs are planned in haste. After two or three .24 and .18 of the conclusions on cora
are wrong, after four .14 to .16."""

RAISES_MAX = 12
"""Times that the price of all pairs is raised, while edges cost too much."""

MOVED = 0.03
"""Logarithm by which a price has moved when a pair is planned once more."""

FACTOR_MAX = 2.0
"""By which the edges of a cell seem too many, at most, in one round."""

COST_MAX = 0.97
"""Share of the ties that a release may cost in haste; thin pairs cost more in the end."""

RAISE = 1.1
"""Factor by which it is raised: five times bring the first price to 1."""

OFF = 0.1
"""By how much the edges of a cell may miss its ties before its pairs get totals."""

OF_TIES = 0.1
"""Share of a total that follows the ties of a pair, whatever it shows at its price."""

TOLERANCE = 0.2
"""By how much a total may be missed: each step towards it shows fewer ties than that is worth."""

CHOICES = 20
"""Times at most that each pair chooses among its plans; two or three did on three networks."""

MISSED = 3.0
"""What each edge costs by which a cell misses its ties, in the choice."""

RAKINGS = 50
"""Times that totals are scaled to the ties of each attribute's cells. Cora and ego-facebook need
two and four; where not all cells can be met (fb-reed98), totals still move by a hundredth."""


@dataclasses.dataclass(frozen=True, eq=False)
class Cells:
    """The pairs of values of one attribute.

    Attributes
    ----------
    of_pair:
        int64, shape (pairs of classes,): the cell of each.
    ties:
        float64, shape (cells,): ties in each.
    """

    of_pair: NDArray[np.int64]
    ties: NDArray[np.float64]

    def surplus(self, edges: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return for each pair the ratio of edges to ties in cells."""
        found: NDArray[np.float64] = np.bincount(self.of_pair, edges, len(self.ties)) / self.ties
        return found[self.of_pair]


class Rest(NamedTuple):
    """Pairs that are not planned: their edges, true edges, and all ties."""

    edges: int = 0
    shown: int = 0
    ties: int = 0


NOTHING = Rest()


def aimed(
    request: Request, pairs: Sequence[Pair], classes: Sequence[tuple[int, int]], aim: Aim
) -> list[Pair]:
    """Return the pairs with prices and totals for an aim.

    Parameters
    ----------
    request:
        Its graph says which values classes have; its executor plans pairs side by side.
    pairs:
        All pairs of classes with ties; their candidates are these.
    classes:
        The two classes of each.
    aim:
        See `ktsafe.AnonymizeOptions`.
    """
    if not pairs:
        return []
    graph = request.graph
    _, first = np.unique(graph.qi_classes, return_index=True)
    values = graph.codes[first, :-1].astype(np.int64)
    ties = np.array([len(pair.edges) for pair in pairs], dtype=np.int64)
    run: Run = map if request.executor is None else request.executor.map
    cells = [
        Cells(of_pair, np.bincount(of_pair, ties).astype(np.float64))
        for of_pair in cells_of(values, np.array(classes))
    ]
    return priced(Market(pairs, ties, run), cells, ties.astype(np.float64), aim)


def priced(
    market: Market, cells: Sequence[Cells], wanted: NDArray[np.float64], aim: Aim
) -> list[Pair]:
    """Return a market's pairs with prices and totals for an aim.

    Parameters
    ----------
    market:
        The pairs.
    cells:
        Of each attribute, with the edges that these pairs should have there.
    wanted:
        float64, shape (pairs,): the edges that each should have by its own ties, above 0.
    aim:
        See `ktsafe.AnonymizeOptions`.
    """
    if aim == "cost":
        return list(market.pairs)
    if aim == "balanced" and _balance(market, cells):
        return _with_totals(market, cells, wanted)
    price = _price_of_f1(market)
    return [dataclasses.replace(pair, price=price) for pair in market.pairs]


def _with_totals(market: Market, cells: Sequence[Cells], wanted: NDArray[np.float64]) -> list[Pair]:
    """Return pairs with totals, each at the price of its nearest plan.

    Those of off cells must reach their totals.
    """
    is_off = np.any([np.abs(cell.surplus(market.edges) - 1) > OFF for cell in cells], axis=0)
    fitted = raked((1 - OF_TIES) * market.edges + OF_TIES * wanted, cells)
    total = np.where(is_off, fitted, market.edges)
    slack = np.where(is_off, TOLERANCE, math.inf)
    plans = map(market.nearest, range(len(total)), total)
    each = zip(market.pairs, plans, total, slack, strict=True)
    return [
        dataclasses.replace(
            pair, price=math.exp(plan.price), total=float(n), slack=float(s), found=plan.found
        )
        for pair, plan, n, s in each
    ]


class HastyPlan(NamedTuple):
    """What a pair shows at the logarithm of a price.

    Edges, those that are ties, and which.
    """

    price: float
    edges: int
    shown: int
    found: Searched | None


class Market:
    """Pairs of classes, and their draft plans at their prices.

    Parameters
    ----------
    pairs:
        The pairs that are planned.
    ties:
        int64, shape (pairs,): how many candidates of each are ties; they come first.
    run:
        Applies a function to the arguments of each pair, in order.
    rest:
        What else the release shows and hides.

    Attributes
    ----------
    price:
        float64, shape (pairs,): logarithms of the prices.
    edges, shown:
        float64, shape (pairs,): edges at these prices, and how many of them are ties.
    plans:
        Of each pair, all it had.
    """

    def __init__(
        self, pairs: Sequence[Pair], ties: NDArray[np.int64], run: Run, rest: Rest = NOTHING
    ) -> None:
        self.pairs = pairs
        self._ties = ties
        self._run = run
        self._rest = rest
        self.price = np.full(len(pairs), math.log(FIRST_PRICE))
        self.edges, self.shown = np.zeros((2, len(pairs)))
        self.plans: list[list[HastyPlan]] = [[] for _ in pairs]
        self._price_max = np.array([pair.price_max() for pair in pairs])
        self._planned_at = np.full(len(pairs), -np.inf)

    def plan(self) -> None:
        """Plan the pairs with prices that have moved."""
        self.price = np.clip(self.price, math.log(PRICE_MIN), math.log(PRICE_MAX))
        has_moved = np.abs(self.price - self._planned_at) > MOVED
        can_pay = np.exp(self.price) < self._price_max
        for i in np.flatnonzero(has_moved & ~can_pay).tolist():
            self._note(i, 0, 0, None)
        moved = np.flatnonzero(has_moved & can_pay).tolist()
        at_price = [
            dataclasses.replace(self.pairs[i], price=math.exp(self.price[i])) for i in moved
        ]
        found = self._run(shown_in_haste, at_price, self._ties[moved].tolist())
        for i, (n_edges, n_shown, where) in zip(moved, found, strict=True):
            self._note(i, n_edges, n_shown, where)

    def _note(self, i: int, n_edges: int, n_shown: int, found: Searched | None) -> None:
        """Note what a pair shows at its price."""
        self.edges[i], self.shown[i] = n_edges, n_shown
        self.plans[i].append(HastyPlan(self.price[i], n_edges, n_shown, found))
        if not n_edges:
            # Nor at a higher price: the best is worth less there, though a search may find more.
            self._price_max[i] = min(self._price_max[i], math.exp(self.price[i]))
        self._planned_at[i] = self.price[i]

    def nearest(self, i: int, total: float) -> HastyPlan:
        """Return a pair's plan with about so many edges."""
        return min(self.plans[i], key=lambda plan: abs(plan.edges - total))

    @property
    def f1(self) -> float:
        """F1 of the release at these prices."""
        shown = self._rest.shown + self.shown.sum()
        return float(2 * shown / (self._n_ties + self._rest.edges + self.edges.sum()))

    @property
    def costs_too_much(self) -> bool:
        """Whether the edges cost too large a share of the ties."""
        rest = self._rest
        worth = 2 * (rest.shown + self.shown.sum()) - rest.edges - self.edges.sum()
        return bool(worth < (1 - COST_MAX) * self._n_ties)

    @property
    def _n_ties(self) -> int:
        return self._rest.ties + int(self._ties.sum())


def shown_in_haste(pair: Pair, n_ties: int) -> tuple[int, int, Searched | None]:
    """Return a pair's edges at its price, their ties, and the rest."""
    plan, found = solve_in_haste(pair)
    ends = int((pair.sizes * plan.degree)[: pair.n_first].sum())
    return ends // 2 if pair.is_one else ends, int(plan.shown[:n_ties].sum()), found


def _balance(market: Market, cells: Sequence[Cells]) -> bool:
    """Move prices until cells have as many edges as ties.

    Return whether that can be paid.
    """
    for i in range(ROUNDS):
        market.plan()
        if i < ROUNDS - 1:
            for cell in cells:
                surplus = np.clip(cell.surplus(market.edges), 1 / FACTOR_MAX, FACTOR_MAX)
                # A pair is in as many cells as there are attributes.
                market.price += np.log(surplus) / len(cells)
    _choose(market, cells)
    return not market.costs_too_much


def _choose(market: Market, cells: Sequence[Cells]) -> None:
    """Choose among each pair's plans until none brings cells nearer."""
    off = [np.bincount(cell.of_pair, market.edges, len(cell.ties)) - cell.ties for cell in cells]
    at = np.column_stack([cell.of_pair for cell in cells]).tolist()
    gaps = [gap.tolist() for gap in off]
    for _ in range(CHOICES):
        is_done = True
        for i, plans in enumerate(market.plans):
            now = int(market.edges[i])
            around = [gap[c] - now for gap, c in zip(gaps, at[i], strict=True)]
            worths = [
                2 * shown - edges - MISSED * sum(abs(rest + edges) for rest in around)
                for _, edges, shown, _ in plans
            ]
            best = int(np.argmax(worths))
            if plans[best].edges == now:
                continue
            is_done = False
            market.price[i], market.edges[i], market.shown[i], _ = plans[best]
            for gap, c, rest in zip(gaps, at[i], around, strict=True):
                gap[c] = rest + plans[best].edges
        if is_done:
            break


def _price_of_f1(market: Market) -> float:
    """Return the price that F1 comes to, or higher against cost."""
    price = FIRST_PRICE
    for i in range(ROUNDS):
        market.price[:] = math.log(price)
        market.plan()
        if i < ROUNDS - 1:
            price = max(market.f1, PRICE_MIN)
    for _ in range(RAISES_MAX):
        if not market.costs_too_much:
            return price
        price = min(price * RAISE, PRICE_MAX)
        market.price[:] = math.log(price)
        market.plan()
    return PRICE_MAX


def cells_of(values: NDArray[np.int64], ends: NDArray[np.integer]) -> list[NDArray[np.int64]]:
    """Return for each attribute the cell of each pair of classes.

    Without any, one cell for all.

    Parameters
    ----------
    values:
        int64, shape (classes, attributes): codes of the values of each class.
    ends:
        int, shape (pairs, 2): the classes of each pair.

    Examples
    --------
    >>> values = np.array([[0, 0], [0, 1], [1, 1]])
    >>> cells = cells_of(values, np.array([[0, 0], [0, 1], [1, 0], [2, 0]]))
    >>> [cell.tolist() for cell in cells]
    [[0, 0, 0, 1], [0, 1, 1, 1]]
    """
    if not values.shape[1]:
        return [np.zeros(len(ends), dtype=np.int64)]
    found = []
    for of_class in values.T:
        low, high = np.sort(of_class[ends], axis=1).T
        _, of_pair = np.unique(low * (of_class.max() + 1) + high, return_inverse=True)
        found.append(of_pair.reshape(-1))
    return found


def raked(edges: NDArray[np.float64], cells: Sequence[Cells]) -> NDArray[np.float64]:
    """Return the pairs' edges, scaled until all cells have their ties.

    Parameters
    ----------
    edges:
        float64, shape (pairs,): edges of each, above 0.
    cells:
        Of each attribute.

    Examples
    --------
    >>> one = Cells(np.array([0, 0, 1]), np.array([30.0, 10.0]))
    >>> raked(np.array([5.0, 10.0, 20.0]), [one]).tolist()
    [10.0, 20.0, 10.0]
    """
    found = edges.copy()
    for _ in range(RAKINGS):
        for cell in cells:
            found /= cell.surplus(found)
    return found
