"""Merge values of one attribute step by step.

`SIZE` may be tuned. Merging is nested, and ranges are merged with their neighbours alone
(tests/ktsafe/assess/generalization/test_levels.py).

Values that mix alike, and small ones, are merged first.

Two groups of n and m people are merged at the price n m / (n + m) (d^2 + SIZE), where d is the
distance of their mixing: of the shares of their ties that go to people of each value. That is
Ward's criterion with a constant besides, by which people count and not only likeness: groups come
out of similar sizes, and a group of a handful of people tells next to nothing.

Source: Ward, "Hierarchical grouping to optimize an objective function" (JASA 1963).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import AttributedGraph

SIZE = 0.3
"""What a pair of people in one group costs, beside the distance of how they mix (at most 2)."""


@dataclasses.dataclass(frozen=True, eq=False)
class Items:
    """Values, or ranges of values, to be merged.

    Attributes
    ----------
    sizes:
        int64, shape (items,): people of each.
    mixing:
        float64, shape (items, items): ties of each with people of each.
    chain:
        Items of which only neighbours are merged, in order; empty where all may be.
    first:
        Pairs that are merged before all others, in order: a word and its first letter.
    apart:
        Items that are never merged.
    """

    sizes: NDArray[np.int64]
    mixing: NDArray[np.float64]
    chain: Sequence[int] = ()
    first: Sequence[tuple[int, int]] = ()
    apart: Collection[int] = ()


def mixing(graph: AttributedGraph, items: NDArray[np.int64], n_items: int) -> NDArray[np.float64]:
    """Return the ties between the people of each two items.

    Parameters
    ----------
    items:
        int64, shape (n,): the item of each person.
    n_items:
        How many there are.

    Returns
    -------
    float64, shape (n_items, n_items), symmetric; ties within an item count twice.
    """
    ends = items[graph.edges]
    cells = np.bincount(ends[:, 0] * n_items + ends[:, 1], minlength=n_items**2)
    table: NDArray[np.float64] = cells.reshape(n_items, n_items).astype(np.float64)
    return table + table.T


def merged(items: Items, counts: Sequence[int]) -> list[NDArray[np.int64]]:
    """Return each item's group for each number of groups, (items,).

    The arrays are int64.

    Numbers that cannot be reached, since items stay apart, are left out. Groups of fewer are unions
    of groups of more.

    Parameters
    ----------
    counts:
        Numbers of groups, descending, all of them less than the number of items.

    Examples
    --------
    >>> items = Items(np.array([50, 50, 3, 3]), np.eye(4))
    >>> [found.tolist() for found in merged(items, (3, 2))]
    [[0, 1, 2, 2], [0, 1, 0, 0]]
    """
    state = _Groups(items)
    found = []
    for count in counts:
        while state.n_groups > count and state.merge_cheapest():
            pass
        if state.n_groups > count:
            break
        found.append(state.of_item())
    return found


class _Groups:
    """The groups as they are.

    Each has the number of its first item.
    """

    def __init__(self, items: Items) -> None:
        n = len(items.sizes)
        self._group = np.arange(n)
        self._alive = np.ones(n, dtype=np.bool_)
        self._sizes = items.sizes.astype(np.float64)
        self._ties = items.mixing.astype(np.float64).copy()
        self._chain = list(items.chain)
        self._free = np.ones(n, dtype=np.bool_)
        self._free[list(items.apart)] = False
        self._price = np.full((n, n), np.inf)
        for item in range(n):
            self._set_price(item)
        for rank, (a, b) in enumerate(items.first):
            self._price[a, b] = self._price[b, a] = rank - len(items.first)

    @property
    def n_groups(self) -> int:
        return int(self._alive.sum())

    def of_item(self) -> NDArray[np.int64]:
        numbers: NDArray[np.int64] = np.unique(self._group, return_inverse=True)[1].reshape(-1)
        return numbers.astype(np.int64)

    def merge_cheapest(self) -> bool:
        """Merge two groups; return False if no two may be merged."""
        price = np.where(self._allowed(), self._price, np.inf)
        a, b = sorted(map(int, np.unravel_index(np.argmin(price), price.shape)))
        if not np.isfinite(price[a, b]):
            return False
        self._group[self._group == b] = a
        self._alive[b] = False
        self._sizes[a] += self._sizes[b]
        self._ties[a] += self._ties[b]
        forced = np.minimum(np.minimum(self._price[a], self._price[b]), 0)
        self._set_price(a)
        self._price[a] = self._price[:, a] = np.where(forced < 0, forced, self._price[a])
        return True

    def _set_price(self, a: int) -> None:
        """Compute what it costs to merge a group with each other one."""
        shares = self._ties / np.maximum(self._ties.sum(axis=1, keepdims=True), 1)
        distance = ((shares - shares[a]) ** 2).sum(axis=1)
        n, m = self._sizes[a], self._sizes
        self._price[a] = self._price[:, a] = n * m / np.maximum(n + m, 1) * (distance + SIZE)

    def _allowed(self) -> NDArray[np.bool_]:
        free = self._free & self._alive
        allowed = np.triu(np.outer(free, free), 1)
        if self._chain:
            # Ranges merge with the next one, what is no range (missing) with any of them.
            order = list(dict.fromkeys(self._group[self._chain].tolist()))
            near = np.zeros_like(allowed)
            near[order[:-1], order[1:]] = True
            loose = np.setdiff1d(np.arange(len(free)), order)
            near[np.ix_(loose, order)] = True
            allowed &= near | near.T
        return allowed
