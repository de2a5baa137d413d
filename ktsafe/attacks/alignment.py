"""Alignment: the attacker knows the whole true graph, but nobody's place, and finds people anyway.

Structural features of each vertex are compared by rank within its graph; pairs that are each
other's nearest are first links, mostly wrong; propagation then mends them, for right links agree
with each other and wrong ones do not. kt-safety promises nothing against this attacker.

Source: recursive features as in Henderson et al., "It's who you know: graph mining using recursive
structural features" (KDD 2011); alignment by features as in Heimann et al., "REGAL" (CIKM 2018).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from scipy.stats import rankdata

from ktsafe.attacks.common.case import Case
from ktsafe.attacks.common.common_neighbours import adjacency, common_neighbours
from ktsafe.attacks.common.nearest import neighbour_counts
from ktsafe.attacks.common.propagation import NOBODY, propagate
from ktsafe.attacks.common.result import Result, share_result
from ktsafe.graph import AttributedGraph

DEPTH = 2
ROUNDS = 60


def alignment(case: Case) -> list[Result]:
    """Return how many people are found without seeds.

    Returns
    -------
    list of Result
        `alignment.features`: the share of people whose nearest place by features is their own.
        `alignment.propagated`: the share found after propagation from the first links.
    """
    first, chances = _first_links(case)
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


def _first_links(case: Case) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return links of pairs that are each other's nearest, and the chance of each nearest guess.

    Both have shape (original vertices,).
    """
    true, shown, size = case.tuples
    known = _features(case.original, true, size)
    seen = _features(case.released, shown, size)
    own = case.own_place
    link = np.full(len(true), NOBODY, dtype=np.int64)
    chances = np.zeros(len(true))
    classes = case.published_tuple
    for each in np.unique(classes):
        people, places = np.flatnonzero(classes == each), np.flatnonzero(shown == each)
        if not len(places):
            continue
        of_known, of_seen = cKDTree(known[people]), cKDTree(seen[places])
        distance, nearest = of_seen.query(known[people])
        back = of_known.query(seen[places])[1]
        mutual = back[nearest] == np.arange(len(people))
        link[people[mutual]] = places[nearest[mutual]]
        # Equal vertices, isolated ones for example, are equally near.
        reach = distance * (1 + 1e-9) + 1e-12
        tied = of_seen.query_ball_point(known[people], reach, return_length=True)
        published = own[people] != NOBODY
        to_own = np.full(len(people), np.inf)
        gap = known[people[published]] - seen[own[people[published]]]
        to_own[published] = np.sqrt((gap**2).sum(axis=1))
        chances[people] = np.where(to_own <= reach, 1 / np.maximum(tied, 1), 0.0)
    return link, chances


def _features(graph: AttributedGraph, tuples: NDArray[np.int64], size: int) -> NDArray[np.float64]:
    """Return features of every vertex as ranks from 0 to 1 within its graph, shape (n, features).

    Degree, triangles, clustering, and their means over neighbours, `DEPTH` deep; the neighbours
    of each quasi-identifier tuple, and those of neighbours, together weighing as much as four.
    """
    degrees = graph.degrees.astype(np.float64)
    closed = common_neighbours(graph) / 2
    triangles = np.bincount(graph.edges[:, 0], weights=closed, minlength=graph.n_vertices)
    triangles += np.bincount(graph.edges[:, 1], weights=closed, minlength=graph.n_vertices)
    clustering = triangles / np.maximum(degrees * (degrees - 1) / 2, 1)
    beside = adjacency(graph).astype(np.float64)
    layers = [np.column_stack((degrees, triangles, clustering))]
    for _ in range(DEPTH):
        layers.append((beside @ layers[-1]) / np.maximum(degrees, 1)[:, None])
    counts = neighbour_counts(graph, tuples, size).toarray().astype(np.float64)
    counts = np.hstack((counts, beside @ counts))
    scale = 2 / np.sqrt(max(counts.shape[1], 1))
    return np.hstack((_ranks(np.hstack(layers)), scale * _ranks(counts)))


def _ranks(columns: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return mean ranks over the number of rows, column by column."""
    if not columns.size:
        return columns
    ranks: NDArray[np.float64] = rankdata(columns, axis=0) / len(columns)
    return ranks
