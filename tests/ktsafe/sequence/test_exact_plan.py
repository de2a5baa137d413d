"""First releases on exact locations: nobody lacks anything, every location is safe by itself."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams, Schema, anonymize
from ktsafe.attributes.inserted_values import with_inserted
from ktsafe.neighborhoods import QuasiIdentifierSpace
from ktsafe.sequence.exact import _stubs_core, exact_plan, sizes
from ktsafe.sequence.exact.completing import Cohorts
from ktsafe.sequence.exact.exact_plan import exact_plan as planned
from ktsafe.sequence.exact.naming import Lacking, named
from ktsafe.sequence.exact.sizes import Unit, reach
from ktsafe.strategies import Plan
from ktsafe.working.graph import WorkingGraph

EXACT = PrivacyParams(k=3, alpha="1/3", t=0, epsilon=0)


def random_graph(n: int, n_edges: int, seed: int, values: int = 2) -> AttributedGraph:
    """Return a graph with two quasi-identifiers; a tenth is sensitive."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, values, (n, 3))
    codes[:, 2] = rng.random(n) < 0.1
    schema = Schema(("a", "b"), "s", frozenset({"1"}))
    texts = [str(value) for value in range(values)]
    drawn = rng.integers(0, max(n, 1), (n_edges if n else 0, 2))
    pairs = {tuple(sorted(pair)) for pair in drawn.tolist()}
    edges = np.array(sorted(pair for pair in pairs if pair[0] != pair[1]), dtype=np.int64)
    return AttributedGraph.from_codes(
        schema, [texts, texts, ["0", "1"]], codes, edges.reshape(-1, 2)
    )


def unsafe_locations(graph: AttributedGraph) -> int:
    """Count the exact locations that have too few members, or too sensitive ones; naively."""
    neighbours: list[list[int]] = [[] for _ in range(graph.n_vertices)]
    for u, v in graph.edges.tolist():
        neighbours[u].append(v)
        neighbours[v].append(u)
    codes = graph.codes[:, :-1].tolist()
    members: Counter[object] = Counter()
    ill: Counter[object] = Counter()
    for v, others in enumerate(neighbours):
        seen = tuple(tuple(sorted(Counter(codes[u][j] for u in others).items())) for j in range(2))
        members[tuple(codes[v]), seen] += 1
        ill[tuple(codes[v]), seen] += bool(graph.is_sensitive[v])
    return sum(
        count < EXACT.group_size_min or ill[place] > EXACT.alpha * count
        for place, count in members.items()
    )


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 80), st.integers(0, 160), st.integers(2, 3), st.integers(0, 10_000))
def test_plans_keep_every_tie_and_every_location_is_safe(
    n: int, n_edges: int, values: int, seed: int
) -> None:
    """By a count of its own: original edges stay, none is there twice, no location is unsafe."""
    graph = random_graph(n, n_edges, seed, values)
    rng = np.random.default_rng(seed)
    plan = planned(graph, EXACT, "fast", rng)
    if plan is None:
        return
    edges = {tuple(sorted(edge)) for edge in plan.edges.tolist()}
    assert len(edges) == len(plan.edges)
    assert {tuple(sorted(edge)) for edge in graph.edges.tolist()} <= edges
    assert unsafe_locations(with_inserted(graph, plan, EXACT, rng)) == 0


def test_plans_cost_less_than_the_search_for_one_release() -> None:
    """Five graphs all have a plan; in sum, at equal effort, it costs a tenth less or better."""
    plans, searches = 0, 0
    for seed in range(5):
        graph = random_graph(150, 300, seed)
        plan = planned(graph, EXACT, "fast", np.random.default_rng(seed))
        assert plan is not None
        plans += len(plan.inserted) + len(plan.edges) - graph.n_edges
        rng, options = np.random.default_rng(seed), AnonymizeOptions(effort="fast")
        release = anonymize(graph, EXACT, rng=rng, options=options).graph
        searches += release.n_vertices + release.n_edges - graph.n_vertices - graph.n_edges
    assert plans < 0.9 * searches


def test_a_plan_that_lacks_something_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """An edge that is forgotten is found before the plan is used."""
    complete = exact_plan.complete

    def forgetful(working: WorkingGraph, *rest: object) -> bool:
        done = complete(working, *rest)  # type: ignore[arg-type]
        working.rewire(
            working.original_edges, working.deleted_edges, working.inserted_edges[1:].copy()
        )
        return done

    graph = random_graph(150, 300, 0)
    assert isinstance(planned(graph, EXACT, "fast", np.random.default_rng(0)), Plan)
    monkeypatch.setattr(exact_plan, "complete", forgetful)
    assert planned(graph, EXACT, "fast", np.random.default_rng(0)) is None


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 30), st.integers(0, 10_000))
def test_naming_keeps_what_everybody_wants(n: int, seed: int) -> None:
    """For each vertex and attribute the values named are those it lacks, each as often."""
    rng = np.random.default_rng(seed)
    # All combinations of values exist, so that any naming is possible.
    graph = random_graph(40, 0, seed)
    space = WorkingGraph(graph, QuasiIdentifierSpace.of_graph(graph)).space
    if space.n_classes < 4:
        return
    count = rng.integers(0, 6, n)
    residual = np.zeros((n, space.n_columns), dtype=np.int64)
    for j in range(2):
        residual[:, space.offsets[j]] = rng.integers(0, count + 1)
        residual[:, space.offsets[j] + 1] = count - residual[:, space.offsets[j]]
    lacking = Lacking(space, rng.integers(0, space.n_classes, n), residual)
    stubs = named(lacking, rng)
    assert stubs is not None
    got = np.zeros_like(residual)
    for (a, b), vertices in stubs.items():
        assert (lacking.cls[vertices] == a).all()
        for column in space.columns[b].tolist():
            np.add.at(got[:, column], vertices, 1)
    assert (got == residual).all()


