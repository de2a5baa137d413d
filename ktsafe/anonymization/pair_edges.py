"""The edges of a release in exact cohorts.

How edges are sought may be changed, and with it the bytes of releases. All members of a cohort must
get their degree, and a pair that costs more than its ties is cleared
(tests/ktsafe/anonymization/test_exact_strategy.py, test_realization.py).

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
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ktsafe.anonymization import _realization_core as core
from ktsafe.anonymization.aims import aimed
from ktsafe.anonymization.kt_tree import Cohorts
from ktsafe.anonymization.pair_program import Edges, Pair, Side, solve
from ktsafe.anonymization.request import Effort, Request
from ktsafe.anonymization.rewiring import closeness, supported
from ktsafe.graph.numbering import edge_keys, small


class PairOfGraph(NamedTuple):
    """A pair of classes with ties between them, in a graph.

    Attributes
    ----------
    classes:
        The two, ascending; twice the same if it is one.
    vertices:
        int32: the vertices of each of them, in the order of the pair's numbers.
    pair:
        The pair; its candidates are the ties.
    """

    classes: tuple[int, int]
    vertices: tuple[NDArray[np.int32], ...]
    pair: Pair

    def in_graph(self, edges: Edges) -> NDArray[np.int32]:
        """Return edges of the pair as edges of the graph."""
        return np.concatenate(self.vertices)[edges]


def released_edges(request: Request, cohorts: Cohorts) -> NDArray[np.int32]:
    """Return a release's edges, pair of classes by pair of classes.

    Parameters
    ----------
    request:
        What is asked for.
    cohorts:
        Cohorts of the graph's classes.
    """
    graph, aim = request.graph, request.options.aim
    known = pairs_between(graph.edges, graph.qi_classes, cohorts)
    pairs = [each.pair for each in known]
    if aim == "balanced":
        # Ties gain more, the more triangles they close. Other aims are sought as they are meant.
        ties = [each.in_graph(each.pair.edges) for each in known]
        close = closeness(graph.n_vertices, np.concatenate((graph.edges[:0], *ties)))
        parts = np.split(close, np.cumsum([len(edges) for edges in ties]))
        pairs = [
            dataclasses.replace(pair, gain=pair.gain * supported(part))
            for pair, part in zip(pairs, parts, strict=False)
        ]
    classes = [each.classes for each in known]
    return planned_edges(request, known, aimed(request, pairs, classes, aim))


def planned_edges(
    request: Request, known: Sequence[PairOfGraph], pairs: Sequence[Pair]
) -> NDArray[np.int32]:
    """Return the edges of pairs as they are priced.

    The dearest are cleared while showing nothing were cheaper, at the gains and prices in `known`.
    """
    seeds = request.rng.integers(2**63, size=len(pairs)).tolist()
    run = map if request.executor is None else request.executor.map
    edges = list(run(edges_between, pairs, itertools.repeat(request.options.effort), seeds))
    worth = np.array([_worth(each.pair, x) for each, x in zip(known, edges, strict=True)])
    dearest = np.argsort(worth, kind="stable")
    lost = -worth.sum() + np.append(0, np.cumsum(worth[dearest]))
    for i in dearest[: np.argmax(lost <= 0)]:
        edges[i] = edges[i][:0]
    found = [each.in_graph(x) for each, x in zip(known, edges, strict=True)]
    return np.concatenate((np.zeros((0, 2), dtype=np.int32), *found))


def edges_between(pair: Pair, effort: Effort, seed: int) -> Edges:
    """Return the edges of a release between two classes.

    Without a total there are none if they cost more than its ties.
    """
    rng = np.random.default_rng(seed)
    plan = solve(pair, rng=rng, effort=effort)
    filled = None
    if plan.degree.any():
        filled = realize(pair, plan.degree, pair.edges[plan.shown], rng=rng)
    if filled is None or (pair.total is None and _worth(pair, filled) <= 0):
        return pair.edges[:0]
    return filled


def pairs_between(
    ties: NDArray[np.int32], classes: NDArray[np.int32], cohorts: Cohorts
) -> list[PairOfGraph]:
    """Return each pair of classes with ties between them."""
    if not len(ties):
        return []
    swapped = classes[ties[:, 0]] > classes[ties[:, 1]]
    ties = np.where(swapped[:, None], ties[:, ::-1], ties)
    n_classes = int(classes.max()) + 1
    key = classes[ties[:, 0]].astype(np.int64) * n_classes + classes[ties[:, 1]]
    order = np.argsort(small(key), kind="stable")
    vertices, cohorts_of = _by_class(classes, n_classes), _by_class(cohorts.class_of, n_classes)
    # Numbers within the class: of cohorts, and of vertices.
    of_cohort, of_vertex = _within(cohorts_of), _within(vertices)
    sides = [
        Side(of_cohort[cohorts.of_vertex[members]], cohorts.sizes[own])
        for members, own in zip(vertices, cohorts_of, strict=True)
    ]
    found = []
    for part in np.split(ties[order], np.flatnonzero(np.diff(key[order])) + 1):
        a, b = classes[part[0]].tolist()
        edges, both = of_vertex[part], dict.fromkeys((a, b))
        if a != b:
            edges[:, 1] += len(vertices[a])
        pair = Pair(tuple(sides[c] for c in both), edges, np.full(len(part), 2.0))
        found.append(PairOfGraph((a, b), tuple(vertices[c] for c in both), pair))
    return found


def _by_class(classes: NDArray[np.integer], n_classes: int) -> list[NDArray[np.int32]]:
    """Return the parts of each class, ascending."""
    order = np.argsort(small(classes), kind="stable").astype(np.int32)
    return np.split(order, np.cumsum(np.bincount(classes, minlength=n_classes))[:-1])


def _within(parts: list[NDArray[np.int32]]) -> NDArray[np.int32]:
    """Return the position of each number in its part."""
    position = np.empty(sum(map(len, parts)), dtype=np.int32)
    for part in parts:
        position[part] = np.arange(len(part), dtype=np.int32)
    return position


def _worth(pair: Pair, edges: Edges) -> float:
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
    pair: Pair, degree: NDArray[np.int64], kept: Edges, *, rng: np.random.Generator
) -> Edges | None:
    """Return all edges of the pair, None for impossible degrees.

    Parameters
    ----------
    pair:
        The two classes.
    degree:
        Neighbours that each member of the pair's cohorts gets.
    kept:
        Edges that stay if that is possible.
    rng:
        The only randomness.

    Returns
    -------
    int32, shape (edges, 2), or None
        The kept edges first, in their order, as far as they stayed.
    """
    wanted, n_first = degree[pair.cohort], len(pair.sides[0].cohort)
    lack = wanted - np.bincount(kept.reshape(-1), minlength=len(wanted))
    assert (lack >= 0).all(), "More edges are shown at a vertex than its cohort's degree."
    sides = lack[:n_first].sum(), lack[n_first:].sum()
    if sides[0] % 2 if pair.is_one else sides[0] != sides[1]:
        return None
    edges, missing = joined(n_first, lack, kept, rng)
    return None if missing else edges


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
