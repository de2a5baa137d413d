"""Cohorts nearly equal value by value: what kernels count is what counting anew gives."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.exact.filling import joined
from ktsafe.tolerant import _nearly_exact_core as core
from ktsafe.tolerant.nearly_exact import nearly_exact
from tests.ktsafe.exact.graphs import as_set
from tests.ktsafe.small_graphs import graphs, privacy_params
from tests.ktsafe.tolerant.graphs import fast, with_hubs

LONG = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
OFFSETS = np.array([0, 3, 5])
"""Two attributes, of three values and of two."""


def drawn_targets(rng: np.random.Generator) -> core.Targets:
    """Return targets of random cohorts."""
    sizes = rng.integers(1, 6, size=12)
    n = int(sizes.sum())
    columns = np.column_stack((rng.integers(0, 3, 12), rng.integers(3, 5, 12)))
    counts = rng.integers(0, 6, size=(n, 5))
    first = np.concatenate(([0], np.cumsum(sizes)))
    wanted = np.array([np.median(counts[i:j], axis=0) for i, j in itertools.pairwise(first)])
    targets = core.Targets(
        counts,
        rng.permutation(n),
        first,
        columns,
        OFFSETS,
        wanted.astype(np.int64),
        np.zeros((5, 5), dtype=np.int64),
    )
    targets.between[:] = between(targets)
    return targets


def between(targets: core.Targets) -> np.ndarray:
    """Count what all vertices with one value want of another, cohort by cohort."""
    found = np.zeros((5, 5), dtype=np.int64)
    for c, own in enumerate(targets.columns):
        for column in own:
            found[column] += targets.wanted[c] * (targets.first[c + 1] - targets.first[c])
    return found


def asymmetry(table: np.ndarray) -> int:
    """Return how far a table is from one that a graph can have."""
    return int(np.abs(np.triu(table - table.T)).sum() + (np.diag(table) % 2).sum())


@LONG
@given(st.integers(0, 2**32))
def test_targets_that_settle_are_counted_right(seed: int) -> None:
    """The table is that of the targets, nobody wants less than nothing, asymmetry shrinks."""
    rng = np.random.default_rng(seed)
    targets = drawn_targets(rng)
    before = asymmetry(targets.between)
    core.settle(targets, 3000, 1.0, 0.1, rng)
    assert (targets.wanted >= 0).all()
    assert np.array_equal(targets.between, between(targets))
    assert asymmetry(targets.between) <= before


@LONG
@given(graphs(), st.integers(0, 2**32))
def test_ties_are_shown_where_both_ends_have_room(graph: AttributedGraph, seed: int) -> None:
    """Room is what was there less what is shown, at every vertex and for every value."""
    rng = np.random.default_rng(seed)
    columns = np.column_stack((graph.qi_classes % 3, 3 + graph.qi_classes % 2)).astype(np.int64)
    room = rng.integers(0, 4, size=(graph.n_vertices, 5))
    left, shown = room.copy(), np.zeros(graph.n_edges, dtype=np.bool_)
    core.show(graph.edges, rng.permutation(graph.n_edges), columns, left, shown)
    used = np.zeros_like(room)
    for u, v in graph.edges[shown].tolist():
        used[u, columns[v]] += 1
        used[v, columns[u]] += 1
    assert (left >= 0).all()
    assert np.array_equal(room - left, used)
    for u, v in graph.edges[~shown].tolist():
        assert (left[u, columns[v]] == 0).any() or (left[v, columns[u]] == 0).any()


def unpaired(stubs: core.Stubs) -> int:
    """Count the stubs that find no partner, one by one."""
    count: dict[tuple[int, int], int] = {}
    for v, values in zip(stubs.of_vertex, stubs.values, strict=True):
        key = int(stubs.classes[v]), int(stubs.class_of[int(values @ stubs.radix)])
        count[key] = count.get(key, 0) + 1
    found = 0
    for (a, b), number in count.items():
        if b < 0:
            found += number
        elif a == b:
            found += number % 2
        else:
            found += max(number - count.get((b, a), 0), 0)
    return found


@LONG
@given(st.integers(0, 2**32))
def test_stubs_exchange_values_within_their_vertex(seed: int) -> None:
    """What a vertex lacks of each value stays, and no more stubs are without a partner."""
    rng = np.random.default_rng(seed)
    n, n_classes = 30, 5
    tuples = rng.permutation(6)[:n_classes]
    class_of = np.full(6, -1)
    class_of[tuples] = np.arange(n_classes)
    lack = rng.integers(0, 5, n)
    of_vertex = np.repeat(np.arange(n), lack)
    values = np.column_stack((rng.integers(0, 3, lack.sum()), rng.integers(0, 2, lack.sum())))
    classes = rng.integers(0, n_classes, n)
    number = np.zeros((n_classes, 6), dtype=np.int64)
    np.add.at(number, (classes[of_vertex], values @ np.array([1, 3])), 1)
    first = np.concatenate(([0], np.cumsum(lack)))
    stubs = core.Stubs(
        of_vertex, first, values.copy(), np.array([1, 3]), classes, class_of, tuples, number
    )
    before = unpaired(stubs)
    for _ in range(5):
        core.pair_up(stubs, rng.permutation(len(of_vertex)), rng)
    assert unpaired(stubs) <= before
    for v in range(n):
        own = slice(first[v], first[v + 1])
        assert np.array_equal(np.sort(stubs.values[own], axis=0), np.sort(values[own], axis=0))
    counted = np.zeros_like(number)
    np.add.at(counted, (classes[of_vertex], stubs.values @ stubs.radix), 1)
    assert np.array_equal(counted, number)


@LONG
@given(st.integers(0, 2**32))
def test_stubs_are_joined_once_each(seed: int) -> None:
    """Nobody gets more edges than it has stubs; what has no partner or place is left over."""
    rng = np.random.default_rng(seed)
    n, n_first = 12, int(rng.choice([5, 12]))
    lack = rng.integers(0, 4, n)
    edges, missing = joined(n_first, lack, np.zeros((0, 2), dtype=np.int32), rng)
    as_set(edges)
    held = np.bincount(edges.reshape(-1), minlength=n)
    assert (held <= lack).all()
    if n_first == n:
        assert len(edges) + missing == lack.sum() // 2
    else:
        assert len(edges) + missing == min(lack[:n_first].sum(), lack[n_first:].sum())
        assert ((edges < n_first).sum(axis=1) == 1).all()


@LONG
@given(graphs(), privacy_params(), st.integers(0, 2**32))
def test_edges_are_simple_whatever_the_graph(
    graph: AttributedGraph, params: PrivacyParams, seed: int
) -> None:
    """Inserted vertices too have cohorts and edges; no edge occurs twice."""
    assume(graph.n_vertices and graph.codes.shape[1] > 1)
    inserted = np.zeros(2, dtype=np.int32)
    like = np.concatenate((np.arange(graph.n_vertices), np.zeros(len(inserted), dtype=np.int64)))
    like[graph.n_vertices :] = np.flatnonzero(graph.qi_classes == 0)[:1]
    edges, cohort = nearly_exact(fast(graph, params, seed), inserted, like)
    as_set(edges)
    assert len(cohort) == len(like)
    assert edges.max(initial=-1) < len(like)


def test_nearly_all_have_the_counts_of_their_cohort() -> None:
    """Of 600 people nine of ten have the same neighbours by value as most of their cohort."""
    graph = with_hubs(600, 30, seed=0)
    edges, cohort = nearly_exact(
        fast(graph, PrivacyParams(k=5)), np.zeros(0, np.int32), np.arange(600)
    )
    rows = np.zeros((600, 6), dtype=np.int64)
    for u, v in edges.tolist():
        for j in range(2):
            rows[u, 3 * j + graph.codes[v, j]] += 1
            rows[v, 3 * j + graph.codes[u, j]] += 1
    alike = 0
    for c in np.unique(cohort):
        alike += np.unique(rows[cohort == c], axis=0, return_counts=True)[1].max()
    assert np.bincount(cohort).min() >= 5
    assert alike >= 540
