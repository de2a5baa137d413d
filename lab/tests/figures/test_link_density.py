"""Link density: the greatest share of tied pairs between two groups."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

from ktsafe import InvalidGraph, PrivacyParams
from ktsafe_lab.figures.link_density import equal_neighbourhoods, link_figures, link_max
from tests import naive
from tests.graphs import attributed, small_graphs, union
from tests.naive import Small


def random_graph() -> Small:
    """Return 30 equal vertices, a fifth of all pairs tied."""
    rng = np.random.default_rng(0)
    edges = [(i, j) for i in range(30) for j in range(i + 1, 30) if rng.random() < 0.2]
    return Small([()] * 30, [False] * 30, edges)


def test_link_max_is_the_greatest_density() -> None:
    """Equals a plain count over all pairs of groups."""
    small = random_graph()
    groups = np.random.default_rng(1).integers(0, 5, 30)
    best = Fraction(0)
    for a in range(5):
        for b in range(a, 5):
            pairs = {
                (min(u, v), max(u, v))
                for u in np.flatnonzero(groups == a).tolist()
                for v in np.flatnonzero(groups == b).tolist()
                if u != v
            }
            if pairs:
                best = max(best, Fraction(len(pairs & set(small.edges)), len(pairs)))
    assert link_max(attributed(small), groups) == best


def test_groups_must_fit() -> None:
    """One group per vertex; without edges nothing is tied."""
    with pytest.raises(InvalidGraph):
        link_max(attributed(random_graph()), [0, 1])
    assert link_max(attributed(Small([()] * 3, [False] * 3, [])), [0, 1, 2]) == 0


@settings(max_examples=40, deadline=None)
@given(small_graphs())
def test_equal_neighbourhoods_are_those_of_the_definition(small: Small) -> None:
    """Two vertices share a group iff QI, degree and all counts of values are equal."""
    reach = naive.closed_neighbourhoods(small)
    groups = equal_neighbourhoods(attributed(small))
    looks = [
        (
            small.quasi_identifiers[v],
            len(reach[v]),
            *[
                frozenset(Counter(small.quasi_identifiers[u][j] for u in reach[v]).items())
                for j in range(len(small.quasi_identifiers[v]))
            ],
        )
        for v in range(len(reach))
    ]
    for u in range(len(reach)):
        assert [groups[u] == groups[v] for v in range(len(reach))] == [
            looks[u] == looks[v] for v in range(len(reach))
        ]


def test_figures_of_the_audit() -> None:
    """Groups below k count as one; the density is that of the others, too."""
    sides = [(0,)] * 10 + [(1,)] * 10
    ties = [(i, 10 + j) for i in range(10) for j in range(10)]
    small = union(Small(sides, [False] * 20, ties), Small([(0,)] * 2, [False] * 2, [(0, 1)]))
    figures = link_figures(attributed(small), PrivacyParams(k=10))
    assert figures == {"link_max": 1.0, "vertices_in_groups": 20}
