"""Make a quick release without a past, and price it."""

from __future__ import annotations

import dataclasses
from typing import Final

import numpy as np

from ktsafe.anonymization.anonymization import anonymize
from ktsafe.anonymization.strategies import AnonymizeOptions, strategy_named
from ktsafe.assess.attacks import Case, Result, run
from ktsafe.assess.attacks.membership_of_people import NAME as MEMBERSHIP
from ktsafe.audit import Traced, Usefulness, trace, usefulness
from ktsafe.errors import Infeasible, NotKTSafe
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams

HELD_OUT: Final = 0.2
"""Share of the people who are held out, to ask who is a member."""
AFRESH: Final = AnonymizeOptions(strategy="exact", effort="fast", rare_qi="withhold")
"""How a release is made that has no past."""


def quick_release(
    graph: AttributedGraph, params: PrivacyParams, *, strategy: str = "exact", seed: int = 0
) -> Traced:
    """Return a quickly made release beside its truth.

    Raises
    ------
    Infeasible, NotKTSafe
        If there is no safe release.
    """
    options = dataclasses.replace(AFRESH, strategy=strategy)
    made = anonymize(graph, params, rng=np.random.default_rng(seed), options=options)
    return trace(graph, made.graph, made.origin)


def held_out(
    graph: AttributedGraph,
    params: PrivacyParams,
    *,
    options: AnonymizeOptions = AFRESH,
    seed: int = 0,
) -> Case:
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
    made = anonymize(graph.subgraph(members), params, rng=rng, options=options)
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


def load() -> None:
    """Load what `afresh` needs, which it would do itself.

    Callers that may be ended at any moment call it beforehand.
    """
    strategy_named(AFRESH.strategy)


def afresh(graph: AttributedGraph, params: PrivacyParams, *, seed: int = 0) -> Usefulness:
    """Return the usefulness of a quick release without a past."""
    return usefulness(quick_release(graph, params, seed=seed))
