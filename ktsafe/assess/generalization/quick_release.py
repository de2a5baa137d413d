"""Worth of a release without a past, estimated or quickly made.

The estimate takes milliseconds. Members of a leaf of the kt-tree are brought to their mean. A count
that exceeds it shows as many ties as the mean; what the mean has more is inserted, and a mean
between two whole numbers is as many of either. Both ends of an edge must agree, so of a pair of
classes the worse side counts. As many edges are shown as there are ties, so the ties shown are the
F1. It is no bound: degrees of both sides must fit each other, which shows fewer, and the swap
search of a release finds better cohorts, which shows more.

The estimate may be improved (tests/ktsafe/anonymization/test_cost_estimate.py compares it with
releases). `AFRESH` is not what a service publishes, and nothing made here is published.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ktsafe.anonymization.anonymization import anonymize
from ktsafe.anonymization.kt_tree import neighbour_counts
from ktsafe.anonymization.request import AnonymizeOptions
from ktsafe.anonymization.tree_cuts import leaves_of
from ktsafe.assess.attacks import Case, Result, run
from ktsafe.assess.attacks.membership import OF_PEOPLE as MEMBERSHIP
from ktsafe.audit import Traced, Usefulness, trace, usefulness
from ktsafe.errors import Infeasible, NotKTSafe
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams

HELD_OUT: Final = 0.2
"""Share of the people who are held out, to ask who is a member."""
AFRESH: Final = AnonymizeOptions(effort="fast", rare_qi="withhold")
"""How a release is made that has no past."""


def quick_release(graph: AttributedGraph, params: PrivacyParams, *, seed: int = 0) -> Traced:
    """Return a quickly made release beside its truth.

    Raises
    ------
    Infeasible, NotKTSafe
        If there is no safe release.
    """
    made = anonymize(graph, params, rng=np.random.default_rng(seed), options=AFRESH)
    return trace(graph, made.graph, made.origin)


def held_out(graph: AttributedGraph, params: PrivacyParams, *, seed: int = 0) -> Case:
    """Return a release without `HELD_OUT` people, drawn uniformly.

    The case's truth is the whole network.

    Raises
    ------
    Infeasible, NotKTSafe
        If there is no safe release.
    """
    rng = np.random.default_rng(seed)
    is_out = np.zeros(graph.n_vertices, dtype=np.bool_)
    is_out[rng.permutation(graph.n_vertices)[: round(HELD_OUT * graph.n_vertices)]] = True
    members = np.flatnonzero(~is_out)
    made = anonymize(graph.subgraph(members), params, rng=rng, options=AFRESH)
    origin = made.origin.astype(np.int64)
    behind = np.where(origin < 0, -1, members[origin])
    return Case(graph, made.graph, behind, held_out=is_out)


def membership(graph: AttributedGraph, params: PrivacyParams, *, seed: int = 0) -> list[Result]:
    """Return what `membership_of_people` finds in a release without some of the people.

    It is quickly made, and nothing where there is none that is safe.
    """
    try:
        case = held_out(graph, params, seed=seed)
    except (Infeasible, NotKTSafe):
        return []
    return run(case, params, np.random.default_rng(seed), attacks=[MEMBERSHIP])


def afresh(graph: AttributedGraph, params: PrivacyParams, *, seed: int = 0) -> Usefulness:
    """Return the usefulness of a quick release without a past."""
    return usefulness(quick_release(graph, params, seed=seed))


def estimated_worth(graph: AttributedGraph, params: PrivacyParams) -> tuple[float, float]:
    """Return the likely F1 of ties, and the share of people shown.

    People of classes that are too small for a cohort are not shown. Whose sensitive value would
    have to be hidden is not looked at.

    Parameters
    ----------
    graph:
        The true graph.
    params:
        k and alpha are used.

    Examples
    --------
    >>> from ktsafe.graph.synthetic import uniform
    >>> graph = uniform(200, 1000, rng=np.random.default_rng(0), n_tuples=3)
    >>> f1, people = estimated_worth(graph, PrivacyParams(k=5))
    >>> 0.5 < f1 < 1, people
    (True, 1.0)
    """
    classes, counts = graph.qi_classes, neighbour_counts(graph)
    sizes = np.bincount(classes)
    is_shown = sizes >= params.k
    shown, n = np.flatnonzero(is_shown), int(is_shown.sum())
    # Classes that are not shown can be very many: they have no place in the table.
    place = np.full(len(sizes), -1, dtype=np.int64)
    place[shown] = np.arange(n)
    ends_shown = np.zeros((n, n))
    nobody = np.zeros(graph.n_vertices, dtype=np.bool_)
    members = np.split(np.argsort(classes, kind="stable"), np.cumsum(sizes)[:-1])
    for c in shown:
        block = counts[members[c]]
        columns = np.unique(block.indices)
        columns = columns[is_shown[columns]]
        rows = np.ascontiguousarray(block[:, columns].toarray(), dtype=np.int32)
        for leaf in leaves_of(rows, nobody[: len(rows)], params):
            of_leaf = rows[leaf]
            mean = of_leaf.mean(axis=0)
            least = np.floor(mean)
            both = np.minimum(of_leaf, least) + (mean - least) * (of_leaf > least)
            ends_shown[place[c], place[columns]] += both.sum(axis=0)
    ties = float(np.minimum(ends_shown, ends_shown.T).sum()) / 2
    people = float(sizes[is_shown].sum()) / max(graph.n_vertices, 1)
    return ties / max(graph.n_edges, 1), people
