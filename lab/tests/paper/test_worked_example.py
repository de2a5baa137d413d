"""The appendix's demonstration: k=2, t=0, epsilon=0, n=1, alpha=0.5, gamma=3, s=2."""

from __future__ import annotations

import numpy as np

from ktsafe import PrivacyParams
from ktsafe_lab.paper.merging import merge_subgraphs
from ktsafe_lab.paper.partitioning import cluster_around, expand, partition_graph
from ktsafe_lab.paper.vertex_generation import Setting, anonymize_subgraph
from lab.tests.paper.support import small_merged, small_outcome
from tests import naive
from tests.graphs import attributed, paper_original
from tests.naive import Tolerance

PARAMS = PrivacyParams(k=2, t=0, alpha=0.5, epsilon=0, n_hops=1)
TOLERANCE = Tolerance(2, PARAMS.t, PARAMS.alpha, 0)
GRAPH = attributed(paper_original())
V1, V4 = 0, 3


def parts():
    """Return the demonstration's two subgraphs: around v1 and around v4."""
    label = cluster_around(GRAPH, np.array([V1, V4]), 3)
    return expand(GRAPH, label, 2)


def test_graph_partition() -> None:
    """Cutting the edge v1-v4 gives two subgraphs of three, each with a duplicate of the other end.

    Stated: g1 gets v7, a duplicate of v4 with the same attribute values; g2 is similar.
    """
    g1, g2 = parts()
    assert g1.origin[: g1.n_owned].tolist() == [0, 1, 2]
    assert g1.origin[g1.n_owned :].tolist() == [V4]
    assert g2.origin[: g2.n_owned].tolist() == [3, 4, 5]
    assert g2.origin[g2.n_owned :].tolist() == [V1]
    assert g1.origin[g1.edges].tolist() == [[0, 1], [0, 2], [0, 3]]
    assert g2.origin[g2.edges].tolist() == [[0, 3], [3, 4], [3, 5]]


def test_recursion_ends_with_two_subgraphs_of_three() -> None:
    """Gamma = 3 and s = 2 divide six vertices once, whatever the centres."""
    for seed in range(8):
        found = partition_graph(GRAPH, 3, 2, np.random.default_rng(seed))
        assert [part.n_owned for part in found] == [3, 3]


def test_subgraph_generation() -> None:
    """g2 becomes kt-safe by 4 fake vertices: each of its vertices has one with its QI, harmless.

    Stated: 4 fake vertices with the same quasi-identifiers and different sensitive values, and the
    neighbours of v4 unchanged, so the fakes are joined to each other.
    """
    setting = Setting.of_graph(GRAPH, PARAMS)
    for part in parts():
        done = anonymize_subgraph(part, setting)
        assert sorted(done.inserted) == sorted(GRAPH.qi_classes[done.origin])
        assert len(done.inserted_edges) == 3
        assert done.inserted_edges.min() >= len(done.origin)
        assert not done.is_changed.any()
        assert naive.unsafe_vertices(small_outcome(GRAPH, done), TOLERANCE) == set()


def test_subgraph_merging() -> None:
    """The subgraphs merge at v1-v4, as the neighbours of v1 and v4 are unchanged; all is safe."""
    setting = Setting.of_graph(GRAPH, PARAMS)
    done = [anonymize_subgraph(part, setting) for part in parts()]
    merged = merge_subgraphs(GRAPH, done)
    assert len(merged.inserted) == 8
    assert merged.copied_from.tolist() == [-1] * 8
    assert len(merged.edges) == GRAPH.n_edges + 6
    assert GRAPH.edges.tolist() == [e for e in merged.edges.tolist() if max(e) < GRAPH.n_vertices]
    assert naive.unsafe_vertices(small_merged(GRAPH, merged), TOLERANCE) == set()


def test_the_letter_of_the_text_changes_the_neighbours() -> None:
    """Duplicates "with the same associated edges" change v4, so nothing would merge."""
    setting = Setting.of_graph(GRAPH, PARAMS, duplicates="attached")
    done = anonymize_subgraph(parts()[1], setting)
    assert done.is_changed[0]
    assert naive.unsafe_vertices(small_outcome(GRAPH, done), TOLERANCE).isdisjoint({0, 1, 2, 3})
