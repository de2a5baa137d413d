"""Utility figures against networkx, scipy and values known by hand."""

from __future__ import annotations

import itertools
import json

import networkit
import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import to_builtins
from scipy import stats

from ktsafe import AttributedGraph, Schema
from ktsafe.assess.utility import (
    adjusted_mutual_information,
    as_networkit,
    communities,
    degree_emd,
    hops_between,
    information_by_chance,
    modularity,
    pagerank,
    structure,
    utility_figures,
)
from ktsafe.audit import trace
from tests.graphs import attributed, small_graphs, union
from tests.naive import Small

SCHEMA = Schema(("club",), "s", frozenset({"yes"}), expect_absent={"yes"})


def plain(graph):
    """Return a networkx graph as an attributed one; nodes without a club are of club 0."""
    numbered = nx.convert_node_labels_to_integers(graph)
    clubs = [str(data.get("club", 0)) for _, data in numbered.nodes(data=True)]
    return AttributedGraph.from_columns(
        SCHEMA, {"club": clubs, "s": ["no"] * len(clubs)}, list(numbered.edges)
    )


def figures(original, released, seed=0, **options):
    """Return the utility figures after a round trip through JSON."""
    found = to_builtins(
        utility_figures(trace(original, released, **options), rng=np.random.default_rng(seed))
    )
    return json.loads(json.dumps(found, allow_nan=False))


@settings(max_examples=60, deadline=None)
@given(small_graphs())
def test_the_structure_is_that_of_networkx(small):
    """Clustering, transitivity, components and assortativity equal networkx's on any graph."""
    graph = attributed(small)
    found, other = to_builtins(structure(graph)), graph.to_networkx()
    n = graph.n_vertices
    assert found["transitivity"] == pytest.approx(nx.transitivity(other), abs=1e-6)
    if n == 0:
        assert all(found[x] is None for x in ("mean_degree", "clustering", "largest_component"))
        return
    assert found["mean_degree"] == pytest.approx(2 * graph.n_edges / n, abs=1e-6)
    assert found["clustering"] == pytest.approx(nx.average_clustering(other), abs=1e-6)
    largest = max(map(len, nx.connected_components(other)))
    assert found["largest_component"] == pytest.approx(largest / n, abs=1e-6)
    for name, value in found["assortativity"].items():
        if value is None:
            assert len({other.nodes[v][name] for v in other if other.degree(v)}) < 2
        else:
            expected = nx.attribute_assortativity_coefficient(other, name)
            assert value == pytest.approx(expected, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(small_graphs(), small_graphs())
def test_degrees_move_as_far_as_scipy_says(first, second):
    """The earth mover's distance of degrees equals scipy's Wasserstein distance."""
    a, b = attributed(first), attributed(second)
    if a.n_vertices and b.n_vertices:
        expected = stats.wasserstein_distance(a.degrees, b.degrees)
        assert degree_emd(a, b) == pytest.approx(expected, abs=1e-6)
    else:
        assert degree_emd(a, b) is None


@settings(max_examples=40, deadline=None)
@given(small_graphs())
def test_pagerank_is_that_of_networkx(small):
    """PageRank equals networkx's, isolated vertices included."""
    graph = attributed(small)
    # A star alternates, so that networkx's power iteration needs more rounds than its default.
    expected = (
        nx.pagerank(graph.to_networkx(), tol=1e-12, max_iter=1_000) if graph.n_vertices else {}
    )
    found = pagerank(graph)
    assert found == pytest.approx(list(expected.values()), abs=1e-8)


@settings(max_examples=40, deadline=None)
@given(small_graphs())
def test_distances_are_those_of_networkx(small):
    """Hops between all pairs equal networkx's, repeated targets and -1 for no path included."""
    graph = attributed(small)
    everybody = np.arange(graph.n_vertices)
    targets = np.tile(np.append(everybody, everybody[:1]), (len(everybody), 1))
    expected = np.full(targets.shape, -1)
    for v, hops in nx.all_pairs_shortest_path_length(graph.to_networkx()):
        expected[v, list(hops)] = list(hops.values())
    if len(everybody):
        expected[:, -1] = expected[:, 0]
    found = hops_between(as_networkit(graph), everybody, targets)
    assert np.array_equal(found, expected)


def test_only_pairs_connected_in_both_graphs_count_for_the_mean():
    """Two components joined in the release: only pairs inside one count for the mean."""
    apart = nx.disjoint_union(nx.path_graph(8), nx.path_graph(8))
    joined = apart.copy()
    joined.add_edge(7, 8)
    found = figures(plain(apart), plain(joined))["paths"]
    assert 0 < found["connected"]["original"] < found["connected"]["released"] == 1_000
    assert found["mean_hops"]["original"] == found["mean_hops"]["released"]
    assert 1 <= found["mean_hops"]["original"] <= 7


def test_an_unchanged_graph_loses_nothing():
    """A release that equals its original scores full marks but for the luck of communities."""
    graph = plain(nx.karate_club_graph())
    found = figures(graph, graph)
    assert found["original"] == found["released"]
    assert found["degree_emd"] == 0
    assert found["pagerank"] == {"k": 10, "overlap": 1}
    assert found["paths"]["mean_hops"]["original"] == found["paths"]["mean_hops"]["released"]
    assert found["communities"]["ami"] > 0.5
    assert found == figures(graph, graph), "the same seed gives the same figures"
    assert found["paths"] != figures(graph, graph, seed=1)["paths"]


def test_the_mapping_tells_which_vertices_are_compared():
    """Positions in the release do not matter where the mapping names who is behind them."""
    graph = plain(nx.karate_club_graph())
    n = graph.n_vertices
    order = np.random.default_rng(0).permutation(n)  # released position of each original
    edges = np.vstack((order[graph.edges], [(0, n)]))
    codes = np.zeros((n + 1, 2), dtype=np.int32)
    codes[order] = graph.codes
    released = AttributedGraph.from_codes(SCHEMA, graph.categories, codes, edges)
    found = figures(graph, released, original_of=np.append(np.argsort(order), -1))
    assert found["pagerank"]["overlap"] >= 0.9
    assert found["communities"]["ami"] > 0.5
    assert found["paths"]["mean_hops"]["original"] == found["paths"]["mean_hops"]["released"]


def test_top_ranks_that_trade_places_do_not_overlap():
    """Ten hubs lose their leaves to ten others: no true top vertex is on top of the release."""
    leaves = [(hub, 20 + 10 * hub + i) for hub in range(10) for i in range(10)]
    nodes = range(120)
    graphs = []
    for shift in (0, 10):
        graph = nx.empty_graph(nodes)
        graph.add_edges_from((hub + shift, leaf) for hub, leaf in leaves)
        graphs.append(plain(graph))
    assert figures(*graphs)["pagerank"] == {"k": 10, "overlap": 0}


def test_cliques_in_a_ring_are_the_communities():
    """Leiden finds ten cliques of six, tied in a ring, exactly; two seeds agree fully."""
    graph = plain(nx.connected_caveman_graph(10, 6))
    truth = np.repeat(np.arange(10), 6)
    found = communities(as_networkit(graph), np.random.default_rng(0))
    assert adjusted_mutual_information(found, truth) == 1
    agreement = figures(graph, graph)["communities"]
    own = modularity(graph, truth)
    assert agreement == {
        "original": 10,
        "released": 10,
        "ami": 1,
        "ami_again": 1,
        "modularity": {"original": own, "released": own},
    }


def test_communities_follow_from_the_seed_alone():
    """The same twice, whatever else draws between; the process's threads are as they were."""
    graph = as_networkit(plain(nx.gnm_random_graph(200, 800, seed=1)))
    threads = networkit.getMaxNumberOfThreads()
    first = communities(graph, np.random.default_rng(5))
    other = communities(graph, np.random.default_rng(6))
    assert np.array_equal(first, communities(graph, np.random.default_rng(5)))
    assert not np.array_equal(first, other)
    assert networkit.getMaxNumberOfThreads() == threads


def test_adjusted_mutual_information_of_known_partitions():
    """Equal up to names: 1. Singletons or one part against others: 0. Nothing: undefined."""
    halves, everybody = np.repeat([0, 1], 8), np.arange(16)
    assert adjusted_mutual_information(halves, 1 - halves) == 1
    assert adjusted_mutual_information(halves, everybody) == 0
    assert adjusted_mutual_information(halves, halves * 0) == 0
    assert adjusted_mutual_information(halves * 0, halves * 0) == 1
    assert adjusted_mutual_information(everybody, everybody[::-1]) == 1
    assert adjusted_mutual_information(halves[:0], halves[:0]) is None
    # As scikit-learn has it, for the labels of its own documentation of mutual information.
    first, second = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 2, 2])
    assert adjusted_mutual_information(first, second) == pytest.approx(0.298792, abs=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 2), min_size=5, max_size=6), st.integers(0, 2**32))
