"""A quick release of a graph that has no past: what it would be worth to publish it so."""

from __future__ import annotations

import dataclasses
from typing import Any, Final

import numpy as np

from ktsafe.anonymization import anonymize
from ktsafe.audit import Traced, trace, usefulness
from ktsafe.graph import AttributedGraph
from ktsafe.options import AnonymizeOptions
from ktsafe.params import PrivacyParams
from ktsafe.strategies import strategy_named

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


def load() -> None:
    """Load what `afresh` needs, which it would do itself: for callers that may be ended in it."""
    strategy_named(AFRESH.strategy)


def afresh(graph: AttributedGraph, params: PrivacyParams, *, seed: int = 0) -> dict[str, Any]:
    """Return the usefulness of a release of a graph that has no past, quickly made."""
    return usefulness(quick_release(graph, params, seed=seed)).to_mapping()
