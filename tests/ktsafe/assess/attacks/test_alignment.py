"""Alignment: people found by structure alone."""

from __future__ import annotations

import numpy as np

from ktsafe.assess.attacks import Case
from ktsafe.assess.attacks.alignment import _ranks, alignment
from tests.ktsafe.assess.attacks.releases import graph_of, noisy, random_graph


def found(case: Case) -> dict[str, float]:
    """Return the share found by each variant."""
    return {result.attack: result.value for result in alignment(case)}


def test_propagation_mends_first_links() -> None:
    """With a fifth of ties hidden and as many added, few first links are right, most last ones."""
    rng = np.random.default_rng(1)
    case = noisy(random_graph(400, 6000, rng), rng, kept=0.8, added=1200)
    shares = found(case)
    assert shares["alignment.features"] < 0.6
    assert shares["alignment.propagated"] > 0.8


def test_equal_people_are_told_apart_by_chance_only() -> None:
    """Two isolated people of one tuple: either place is as near, so one in two guesses is right."""
    graph = graph_of(np.zeros((2, 3), dtype=int), np.zeros((0, 2)))
    case = Case(graph, graph, np.array([1, 0]))
    assert found(case)["alignment.features"] == 0.5
    nobody = random_graph(0, 0, np.random.default_rng(0))
    assert found(Case(nobody, nobody, np.zeros(0)))["alignment.propagated"] == 0


def test_counts_rank_as_other_numbers_do() -> None:
    """Mean ranks over the number of rows; equal numbers share theirs."""
    assert _ranks(np.array([[3], [0], [3], [9]])).ravel().tolist() == [0.625, 0.25, 0.625, 1.0]
    counts = np.random.default_rng(0).integers(0, 50, size=(200, 3))
    assert (_ranks(counts) == _ranks(counts.astype(np.float64))).all()
