"""Feeds of networks that change, slot by slot, without the service around them."""

from __future__ import annotations

import gzip
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ktsafe import AttributedGraph, Schema
from ktsafe.assess.commands.demo import JOINING, RATES
from ktsafe.graph.social_network import FeedRates, SocialNetwork, life, social_feed
from lab.benchmarks.bench_anonymize import from_folder
from lab.benchmarks.bench_sequence import churn
from tests.feeds import Event, Slot, slots_of, time_us

DEMO_SCHEMA = Schema(("gender", "age_band"), "health", frozenset({"cancer", "depression", "hiv"}))


def demo_network(people: int, seed: int) -> SocialNetwork:
    """Return the network of `ktsafe demo` as it is at first."""
    network = SocialNetwork(np.random.default_rng(seed + 1))
    network.grow(people, FeedRates(departures=0))
    return network


def demo_slots(people: int, seed: int, years: int = 1) -> list[Slot]:
    """Return the network of `ktsafe demo` as it is at first, and after each month of some years."""
    network = demo_network(people, seed)
    graph, ids = network.graph()
    begin = {"time": "1970-01-01T00:00:00+00:00"}
    first: list[Event] = [
        {"type": "vertex.upsert", "id": one, "attributes": graph.values(v), **begin}
        for v, one in enumerate(ids)
    ]
    first += [
        {"type": "edge.add", "source": ids[u], "target": ids[v], **begin}
        for u, v in graph.edges.tolist()
    ]
    joining = round(people * JOINING * years)
    later = life(network, people=joining, days=365 * years, rates=FeedRates(**RATES))
    return list(slots_of(DEMO_SCHEMA, [*first, *later], 0))


def churned_slots(graph: AttributedGraph, share: float, releases: int, seed: int) -> list[Slot]:
    """Return a network of which a share of the ties changes in each slot, as `bench_sequence`."""
    keys = np.arange(graph.n_vertices, dtype=np.int64)
    ties = {(u, v) for u, v in graph.edges.tolist()}
    texts = [
        [graph.categories[j][code] for code in graph.codes[:, j].tolist()]
        for j in range(graph.codes.shape[1])
    ]
    columns = dict(zip(graph.schema.attributes, texts, strict=True))
    slots = [(graph, keys)]
    for _ in churn(ties, graph.n_vertices, share, releases, np.random.default_rng(seed + 1)):
        edges = np.array(sorted(ties), dtype=np.int64)
        slots.append((AttributedGraph.from_columns(graph.schema, columns, edges), keys))
    return slots


def left_slots(graph: AttributedGraph, share: float, releases: int, seed: int) -> Iterator[Slot]:
    """Yield a network that a share of its people at first leaves before each further release."""
    keys, rng = np.arange(graph.n_vertices, dtype=np.int64), np.random.default_rng(seed + 1)
    yield graph, keys
    n_leaving = round(share * len(keys))
    for _ in range(releases):
        stays = np.ones(graph.n_vertices, dtype=np.bool_)
        stays[rng.choice(graph.n_vertices, n_leaving, replace=False)] = False
        number = np.cumsum(stays) - 1
        edges = number[graph.edges[stays[graph.edges].all(axis=1)]]
        graph = AttributedGraph.from_codes(
            graph.schema, graph.categories, graph.codes[stays], edges
        )
        keys = keys[stays]
        yield graph, keys


def churned(folder: Path, name: str, share: float, releases: int, seed: int) -> list[Slot]:
    """Return `churned_slots` of a data set of a folder."""
    graph = next(graph for known, graph in from_folder(folder) if known == name)
    return churned_slots(graph, share, releases, seed)


def recorded(folder: Path, without: str) -> tuple[Schema, list[Event]]:
    """Return the schema and the events of a data set, by time."""
    told = tomllib.loads((folder / "schema.toml").read_text())["attributes"]
    names = tuple(name for name in told["quasi_identifiers"] if name not in without.split(","))
    buckets = {name: tuple(edges) for name, edges in told.get("buckets", {}).items()}
    buckets = {name: edges for name, edges in buckets.items() if name in names}
    schema = Schema(names, told["sensitive"], frozenset(told["sensitive_values"]), buckets)
    with gzip.open(folder / "events.jsonl.gz", "rt") as file:
        events = sorted((json.loads(line) for line in file), key=time_us)
    # A young network lacks values that come later.
    return schema.expecting_nothing(), events


def synthetic() -> tuple[Schema, list[Event]]:
    """Return a schema and a year of a network that grows from nothing."""
    schema = Schema(("gender",), "health", frozenset({"cancer", "depression", "hiv"}))
    events = list(social_feed(people=300, days=365, rng=np.random.default_rng(0)))
    return schema.expecting_nothing(), events
