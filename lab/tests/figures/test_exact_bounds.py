"""Lower bounds of the cost of exact cohorts."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import PrivacyParams
from ktsafe.anonymization.anonymization import exact_release
from ktsafe.anonymization.request import Request
from ktsafe_lab.figures.exact_bounds import cohort_bound, degree_bound, gain_bound, grouping_cost
from tests.ktsafe.anonymization.graphs import as_set, graphs, treated
from tests.ktsafe.anonymization.test_pair_program import best_value, pairs


@settings(max_examples=50, deadline=None)
@given(graphs())
def test_no_release_costs_less_than_the_bounds(graph):
    """Both bounds are below the cost of a release without inserted vertices."""
    params = PrivacyParams(k=3, alpha=1)
    graph = treated(graph, params)
    release = exact_release(Request(graph, params, np.random.default_rng(0)))
    cost = len(as_set(graph.edges) ^ as_set(release.edges))
    assert 0 <= degree_bound(graph, params) <= cost
    assert cohort_bound(graph, release.cohorts) <= cost


@settings(max_examples=40, deadline=None)
@given(pairs(is_one=False) | pairs(is_one=True))
def test_the_linear_bound_is_above_the_optimum(pair):
    """No degrees and ties of a small pair are worth more than the bound."""
    assert gain_bound(pair) >= best_value(pair)


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=9), st.integers(1, 4))
def test_grouping_is_the_cheapest(counts, k):
    """The dynamic program finds what trying every partition of the ranks finds."""
    n, ranked = len(counts), sorted(counts)
    best = None
    for cuts in itertools.product([False, True], repeat=n - 1):
        groups, begin = [], 0
        for i in (*[i + 1 for i, cut in enumerate(cuts) if cut], n):
            groups.append(ranked[begin:i])
            begin = i
        if len(groups) > 1 and min(map(len, groups)) < k:
            continue
        cost = sum(sum(abs(x - g[len(g) // 2]) for x in g) for g in groups)
        best = cost if best is None else min(best, cost)
    column = np.array(counts, dtype=np.int32)[:, None]
    assert grouping_cost(column, k).tolist() == [best]
