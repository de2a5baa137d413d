"""Closeness and what it is worth, beside counting one by one."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ktsafe.anonymization.rewiring import BINS, SUPPORT, closeness, supported
from tests.ktsafe.anonymization.graphs import graphs


@given(graphs(n_max=30), st.integers(0, 2**32))
def test_closeness_is_common_neighbours_over_the_root_of_degrees(graph, seed):
    """Of ties and of any other two vertices."""
    n, rng = graph.n_vertices, np.random.default_rng(seed)
    near = [set() for _ in range(n)]
    for u, v in graph.edges.tolist():
        near[u].add(v)
        near[v].add(u)

    def share(u, v):
        return len(near[u] & near[v]) / math.sqrt(max(len(near[u]) * len(near[v]), 1))

    any_two = rng.integers(0, n, (20, 2))
    any_two = any_two[any_two[:, 0] != any_two[:, 1]]
    for asked in (graph.edges, any_two):
        expected = [min(int(share(u, v) * BINS), BINS) for u, v in asked.tolist()]
        assert closeness(n, graph.edges, asked).tolist() == expected
    assert closeness(n, graph.edges).tolist() == closeness(n, graph.edges, graph.edges).tolist()


@given(st.lists(st.integers(0, BINS), max_size=40))
def test_the_closer_the_more_and_the_mean_stays(bins):
    """Equal ones gain alike, others by their order; no gain is out of its bounds."""
    gain = supported(np.array(bins, dtype=np.int64)).tolist()
    for one, worth in zip(bins, gain, strict=True):
        below, alike = sum(b < one for b in bins), bins.count(one)
        assert math.isclose(worth, 1 + SUPPORT * ((below + alike / 2) / len(bins) - 0.5))
    assert not gain or math.isclose(sum(gain) / len(gain), 1)
