"""Graphs of the paper's degree distributions have the asked shape, and repeat for a seed."""

from __future__ import annotations

import numpy as np
import pytest

from ktsafe import InvalidGraph
from ktsafe_lab.synthetic_degrees import gaussian, zipf


@pytest.mark.parametrize("generate", [gaussian, zipf])
def test_graphs_have_the_asked_size(generate) -> None:
    """Vertices, edges, quasi-identifiers and sensitive share are those asked for."""
    graph = generate(2_000, 20_000, rng=np.random.default_rng(3), n_tuples=7)
    assert (graph.n_vertices, graph.n_edges) == (2_000, 20_000)
    assert graph.qi_classes.max() + 1 == 7
    assert 0.07 < graph.is_sensitive.mean() < 0.13


@pytest.mark.parametrize("generate", [gaussian, zipf])
def test_graphs_repeat_for_a_seed(generate) -> None:
    """Equal generators give equal graphs, different ones different graphs."""
    one, two, other = (generate(300, 900, rng=np.random.default_rng(s)) for s in (1, 1, 2))
    assert one.codes.tolist() == two.codes.tolist()
    assert one.edges.tolist() == two.edges.tolist()
    assert one.edges.tolist() != other.edges.tolist()


def test_degree_shapes() -> None:
    """Gaussian degrees bunch at 20, Zipf ones have hubs."""
    degrees = {
        generate: generate(5_000, 50_000, rng=np.random.default_rng(4)).degrees
        for generate in (gaussian, zipf)
    }
    assert 7 < degrees[gaussian].std() < 9
    assert degrees[zipf].max() > 500


@pytest.mark.parametrize("generate", [gaussian, zipf])
def test_degenerate_sizes(generate) -> None:
    """No vertices, no edges, and a graph half full are possible; more edges are refused."""
    rng = np.random.default_rng(0)
    assert generate(0, 0, rng=rng).n_vertices == 0
    assert generate(5, 0, rng=rng).n_edges == 0
    assert generate(21, 105, rng=rng).n_edges == 105
    with pytest.raises(InvalidGraph):
        generate(21, 106, rng=rng)
    with pytest.raises(InvalidGraph):
        generate(5, 2, rng=rng, n_tuples=126)
