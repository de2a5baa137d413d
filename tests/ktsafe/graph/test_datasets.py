"""Generated graphs have the asked shape; generated feeds are consistent and repeatable."""

from __future__ import annotations

import datetime
import itertools
from collections import Counter

import numpy as np
import pytest

from ktsafe import MISSING, InvalidGraph
from ktsafe.assess.utility import as_networkit, communities, modularity, structure
from ktsafe.graph.social_network import (
    SOCIAL_FEED_SCHEMA,
    FeedRates,
    SocialNetwork,
    life,
    social_feed,
)
from ktsafe.graph.synthetic import uniform


def test_graphs_have_the_asked_size() -> None:
    """Vertices, edges, quasi-identifiers and sensitive share are those asked for."""
    graph = uniform(2_000, 20_000, rng=np.random.default_rng(3), n_tuples=7)
    assert (graph.n_vertices, graph.n_edges) == (2_000, 20_000)
    assert graph.qi_classes.max() + 1 == 7
    assert 0.07 < graph.is_sensitive.mean() < 0.13


def test_graphs_repeat_for_a_seed() -> None:
    """Equal generators give equal graphs, different ones different graphs."""
    one, two, other = (uniform(300, 900, rng=np.random.default_rng(s)) for s in (1, 1, 2))
    assert one.codes.tolist() == two.codes.tolist()
    assert one.edges.tolist() == two.edges.tolist()
    assert one.edges.tolist() != other.edges.tolist()


def test_degrees_are_uniform() -> None:
    """They spread over 0..40 where the mean is 20."""
    degrees = uniform(5_000, 50_000, rng=np.random.default_rng(4)).degrees
    assert degrees.max() <= 45
    assert 11 < degrees.std() < 12.5


def test_degenerate_sizes() -> None:
    """No vertices, no edges, and a graph half full are possible; more edges are refused."""
    rng = np.random.default_rng(0)
    assert uniform(0, 0, rng=rng).n_vertices == 0
    assert uniform(5, 0, rng=rng).n_edges == 0
    assert uniform(21, 105, rng=rng).n_edges == 105
    with pytest.raises(InvalidGraph):
        uniform(21, 106, rng=rng)
    with pytest.raises(InvalidGraph):
        uniform(5, 2, rng=rng, n_tuples=126)


def feed(seed: int = 1, **changes: object) -> list[dict]:
    options = {"people": 400, "days": 90, **changes}
    return list(social_feed(rng=np.random.default_rng(seed), **options))  # type: ignore[arg-type]


def test_feed_repeats_for_a_seed() -> None:
    """Equal seeds give equal feeds, different ones different feeds."""
    assert feed(1) == feed(1)
    assert feed(1) != feed(2)


def test_feed_is_consistent() -> None:
    """Nobody acts before joining or after leaving; ties are neither doubled nor ended twice."""
    present, edges, joined = set(), set(), set()
    for event in feed():
        match event["type"]:
            case "vertex.upsert":
                assert event["id"] in present or event["id"] not in joined
                present.add(event["id"])
                joined.add(event["id"])
                assert set(event["attributes"]) <= set(SOCIAL_FEED_SCHEMA.attributes)
            case "vertex.delete":
                present.remove(event["id"])
                edges = {edge for edge in edges if event["id"] not in edge}
            case kind:
                edge = frozenset((event["source"], event["target"]))
                assert len(edge) == 2
                assert edge <= present
                if kind == "edge.add":
                    assert edge not in edges
                    edges.add(edge)
                else:
                    edges.remove(edge)
    assert len(joined) == 400


def test_feed_covers_its_period_in_order() -> None:
    """Times ascend, stay inside the simulated period and spread over all of it."""
    start = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
    times = [datetime.datetime.fromisoformat(event["time"]) for event in feed(start=start)]
    assert all(a <= b for a, b in itertools.pairwise(times))
    assert start <= times[0] < start + datetime.timedelta(days=5)
    end = start + datetime.timedelta(days=90)
    assert end - datetime.timedelta(days=5) < times[-1] <= end


def test_feed_rates() -> None:
    """All four kinds of event occur about as often as the rates say; 8 % are sensitive."""
    events = feed(people=3_000, rates=FeedRates(ties=4, tie_removals=1, departures=0.1))
    kinds = Counter(event["type"] for event in events)
    assert 10_500 < kinds["edge.add"] < 12_500
    assert 2_600 < kinds["edge.remove"] < 3_300
    assert 230 < kinds["vertex.delete"] < 370
    assert 4_000 < kinds["vertex.upsert"] < 4_500
    health: dict[str, str] = {}
    for event in events:
        if "health" in event.get("attributes", ()):
            health[event["id"]] = event["attributes"]["health"]
    sensitive = sum(value in SOCIAL_FEED_SCHEMA.sensitive_values for value in health.values())
    assert 0.06 < sensitive / len(health) < 0.10


def grown(people: int = 600, seed: int = 1) -> SocialNetwork:
    network = SocialNetwork(np.random.default_rng(seed))
    network.grow(people, FeedRates(departures=0))
    return network


def test_a_grown_network_has_ties_triangles_and_communities():
    """People have 10 to 16 ties in the mean; friends of friends and likes are tied."""
    graph, ids = grown(2_000).graph()
    assert graph.n_vertices == len(set(ids)) == 2_000
    assert 10 < graph.degrees.mean() < 16
    found = structure(graph)
    by_chance = graph.degrees.mean() / graph.n_vertices
    assert found.clustering > 10 * by_chance
    assert found.assortativity["age_band"] > 0.2
    assert found.assortativity["gender"] > 0.05
    found = communities(as_networkit(graph), np.random.default_rng(0))
    assert modularity(graph, found) > 0.3


def test_a_network_lives_on_where_it_stands():
    """Its graph and the feed since, folded, are its graph in the end."""
    network = grown()
    graph, ids = network.graph()
    vertices = {name: graph.values(v) for v, name in enumerate(ids)}
    ties = {frozenset((ids[u], ids[v])) for u, v in graph.edges.tolist()}
    rates = FeedRates(ties=10, tie_removals=4, attribute_changes=5, departures=2)
    for event in life(network, people=40, days=30, rates=rates):
        match event["type"]:
            case "vertex.upsert":
                values = {name: text or MISSING for name, text in event["attributes"].items()}
                vertices.setdefault(event["id"], {}).update(values)
            case "vertex.delete":
                del vertices[event["id"]]
                ties = {tie for tie in ties if event["id"] not in tie}
            case "edge.add":
                ties.add(frozenset((event["source"], event["target"])))
            case "edge.remove":
                ties.remove(frozenset((event["source"], event["target"])))
    after, ids = network.graph()
    assert vertices == {name: after.values(v) for v, name in enumerate(ids)}
    assert ties == {frozenset((ids[u], ids[v])) for u, v in after.edges.tolist()}


def test_an_existing_network_repeats_for_a_seed():
    """Equal seeds give equal networks and equal lives; nobody being there is no special case."""
    feeds = [list(life(grown(50, seed), people=5, days=9)) for seed in (1, 1, 2)]
    assert feeds[0] == feeds[1] != feeds[2]
    empty, ids = SocialNetwork(np.random.default_rng(0)).graph()
    assert (empty.n_vertices, ids) == (0, [])
