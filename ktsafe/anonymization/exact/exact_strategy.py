"""The default release of stars.

Exact cohorts, with ties hidden and inserted alike.

    cohorts   =  leaves of the kt-tree over neighbour counts             (kt_tree)
    prices    =  what an edge costs in each pair of classes, by the aim  (aims)
    edges     =  of each pair of classes, planned by itself              (pair_edges)
    inserted edges exchange ends until they look like ties               (rewiring)

All members of a cohort then have equal rows of neighbour counts by quasi-identifier tuple, so
each is in the protection set of all others, whatever t and epsilon are. Every cohort has at least
m members, at most a share alpha of them sensitive: the release is kt-safe by construction. The
edge cost is at most that of a release without any edge.

What can be solved without its neighbours is a part: a class for its cohorts, a pair of classes for
its edges. Parts have seeds of their own and are put together in their order, so an executor
changes how long it takes and nothing else.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.anonymization.exact.kt_tree import Cohorts, cohorts_of, neighbour_counts
from ktsafe.anonymization.exact.pair_edges import released_edges
from ktsafe.anonymization.exact.rewiring import rewired
from ktsafe.anonymization.strategies import Aim, Plan, Request


@dataclasses.dataclass(frozen=True, eq=False)
class ExactRelease:
    """A release in exact cohorts, as private as the mapping.

    Attributes
    ----------
    edges:
        int32, shape (m, 2): all edges, shown ties and inserted ones.
    cohorts:
        The cohorts of all vertices, and their pivots.
    """

    edges: NDArray[np.int32]
    cohorts: Cohorts


def exact(request: Request) -> Plan:
    """Return the plan of a release in exact cohorts, without inserted people.

    Every class has to be large enough for a cohort, and within alpha
    (`ktsafe.anonymization.rare_classes`).
    """
    made = exact_release(request)
    groups = made.cohorts.of_vertex
    return Plan(np.zeros(0, dtype=np.int32), made.edges, groups=groups)


def exact_release(request: Request) -> ExactRelease:
    """Return a release in exact cohorts, with its cohorts.

    Parameters
    ----------
    request:
        Of its parameters k and alpha are used; one hop and the walk reading are meant.

    Examples
    --------
    >>> from ktsafe import PrivacyParams
    >>> from ktsafe.graph.datasets.synthetic import uniform
    >>> graph = uniform(200, 1000, rng=np.random.default_rng(0), n_tuples=3)
    >>> release = exact_release(Request(graph, PrivacyParams(k=5), np.random.default_rng(0)))
    >>> len(release.edges) > 0
    True
    """
    release = before_rewiring(request, aim=request.options.aim)
    edges = rewired(request, release.edges)
    request.report("likeness", 1.0)
    return dataclasses.replace(release, edges=edges)


def before_rewiring(request: Request, *, aim: Aim = "cost", price: float = 1.0) -> ExactRelease:
    """Return a release in exact cohorts before inserted edges exchange ends.

    Parameters
    ----------
    request:
        What is asked for.
    aim:
        See `ktsafe.AnonymizeOptions`.
    price:
        With the aim "cost": what an edge costs beforehand, where a tie that is shown gains 2. Less
        than 1 shows more ties, and more edges that are none.
    """
    graph, params, rng = request.graph, request.params, request.rng
    executor, report = request.executor, request.report
    cohorts = cohorts_of(
        graph.qi_classes,
        graph.is_sensitive,
        neighbour_counts(graph),
        params,
        rng=rng,
        executor=executor,
    )
    report("cohorts", 1.0)
    edges = released_edges(request, cohorts, aim=aim, price=price)
    report("pairs", 1.0)
    return ExactRelease(edges, cohorts)
