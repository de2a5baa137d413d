"""Partial knowledge: some neighbours are known, or some of them wrongly."""

from __future__ import annotations

import numpy as np

from ktsafe import PrivacyParams
from ktsafe.assess.attacks import Case, ids_removed
from ktsafe.assess.attacks.neighbourhoods import partial_knowledge
from tests.ktsafe.assess.attacks.releases import random_graph

PARAMS = PrivacyParams(k=10)


def found(case: Case) -> list[float]:
    """Return the shares found with 10, 50 and 90% known, and with 10% wrong."""
    return [r.value for r in partial_knowledge(case, PARAMS, np.random.default_rng(0))]


def test_the_more_is_known_the_more_are_found() -> None:
    """With ids removed only: few by a tenth of the neighbours, nearly all by nine tenths.

    Wrong knowledge of one neighbour in ten hurts more than lacking it.
    """
    rng = np.random.default_rng(0)
    graph = random_graph(300, 9000, rng)
    tenth, half, most, wrong = found(Case(graph, *ids_removed(graph, rng)))
    assert 0.02 < tenth < half < most
    assert most > 0.9
    assert half < wrong < most
