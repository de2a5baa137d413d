"""Compressed adjacency from edge lists, against the one that the graph makes of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph
from ktsafe.incremental._adjacency_core import compressed
from tests.ktsafe.incremental.streams import SCHEMA, TEXTS

PAIRS = st.sets(
    st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] < pair[1])
)


@settings(deadline=None)
@given(PAIRS, st.integers(0, 30))
def test_adjacency_is_that_of_the_graph(pairs: set[tuple[int, int]], split: int) -> None:
    """However the edges are divided among two lists."""
    edges = np.array(sorted(pairs), dtype=np.int32).reshape(-1, 2)[::-1].copy()
    indptr, indices, is_simple = compressed(10, edges[:split], edges[split:, ::-1].copy())
    codes = np.zeros((10, 3), dtype=np.int32)
    graph = AttributedGraph.from_codes(SCHEMA, TEXTS, codes, edges)
    assert is_simple
    assert indptr.tolist() == graph.indptr.tolist()
    assert indices.tolist() == graph.indices.tolist()


def test_what_is_no_simple_graph_is_noticed() -> None:
    """An edge in both lists, one that is there twice, or a loop."""
    edges = np.array([[0, 1], [1, 2]], dtype=np.int32)
    none = np.zeros((0, 2), dtype=np.int32)
    assert compressed(3, edges, none)[2]
    assert not compressed(3, edges, edges[:1, ::-1].copy())[2]
    assert not compressed(3, np.concatenate((edges, edges)), none)[2]
    assert not compressed(3, edges, np.array([[2, 2]], dtype=np.int32))[2]
