"""The edges of a release in exact cohorts.

Each pair of classes is planned by itself.

    ties gain more, the more triangles they close                        (rewiring)
    prices and totals of all pairs                                       (aims)
    for each pair of classes with ties between them:
        degrees, shown ties  =  the program of the pair                  (pair_program)
        stubs that lack a tie are joined by inserted edges               (realize)
        clear the pair if that costs more than its ties, unless it has a total
    clear the dearest pairs, while all together cost more than all ties
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ktsafe.anonymization import _realization_core as core
from ktsafe.anonymization.aims import aimed
from ktsafe.anonymization.kt_tree import Cohorts
from ktsafe.anonymization.pair_program import Pair, solve
from ktsafe.anonymization.request import Aim, Effort, Request
from ktsafe.anonymization.rewiring import closeness, supported
from ktsafe.graph import AttributedGraph
from ktsafe.graph.numbering import edge_keys


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


# Insert the edges that a pair of classes lacks.
#
# Every vertex gets its number of neighbours.
#
#     each vertex has one stub for each neighbour that it lacks
#     stubs of one side are joined with random stubs of the other
#     where that gives a loop or a double edge, an inserted edge exchanges partners
#     where none can, edges are shifted along a shortest alternating path,
#         at last through shown ties too
#
# Between two classes the last step finds a place whenever the degrees have any simple graph at all,
# so that a failure says that the degrees are not possible.


def realize(
    pair: Pair,
    r: NDArray[np.int64],
    s: NDArray[np.int64],
    kept: NDArray[np.int32],
    *,
    rng: np.random.Generator,
) -> NDArray[np.int32] | None:
    """Return all edges of the pair, None for impossible degrees.

    Parameters
    ----------
    pair:
        Cohorts of the two classes.
    r, s:
        Neighbours that each member of the cohorts `pair.a` and `pair.b` gets.
    kept:
        int32, shape (m, 2): edges that stay if that is possible, the first end in a.
    rng:
        The only randomness.

    Returns
    -------
    int32, shape (edges, 2), or None
        The kept edges first, in their order, as far as they stayed.
    """
    degree = np.zeros(len(pair.sizes), dtype=np.int64)
    degree[pair.b], degree[pair.a] = s, r
    vertices = pair.members()
    n, n_a = len(vertices), int(pair.sizes[pair.a].sum())
    local = np.empty(len(pair.cohort), dtype=np.int32)
    local[vertices] = np.arange(n, dtype=np.int32)
    wanted = degree[pair.cohort[vertices]]
    ends = local[kept]
    lack = wanted - np.bincount(ends.reshape(-1), minlength=n)
    assert (lack >= 0).all(), "More edges are shown at a vertex than its cohort's degree."
    sides = lack[:n_a].sum(), lack[n_a:].sum()
    if sides[0] % 2 if pair.is_one else sides[0] != sides[1]:
        return None
    edges, missing = joined(n_a, lack, ends, rng)
    return None if missing else vertices[edges]


def joined(
    n_first: int, lack: NDArray[np.int64], kept: NDArray[np.integer], rng: np.random.Generator
) -> tuple[NDArray[np.int32], int]:
    """Join the stubs of two classes, or of one.

    Parameters
    ----------
    n_first:
        Vertices of the first class, which are 0..n_first-1; all of them if there is one class.
    lack:
        int64, shape (n,): stubs of each vertex. Where one side has more, some are left over.
    kept:
        int, shape (m, 2): edges that stay if that is possible, the first end in the first class.
    rng:
        The only randomness.

    Returns
    -------
    (int32, shape (edges, 2), int)
        The edges, the kept ones first, and how many find no place.
    """
    n = len(lack)
    stubs = np.repeat(np.arange(n, dtype=np.int32), lack)
    if n_first == n:
        stubs = rng.permutation(stubs)
        near, far = stubs[::2], stubs[1::2]
    else:
        near, far = stubs[stubs < n_first], rng.permutation(stubs[stubs >= n_first])
    n_new = min(len(near), len(far))
    wanting = np.column_stack((near[:n_new], far[:n_new]))
    n_edges = len(kept) + n_new
    # While edges are shifted along a path, its vertices have one more than they shall have.
    room = lack + np.bincount(kept.reshape(-1), minlength=n) + 1
    wiring = core.Wiring(
        ends=np.zeros((n_edges, 2), dtype=np.int32),
        is_kept=np.zeros(n_edges, dtype=np.bool_),
        size=np.zeros(1, dtype=np.int64),
        first=np.concatenate(([0], np.cumsum(room))),
        at=np.zeros(int(room.sum()), dtype=np.int32),
        count=np.zeros(n, dtype=np.int64),
        n_first=np.array([n_first], dtype=np.int64),
    )
    missing = core.realize(wiring, kept.astype(np.int64), wanting.astype(np.int64), rng)
    return wiring.ends[: wiring.size[0]], int(missing)
