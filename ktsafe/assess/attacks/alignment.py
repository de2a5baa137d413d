"""Alignment: an attacker with the whole true graph, but without anybody's place.

Structural features of each vertex are compared by rank within its graph; pairs that are each
other's nearest are first links, mostly wrong; propagation then mends them, for right links agree
with each other and wrong ones do not. kt-safety promises nothing against this attacker.

Source: recursive features as in Henderson et al., "It's who you know: graph mining using recursive
structural features" (KDD 2011); alignment by features as in Heimann et al., "REGAL" (CIKM 2018).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.common.common_neighbours import adjacency, common_neighbours
from ktsafe.assess.attacks.common.nearest import neighbour_counts
from ktsafe.assess.attacks.common.propagation import NOBODY, propagate
from ktsafe.assess.attacks.common.result import Result, share_result
from ktsafe.graph import AttributedGraph

DEPTH = 2
ROUNDS = 60
CELLS_MAX = 1 << 22
"""Distances that are compared at a time: it bounds the memory."""


def alignment(case: Case) -> list[Result]:
    """Return how many people are found without seeds.

    Returns
    -------
    list of Result
        `alignment.features`: the share of people whose nearest place by features is their own.
        `alignment.propagated`: the share found after propagation from the first links.
    """
    first, chances = first_links(case, place_features(case))
    nobody = np.zeros(0, dtype=np.int64)
    guesses = propagate(case, nobody, rounds=ROUNDS, first=first)
    found = {"features": chances, "propagated": guesses.chances}
    return [
        share_result(
            f"alignment.{name}",
            share[case.people],
            control=case.by_chance,
            bands=case.bands(share[case.people]),
        )
        for name, share in found.items()
    ]


def place_features(case: Case) -> NDArray[np.float64]:
    """Return the features of every released vertex, shape (released vertices, features)."""
    return _features(case.released, case.tuples[1], case.tuples[2])


def first_links(
    case: Case, seen: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return mutual nearest pairs, and the chance of each nearest guess.

    Both have shape (original vertices,).

    Parameters
    ----------
    seen:
        `place_features` of the release.
    """
    true, shown, size = case.tuples
    known = _features(case.original, true, size)
    link = np.full(len(true), NOBODY, dtype=np.int64)
    chances = np.zeros(len(true))
    classes = case.published_tuple
    for each in np.unique(classes):
        people, places = np.flatnonzero(classes == each), np.flatnonzero(shown == each)
        if not len(places):
            continue
        # Equal vertices, isolated ones for example, are equally near: one of each kind is asked.
        kinds, some, kind, count = np.unique(
            seen[places], axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        nearest, back = _nearest(known[people], kinds)
        mutual = back[nearest] == np.arange(len(people))
        link[people[mutual]] = places[some[nearest[mutual]]]
        own = np.full(len(shown), NOBODY)
        own[places] = kind.reshape(-1)
        at = case.own_place[people]
        is_right = (at != NOBODY) & (own[at] == nearest)
        chances[people] = np.where(is_right, 1 / count[nearest], 0.0)
    return link, chances


def _nearest(
    known: NDArray[np.float64], seen: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the nearest row of `seen` to each of `known`, and reverse."""
    lengths = (seen**2).sum(axis=1)
    nearest = np.zeros(len(known), dtype=np.int64)
    back, least = np.zeros(len(seen), dtype=np.int64), np.full(len(seen), np.inf)
    step = max(CELLS_MAX // len(seen), 1)
    for begin in range(0, len(known), step):
        rows = known[begin : begin + step]
        squares = lengths - 2 * rows @ seen.T  # less the row's own length, the same for all
        nearest[begin : begin + step] = squares.argmin(axis=1)
        squares += (rows**2).sum(axis=1)[:, None]
        first = squares.argmin(axis=0)
        found = squares[first, np.arange(len(seen))]
        closer = found < least
        back[closer], least[closer] = begin + first[closer], found[closer]
    return nearest, back


def _features(graph: AttributedGraph, tuples: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """Return every vertex's features as ranks within its graph, (n, features).

    Degree, triangles, clustering, and their means over neighbours, `DEPTH` deep; the neighbours
    of each quasi-identifier tuple, and those of neighbours, together weighing as much as four.
    """
    degrees = graph.degrees.astype(np.float64)
    closed = common_neighbours(graph) / 2
    triangles = np.bincount(graph.edges[:, 0], weights=closed, minlength=graph.n_vertices)
    triangles += np.bincount(graph.edges[:, 1], weights=closed, minlength=graph.n_vertices)
    clustering = triangles / np.maximum(degrees * (degrees - 1) / 2, 1)
    beside = adjacency(graph)
    layers = [np.column_stack((degrees, triangles, clustering))]
    for _ in range(DEPTH):
        layers.append((beside @ layers[-1]) / np.maximum(degrees, 1)[:, None])
    counts = neighbour_counts(graph, tuples, size).toarray().astype(np.int64)
    counts = np.hstack((counts, beside @ counts))
    scale = 2 / np.sqrt(max(counts.shape[1], 1))
    return np.hstack((_ranks(np.hstack(layers)), scale * _ranks(counts)))


def _ranks(columns: NDArray[Any]) -> NDArray[np.float64]:
    """Return mean ranks over the number of rows, column by column.

    Integers are counts.
    """
    if not columns.size:
        return columns
    ranks = np.empty(columns.shape)
    for column, out in zip(columns.T, ranks.T, strict=True):
        # Not by scipy.stats, which takes a second to load. Counts need not be sorted.
        is_count = np.issubdtype(columns.dtype, np.integer)
        value = column if is_count else np.unique(column, return_inverse=True)[1]
        times = np.bincount(value)
        out[:] = (np.cumsum(times) - (times - 1) / 2)[value]
    return ranks / len(columns)