def test_exchanged_values_even_classes_out() -> None:
    """The counts stay those of the stubs, and far fewer of them lack a counterpart."""
    rng = np.random.default_rng(0)
    n, q = 300, 2
    start = np.arange(0, 4 * n + 1, 4)
    cls = rng.integers(0, 4, n)
    digits = rng.integers(0, 2, (4 * n, q)) * np.array([1, 2])
    class_of = np.arange(4)
    owner = np.repeat(cls, 4)

    def counted() -> NDArray[np.int64]:
        table = np.zeros((4, 4), dtype=np.int64)
        np.add.at(table, (owner, digits.sum(axis=1)), 1)
        return table

    counts = counted()
    before = int(np.abs(counts - counts.T).sum())
    most = np.full(n, 10)
    random = np.array([1], dtype=np.uint64)
    _stubs_core.reconcile(start, cls, digits, class_of, counts, most, 100_000, random)
    assert (counts == counted()).all()
    assert int(np.abs(counts - counts.T).sum()) <= before // 2


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 12), st.integers(0, 10), st.integers(0, 10_000))
def test_joined_stubs_are_new_edges(n: int, count: int, seed: int) -> None:
    """Every stub that is not missing has one edge more, none of them twice or to itself."""
    graph = random_graph(n, n, seed)
    working = WorkingGraph(graph, QuasiIdentifierSpace.of_graph(graph))
    rng = np.random.default_rng(seed)
    left, right = rng.integers(0, n, count), rng.integers(0, n, count)
    wanted = np.concatenate((left, right))
    working.reserve_edges(count)
    random = np.array([seed], dtype=np.uint64)
    is_missing = _stubs_core.join(working.arrays, left, right, random)
    assert sorted(np.concatenate((left, right)).tolist()) == sorted(wanted.tolist())
    new = [tuple(sorted(edge)) for edge in working.inserted_edges.tolist()]
    ends = np.column_stack((left, right))[~is_missing].tolist()
    assert sorted(new) == sorted(tuple(sorted(edge)) for edge in ends)
    old = {tuple(sorted(edge)) for edge in graph.edges.tolist()}
    assert len(set(new) | old) == len(new) + len(old)
    assert all(u != v for u, v in new)
    degrees = np.bincount(np.array([*new, *old], dtype=np.int64).reshape(-1), minlength=n)
    assert working.arrays.degree[:n].tolist() == degrees.tolist()


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.integers(1, 9), min_size=1, max_size=3), max_size=5), st.integers(0, 25)
)
def test_reach_is_every_sum_of_sizes(options: list[list[int]], top: int) -> None:
    """Each unit at most once, at one of its sizes; every choice makes its sum."""
    units = [Unit(label, set(), sorted(known)) for label, known in enumerate(options)]
    sums = {sum(choice) for choice in itertools.product(*([0, *known] for known in options))}
    found = reach(units, top)
    assert found.keys() == {total for total in sums if total <= top}
    for total, choice in found.items():
        assert sum(size for _, size in choice) == total
        assert len({unit.label for unit, _ in choice}) == len(choice)
        assert all(size in unit.sizes for unit, size in choice)


def test_raised_parts_are_cohorts_of_their_own() -> None:
    """A large cohort falls into two, both within alpha; inserted vertices are new."""
    graph = random_graph(0, 0, 0)
    codes = np.zeros((12, 3), dtype=np.int64)
    codes[:3, 2] = 1
    graph = AttributedGraph.from_codes(graph.schema, graph.categories, codes, [])
    working = WorkingGraph(graph, QuasiIdentifierSpace.of_graph(graph))
    cohorts = Cohorts(working, np.zeros(12, dtype=np.int64), EXACT)
    rng = np.random.default_rng(0)
    (unit,) = cohorts.units(0, rng)
    assert unit.sizes == [3, 4, 5, 6, 7, 8, 9, 12]
    part = cohorts.raised(0, unit, 4, rng)
    assert sorted(np.concatenate(cohorts.members).tolist()) == list(range(12))
    for members in cohorts.members:
        assert graph.is_sensitive[members].sum() <= EXACT.alpha * len(members)
    assert set(part.tolist()) == set(cohorts.members[1].tolist())
    assert cohorts.raised(0, Unit(sizes.NEW, set()), 3, rng).tolist() == [12, 13, 14]
