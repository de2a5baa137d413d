"""Annealing keeps everybody safe, never ends dearer, and does what its schedule allows only."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams, anonymize
from ktsafe.cohorts import search
from ktsafe.cohorts.search import cheapest_supergraph
from ktsafe.datasets.synthetic import uniform
from ktsafe.index.table import LocationTable, similarity_rule
from ktsafe.polish import _edits_core as core
from ktsafe.polish import annealing
from ktsafe.polish.annealing import INSERT_ONLY, WITH_DELETION, Schedule, anneal
from ktsafe.polish.trimming import trim
from ktsafe.verify import verify_graph
from ktsafe.working.graph import WorkingGraph
from tests.ktsafe.small_graphs import graphs, privacy_params

SCHEDULES = st.sampled_from([INSERT_ONLY, WITH_DELETION, Schedule((5.0, 1.0), (1, 1, 1, 1, 1))])


def _silent(_phase: str, _fraction: float) -> None:
    pass


def _safe_graph(graph: AttributedGraph, params: PrivacyParams, seed: int) -> WorkingGraph | None:
    return cheapest_supergraph(graph, params, "fast", np.random.default_rng(seed), _silent)[1]


def _state(working: WorkingGraph) -> list[list[list[int]]]:
    lists = (working.original_edges, working.deleted_edges, working.inserted_edges)
    return [edges.tolist() for edges in lists]


@settings(max_examples=25, deadline=None)
@given(graphs(n_max=16), privacy_params(), SCHEDULES, st.integers(0, 2**32))
def test_annealing_keeps_all_safe_and_never_costs_more(
    graph: AttributedGraph, params: PrivacyParams, schedule: Schedule, seed: int
) -> None:
    """By a fresh count nobody is unsafe; edge lists stay disjoint and the cost does not rise."""
    working = _safe_graph(graph, params, seed)
    if working is None:
        return
    rule, before = similarity_rule(working.space, params), working.cost
    anneal(working, rule, np.random.default_rng(seed), schedule, 400, _silent)
    assert working.cost <= before
    caps = np.zeros(working.space.n_classes, dtype=np.int64)
    assert LocationTable(working, rule, caps).unsafe_vertices().tolist() == []
    original, deleted, inserted = ({(min(e), max(e)) for e in edges} for edges in _state(working))
    assert original | deleted == {(min(e), max(e)) for e in graph.edges.tolist()}
    assert not original & deleted
    assert not inserted & (original | deleted)
    assert all(u != v for u, v in inserted)
    if schedule is INSERT_ONLY:
        assert not deleted


@settings(max_examples=25, deadline=None)
@given(graphs(n_max=16), privacy_params(), st.integers(0, 2**32))
def test_sweeping_takes_back_all_that_nobody_needs(
    graph: AttributedGraph, params: PrivacyParams, seed: int
) -> None:
    """Nobody becomes unsafe, originals stay, and trimming then finds nothing more to withdraw."""
    working = _safe_graph(graph, params, seed)
    if working is None:
        return
    rng = np.random.default_rng(seed)
    rule, before = similarity_rule(working.space, params), working.cost
    original = working.original_edges.tolist()
    while True:
        cost = working.cost
        assert annealing.sweep(working, rule, rng, passes_max=8)
        if working.cost == cost:
            break
    assert working.cost <= before
    assert working.original_edges.tolist() == original
    caps = np.full(working.space.n_classes, 500, dtype=np.int64)
    table = LocationTable(working, rule, caps)
    assert table.unsafe_vertices().tolist() == []
    trim(working, table, rng, passes_max=1)
    assert working.n_inserted_edges == cost - (working.n - working.n_original)


def test_a_swept_release_is_safe_repeats_and_costs_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Trimming by either table ends at similar costs, the strict verifier agrees."""
    graph = uniform(400, 2000, rng=np.random.default_rng(1))
    params = PrivacyParams(k=5)

    def released() -> AttributedGraph:
        options = AnonymizeOptions(strategy="tolerant", edits="insert")
        return anonymize(graph, params, rng=np.random.default_rng(2), options=options).graph

    trimmed = released()
    monkeypatch.setattr(search, "SWEPT_MIN", 1)
    swept, again = released(), released()
    assert verify_graph(swept, params).is_safe
    assert swept.edges.tolist() == again.edges.tolist()
    assert swept.edges.tolist() != trimmed.edges.tolist()
    assert swept.n_edges - graph.n_edges < 1.1 * (trimmed.n_edges - graph.n_edges)


