"""Lowering: what nobody needs any more is taken back, whole cohorts at a time.

The counterpart of a raise. Between two classes, a cohort has slack if each member has an edge to
the other class that is no true tie. If such edges match all members of several cohorts perfectly,
these edges are dropped, and everybody loses one neighbour of the other class. Together with a raise
in the same release it is a rotation: everybody loses one and gains one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence import _lowering_core as core
from ktsafe.sequence import state as st
from ktsafe.sequence.state import State, Tie

MATCHING_MIN = 2
"""Edges below which no cohort can be lowered."""

ATTEMPTS = 4
"""Matchings, of which that with most edges counts; which cohorts are left out is luck."""


def lower(state: State, pairs: set[Tie], rng: np.random.Generator) -> None:
    """Lower between each of the given pairs of classes, as often as that can be done."""
    for pair in sorted(pairs):
        while len(dropped := _droppable(state, pair, rng)):
            for edge in dropped.tolist():
                state.drop_edge(edge)
            state.count("lowered", len(dropped))


def _droppable(state: State, pair: Tie, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the rows of edges that whole cohorts can lose together; empty where there are none."""
    rows: NDArray[np.int64] = np.array(sorted(state.between.get(pair, ())), dtype=np.int64)
    if not len(rows):
        return rows
    edges = state.edges.rows[rows]
    # One that appears in this release would vanish unseen, while others visibly change.
    free = (edges[:, st.IS_TRUE] != st.TRUE) & (edges[:, st.ADDED] < state.release)
    rows, edges = rows[free], edges[free]
    if len(rows) < MATCHING_MIN:
        return rows[:0]
    places, local = np.unique(edges[:, : st.HIGH + 1], return_inverse=True)
    local = local.reshape(-1, 2).astype(np.int64)
    labels, cohort = np.unique(state.places.rows[places, st.COHORT], return_inverse=True)
    cohort = cohort.reshape(-1).astype(np.int64)
    sizes = np.array([len(state.members[label]) for label in labels.tolist()], dtype=np.int64)
    keep = core.with_slack(local, cohort, sizes)
    if not keep.any():
        return rows[:0]
    rows, local, is_true = rows[keep], local[keep], edges[keep, st.IS_TRUE]
    best = rows[:0]
    for _ in range(ATTEMPTS):
        # Residual edges are preferred, the rest comes as it falls.
        order = np.lexsort((rng.random(len(rows)), is_true != st.RESIDUAL))
        shuffled = local[order]
        indptr, indices = _compressed(shuffled, len(places))
        mate = core.match_cohorts(indptr, indices, cohort, len(labels))
        dropped = rows[order][mate[shuffled[:, 0]] == shuffled[:, 1]]
        if len(dropped) > len(best):
            best = dropped
    return best


def _compressed(local: NDArray[np.int64], n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the adjacency of an edge list; neighbours keep the order of the edges."""
    source = np.concatenate((local[:, 0], local[:, 1]))
    target = np.concatenate((local[:, 1], local[:, 0]))
    rank = np.concatenate((np.arange(len(local)), np.arange(len(local))))
    order = np.lexsort((rank, source))
    indptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(source, minlength=n), out=indptr[1:])
    return indptr, target[order]
