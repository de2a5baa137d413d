"""Releases of cohorts with equal counts of values, as attackers compare.

    cohorts    =  leaves of the kt-tree over counts of values
    (ktsafe.anonymization.kt_tree) targets    =  neighbours of each class that a graph can
    have, whose values are near
        to those of the members                                         (targets)
    edges      =  people of a class exchange neighbours until many ties are shown   (exchanging)
    inserted edges exchange ends until they look like ties
    (ktsafe.anonymization.rewiring)

Tuples of quasi-identifiers are many, values are few: counts by value are half as far from equal as
counts by tuple. The edit distance of stars is twice the difference of their degrees, and the
distance of attributes compares each by itself, so members of a cohort are in the protection
sets of each other whatever t and epsilon are: the release is kt-safe by construction.
Attackers who count tuples tell them apart; strategy `exact` is for these.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ktsafe.anonymization.kt_tree import cohorts_of
from ktsafe.anonymization.kt_tree import neighbour_counts as counts_by_tuple
from ktsafe.anonymization.pair_edges import pairs_between, planned_edges
from ktsafe.anonymization.request import Request
from ktsafe.anonymization.rewiring import rewired
from ktsafe.graph import AttributedGraph
from ktsafe.graph.numbering import edge_keys
from ktsafe_lab.by_attribute.exchanging import edges_of
from ktsafe_lab.by_attribute.targets import Kinds, neighbours_wanted
from ktsafe_lab.quasi_identifier_space import QuasiIdentifierSpace
from ktsafe_lab.strategies import Plan

F1_GAIN = 0.01
"""By how much F1 has to be higher than that of exact cohorts, which give less away."""

CELLS_MAX = 20_000_000
"""Cohorts times classes, at most: targets have a number for each. People of 4,000 kinds, in cohorts
of 10, may be 50,000."""


def attribute(request: Request) -> Plan:
    """Return the plan of a release with equal counts of every value.

    It costs at most what one without any edge would. Members of exact cohorts have such counts,
    too: their release is taken where the other one shows hardly more of the truth.
    """
    graph = request.graph
    edges, by_value = exact_edges(request), by_attribute(request)
    if by_value is not None and edits(graph, by_value) <= graph.n_edges:
        edges = by_value if f1(graph, by_value) > f1(graph, edges) + F1_GAIN else edges
    request.report("pairs", 1.0)
    edges = rewired(request, edges)
    request.report("likeness", 1.0)
    return Plan(np.zeros(0, dtype=np.int32), edges)


def exact_edges(request: Request, price: float = 1.0) -> NDArray[np.int32]:
    """Return the edges in exact cohorts that cost least, ends not exchanged.

    Parameters
    ----------
    request:
        What is asked for; its aim is not used.
    price:
        What an edge costs beforehand, where a tie that is shown gains 2. Less than 1 shows more
        ties, and more edges that are none.
    """
    graph, classes = request.graph, request.graph.qi_classes
    cohorts = cohorts_of(
        classes,
        graph.is_sensitive,
        counts_by_tuple(graph),
        request.params,
        rng=request.rng,
        executor=request.executor,
    )
    known = [
        each._replace(pair=dataclasses.replace(each.pair, price=price))
        for each in pairs_between(graph.edges, classes, cohorts)
    ]
    return planned_edges(request, known, [each.pair for each in known])


def edits(graph: AttributedGraph, edges: NDArray[np.int32]) -> int:
    """Return how many edges are true or released, but not both."""
    return len(np.setxor1d(edge_keys(graph.edges), edge_keys(edges)))


def f1(graph: AttributedGraph, edges: NDArray[np.int32]) -> float:
    """Return the harmonic mean of edges' precision and recall."""
    return 1 - edits(graph, edges) / max(graph.n_edges + len(edges), 1)


def by_attribute(request: Request) -> NDArray[np.int32] | None:
    """Return edges safe for any t and epsilon; None without any.

    With one quasi-identifier a value is a tuple, which exact cohorts serve better: there is none.
    Nor is there one for very many groups of people (`CELLS_MAX`).

    Parameters
    ----------
    request:
        Of its parameters k and alpha are used; one hop and the walk reading are meant.

    Returns
    -------
    int32, shape (m, 2), or None
        Inserted edges are not yet made to look like ties.
    """
    graph = request.graph
    if graph.codes.shape[1] <= 2 or not graph.n_edges:
        return None
    kinds = Kinds(graph.qi_classes.astype(np.int64), QuasiIdentifierSpace.of_graph(graph))
    cohorts = cohorts_of(
        graph.qi_classes,
        graph.is_sensitive,
        csr_array(kinds.counts(graph.edges).astype(np.int32)),
        request.params,
        rng=request.rng,
        executor=request.executor,
    )
    if len(cohorts.sizes) * kinds.space.n_classes > CELLS_MAX:
        return None
    number = neighbours_wanted(request, kinds, cohorts)
    return edges_of(request, kinds, number[cohorts.of_vertex])
