"""The karate club with a sensitive attribute, and a quick release of a graph."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np

import ktsafe
from ktsafe import Protected

ASKED: dict[str, Any] = {
    "quasi_identifiers": ["club"],
    "sensitive": "health",
    "sensitive_values": ["chronic"],
    "k": 5,
    "effort": "fast",
}
NAME = "secret-name-"


def karate() -> nx.Graph:
    """Return the karate club with a sensitive attribute, its members named."""
    graph = nx.karate_club_graph()
    for person, data in graph.nodes(data=True):
        data["health"] = "chronic" if person % 11 == 0 else "well"
    nx.set_edge_attributes(graph, None, "weight")
    for _, _, data in graph.edges(data=True):
        del data["weight"]
    return nx.relabel_nodes(graph, {node: f"{NAME}{node}" for node in graph})


def protected(*graph: Any, seed: int = 1, **changes: Any) -> Protected:
    return ktsafe.protect(*graph, rng=np.random.default_rng(seed), **{**ASKED, **changes})