def test_information_by_chance_is_the_mean_over_all_orders(labels, seed):
    """Of every order in which the labels can be dealt out, tried one by one."""
    first = np.array(labels)
    second = np.random.default_rng(seed).integers(0, 3, len(first))
    sizes = [np.unique(each, return_counts=True)[1] for each in (first, second)]
    n = len(first)

    def information(other):
        joint = np.zeros((3, 3))
        np.add.at(joint, (first, other), 1 / n)
        outer = np.outer(joint.sum(axis=1), joint.sum(axis=0))
        return (joint[joint > 0] * np.log(joint[joint > 0] / outer[joint > 0])).sum()

    mean = np.mean([information(np.array(o)) for o in itertools.permutations(second.tolist())])
    assert information_by_chance(*sizes, n) == pytest.approx(mean, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(small_graphs())
def test_any_graph_and_its_double_have_figures(small):
    """Empty, edgeless and complete graphs have figures too; JSON takes them without NaN."""
    found = figures(attributed(small), attributed(union(small, small)))
    assert found["original"]["clustering"] == found["released"]["clustering"]
    assert found["degree_emd"] in {0, None}


def test_a_graph_of_one_person_has_no_pairs():
    """Nobody to be apart from."""
    one = attributed(Small([(1,)], [False], []))
    assert figures(one, one)["paths"]["pairs"] == 0


def test_pairs_join_different_vertices():
    """Of two vertices, each pair is the two of them: one hop, never none."""
    two = attributed(Small([(1,), (1,)], [False, False], list(itertools.combinations(range(2), 2))))
    assert figures(two, two)["paths"]["mean_hops"]["original"] == 1
