"""New inserted edges of a release exchange ends, and nothing else changes."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import PrivacyParams, Schema
from ktsafe.graph import AttributedGraph
from ktsafe.graph.numbering import edge_keys
from ktsafe.graph.social_network import FeedRates, SocialNetwork
from ktsafe.sequence import Changes, SequenceEngine, SequenceOptions, planning
from ktsafe.sequence.memory.current_release import NumberList
from ktsafe.sequence.memory.sequence_tables import TRUE, Tie
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.pairs import true_ties
from ktsafe.sequence.planning import rewire_new_edges
from ktsafe.sequence.step_context import StepContext
from tests.ktsafe.sequence.world import World


def edges_of(state: State) -> dict[Tie, bool]:
    """Return the released edges, and whether each is a true tie."""
    rows = state.edges.used()
    ends = map(tuple, state.edges.pairs(rows).tolist())
    return dict(zip(ends, (state.edges.is_true[rows] == TRUE).tolist(), strict=True))


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), share=st.sampled_from([0.3, 1.0]))
def test_only_new_inserted_edges_change(seed: int, share: float) -> None:
    """Ties, older edges and returned ones stay; rows stay, so that the certificate holds.

    An inserted edge may become a hidden tie, which is then known as one.
    """
    sequence, rng = World(60, 240, seed).begin(), np.random.default_rng(seed)
    state = sequence.state
    before = edges_of(state)
    inserted = [tie for tie, is_true in before.items() if not is_true]
    gained = [tie for tie in before if rng.random() < share]
    state.current.gained = NumberList()
    state.current.gained.add(state.edges.rows_of(np.array(gained, dtype=np.int64).reshape(-1, 2)))
    returned = {tie for tie in gained if rng.random() < 0.2}
    keys = edge_keys(np.array(sorted(returned), dtype=np.int64).reshape(-1, 2))
    state.current.returned.add(keys)
    may_change = set(inserted) & set(gained) - returned
    rewire_new_edges(StepContext(state, sequence.spec, rng), true_ties(state))
    after = edges_of(state)
    assert len(after) == len(before)
    assert {tie: is_true for tie, is_true in before.items() if tie not in may_change}.items() <= (
        after.items()
    )
    sequence.check()
    truth, keys = sequence.truth()
    ties = set(edge_keys(truth.edges).tolist())
    for (u, v), is_true in after.items():
        owners = state.places.owner[np.array([u, v])]
        ends = np.searchsorted(keys, state.people.key[owners])
        assert is_true == (edge_keys(ends[None])[0] in ties and (owners >= 0).all())


SCHEMA = Schema(("gender",), "health", frozenset({"cancer", "depression", "hiv"}))


def friends(people: int) -> AttributedGraph:
    """Return a network with circles of friends."""
    network = SocialNetwork(np.random.default_rng(0))
    network.grow(people, FeedRates(departures=0, ties=7))
    graph, ids = network.graph()
    columns = {name: [graph.values(v)[name] for v in range(len(ids))] for name in SCHEMA.attributes}
    return AttributedGraph.from_columns(SCHEMA, columns, graph.edges)


def closeness(state: State) -> float:
    """Return the mean number of common neighbours of inserted edges, over that of shown ties."""
    edges = edges_of(state)
    graph = nx.Graph(list(edges))
    common = {
        kind: np.mean(
            [len(list(nx.common_neighbors(graph, *e))) for e in edges if edges[e] == kind]
        )
        for kind in (True, False)
    }
    return float(common[False] / common[True])


def test_inserted_edges_of_a_sequence_look_like_ties(monkeypatch: pytest.MonkeyPatch) -> None:
    """They close more than half as many triangles as ties; without exchanges, less than half."""
    graph, options = friends(400), SequenceOptions()
    found = []
    for is_on in (True, False):
        with monkeypatch.context() as patched:
            if not is_on:
                patched.setattr(planning, "rewire_new_edges", lambda *_: None)
            everybody = Changes.of_graph(graph, np.arange(graph.n_vertices))
            rng = np.random.default_rng(1)
            sequence = SequenceEngine.begin(SCHEMA, PrivacyParams(k=5), options, everybody, rng)
        found.append(closeness(sequence.state))
    assert found[1] < 0.5 < found[0]
