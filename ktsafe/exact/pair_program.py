"""The program of one pair of classes: which ties are shown, and how many each cohort needs.

Let a and b be two classes, or one and the same. Each member of a cohort C of a gets r[C]
neighbours in b, each member of a cohort D of b gets s[D] neighbours in a. With x[e] = 1 for the
candidate edges that are shown

    maximize    sum of gain[e] x[e]  -  price * (sum of |C| r[C])
    such that   shown candidates at v  <=  r of v's cohort
                sum of |C| r[C] over a  =  sum of |D| s[D] over b     (a = b: it is even)

What a vertex lacks is inserted (`ktsafe.exact.filling`). The candidates of a single release are
the true ties. A hidden tie costs 1 and an inserted edge costs 1, so that each shown tie gains 2
and each edge costs 1 beforehand: the edge cost is (ties - objective).
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

TIES_MAX_EXACT = 1500
"""Candidates up to which degrees are integers for the solver; beyond they are rounded."""

NODES_MAX = 50
GAP = 0.005


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
        int32: the cohorts of the two classes; the same array if it is one class.
    edges:
        int32, shape (m, 2): candidates, the first end in a, the second in b.
    gain:
        float64, shape (m,): what is gained by each that is shown.
    price:
        What an edge costs that is no candidate.
    """

    cohort: NDArray[np.int32]
    sizes: NDArray[np.int64]
    a: NDArray[np.int32]
    b: NDArray[np.int32]
    edges: NDArray[np.int32]
    gain: NDArray[np.float64]
    price: float = 1.0

    @property
    def is_one(self) -> bool:
        """Whether a and b are the same class."""
        return self.a is self.b

    @property
    def vertices_a(self) -> NDArray[np.int32]:
        """Members of the cohorts of a, ascending."""
        return self._members(self.a)

    @property
    def vertices_b(self) -> NDArray[np.int32]:
        """Members of the cohorts of b, ascending."""
        return self._members(self.b)

    def _members(self, cohorts: NDArray[np.int32]) -> NDArray[np.int32]:
        chosen = np.zeros(len(self.sizes), dtype=np.bool_)
        chosen[cohorts] = True
        return np.flatnonzero(chosen[self.cohort]).astype(np.int32)


@dataclasses.dataclass(frozen=True, eq=False)
class PairPlan:
    """A solution of the program.

    Attributes
    ----------
    r, s:
        int64: neighbours that each member of the cohorts of a and of b gets; one array if a = b.
    shown:
        bool, shape (m,): the candidates that are shown.
    value:
        What the objective comes to; never below 0, the value of showing nothing.
    bound:
        No solution for these cohorts has a greater objective (`ktsafe.exact.bound`).
    """

    r: NDArray[np.int64]
    s: NDArray[np.int64]
    shown: NDArray[np.bool_]
    value: float
    bound: float


def solve(pair: Pair) -> PairPlan:
    """Return degrees and shown candidates of a pair."""
    m, side_a, side_b = len(pair.edges), len(pair.a), 0 if pair.is_one else len(pair.b)
    local = np.full(len(pair.sizes), -1, dtype=np.int64)
    local[pair.b] = side_a + np.arange(len(pair.b)) if not pair.is_one else np.arange(len(pair.b))
    ends = pair.edges[:, 0], pair.edges[:, 1]
    end_cohorts_b = local[pair.cohort[ends[1]]]
    local[pair.a] = np.arange(side_a)
    end_cohorts_a = local[pair.cohort[ends[0]]]
    vertices, at = np.unique(np.concatenate(ends), return_inverse=True)
    cohort_of = np.empty(len(vertices), dtype=np.int64)
    cohort_of[at[:m]] = end_cohorts_a
    cohort_of[at[m:]] = end_cohorts_b
    n_cohorts = side_a + side_b
    # Columns: candidates, degrees of cohorts, and for one class half the sum of the degrees.
    n_columns = m + n_cohorts + pair.is_one
    sizes = np.concatenate((pair.sizes[pair.a], pair.sizes[pair.b][:side_b]))
    sign = np.concatenate((np.ones(side_a), -np.ones(side_b)))
    rows = np.concatenate((at, np.arange(len(vertices)), np.full(n_cohorts, len(vertices))))
    columns = np.concatenate((np.tile(np.arange(m), 2), m + cohort_of, m + np.arange(n_cohorts)))
    values = np.concatenate((np.ones(2 * m), -np.ones(len(vertices)), sign * sizes))
    if pair.is_one:
        rows = np.append(rows, len(vertices))
        columns = np.append(columns, n_columns - 1)
        values = np.append(values, -2.0)
    matrix = coo_array((values, (rows, columns)), shape=(len(vertices) + 1, n_columns))
    low = np.full(len(vertices) + 1, -np.inf)
    low[-1] = 0
    high = np.zeros(len(vertices) + 1)
    cost = np.concatenate((-pair.gain, pair.price * sizes / 2, np.zeros(int(pair.is_one))))
    shown_max = np.bincount(np.concatenate((end_cohorts_a, end_cohorts_b)), minlength=n_cohorts)
    room = np.where(
        np.arange(n_cohorts) < side_a,
        pair.sizes[pair.b].sum() - pair.is_one,
        pair.sizes[pair.a].sum() - pair.is_one,
    )
    upper = np.minimum(shown_max, room)
    tops = np.concatenate((np.ones(m), upper, np.full(int(pair.is_one), np.inf)))
    is_whole = np.ones(n_columns)
    is_whole[:m] = 0
    result = milp(
        cost,
        constraints=LinearConstraint(matrix.tocsc(), low, high),
        integrality=is_whole,
        bounds=Bounds(0, tops),
        options={"node_limit": NODES_MAX, "mip_rel_gap": GAP},
    )
    bound = -result.mip_dual_bound if result.mip_dual_bound is not None else np.inf
    nothing = PairPlan(
        np.zeros(side_a, np.int64), np.zeros(len(pair.b), np.int64), np.zeros(m, bool), 0.0, bound
    )
    if result.x is None or -result.fun < 1e-6:
        return nothing
    degrees = np.rint(result.x[m : m + n_cohorts]).astype(np.int64)
    shown = _whole(result.x[:m], at, cohort_of, degrees)
    value = float(pair.gain[shown].sum() - pair.price * (sizes * degrees).sum() / 2)
    if value <= 0:
        return nothing
    r = degrees[:side_a]
    return PairPlan(r, r if pair.is_one else degrees[side_a:], shown, value, float(bound))


def _whole(
    x: NDArray[np.float64],
    at: NDArray[np.int64],
    cohort_of: NDArray[np.int64],
    degrees: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return whole choices: what the solver shows wholly, and what fits of the rest."""
    m = len(x)
    shown = x > 1 - 1e-6
    room = degrees[cohort_of] - np.bincount(
        np.concatenate((at[:m][shown], at[m:][shown])), minlength=len(cohort_of)
    )
    for e in np.argsort(-x, kind="stable"):
        if x[e] < 1e-6:
            break
        u, v = at[e], at[m + e]
        if not shown[e] and room[u] > 0 and room[v] > 0:
            shown[e] = True
            room[u] -= 1
            room[v] -= 1
    return shown
