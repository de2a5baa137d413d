"""Imagined ties: what pairs of classes show is planned as if inserted members had ties, too.

Without ties of their own, inserted members count as people whom nobody knows: their cohorts would
show nothing, and stand out by their low degrees. So each is given as many ties as some person of
its cohort has, to neighbours that are chosen as ties choose them. An edge that it shows already is
one of them, so that its ties stay from release to release.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import edge_keys
from ktsafe.sequence.ties.pairs import Edges, PairOfClasses


def with_imagined(pair: PairOfClasses, share: float, rng: np.random.Generator) -> PairOfClasses:
    """Return the pair with imagined ties of its inserted members among its ties.

    Parameters
    ----------
    pair:
        The pair of classes.
    share:
        How many imagined ties a tie of a person stands for, 0 to 1: all of them can be shown, of
        true ties only some.
    rng:
        The only randomness.
    """
    if not pair.is_inserted.any() or not pair.n_ties:
        return pair
    last = pair.shown if len(pair.shown) else pair.former
    own = last[_is_own(pair, last)]
    has = np.bincount(own.reshape(-1), minlength=len(pair.cohort))
    lack = np.maximum(rng.binomial(_wanted(pair, rng), share) - has, 0)
    ties = np.concatenate((own, _drawn(pair, np.concatenate((last, pair.hidden)), lack, rng)))
    is_shown = np.isin(edge_keys(ties), edge_keys(pair.shown))
    return dataclasses.replace(
        pair,
        is_true=pair.is_true | _is_own(pair, pair.shown),
        hidden=np.concatenate((pair.hidden, ties[~is_shown])),
    )


def _is_own(pair: PairOfClasses, edges: Edges) -> NDArray[np.bool_]:
    """Return whether an end of each edge is an inserted member."""
    return np.asarray(pair.is_inserted[edges].any(axis=1), dtype=np.bool_)


def _wanted(pair: PairOfClasses, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return how many ties each inserted member has: as many as a person of its cohort; int64."""
    count = np.bincount(pair.ties.reshape(-1), minlength=len(pair.cohort))
    wanted = np.zeros(len(pair.cohort), dtype=np.int64)
    for label in np.unique(pair.cohort[pair.is_inserted]):
        inside = pair.cohort == label
        people = np.flatnonzero(inside & ~pair.is_inserted)
        own = np.flatnonzero(inside & pair.is_inserted)
        if len(people):
            wanted[own] = count[rng.choice(people, len(own))]
    return wanted


def _drawn(
    pair: PairOfClasses, taken: Edges, lack: NDArray[np.int64], rng: np.random.Generator
) -> Edges:
    """Draw that many new ties of each vertex; those that are there already are left out."""
    is_first = pair.cohort < pair.n_first
    is_one = bool(is_first.all())
    drawn = [taken[:0]]
    for side in (True,) if is_one else (True, False):
        here = rng.permutation(np.repeat(np.arange(len(lack)), np.where(is_first == side, lack, 0)))
        there = _neighbours(pair, is_first if is_one else is_first != side, len(here), rng)
        ends = (here, there) if side else (there, here)
        drawn.append(np.column_stack(ends).astype(np.int32))
    edges = np.concatenate(drawn)
    edges = edges[(edges[:, 0] != edges[:, 1]) & ~np.isin(edge_keys(edges), edge_keys(taken))]
    found: Edges = edges[np.sort(np.unique(edge_keys(edges), return_index=True)[1])]
    return found


def _neighbours(
    pair: PairOfClasses, is_other: NDArray[np.bool_], n: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw n neighbours from the other side, cohort by cohort, each member once before the next.

    Scattered over many cohorts they would be so few in each that none could be shown. A cohort
    with more ties between the two classes is drawn earlier.
    """
    others = np.flatnonzero(is_other)
    weight = np.bincount(pair.cohort[pair.ties].reshape(-1), minlength=len(pair.sizes)) + 1.0
    when = rng.exponential(1 / weight)
    order = others[np.lexsort((rng.random(len(others)), when[pair.cohort[others]]))]
    return np.resize(order, n)
