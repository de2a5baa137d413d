"""Partitioning covers the graph, keeps to gamma and s, and adds exactly the halo."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from ktsafe import PrivacyParams
from ktsafe.graph.synthetic import uniform
from ktsafe_lab.paper.cost_model import (
    CostModel,
    nearest_means,
    sampled_cost_model,
    sampled_vertices,
)
from ktsafe_lab.paper.partition_set import select_partitioning
from ktsafe_lab.paper.partitioning import cluster_around, expand, number_of_parts, partition_graph
from ktsafe_lab.paper.vertex_generation import Setting

GRAPH = uniform(200, 500, rng=np.random.default_rng(1))


@pytest.mark.parametrize(("gamma", "s"), [(60, 2), (60, 4), (13, 3), (200, 4), (60, 1)])
def test_partitioning_is_a_cover_with_halo(gamma, s) -> None:
    """Every vertex has one owner, sizes are at most gamma, halos are the neighbours outside."""
    parts = partition_graph(GRAPH, gamma, s, np.random.default_rng(0))
    owners = np.concatenate([part.origin[: part.n_owned] for part in parts])
    assert sorted(owners) == list(range(GRAPH.n_vertices))
    assert s == 1 or max(part.n_owned for part in parts) <= gamma
    reference = GRAPH.to_networkx()
    for part in parts:
        owned = set(part.origin[: part.n_owned].tolist())
        around = {u for v in owned for u in reference[v]} - owned
        assert part.origin[part.n_owned :].tolist() == sorted(around)
        edges = {tuple(sorted(e)) for e in part.origin[part.edges].tolist()}
        assert len(edges) == len(part.edges)
        assert edges == {tuple(sorted(e)) for e in reference.edges if owned & set(e)}


def test_clusters_are_those_of_the_nearest_centres() -> None:
    """Without a limit every reachable vertex is nearest to its own centre."""
    centres = np.array([3, 70, 140])
    label = cluster_around(GRAPH, centres, GRAPH.n_vertices)
    reference = GRAPH.to_networkx()
    far = [nx.single_source_shortest_path_length(reference, c) for c in centres.tolist()]
    for v in range(GRAPH.n_vertices):
        distances = [d.get(v, np.inf) for d in far]
        if min(distances) < np.inf:
            assert distances[label[v]] == min(distances)


def test_clusters_keep_their_limit() -> None:
    """A full cluster takes no more; who is not reached goes to the smallest ones."""
    label = cluster_around(GRAPH, np.array([3, 70, 140, 199]), 50)
    assert np.bincount(label).tolist() == [50] * 4


def test_number_of_parts() -> None:
    """Recursion divides by s until gamma suffices; the paper divides Cora once."""
    assert number_of_parts(2_708, 1_000, 4) == 4
    assert number_of_parts(2_708, 3_000, 4) == 1
    assert number_of_parts(100_000, 1_000, 4) == 256
    assert number_of_parts(100, 10, 1) == 1


def test_estimate_is_the_sum_of_equation_3() -> None:
    """The kernel's estimate equals a plain sum over expanded subgraphs."""
    rng = np.random.default_rng(2)
    top = int(GRAPH.degrees.max()) + 1
    model = CostModel(rng.random(top + 1), rng.random(top + 1))
    part = rng.integers(0, 5, GRAPH.n_vertices).astype(np.int32)
    expected = 0.0
    for found in expand(GRAPH, part, 5):
        degrees = np.bincount(found.edges.reshape(-1), minlength=len(found.origin))
        expected += model.anonymization[degrees].sum()
        expected += model.merging[GRAPH.degrees[found.origin[found.n_owned :]]].sum()
    assert model.estimate(GRAPH, part, 5) == pytest.approx(expected)


def test_a_sample_has_the_asked_size_and_keeps_together() -> None:
    """A walk reaches each vertex but the ones that it starts from by an edge of the sample."""
    found = sampled_vertices(GRAPH, 40, np.random.default_rng(0))
    assert len(np.unique(found)) == len(found) == 40
    components = nx.number_connected_components(GRAPH.to_networkx())
    sampled = nx.number_connected_components(GRAPH.subgraph(found).to_networkx())
    assert sampled <= components


def test_the_cost_of_a_degree_is_that_of_the_nearest_sample() -> None:
    """One by one: the mean over the samples of the nearest degree, of two the lower one."""
    rng = np.random.default_rng(4)
    degrees, values = rng.choice([2, 3, 8, 12], 30), rng.random(30)
    means = nearest_means(degrees, values, 20)
    for wanted in range(21):
        nearest = min(degrees.tolist(), key=lambda degree: (abs(degree - wanted), degree))
        assert means[wanted] == pytest.approx(values[degrees == nearest].mean())
    assert nearest_means(degrees[:0], values[:0], 5).tolist() == [0.0] * 6


def test_a_sampled_model_knows_every_degree() -> None:
    """Also degrees that no sample has; and making the sample safe costs something."""
    params = PrivacyParams(k=4)
    setting = Setting.of_graph(GRAPH, params)
    model = sampled_cost_model(
        GRAPH, params, setting, np.random.default_rng(0), s=2, sample_size=60
    )
    assert len(model.anonymization) == len(model.merging) == GRAPH.degrees.max() + 2
    assert model.anonymization.max() > 0


def test_more_iterations_never_select_a_dearer_partitioning() -> None:
    """The selected partitioning is the cheapest one seen, by the model."""
    top = int(GRAPH.degrees.max()) + 2
    model = CostModel(np.zeros(top), np.ones(top))
    costs = []
    for iterations in (1, 5, 40):
        parts = select_partitioning(
            GRAPH, model, np.random.default_rng(5), gamma=50, s=2, iterations=iterations
        )
        part = np.zeros(GRAPH.n_vertices, dtype=np.int32)
        for number, found in enumerate(parts):
            part[found.origin[: found.n_owned]] = number
        costs.append(model.estimate(GRAPH, part, len(parts)))
    assert costs == sorted(costs, reverse=True)
    assert costs[-1] < costs[0]
