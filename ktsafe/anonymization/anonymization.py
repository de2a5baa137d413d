"""One kt-safe release of one graph, step by step.

A step may be improved if cohorts keep equal rows
(tests/ktsafe/anonymization/test_exact_strategy.py). Seeds and the order of draws settle the bytes
of releases: an executor may not change one, and a new purpose of draws takes `of_purpose`, which
disturbs no other. `anonymize` is public (docs/library.md).

    rare people  are withheld, or their values suppressed                   (request)
    cohorts      leaves of the kt-tree over neighbour counts                (kt_tree)
    prices       what an edge costs in each pair of classes, by the aim     (aims)
    edges        of each pair of classes, planned by itself                 (pair_edges)
    ends         of inserted edges, exchanged until they look like ties     (rewiring)
    values       exchanged within cohorts
    order        random

All members of a cohort have equal rows of neighbour counts by quasi-identifier tuple, so each is in
the protection set of all others, whatever t and epsilon are. Every cohort has at least m members,
at most a share alpha of them sensitive: the release is kt-safe by construction. The edge cost is at
most that of a release without any edge.

What can be solved without its neighbours is a part: a class for its cohorts, a pair of classes for
its edges. Parts have seeds of their own and are put together in their order, so an executor
changes how long it takes and nothing else.

Which member shows whose value is drawn uniformly among all permutations of the cohort. So whoever
knows the values of a whole cohort, and the place of none, learns of no place more than that. If
everybody got another one's (a derangement, a cyclic shift), a place would be known not to be that
of a person who has the value alone.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray

from ktsafe.anonymization.kt_tree import Cohorts, cohorts_of, neighbour_counts
from ktsafe.anonymization.pair_edges import released_edges
from ktsafe.anonymization.request import (
    DEFAULTS,
    AnonymizeOptions,
    Progress,
    Request,
    Values,
    prepare,
)
from ktsafe.anonymization.rewiring import rewired
from ktsafe.errors import InvalidParams
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams

__all__ = ["AnonymizeOptions", "Anonymized", "anonymize"]


@dataclasses.dataclass(frozen=True, eq=False)
class Anonymized:
    """A released graph and, privately, its mapping and how it was made.

    Attributes
    ----------
    graph:
        The released graph, its vertices in random order. All else is private.
    origin:
        int32, shape (released vertices,): the original vertex behind each, -1 for an inserted
        one, which this package never adds. Original vertices that it does not name are withheld.
        It alone maps the release to people.
    value_at:
        int64, shape (released vertices,): the vertex that shows the sensitive value of each, as
        private as `origin`. None: each shows its own.
    """

    graph: AttributedGraph
    origin: NDArray[np.int32]
    value_at: NDArray[np.int64] | None = None

    @property
    def values(self) -> Values:
        """Whether sensitive values are exchanged, or each vertex shows its own."""
        return "in place" if self.value_at is None else "exchanged"


def anonymize(
    graph: AttributedGraph,
    params: PrivacyParams,
    *,
    rng: np.random.Generator,
    options: AnonymizeOptions = DEFAULTS,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Anonymized:
    """Return a kt-safe release of `graph`.

    1. Withhold or suppress people of rare classes.
    2. Show ties and inserted edges so that members of a cohort have equal neighbours.
    3. Exchange sensitive values within cohorts.
    4. Number the vertices in random order, so no position identifies a person.

    Parameters
    ----------
    graph:
        The true graph.
    params:
        The guarantee.
    rng:
        The only randomness: the same graph, parameters, options and seed give the same release.
    options:
        How to search.
    executor:
        Runs parts of the work, if given; the release is the same without. None: all work is done
        in the calling thread.
    progress:
        Called with the name of the phase and the fraction of the work that is done.

    Raises
    ------
    Infeasible
        If values cannot be suppressed.
    InvalidParams
        If neighbourhoods are no stars.

    Examples
    --------
    >>> from ktsafe.graph.synthetic import uniform
    >>> graph = uniform(60, 90, n_tuples=2, rng=np.random.default_rng(1))
    >>> made = anonymize(graph, PrivacyParams(k=5), rng=np.random.default_rng(1))
    >>> sorted(made.origin[made.origin >= 0].tolist()) == list(range(60))
    True
    """
    if not params.sees_stars:
        msg = "Releases are made for one hop in the walk reading only."
        raise InvalidParams(msg, hint="The package ktsafe-lab aligns releases for others.")
    request = Request(graph, params, rng, options, executor)
    if progress is not None:
        request = dataclasses.replace(request, report=progress)
    ready = prepare(graph, params, options, rng)
    release = exact_release(dataclasses.replace(request, graph=ready.graph))
    made = Anonymized(with_edges(ready.graph, release.edges), ready.origin)
    if options.values == "exchanged":
        made = exchanged(made, release.cohorts.of_vertex, rng)
    return reordered(made, rng.permutation(made.graph.n_vertices))


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


def exact_release(request: Request) -> ExactRelease:
    """Return a release in exact cohorts, with its cohorts.

    Parameters
    ----------
    request:
        Of its parameters k and alpha are used; one hop and the walk reading are meant.

    Examples
    --------
    >>> from ktsafe import PrivacyParams
    >>> from ktsafe.graph.synthetic import uniform
    >>> graph = uniform(200, 1000, rng=np.random.default_rng(0), n_tuples=3)
    >>> release = exact_release(Request(graph, PrivacyParams(k=5), np.random.default_rng(0)))
    >>> len(release.edges) > 0
    True
    """
    graph = request.graph
    cohorts = cohorts_of(
        graph.qi_classes,
        graph.is_sensitive,
        neighbour_counts(graph),
        request.params,
        rng=request.rng,
        executor=request.executor,
    )
    request.report("cohorts", 1.0)
    edges = released_edges(request, cohorts)
    request.report("pairs", 1.0)
    edges = rewired(request, edges)
    request.report("likeness", 1.0)
    return ExactRelease(edges, cohorts)


def with_edges(graph: AttributedGraph, edges: NDArray[np.int32]) -> AttributedGraph:
    """Return the vertices of a graph with other edges."""
    return AttributedGraph.from_codes(graph.schema, graph.categories, graph.codes, edges)


def exchanged(
    made: Anonymized, groups: NDArray[np.integer], rng: np.random.Generator
) -> Anonymized:
    """Return a release with values exchanged within groups.

    Nothing else is drawn otherwise.
    """
    graph = made.graph
    value_at = places_of_values(groups, of_purpose(rng, "values"))
    codes = graph.codes.copy()
    codes[value_at, -1] = graph.codes[:, -1]
    graph = dataclasses.replace(graph, codes=codes)
    return dataclasses.replace(made, graph=graph, value_at=value_at)


def reordered(made: Anonymized, order: NDArray[np.int64]) -> Anonymized:
    """Return a release with its vertices in another order."""
    value_at = None if made.value_at is None else np.argsort(order)[made.value_at[order]]
    return dataclasses.replace(
        made, graph=made.graph.subgraph(order), origin=made.origin[order], value_at=value_at
    )


def of_purpose(rng: np.random.Generator, purpose: str) -> np.random.Generator:
    """Return a generator for one purpose.

    It follows from another one, which stays as it is.

    What the other one draws tells nothing of it.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> bool(of_purpose(rng, "values").random() == rng.random())
    False
    >>> bool(rng.random() == np.random.default_rng(1).random(2)[1])
    True
    """
    state = json.dumps(rng.bit_generator.state, sort_keys=True, default=lambda each: each.tolist())
    drawn = hashlib.sha256(f"{purpose} {state}".encode()).digest()
    return np.random.default_rng(int.from_bytes(drawn, "big"))


def places_of_values(groups: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.int64]:
    """Return for each member the member of its group showing its value.

    Parameters
    ----------
    groups:
        Integers, shape (n,): the group of each member.

    Examples
    --------
    >>> at = places_of_values(np.array([0, 1, 0, 1]), np.random.default_rng(0))
    >>> sorted(at[[0, 2]].tolist()), sorted(at[[1, 3]].tolist())
    ([0, 2], [1, 3])
    """
    # The order of each group in one permutation of all is uniform, and says nothing of others.
    by_chance = np.lexsort((rng.permutation(len(groups)), groups))
    at = np.empty(len(groups), dtype=np.int64)
    at[np.argsort(groups, kind="stable")] = by_chance
    return at
