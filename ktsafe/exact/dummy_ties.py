"""Dummy ties: what pairs of classes show is planned as if inserted members had ties, too.

Without ties of their own, inserted members count as people whom nobody knows: their cohorts would
show nothing, and stand out by their low degrees. So each is given the ties of some person of its
cohort, with the same neighbours: ends chosen in another way would tell which are inserted. An edge
that it shows already is one of them, so its ties stay from release to release.

All members of a cohort get equally many edges, so of less than one tie a member none is shown.
Ends in cohorts with so few are gathered in some of these cohorts, where every member gets one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.edges import edge_keys
from ktsafe.exact.pair_program import Pair

Edges = NDArray[np.int32]
"""int32, shape (x, 2): the first end in the first class of a pair."""

GATHERED_BELOW = 1.0
"""Ties of a member, on average over its cohort, below which dummy ties are gathered."""

GATHERED_WEIGHT = 2.0
"""For how many ties a gathered one counts. Where half of a cohort is inserted, its edges then pay
as if all were people."""


class DummyTies(NamedTuple):
    """Dummy ties, and for how many ties each counts: float64, shape (x,)."""

    ties: Edges
    weight: NDArray[np.float64]


def dummy_ties(
    pair: Pair,
    is_inserted: NDArray[np.bool_],
    last: Edges,
    share: float,
    rng: np.random.Generator,
) -> DummyTies:
    """Return the dummy ties of a pair of classes, none of which is a true tie.

    Parameters
    ----------
    pair:
        The pair of classes; its candidates are the true ties.
    is_inserted:
        bool, shape (n,): whether each is inserted.
    last:
        The edges that the pair showed last.
    share:
        How many gathered ties a tie of a person stands for, 0 to 1: all of them can be shown, of
        true ties only some.
    rng:
        The only randomness.
    """
    own = last[is_own(last, is_inserted)]
    has = np.bincount(own.reshape(-1), minlength=len(pair.cohort))
    like = _resembled(pair, is_inserted, rng)
    ties, weights = [own], [np.full(len(own), GATHERED_WEIGHT)]
    for side in range(2 - pair.is_one):
        here, there = _copied(pair, like, side, rng)
        # What it shows already stands for as many of them.
        is_new = np.arange(len(here)) - np.searchsorted(here, here) >= has[here]
        is_few = _are_few(pair, there)
        is_new &= ~is_few | (rng.random(len(here)) < share)
        here, there, is_few = here[is_new], there[is_new], is_few[is_new]
        there[is_few] = _gathered(pair, there[is_few], rng)
        ties.append(np.column_stack((there, here) if side else (here, there)).astype(np.int32))
        weights.append(np.where(is_few, GATHERED_WEIGHT, 1.0))
    edges, weight = np.concatenate(ties), np.concatenate(weights)
    first = np.sort(np.unique(edge_keys(edges), return_index=True)[1])
    first = first[edges[first, 0] != edges[first, 1]]
    return DummyTies(edges[first], weight[first])


def is_own(edges: Edges, is_inserted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return whether an end of each edge is inserted."""
    return np.asarray(is_inserted[edges].any(axis=1), dtype=np.bool_)


def _resembled(
    pair: Pair, is_inserted: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return the person of its cohort whose ties each inserted member is given; -1 for others."""
    like = np.full(len(pair.cohort), -1, dtype=np.int64)
    for label in np.intersect1d(pair.cohorts, pair.cohort[is_inserted]):
        inside = pair.cohort == label
        people = np.flatnonzero(inside & ~is_inserted)
        own = np.flatnonzero(inside & is_inserted)
        if len(people):
            like[own] = np.resize(rng.permutation(people), len(own))
    return like


def _copied(
    pair: Pair, like: NDArray[np.int64], side: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the ends that are given a tie, ascending, and the others, in random order for each."""
    near, far = pair.edges[:, side], pair.edges[:, 1 - side]
    if pair.is_one:
        near, far = np.concatenate((near, far)), np.concatenate((far, near))
    mixed = rng.permutation(len(near))
    mixed = mixed[np.argsort(near[mixed], kind="stable")]
    given = np.flatnonzero(like >= 0)
    first, end = (np.searchsorted(near[mixed], like[given], where) for where in ("left", "right"))
    here = np.repeat(given, end - first)
    at = np.arange(len(here)) - np.searchsorted(here, here) + np.repeat(first, end - first)
    return here, far[mixed[at]].astype(np.int64)


def _are_few(pair: Pair, there: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether the cohort at each end has too few ties for one of them to be shown."""
    far, ends = pair.cohort[there], pair.cohort[pair.edges.reshape(-1)]
    count = np.bincount(np.concatenate((far, ends)), minlength=len(pair.sizes))
    return np.asarray(count[far] < GATHERED_BELOW * pair.sizes[far], dtype=np.bool_)


def _gathered(pair: Pair, there: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return as many ends in whole cohorts, drawn in proportion to the given ends in them."""
    if not len(there):
        return there
    count = np.bincount(pair.cohort[there], minlength=len(pair.sizes))
    cohorts = rng.permutation(np.flatnonzero(count))
    rounds = np.cumsum(count[cohorts] / pair.sizes[cohorts])
    # Of the cohorts in a row, one is drawn in each step of 1; there is at least one.
    begin = rng.random() * min(rounds[-1], 1.0)
    drawn = cohorts[np.searchsorted(rounds, np.arange(begin, rounds[-1]), "right")]
    ends = [rng.permutation(np.flatnonzero(pair.cohort == label)) for label in drawn]
    return np.resize(np.concatenate(ends), len(there))
