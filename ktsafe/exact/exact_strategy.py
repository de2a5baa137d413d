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

What can be solved without its neighbours is a part: a class for its cohorts, a pair of classes for
its edges. Parts have seeds of their own and are put together in their order, so that an executor
changes how long it takes and nothing else.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray

from ktsafe.exact.filling import fill
from ktsafe.exact.kt_tree import Cohorts, cohorts_of, neighbour_counts
from ktsafe.exact.likeness import disguised
from ktsafe.exact.pair_program import Pair, solve
from ktsafe.graph import AttributedGraph, edge_keys
from ktsafe.options import Effort
from ktsafe.params import PrivacyParams
from ktsafe.strategies import Plan, Request


@dataclasses.dataclass(frozen=True, eq=False)
class ExactRelease:
    """A release in exact cohorts, as private as the mapping.

    Attributes
    ----------
    edges:
        int32, shape (m, 2): all edges, shown ties and inserted ones.
    inserted:
        int32, shape (i,): class of each inserted vertex; they are numbered from n on.
    cohorts:
        The cohorts of all released vertices, and their pivots.
    """

    edges: NDArray[np.int32]
    inserted: NDArray[np.int32]
    cohorts: Cohorts


def exact(request: Request) -> Plan:
    """Return the plan of a release in exact cohorts.

    Classes that cannot be a cohort, since they are too small or too sensitive, get inserted
    vertices that are not sensitive.
    """
    release = exact_release(request)
    return Plan(inserted=release.inserted, edges=release.edges)


def exact_release(request: Request, *, disguise: bool = True) -> ExactRelease:
    """Return a release in exact cohorts, with its cohorts.

    Parameters
    ----------
    request:
        Of its parameters k and alpha are used; one hop and the walk reading are meant.
    disguise:
        Whether inserted edges are made to look like ties.

    Examples
    --------
    >>> from ktsafe.datasets.synthetic import uniform
    >>> graph = uniform(200, 1000, rng=np.random.default_rng(0), n_tuples=3)
    >>> release = exact_release(Request(graph, PrivacyParams(k=5), np.random.default_rng(0)))
    >>> len(release.edges) > 0
    True
    """
    graph, params, rng = request.graph, request.params, request.rng
    effort, executor, report = request.options.effort, request.executor, request.report
    inserted = lacking(graph, params)
    classes = np.concatenate((graph.qi_classes, inserted))
    is_sensitive = np.concatenate((graph.is_sensitive, np.zeros(len(inserted), dtype=np.bool_)))
    counts = neighbour_counts(graph)
    counts.resize((len(classes), counts.shape[1]))
    cohorts = cohorts_of(
        classes, is_sensitive, counts, params, rng=rng, effort=effort, executor=executor
    )
    report("cohorts", 1.0)
    edges = released_edges(graph.edges, classes, cohorts, rng=rng, effort=effort, executor=executor)
    report("pairs", 1.0)
    if disguise:
        edges = disguised(request, classes, edges)
        report("likeness", 1.0)
    return ExactRelease(edges, inserted, cohorts)


def lacking(graph: AttributedGraph, params: PrivacyParams) -> NDArray[np.int32]:
    """Return the class of each vertex that must be inserted for every class to be a cohort."""
    size = np.bincount(graph.qi_classes)
    sensitive = np.bincount(graph.qi_classes, graph.is_sensitive).astype(np.int64)
    alpha = params.alpha
    least = np.maximum(params.k, -(-sensitive * alpha.denominator // alpha.numerator))
    more = np.maximum(least - size, 0)
    return np.repeat(np.arange(len(size), dtype=np.int32), more)


def released_edges(
    ties: NDArray[np.int32],
    classes: NDArray[np.int32],
    cohorts: Cohorts,
    *,
    rng: np.random.Generator,
    effort: Effort = "balanced",
    executor: Executor | None = None,
) -> NDArray[np.int32]:
    """Return the edges of a release, pair of classes by pair of classes.

    Parameters
    ----------
    ties:
        int32, shape (m, 2): the true edges.
    classes:
        int32, shape (n,): class of every released vertex.
    cohorts:
        Cohorts of these classes.
    rng, effort, executor:
        As in `ktsafe.strategies.Request`.
    """
    pairs = list(pairs_between(ties, classes, cohorts))
    seeds = rng.integers(2**63, size=len(pairs)).tolist()
    run = map if executor is None else executor.map
    edges = run(edges_between, pairs, itertools.repeat(effort), seeds)
    return np.concatenate((np.zeros((0, 2), dtype=np.int32), *edges))


def edges_between(pair: Pair, effort: Effort, seed: int) -> NDArray[np.int32]:
    """Return the edges of a release between two classes: none if they cost more than its ties."""
    rng = np.random.default_rng(seed)
    plan = solve(pair, rng=rng, effort=effort)
    filled = None
    if plan.value > 0:
        filled = fill(pair, plan.r, plan.s, pair.edges[plan.shown], rng=rng)
    if filled is None or not _costs_less(filled, pair.edges):
        return pair.edges[:0]
    return filled


def pairs_of(graph: AttributedGraph, cohorts: Cohorts) -> Iterator[Pair]:
    """Yield each pair of classes with ties between them."""
    return pairs_between(graph.edges, graph.qi_classes, cohorts)


def pairs_between(
    ties: NDArray[np.int32], classes: NDArray[np.int32], cohorts: Cohorts
) -> Iterator[Pair]:
    """Yield each pair of classes with ties between them; the candidates are these ties."""
    if not len(ties):
        return
    swapped = classes[ties[:, 0]] > classes[ties[:, 1]]
    ties = np.where(swapped[:, None], ties[:, ::-1], ties)
    n_classes = int(classes.max()) + 1
    key = classes[ties[:, 0]].astype(np.int64) * n_classes + classes[ties[:, 1]]
    order = np.argsort(key, kind="stable")
    of_class = np.split(
        np.arange(len(cohorts.sizes), dtype=np.int32),
        np.cumsum(np.bincount(cohorts.class_of, minlength=n_classes))[:-1],
    )
    for part in np.split(ties[order], np.flatnonzero(np.diff(key[order])) + 1):
        a, b = classes[part[0]]
        gain = np.full(len(part), 2.0)
        yield Pair(cohorts.of_vertex, cohorts.sizes, of_class[a], of_class[b], part, gain)


def _costs_less(released: NDArray[np.int32], ties: NDArray[np.int32]) -> bool:
    """Return whether edges cost less than none would, given the true ties."""
    true = np.isin(edge_keys(released), edge_keys(ties)).sum()
    return bool(len(released) - true < true)