def test_annealing_lowers_the_cost_and_repeats() -> None:
    """On a graph with something to gain more trials gain; the same seed gives the same edges."""
    graph = uniform(300, 1500, rng=np.random.default_rng(1))
    params = PrivacyParams(k=5)
    costs, states = [], []
    for trials in (0, 20_000, 20_000):
        working = _safe_graph(graph, params, 0)
        assert working is not None
        rule = similarity_rule(working.space, params)
        anneal(working, rule, np.random.default_rng(3), WITH_DELETION, trials, _silent)
        costs.append(working.cost)
        states.append(_state(working))
    assert costs[1] < costs[0]
    assert states[1] == states[2]


def test_the_check_sees_a_rule_that_is_too_weak() -> None:
    """Annealed for k = 1, a release that was safe for k = 5 no longer is."""
    graph = uniform(300, 1500, rng=np.random.default_rng(1))
    working = _safe_graph(graph, PrivacyParams(k=5), 0)
    assert working is not None
    weak, rule = (similarity_rule(working.space, PrivacyParams(k=k)) for k in (1, 5))
    anneal(working, weak, np.random.default_rng(0), WITH_DELETION, 20_000, _silent)
    caps = np.zeros(working.space.n_classes, dtype=np.int64)
    assert len(LocationTable(working, rule, caps).unsafe_vertices()) > 0


def test_the_budget_is_counted_in_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """All trials are made, neither fewer nor more, also where room runs out in between."""
    made = []
    kernel = annealing.core.anneal

    def counted(*args: object) -> int:
        made.append(kernel(*args))
        return int(made[-1])

    monkeypatch.setattr(annealing.core, "anneal", counted)
    graph = uniform(300, 1500, rng=np.random.default_rng(1))
    working = _safe_graph(graph, PrivacyParams(k=5), 0)
    assert working is not None
    rule = similarity_rule(working.space, PrivacyParams(k=5))
    seen: list[float] = []
    anneal(
        working,
        rule,
        np.random.default_rng(0),
        Schedule((50.0, 50.0), (0, 0, 0, 1, 9)),
        30_000,
        lambda _phase, fraction: seen.append(fraction),
    )
    assert sum(made) == 30_000
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_toggling_agrees_with_sets(seed: int) -> None:
    """Presence, price and cost of toggled pairs are those of plain sets."""
    rng = np.random.default_rng(seed)
    pairs = [(u, v) for u in range(7) for v in range(u + 1, 7)]
    original = {pair for pair in pairs if rng.random() < 0.5}
    m = len(original)
    ends = np.zeros((64, 2), dtype=np.int32)
    ends[:m] = sorted(original)
    edits = core.Edits(
        np.array([m, m, 0]),
        ends,
        np.zeros(m, dtype=np.int64),
        np.full(m, -1, dtype=np.int64),
        np.full(64, -1, dtype=np.int64),
        np.zeros(64, dtype=np.int64),
    )
    core.load(edits, m)
    present = set(original)
    for at in rng.integers(len(pairs), size=200):
        u, v = pairs[at]
        there = core.find(edits, u, v)
        assert core.is_present(edits, there) == ((u, v) in present)
        assert core.price(edits, there) == (
            1 if ((u, v) in present) == ((u, v) in original) else -1
        )
        present ^= {(u, v)}
        core.toggle(edits, *((u, v) if rng.random() < 0.5 else (v, u)))
        n, listed, deleted = edits.counts
        assert deleted + listed - n == len(present ^ original)
    inserted = {(min(e), max(e)) for e in edits.ends[m : edits.counts[core.LISTED]].tolist()}
    assert inserted == present - original
