"""The default release of stars: exact cohorts, with ties hidden and inserted alike.

    cohorts   =  leaves of the kt-tree over neighbour counts             (kt_tree)
    for each pair of classes with ties between them:
        degrees, shown ties  =  the program of the pair                  (pair_program)
        stubs that lack a tie are joined by inserted edges               (filling)
        clear the pair if that costs more than its ties
    inserted edges exchange ends until they look like ties               (likeness)

All members of a cohort then have equal rows of neighbour counts by quasi-identifier tuple, so that
each is in the protection set of all others, whatever t and epsilon are. Every cohort has at least
m members, at most a share alpha of them sensitive: the release is kt-safe by construction. The
edge cost is at most that of a release without any edge.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray

from ktsafe.exact.filling import fill
from ktsafe.exact.kt_tree import Cohorts, kt_tree
from ktsafe.exact.pair_program import Pair, solve
from ktsafe.graph import AttributedGraph, edge_keys
from ktsafe.options import AnonymizeOptions, Effort
from ktsafe.params import PrivacyParams
from ktsafe.strategies import Plan, Progress


@dataclasses.dataclass(frozen=True, eq=False)
class ExactRelease:
    """What `exact` knows of a release; private.

    Attributes
    ----------
    edges:
        int32, shape (m, 2): all edges, shown ties and inserted ones.
    cohorts:
        The cohorts and their pivots.
    """

    edges: NDArray[np.int32]
    cohorts: Cohorts


def exact(
    graph: AttributedGraph,
    params: PrivacyParams,
    *,
    rng: np.random.Generator,
    options: AnonymizeOptions,
    executor: Executor | None,
    report: Progress,
) -> Plan:
    """Return the plan of a release of `graph` in exact cohorts; see the module."""
    cohorts = kt_tree(graph, params, rng=rng, effort=options.effort)
    report("cohorts", 1.0)
    release = release_of(graph, cohorts, rng=rng, effort=options.effort, report=report)
    return Plan(inserted=np.zeros(0, dtype=np.int32), edges=release.edges)


def release_of(
    graph: AttributedGraph,
    cohorts: Cohorts,
    *,
    rng: np.random.Generator,
    effort: Effort = "balanced",
    report: Progress,
) -> ExactRelease:
    """Return the release of `graph` with given cohorts."""
    edges = [np.zeros((0, 2), dtype=np.int32)]
    for pair in pairs_of(graph, cohorts):
        plan = solve(pair, rng=rng, effort=effort)
        if plan.value <= 0:
            continue
        filled = fill(pair, plan.r, plan.s, pair.edges[plan.shown], rng=rng)
        if filled is not None and costs_less(filled, pair.edges):
            edges.append(filled)
    report("pairs", 1.0)
    return ExactRelease(np.concatenate(edges), cohorts)


def costs_less(released: NDArray[np.int32], ties: NDArray[np.int32]) -> bool:
    """Return whether edges cost less than none would, given the true ties."""
    true = np.isin(edge_keys(released), edge_keys(ties)).sum()
    return bool(len(released) - true < true)


def pairs_of(graph: AttributedGraph, cohorts: Cohorts) -> Iterator[Pair]:
    """Yield each pair of classes with ties between them."""
    classes, edges = graph.qi_classes, graph.edges
    if not len(edges):
        return
    swapped = classes[edges[:, 0]] > classes[edges[:, 1]]
    edges = np.where(swapped[:, None], edges[:, ::-1], edges)
    n_classes = int(classes.max()) + 1
    key = classes[edges[:, 0]].astype(np.int64) * n_classes + classes[edges[:, 1]]
    order = np.argsort(key, kind="stable")
    of_class = np.split(
        np.arange(len(cohorts.sizes), dtype=np.int32),
        np.cumsum(np.bincount(cohorts.class_of, minlength=n_classes))[:-1],
    )
    for ties in np.split(edges[order], np.flatnonzero(np.diff(key[order])) + 1):
        a, b = classes[ties[0]]
        gain = np.full(len(ties), 2.0)
        yield Pair(cohorts.of_vertex, cohorts.sizes, of_class[a], of_class[b], ties, gain)
