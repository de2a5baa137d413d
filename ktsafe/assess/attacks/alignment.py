"""Seeds, alignment and the risk curve: attackers with much of the network.

kt-safety promises nothing against them; the figures say how far they would get.

Rounds and bounds of memory may be tuned, the shares that an attacker knows only with
`stream.files.release_figures`, which has them as labels of metrics.
tests/ktsafe/assess/attacks/naive_risk.py finds people as simply as can be.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.common.nearest import neighbour_counts
from ktsafe.assess.attacks.common.propagation import NOBODY, adjacency, common_neighbours, propagate
from ktsafe.assess.attacks.common.result import Result, share_result
from ktsafe.graph import AttributedGraph

SHARES = {"1%": 0.01, "5%": 0.05}
SEED_ROUNDS = 30


def seeds(case: Case, rng: np.random.Generator) -> list[Result]:
    """Return the share of others found from 1% and 5% known.

    Parameters
    ----------
    case:
        The release and the truth.
    rng:
        Draws the known people, uniformly among the published ones; at least one.

    Returns
    -------
    list of Result
        `seeds.1%` and `seeds.5%`: the share of published people, seeds left out, whom the place
        with the best score names, by the links of the last round. Its control is a uniform guess
        in the class; `figures` counts the seeds and the share of final links that are right.
    """
    results = []
    for name, share in SHARES.items():
        known = drawn(case, share, rng)
        guesses = propagate(case, known, rounds=SEED_ROUNDS)
        is_other = ~np.isin(case.people, known)
        linked = np.setdiff1d(np.flatnonzero(guesses.link >= 0), known)
        is_right = guesses.link[linked] == case.own_place[linked]
        right = float(is_right.mean()) if len(linked) else 0.0
        results.append(
            share_result(
                f"seeds.{name}",
                guesses.chances[case.people[is_other]],
                control=case.by_chance,
                figures={"seeds": len(known), "linked": len(linked), "linked_right": right},
                bands=case.bands(guesses.chances[case.people], is_other),
            )
        )
    return results


def drawn(case: Case, share: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return so many published people, drawn uniformly.

    At least one if there is anybody.
    """
    published = case.original_of[case.published]
    n = len(published)
    drawn: NDArray[np.int64] = rng.choice(
        published, min(max(round(share * n), 1), n), replace=False
    )
    return drawn


# Alignment: an attacker with the whole true graph, but without anybody's place.
#
# Structural features of each vertex are compared by rank within its graph; pairs that are each
# other's nearest are first links, mostly wrong; propagation then mends them, for right links agree
# with each other and wrong ones do not. kt-safety promises nothing against this attacker.
#
# Source: recursive features as in Henderson et al., "It's who you know: graph mining using
# recursive structural features" (KDD 2011); alignment by features as in Heimann et al., "REGAL"
# (CIKM 2018).

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


# Risk curve: people found, by the known share of the network.
#
# The attacker knows everybody's attributes, a random share of the true ties, no false one, and
# where a few people are. Without such seeds it does what `alignment` does, with them what `seeds`
# does.

NAME: Final = "risk_curve"
TIES: Final = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
SEEDS: Final = (0.0, 0.01, 0.05)
DRAWS: Final = (2, 5)
STEEP: Final = 0.5
"""By how much the curve rises from one point to the next but one where the point between is steep.

There one draw finds most people and the next hardly any: in releases of the demo .05 in 19 and .80
in 33 draws, so two draws agree in half of all runs, and the next run says something else.
"""
LARGE: Final = 20_000
"""People above which there is one draw, with fewer rounds."""
LARGE_ROUNDS: Final = 15


