"""The paper's strategies: pruning changes no byte."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ktsafe import AnonymizeOptions, InvalidParams, PrivacyParams
from ktsafe.anonymization.request import Request
from ktsafe.graph.synthetic import uniform
from ktsafe.verify import verify_graph
from ktsafe_lab.paper.graph_generation import Variant, kt_safe_graph
from ktsafe_lab.paper.paper_strategies import ByThePaper
from ktsafe_lab.strategies import check_strategy, everybody, strategy_named
from ktsafe_lab.synthetic_degrees import zipf

GRAPH = zipf(160, 300, rng=np.random.default_rng(0), n_tuples=5)
PARAMS = PrivacyParams(k=4)
NAMES = ("none", "pruning", "partition", "partition+pruning", "kl-graph")


def released(name, graph=GRAPH, params=PARAMS, *, executor=None):
    """Return what a strategy releases."""
    check_strategy(name, params)
    options = AnonymizeOptions("fast")
    rng, strategy = np.random.default_rng(7), strategy_named(name)
    if isinstance(strategy, ByThePaper):
        strategy = strategy.in_parts(50, 2)
    return everybody(Request(graph, params, rng, options, executor), strategy)


@pytest.mark.parametrize(("plain", "pruned"), [NAMES[:2], NAMES[2:4]])
def test_pruning_changes_no_byte(plain, pruned) -> None:
    """`none` and `pruning`, `partition` and `partition+pruning` release the same graph."""
    one, two = released(plain).graph, released(pruned).graph
    assert one.codes.tobytes() == two.codes.tobytes()
    assert one.edges.tobytes() == two.edges.tobytes()
    assert one.n_vertices > GRAPH.n_vertices


def test_without_partition_originals_are_safe_and_some_fakes_are_not() -> None:
    """Fake vertices are not queued; the strict verifier sees them."""
    unsafe = verify_graph(released("none").graph, PARAMS).is_unsafe
    assert not unsafe[: GRAPH.n_vertices].any()
    assert unsafe.any()


def test_second_versions_bear_all_attributes() -> None:
    """A vertex that merging keeps twice shows its sensitive value twice."""
    rng = np.random.default_rng(7)
    merged = kt_safe_graph(Request(GRAPH, PARAMS, rng), Variant(gamma=50, s=2))
    outcome = released("partition+pruning").graph
    copies = np.flatnonzero(merged.copied_from >= 0)
    assert len(copies)
    behind = merged.copied_from[copies]
    assert np.array_equal(outcome.codes[GRAPH.n_vertices + copies], GRAPH.codes[behind])


def test_an_executor_changes_nothing() -> None:
    """Subgraphs may be made safe side by side."""
    with ThreadPoolExecutor(2) as pool:
        parallel = released("partition+pruning", executor=pool).graph
    alone = released("partition+pruning").graph
    assert parallel.edges.tobytes() == alone.edges.tobytes()


def test_partition_costs_more() -> None:
    """Subgraphs have fewer candidates, and borders are kept twice."""
    assert released("partition").graph.n_edges > released("none").graph.n_edges


def test_halos_may_stay_out_of_the_queue() -> None:
    """Anonymizing owned vertices only costs less than the text's expanded subgraphs."""
    costs = []
    for halo in (True, False):
        variant = Variant(queue_halo=halo, gamma=50, s=2)
        merged = kt_safe_graph(Request(GRAPH, PARAMS, np.random.default_rng(0)), variant)
        costs.append(len(merged.inserted) + len(merged.edges))
    assert costs[1] < costs[0]


def test_no_neighbourhoods() -> None:
    """N = 0 works for all but kl-graph; more hops are refused by name."""
    params = PrivacyParams(k=4, n_hops=0)
    outcome = released("none", params=params).graph
    assert outcome.n_edges == GRAPH.n_edges
    with pytest.raises(InvalidParams):
        released("partition", params=PrivacyParams(n_hops=2))
    with pytest.raises(InvalidParams):
        released("kl-graph", params=params)


@pytest.mark.parametrize("name", NAMES)
def test_degenerate_graphs(name) -> None:
    """No vertices, and hardly any."""
    empty = released(name, uniform(0, 0, rng=np.random.default_rng(0)))
    assert empty.graph.n_vertices == 0
    few = uniform(8, 6, rng=np.random.default_rng(1), n_tuples=2, sensitive_share=0.5)
    assert released(name, few).graph.n_vertices >= 8
