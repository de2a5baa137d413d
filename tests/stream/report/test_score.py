"""The score of a release and its parts."""

from __future__ import annotations

import copy

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph, Schema
from ktsafe.audit import trace, usefulness
from ktsafe.audit.utility import utility_figures
from ktsafe.datasets import uniform
from ktsafe.stream.report.score import READS, score
from tests.stream.report.examples import graph, told


def test_the_truth_itself_has_the_full_score() -> None:
    """Released as it is, a graph has 1 in every part but communities, which differ by run."""
    true = graph()
    traced = trace(true, true, np.arange(true.n_vertices))
    figures = utility_figures(traced, rng=np.random.default_rng(0))
    figures["communities"]["ami"] = figures["communities"]["ami_again"]
    found = score(usefulness(traced).to_mapping(), figures)
    assert {part["name"]: part["score"] for part in found["parts"]} == dict.fromkeys(READS, 1.0)
    assert found["score"] == 1.0


def test_a_release_without_ties_is_good_for_nothing_but_people() -> None:
    """Everybody alone agrees well with small communities; that is no merit, nor is any distance."""
    true = graph()
    bare = AttributedGraph.from_codes(true.schema, true.categories, true.codes, [])
    traced = trace(true, bare, np.arange(true.n_vertices))
    figures = utility_figures(traced, rng=np.random.default_rng(0))
    found = score(usefulness(traced).to_mapping(), figures)
    parts = {part["name"]: part["score"] for part in found["parts"]}
    wanted = ("Ties", "Degrees", "Distances", "Clustering", "Communities")
    assert {parts[name] for name in wanted} == {0.0}
    assert (parts["People"], parts["Attributes"]) == (1.0, 1.0)
    assert found["score"] == 0.0


NETWORKS = {
    "uniform": lambda rng: uniform(400, 4000, rng=rng, n_tuples=4),
    "sparse": lambda rng: uniform(600, 1800, rng=rng, n_tuples=4),
    "dense": lambda rng: uniform(150, 4000, rng=rng, n_tuples=3),
    "planted": lambda _: planted(8, 40, 0.3, 0.01),
    "circles": lambda _: planted(30, 12, 0.7, 0.01),
}


def planted(groups: int, size: int, inside: float, across: float) -> AttributedGraph:
    """Return a graph of communities whose people have three values at random."""
    graph = nx.planted_partition_graph(groups, size, inside, across, seed=1)
    values = np.random.default_rng(1).integers(0, 3, graph.number_of_nodes())
    schema = Schema(("kind",), "state", frozenset({"ill"}), expect_absent={"ill"})
    columns = {"kind": [f"kind{value}" for value in values], "state": ["well"] * len(values)}
    return AttributedGraph.from_columns(schema, columns, list(graph.edges))


def score_of_share(true: AttributedGraph, share: float) -> float:
    """Return the score of a release that shows a random share of the ties, and no others."""
    order = np.random.default_rng(3).permutation(true.n_edges)
    kept = true.edges[np.sort(order[: round(share * true.n_edges)])]
    shown = AttributedGraph.from_codes(true.schema, true.categories, true.codes, kept)
    traced = trace(true, shown, np.arange(true.n_vertices))
    figures = utility_figures(traced, rng=np.random.default_rng(0))
    found: float = score(usefulness(traced).to_mapping(), figures)["score"]
    return found


@pytest.mark.parametrize("name", NETWORKS)
def test_the_score_rises_with_the_share_of_ties(name: str) -> None:
    """No ties score 0, a hundredth of them at most .1; each further tenth scores more."""
    true = NETWORKS[name](np.random.default_rng(2))
    assert score_of_share(true, 0) == 0
    assert score_of_share(true, 0.01) <= 0.1
    scores = [score_of_share(true, tenths / 10) for tenths in range(11)]
    assert scores == sorted(scores)


def test_a_part_that_is_not_known_leaves_no_score() -> None:
    """A mean of fewer parts would be another score."""
    audit = told().audit
    assert score(audit["usefulness"], audit["utility"])["score"] is not None
    found = score(audit["usefulness"], None)
    assert found["score"] is None
    assert [part["name"] for part in found["parts"] if part["score"] is not None] == [
        "Ties",
        "People",
    ]


@settings(max_examples=60, deadline=None)
@given(
    st.floats(0, 1),
    st.floats(0, 100),
    st.none() | st.floats(0, 20),
    st.none() | st.floats(0, 20),
)
def test_every_part_lies_between_nothing_and_the_truth(f1, moved, hops, more_hops) -> None:
    """Whatever the figures, parts and score are from 0 to 1; no score exceeds People."""
    audit = copy.deepcopy(dict(told().audit))
    audit["usefulness"]["edges"]["f1"] = f1
    audit["utility"]["degree_emd"] = moved
    audit["utility"]["paths"]["mean_hops"] = {"original": hops, "released": more_hops}
    found = score(audit["usefulness"], audit["utility"])
    parts = [part["score"] for part in found["parts"]]
    assert all(part is None or 0 <= part <= 1 for part in parts)
    if None in parts:
        assert found["score"] is None
    else:
        people = next(part["score"] for part in found["parts"] if part["name"] == "People")
        assert 0 <= found["score"] <= people + 1e-6