def risk_curve(
    case: Case,
    rng: np.random.Generator,
    *,
    ties: Sequence[float] = TIES,
    seeds: Sequence[float] = SEEDS,
    draws: tuple[int, int] = DRAWS,
) -> list[Result]:
    """Return the share found, by known shares of ties and people.

    Nothing is promised against this attacker.

    Parameters
    ----------
    case:
        The release and the truth.
    rng:
        Draws which ties and which people are known. Within a draw a lesser share of the ties is
        among a greater one.
    ties, seeds:
        Shares of the true ties, and of the published people, that are known.
    draws:
        How often these are drawn, and how often where the curve is steep (`STEEP`). Of more than
        `LARGE` people there is one draw.

    Returns
    -------
    list of Result
        `risk_curve.60% ties, 1% seeds` and so on: the share of the people attacked, seeds left
        out, that are named rightly, the mean over the draws. Its interval is the band that holds
        those of all draws, so where the curve is steep it may reach from .05 to .80.
        The control is a uniform guess in the class. `figures` has the shares `ties` and `seeds`.

    Examples
    --------
    >>> from ktsafe.assess.attacks import Case, ids_removed
    >>> from ktsafe.graph.synthetic import uniform
    >>> rng = np.random.default_rng(0)
    >>> graph = uniform(200, 2000, rng=rng)
    >>> case = Case(graph, *ids_removed(graph, rng))
    >>> least, most = risk_curve(case, rng, ties=(0.1, 1.0), seeds=(0.05,))
    >>> least.value < 0.2 < 0.9 < most.value
    True
    """
    is_large = case.original.n_vertices > LARGE
    rounds_max = LARGE_ROUNDS if is_large else max(ROUNDS, SEED_ROUNDS)
    seen = place_features(case)
    found: dict[tuple[float, float], list[Result]] = {(a, b): [] for a in ties for b in seeds}
    least, most = (1, 1) if is_large else draws
    for draw in range(most):
        wanted = found.keys() if draw < least else _steep(found, ties, seeds)
        if not wanted:
            break
        order = rng.permutation(case.original.n_edges)
        whom = {share: drawn(case, share, rng) if share else _NOBODY for share in seeds}
        for share, of_people in (point for point in found if point in wanted):
            known, known_people = (
                _knowing(case, order[: round(share * len(order))]),
                whom[of_people],
            )
            first = None if of_people else first_links(known, seen)[0]
            rounds = min(SEED_ROUNDS if of_people else ROUNDS, rounds_max)
            guesses = propagate(known, known_people, rounds=rounds, first=first)
            others = case.people[~np.isin(case.people, known_people)]
            one = share_result(
                f"{NAME}.{said(share, of_people)}",
                guesses.chances[others],
                control=case.by_chance,
                figures={"ties": share, "seeds": of_people},
            )
            found[share, of_people].append(one)
    return [_together(results) for results in found.values()]


def said(ties: float, seeds: float) -> str:
    """Return what the attacker knows, in words.

    Examples
    --------
    >>> said(0.6, 0.01)
    '60% ties, 1% seeds'
    """
    return f"{ties:.0%} ties, {seeds:.0%} seeds"


def _steep(
    found: Mapping[tuple[float, float], Sequence[Result]],
    ties: Sequence[float],
    seeds: Sequence[float],
) -> set[tuple[float, float]]:
    """Return the points between two neighbours that are far apart."""
    steep = set()
    for of_people in seeds:
        shares = [_together(found[share, of_people]).value for share in ties]
        for before, share, after in zip(shares, ties[1:-1], shares[2:], strict=False):
            if after - before > STEEP:
                steep.add((share, of_people))
    return steep


_NOBODY: Final = np.zeros(0, dtype=np.int64)


def _together(results: Sequence[Result]) -> Result:
    """Return the mean of several draws, and an interval of all."""
    return dataclasses.replace(
        results[0],
        value=sum(each.value for each in results) / len(results),
        low=min(each.low for each in results),
        high=max(each.high for each in results),
    )


def _knowing(case: Case, ties: NDArray[np.int64]) -> Case:
    """Return the case of an attacker with only these true ties."""
    graph = case.original
    kept = graph.edges[np.sort(ties)]
    known = AttributedGraph.from_codes(graph.schema, graph.categories, graph.codes, kept)
    return dataclasses.replace(case, original=known)
