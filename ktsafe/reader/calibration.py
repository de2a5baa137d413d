"""Edges of a release, changed to agree with its noisy tables.

Ties between any two classes are fitted to the tables by iterative proportional fitting (Deming and
Stephan, 1940). Edges are then added and dropped one by one; each is chosen so that transitivity
stays what it is in the release, which edges drawn at random would lower.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ktsafe.reader.estimates import Floats, StudiedTable

Ints = NDArray[np.int64]
RAKES: Final = 100
"""Rounds in which counts are fitted to the tables of several attributes."""
PRIOR: Final = 0.5
"""Edges that a pair of classes counts beside those shown, if it has `PRIOR_PAIRS` pairs of people:
pairs without an edge are gaps, not zeros, and the tables may ask for some there."""
PRIOR_PAIRS: Final = 1_000
TRIED: Final = 20
"""Draws for an edge that closes a triangle, or is not there yet; then any pair is taken."""
COMPARED: Final = 8
"""Edges of a pair of classes of which the one in fewest triangles is dropped."""


def calibrated_edges(
    columns: Sequence[NDArray[np.str_]],
    edges: Ints,
    tables: Mapping[int, StudiedTable],
    rng: np.random.Generator,
) -> Ints:
    """Return edges with the tables' ties between values.

    Parameters
    ----------
    columns:
        Values of each quasi-identifier, each of shape (n,).
    edges:
        int64, shape (m, 2).
    tables:
        The table of ties by the position of a quasi-identifier in `columns`.
    rng:
        Draws edges, and rounds.

    Returns
    -------
    numpy.ndarray
        int64, shape (m', 2), sorted, the lesser end first.
    """
    classes, of = np.unique(np.stack(columns, axis=1), axis=0, return_inverse=True)
    of = of.reshape(-1)
    wanted = _fitted(classes, of, edges, tables)
    wanted = np.floor(wanted + rng.random(wanted.shape)).astype(np.int64)
    graph = _Changing(len(classes), of, np.sort(edges, axis=1))
    p, q = np.triu_indices(len(classes))
    change = wanted[p, q] - graph.counts()[p, q]
    steps = np.repeat(np.arange(len(p)), np.abs(change))
    for at in rng.permutation(steps).tolist():
        step = graph.add if change[at] > 0 else graph.drop
        step(int(p[at]), int(q[at]), rng)
    return graph.edges


def _fitted(
    classes: NDArray[np.str_], of: Ints, edges: Ints, tables: Mapping[int, StudiedTable]
) -> Floats:
    """Return ties between any two classes as an upper triangle."""
    people = np.bincount(of, minlength=len(classes)).astype(np.float64)
    possible = np.triu(np.outer(people, people), 1) + np.diag(people * (people - 1) / 2)
    ties = PRIOR * np.minimum(1.0, possible / PRIOR_PAIRS)
    ends = np.sort(of[edges], axis=1)
    np.add.at(ties, (ends[:, 0], ends[:, 1]), 1.0)
    margins = []
    for column, table in tables.items():
        cell = {frozenset(pair): i for i, pair in enumerate(table.cells)}
        values = classes[:, column].tolist()
        at = np.array([[cell.get(frozenset((a, b)), -1) for b in values] for a in values])
        margins.append((at, np.maximum(table.counts, 0).astype(np.float64)))
    return np.minimum(raked(ties, margins), possible)


def raked(counts: Floats, margins: Sequence[tuple[Ints, Floats]]) -> Floats:
    """Return counts fitted in turn to margins, until all sums agree.

    Parameters
    ----------
    counts:
        float64, any shape; those that are 0 stay so.
    margins:
        Where each count is added up, int64 of the same shape, -1 for nowhere; and the sums.

    Examples
    --------
    >>> rows, columns = np.array([[0, 0], [1, 1]]), np.array([[0, 1], [0, 1]])
    >>> found = raked(np.ones((2, 2)), [(rows, np.array([4.0, 2])), (columns, np.array([3.0, 3]))])
    >>> found.tolist()
    [[2.0, 2.0], [1.0, 1.0]]
    """
    fitted = counts.copy()
    for _ in range(RAKES if margins else 0):
        for at, sums in margins:
            is_told = at >= 0
            now = np.bincount(at[is_told], fitted[is_told], len(sums))
            fitted[is_told] *= (sums / np.where(now > 0, now, 1.0))[at[is_told]]
    return fitted


@dataclasses.dataclass(eq=False)
class _Changing:
    """A changing graph, with counts of triangles and paths of two edges."""

    n_classes: int
    of: Ints
    first: dataclasses.InitVar[Ints]

    def __post_init__(self, first: Ints) -> None:
        self._near: list[set[int]] = [set() for _ in range(len(self.of))]
        self._between: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._members = [np.flatnonzero(self.of == c) for c in range(self.n_classes)]
        self._triangles = self._paths = 0
        for u, v in first.tolist():
            self._put(u, v)
        self._transitivity = self._closed()

    @property
    def edges(self) -> Ints:
        """All edges, int64, shape (m, 2), sorted."""
        found = sorted((min(e), max(e)) for chosen in self._between.values() for e in chosen)
        return np.array(found, dtype=np.int64).reshape(-1, 2)

    def counts(self) -> Ints:
        """Return edges between any two classes, in the upper triangle."""
        found = np.zeros((self.n_classes, self.n_classes), dtype=np.int64)
        for pair, chosen in self._between.items():
            found[pair] = len(chosen)
        return found

    def add(self, p: int, q: int, rng: np.random.Generator) -> None:
        """Add an edge between two classes; it closes a triangle if needed."""
        is_closing = self._closed() < self._transitivity
        for attempt in range(2 * TRIED):
            u = int(rng.choice(self._members[p]))
            if is_closing and attempt < TRIED:
                v = self._friend_of_a_friend(u, q, rng)
            else:
                v = int(rng.choice(self._members[q]))
            if v is not None and u != v and v not in self._near[u]:
                self._put(u, v)
                return

    def drop(self, p: int, q: int, rng: np.random.Generator) -> None:
        """Drop an edge between two classes, one in few triangles if needed."""
        chosen = self._between[p, q]
        asked = COMPARED if self._closed() < self._transitivity else 1
        drawn = rng.integers(len(chosen), size=asked).tolist()
        at = min(drawn, key=lambda i: len(self._near[chosen[i][0]] & self._near[chosen[i][1]]))
        u, v = chosen[at]
        chosen[at] = chosen[-1]
        chosen.pop()
        self._near[u].discard(v)
        self._near[v].discard(u)
        self._count(u, v, -1)

    def _friend_of_a_friend(self, u: int, q: int, rng: np.random.Generator) -> int | None:
        if not self._near[u]:
            return None
        middle = int(rng.choice(sorted(self._near[u])))
        ends = [v for v in sorted(self._near[middle]) if self.of[v] == q and v != u]
        return int(rng.choice(ends)) if ends else None

    def _put(self, u: int, v: int) -> None:
        self._count(u, v, 1)
        self._near[u].add(v)
        self._near[v].add(u)
        p, q = sorted((int(self.of[u]), int(self.of[v])))
        self._between.setdefault((p, q), []).append((u, v))

    def _count(self, u: int, v: int, sign: int) -> None:
        """Count an edge that is not there, as added or as dropped."""
        self._triangles += sign * len(self._near[u] & self._near[v])
        self._paths += sign * (len(self._near[u]) + len(self._near[v]))

    def _closed(self) -> float:
        return 3 * self._triangles / self._paths if self._paths else 0.0
