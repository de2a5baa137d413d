"""The edges of a release in exact cohorts.

Each pair of classes is planned by itself.

ties gain more, the more triangles they close                        (rewiring)
prices and totals of all pairs                                       (aims)
for each pair of classes with ties between them:
degrees, shown ties  =  the program of the pair                  (pair_program)
stubs that lack a tie are joined by inserted edges               (filling)
clear the pair if that costs more than its ties, unless it has a total
clear the dearest pairs, while all together cost more than all ties
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ktsafe.anonymization.aims import aimed
from ktsafe.anonymization.kt_tree import Cohorts
from ktsafe.anonymization.pair_program import Pair, solve
from ktsafe.anonymization.realization import realize
from ktsafe.anonymization.request import Aim, Effort, Request
from ktsafe.anonymization.rewiring import closeness, supported
from ktsafe.graph import AttributedGraph
from ktsafe.graph.edges import edge_keys


def released_edges(
    request: Request, cohorts: Cohorts, *, aim: Aim, price: float
) -> NDArray[np.int32]:
    """Return a release's edges, pair of classes by pair of classes.

    Parameters
    ----------
    request:
        What is asked for.
    cohorts:
        Cohorts of the graph's classes.
    aim:
        See `ktsafe.AnonymizeOptions`.
    price:
        With the aim "cost": what each edge costs beforehand, where a tie that is shown gains 2.
    """
    graph = request.graph
    between = pairs_between(graph.edges, graph.qi_classes, cohorts)
    unaimed = [dataclasses.replace(pair, price=price) for pair in between]
    # The other aims are sought as they are meant.
    weighed = _supported(graph, unaimed) if aim == "balanced" else unaimed
    pairs = aimed(request, weighed, aim)
    seeds = request.rng.integers(2**63, size=len(pairs)).tolist()
    edges = _planned(request, pairs, seeds)
    _clear_dearest(unaimed, edges)
    return np.concatenate((np.zeros((0, 2), dtype=np.int32), *edges))


def _supported(graph: AttributedGraph, pairs: list[Pair]) -> list[Pair]:
    """Return the pairs of a graph.

    Ties gain more, the more triangles they close.
    """
    of_pairs = [pair.edges for pair in pairs]
    close = closeness(graph.n_vertices, np.concatenate((graph.edges[:0], *of_pairs)))
    parts = np.split(close, np.cumsum([len(edges) for edges in of_pairs]))
    return [
        dataclasses.replace(pair, gain=pair.gain * supported(part))
        for pair, part in zip(pairs, parts, strict=False)
    ]


def _planned(request: Request, pairs: list[Pair], seeds: list[int]) -> list[NDArray[np.int32]]:
    """Return the edges of each pair, solved side by side."""
    run = map if request.executor is None else request.executor.map
    return list(run(edges_between, pairs, itertools.repeat(request.options.effort), seeds))


def _clear_dearest(pairs: list[Pair], edges: list[NDArray[np.int32]]) -> None:
    """Clear the dearest pairs while showing nothing were cheaper."""
    worth = np.array([_worth(pair, shown) for pair, shown in zip(pairs, edges, strict=True)])
    dearest = np.argsort(worth, kind="stable")
    lost = -worth.sum() + np.append(0, np.cumsum(worth[dearest]))
    for i in dearest[: np.argmax(lost <= 0)]:
        edges[i] = edges[i][:0]


def edges_between(pair: Pair, effort: Effort, seed: int) -> NDArray[np.int32]:
    """Return the edges of a release between two classes.

    Without a total there are none if they cost more than its ties.
    """
    rng = np.random.default_rng(seed)
    plan = solve(pair, rng=rng, effort=effort)
    filled = None
    if plan.r.any():
        filled = realize(pair, plan.r, plan.s, pair.edges[plan.shown], rng=rng)
    if filled is None or (pair.total is None and _worth(pair, filled) <= 0):
        return pair.edges[:0]
    return filled


def pairs_between(
    ties: NDArray[np.int32], classes: NDArray[np.int32], cohorts: Cohorts
) -> Iterator[Pair]:
    """Yield each pair of classes with ties between them.

    The candidates are these ties.
    """
    if not len(ties):
        return
    swapped = classes[ties[:, 0]] > classes[ties[:, 1]]
    ties = np.where(swapped[:, None], ties[:, ::-1], ties)
    n_classes = int(classes.max()) + 1
    key = classes[ties[:, 0]].astype(np.int64) * n_classes + classes[ties[:, 1]]
    order = np.argsort(key, kind="stable")
    of_class = _by_class(cohorts.class_of, n_classes)
    vertices = _by_class(classes, n_classes)
    for part in np.split(ties[order], np.flatnonzero(np.diff(key[order])) + 1):
        a, b = classes[part[0]]
        yield Pair(
            cohorts.of_vertex,
            cohorts.sizes,
            of_class[a],
            of_class[b],
            vertices[a],
            vertices[b],
            part,
            np.full(len(part), 2.0),
        )


def _by_class(classes: NDArray[np.integer], n_classes: int) -> list[NDArray[np.int32]]:
    """Return the parts of each class, ascending."""
    order = np.argsort(classes, kind="stable").astype(np.int32)
    return np.split(order, np.cumsum(np.bincount(classes, minlength=n_classes))[:-1])


def _worth(pair: Pair, edges: NDArray[np.int32]) -> float:
    """Return the saving of edges over none, at half a tie's gain."""
    is_shown = np.isin(edge_keys(pair.edges), edge_keys(edges), assume_unique=True)
    return float(pair.gain[is_shown].sum()) - pair.price * len(edges)
