"""Imagined ties: what pairs of classes show is planned as if inserted members had ties, too.

Without ties of their own, inserted members count as people whom nobody knows: their cohorts would
show nothing, and stand out by their low degrees. So each is given as many ties as some person of
its cohort has, to neighbours that are chosen as ties choose them. An edge that it shows already is
one of them, so that its ties stay from release to release.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.exact.pair_program import Pair
from ktsafe.graph import edge_keys

Edges = NDArray[np.int32]
"""int32, shape (x, 2): the first end in the first class of a pair."""

IMAGINED_WEIGHT = 2.0
"""For how many ties an imagined one counts. Where half of a cohort is inserted, its edges then pay
as if all were people."""


def imagined_ties(
    pair: Pair,
    is_inserted: NDArray[np.bool_],
    last: Edges,
    share: float,
    rng: np.random.Generator,
) -> Edges:
    """Return the imagined ties of a pair of classes, none of which is a true tie.

    Parameters
    ----------
    pair:
        The pair of classes; its candidates are the true ties.
    is_inserted:
        bool, shape (n,): who is inserted.
    last:
        The edges that the pair showed last.
    share:
        How many imagined ties a tie of a person stands for, 0 to 1: all of them can be shown, of
        true ties only some.
    rng:
        The only randomness.
    """
    own = last[is_own(last, is_inserted)]
    has = np.bincount(own.reshape(-1), minlength=len(pair.cohort))
    lack = np.maximum(rng.binomial(_wanted(pair, is_inserted, rng), share) - has, 0)
    return np.concatenate((own, _drawn(pair, np.concatenate((last, pair.edges)), lack, rng)))


def is_own(edges: Edges, is_inserted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whether an end of each edge is inserted."""
    return np.asarray(is_inserted[edges].any(axis=1), dtype=np.bool_)


def _wanted(
    pair: Pair, is_inserted: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return how many ties each inserted member has: as many as a person of its cohort; int64."""
    count = np.bincount(pair.edges.reshape(-1), minlength=len(pair.cohort))
    wanted = np.zeros(len(pair.cohort), dtype=np.int64)
    for label in np.intersect1d(pair.cohorts, pair.cohort[is_inserted]):
        inside = pair.cohort == label
        people = np.flatnonzero(inside & ~is_inserted)
        own = np.flatnonzero(inside & is_inserted)
        if len(people):
            wanted[own] = count[np.resize(rng.permutation(people), len(own))]
    return wanted


def _drawn(pair: Pair, taken: Edges, lack: NDArray[np.int64], rng: np.random.Generator) -> Edges:
    """Draw that many new ties of each vertex; those that are there already are left out."""
    drawn = [taken[:0]]
    for side, (near, far) in enumerate(((pair.a, pair.b), (pair.b, pair.a))[: 2 - pair.is_one]):
        is_near = np.isin(pair.cohort, near)
        here = rng.permutation(np.repeat(np.arange(len(lack)), np.where(is_near, lack, 0)))
        there = _neighbours(pair, far, len(here), rng)
        ends = (there, here) if side else (here, there)
        drawn.append(np.column_stack(ends).astype(np.int32))
    edges = np.concatenate(drawn)
    edges = edges[(edges[:, 0] != edges[:, 1]) & ~np.isin(edge_keys(edges), edge_keys(taken))]
    found: Edges = edges[np.sort(np.unique(edge_keys(edges), return_index=True)[1])]
    return found


def _neighbours(
    pair: Pair, cohorts: NDArray[np.int32], n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw n members of the given cohorts, cohort by cohort, each once before the next.

    Scattered over many cohorts they would be so few in each that none could be shown. A cohort
    with more ties between the two classes is drawn earlier.
    """
    others = np.flatnonzero(np.isin(pair.cohort, cohorts))
    weight = np.bincount(pair.cohort[pair.edges].reshape(-1), minlength=len(pair.sizes)) + 1.0
    when = rng.exponential(1 / weight)
    order = others[np.lexsort((rng.random(len(others)), when[pair.cohort[others]]))]
    return np.resize(order, n)
