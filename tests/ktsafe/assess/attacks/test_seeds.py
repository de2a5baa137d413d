"""Seeds: propagation from a few known people."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.assess.attacks import Case
from ktsafe.assess.attacks.alignment import seeds
from ktsafe.assess.attacks.common import propagation
from ktsafe.assess.attacks.common.propagation import propagate
from tests.ktsafe.assess.attacks import naive
from tests.ktsafe.assess.attacks.releases import cases, noisy, random_graph


@settings(max_examples=80, deadline=None)
@given(cases(), st.integers(0, 3), st.integers(1, 2))
def test_rounds_equal_a_literal_search(case: Case, count: int, rounds: int) -> None:
    """One or two rounds find whom a search over all pairs finds, with the same chances."""
    known = case.people[:count]
    expected = naive.propagated(case, known.tolist(), rounds)
    chances = propagate(case, known, rounds=rounds).chances
    assert {v: chances[v] for v in expected} == pytest.approx(expected)


def test_the_bound_on_memory_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scoring a few pairs at a time gives the same links."""
    rng = np.random.default_rng(0)
    case = noisy(random_graph(80, 400, rng), rng)
    whole = propagate(case, case.people[:8], rounds=5)
    monkeypatch.setattr(propagation, "PATHS_MAX", 100)
    parts = propagate(case, case.people[:8], rounds=5)
    assert parts.link.tolist() == whole.link.tolist()
    assert parts.chances.tolist() == whole.chances.tolist()


def test_nobody_and_seeds_only() -> None:
    """A release of nobody, and one where the only person is the seed, leave no target."""
    rng = np.random.default_rng(2)
    for n in (0, 1):
        graph = random_graph(n, 0, rng)
        for result in seeds(Case(graph, graph, np.arange(n)), rng):
            assert result.targets == 0
