"""The kt-tree: cohorts and pivots."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph, PrivacyParams, Schema
from ktsafe.anonymization import _kt_tree_core as core
from ktsafe.anonymization import kt_tree as module
from ktsafe.anonymization.kt_tree import cohorts_of, neighbour_counts
from ktsafe.graph.synthetic import uniform
from tests.ktsafe.anonymization.graphs import graphs, rows


def tree_of(graph, k):
    """Return the cohorts of a graph."""
    rng = np.random.default_rng(0)
    counts = neighbour_counts(graph)
    return cohorts_of(graph.qi_classes, graph.is_sensitive, counts, PrivacyParams(k=k), rng=rng)


def deviation(counts, cohort):
    """Return the sum of distances of all rows from the medians of their cohorts."""
    blocks = [counts[cohort == c] for c in set(cohort.tolist())]
    return sum(np.abs(block - np.median(block, axis=0)).sum() for block in blocks)


@given(graphs())
@settings(deadline=None)
def test_neighbours_are_counted_by_class(graph):
    """The sparse counts are those of a naive count, and the graph is not touched."""
    before = graph.indptr.copy(), graph.indices.copy()
    counts = neighbour_counts(graph).toarray()
    naive = rows(graph.n_vertices, graph.qi_classes.tolist(), graph.edges.tolist())
    for v, row in enumerate(naive):
        assert {c: int(x) for c, x in enumerate(counts[v]) if x} == dict(row)
    assert np.array_equal(before[0], graph.indptr)
    assert np.array_equal(before[1], graph.indices)


@given(graphs())
@settings(max_examples=50, deadline=None)
def test_pivots_are_lower_medians(graph):
    """A pivot is the lower median of its cohort's counts, component by component."""
    cohorts = tree_of(graph, k=3)
    counts, pivots = neighbour_counts(graph).toarray(), cohorts.pivots.toarray()
    for c, size in enumerate(cohorts.sizes):
        ranked = np.sort(counts[cohorts.of_vertex == c], axis=0)
        assert np.array_equal(pivots[c], ranked[(size - 1) // 2])


def test_swaps_lower_the_deviation(monkeypatch):
    """A tenth at least is gained, in one sweep a round as well as in many."""
    graph = uniform(400, 3000, rng=np.random.default_rng(0), n_tuples=3)
    counts, found = neighbour_counts(graph).toarray(), []
    for sweeps in (0, 1, 20):
        monkeypatch.setattr(module, "SWEEPS", sweeps)
        cohorts = tree_of(graph, k=5)
        found.append(deviation(counts, cohorts.of_vertex))
    assert max(found[1:]) < 0.9 * found[0]


def places_of(counts, is_ill, sizes):
    """Return cohorts of the given sizes, whose members follow each other."""
    n, c = len(counts), len(sizes)
    cohort = np.repeat(np.arange(c, dtype=np.int32), sizes)
    blank = np.zeros((3, c, counts.shape[1]), dtype=np.int32)
    places = core.Places(
        rows=counts,
        is_sensitive=is_ill,
        cohort=cohort,
        members=np.arange(n, dtype=np.int32),
        place=np.arange(n, dtype=np.int32),
        first=np.concatenate(([0], np.cumsum(sizes))),
        is_odd=np.array(sizes) % 2 == 1,
        sensitive=np.bincount(cohort, is_ill, c).astype(np.int64),
        low=blank[0],
        middle=blank[1],
        high=blank[2],
    )
    core.find_middles(places)
    return places


def searched(places, most, near, sweeps, seed=0):
    """Search, all cohorts in order; return by how much the deviation grew."""
    order, rng = np.arange(len(places.first) - 1), np.random.default_rng(seed)
    return core.swap_members(places, np.array(most), np.array(near, np.int32), order, sweeps, rng)


@given(st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_the_search_knows_what_a_swap_changes(seed):
    """The change that the search adds up is that of the deviation; only near cohorts take part."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, (25, 3)).astype(np.int32)
    sizes = [5, 6, 7, 7]
    places = places_of(counts, rng.random(25) < 0.2, sizes)
    cohort, before = places.cohort.copy(), deviation(counts, places.cohort)
    change = searched(places, [5, 6, 7, 7], [[0, 1], [1, 0], [2, 3], [3, 2]], 20, seed)
    assert deviation(counts, places.cohort) == before + change
    assert np.bincount(places.cohort).tolist() == sizes
    assert np.array_equal(places.cohort < 2, cohort < 2)
    for c in range(4):
        assert (places.cohort[places.members[places.first[c] : places.first[c + 1]]] == c).all()
    assert np.array_equal(places.members[places.place], np.arange(25))
    kept = [each.copy() for each in (places.low, places.middle, places.high)]
    core.find_middles(places)
    assert all(map(np.array_equal, kept, (places.low, places.middle, places.high)))


@given(st.integers(0, 1000), st.integers(3, 16), st.integers(3, 16), st.integers(0, 3))
@example(10, 9, 3, 0)
@settings(max_examples=60, deadline=None)
def test_two_cohorts_swap_what_is_best(seed, size, other, spare):
    """The first swap is the best of all that alpha bears; after it nothing becomes worse."""
    rng = np.random.default_rng(seed)
    n = size + other
    counts = rng.integers(0, 5, (n, 4)).astype(np.int32)
    is_ill = rng.random(n) < 0.3
    places = places_of(counts, is_ill, [size, other])
    most = places.sensitive + spare
    cohort, before, best = places.cohort.copy(), deviation(counts, places.cohort), 0
    for u in range(size):
        for v in range(size, n):
            swapped = cohort.copy()
            swapped[[u, v]] = 1, 0
            ill = np.bincount(swapped, is_ill, 2)
            if (ill <= most).all():
                best = min(best, deviation(counts, swapped) - before)
    # Only the first looks: a swap that changes nothing may let the second find what is better.
    change = searched(places, most, [[1], [1]], 1, seed)
    assert change <= best
    assert (change == 0) == (best == 0)
    assert (np.bincount(places.cohort, is_ill, 2) <= most).all()
    assert np.array_equal(places.sensitive, np.bincount(places.cohort, is_ill, 2))


def test_a_swap_that_changes_nothing_leads_on():
    """Between cohorts where nothing is better, later swaps are better for all that."""
    counts = np.random.default_rng(0).integers(0, 4, (60, 3)).astype(np.int32)
    found = []
    for sweeps in (1, 2, 30):
        places = places_of(counts, np.zeros(60, dtype=np.bool_), [10] * 6)
        near = [[d for d in range(6) if d != c] for c in range(6)]
        found.append(searched(places, [10] * 6, near, sweeps))
    assert found[0] > found[1] > found[2]


def test_large_cohorts_try_those_who_gain_most():
    """Two cohorts of hundreds, of two kinds of people each, come to be of one kind each."""
    rng = np.random.default_rng(0)
    kind = rng.random(600) < np.repeat([0.4, 0.6], 300)
    counts = (rng.integers(0, 4, (600, 3)) + 6 * kind[:, None]).astype(np.int32)
    places = places_of(counts, np.zeros(600, dtype=np.bool_), [300, 300])
    before = deviation(counts, places.cohort)
    change = searched(places, [300, 300], [[1], [0]], 5)
    assert deviation(counts, places.cohort) == before + change
    assert change < -0.3 * before
    assert kind[places.cohort == 1].mean() > 0.9


def test_who_is_alike_takes_no_part_in_the_search(monkeypatch):
    """A hub among people of one tie has its own cohort look for swaps, not all of them."""
    looked, swap = [], core.swap_members

    def counted(places, most, near, order, sweeps, rng):
        looked.append((len(order), int((near != np.arange(len(near))[:, None]).any(axis=1).sum())))
        return swap(places, most, near, order, sweeps, rng)

    monkeypatch.setattr(core, "swap_members", counted)
    n = 1001
    star = np.column_stack((np.zeros(n - 1, dtype=np.int32), np.arange(1, n, dtype=np.int32)))
    columns = {"gender": ["f"] * n, "health": ["well"] * n}
    schema = Schema(("gender",), "health", frozenset({"ill"}), expect_absent=frozenset({"ill"}))
    graph = AttributedGraph.from_columns(schema, columns, star)
    assert tree_of(graph, 10).sizes.min() >= 10
    assert looked == [(1, 1)] * module.ROUNDS


def test_near_cohorts_are_the_nearest_within_a_factor(monkeypatch):
    """A cohort that is not sought is only near to itself."""
    pivots = np.random.default_rng(0).integers(0, 9, (50, 2)).astype(np.int32)
    monkeypatch.setattr(module, "NEAR", 4)
    near = module._near(pivots, np.ones(50, dtype=np.bool_))
    assert near.shape == (50, 5)
    for c in range(50):
        apart = np.abs(pivots - pivots[c]).sum(axis=1)
        assert len(set(near[c])) == 5
        assert apart[near[c]].max() <= 2 * np.sort(apart)[4]
    some = np.arange(50) % 3 == 0
    of_some = module._near(pivots, some)
    assert np.array_equal(of_some[some], near[some])
    assert (of_some[~some] == np.flatnonzero(~some)[:, None]).all()


@pytest.mark.parametrize("side_by_side", [1, 7, 1000])
def test_members_change_places_among_cohorts_side_by_side(monkeypatch, side_by_side):
    """Each part of the tree keeps its people, and its medians are those of its cohorts."""
    monkeypatch.setattr(module, "SIDE_BY_SIDE", side_by_side)
    params, rng = PrivacyParams(k=3), np.random.default_rng(0)
    rows = rng.integers(0, 9, (100, 3)).astype(np.int32)
    is_sensitive = np.arange(100) % 10 == 0
    leaves = module.leaves_of(rows, is_sensitive, params)
    cohort, medians = module.swapped(rows, is_sensitive, leaves, params, rng)
    assert np.bincount(cohort).tolist() == [len(leaf) for leaf in leaves]
    n_parts = -(-len(leaves) // side_by_side)
    for part in np.array_split(np.arange(len(leaves)), n_parts):
        people = np.concatenate([leaves[i] for i in part])
        assert set(cohort[people]) == set(part)
        for i in part:
            members = rows[cohort == i]
            assert (np.sort(members, axis=0)[(len(members) - 1) // 2] == medians[i]).all()
    moved = any(set(np.flatnonzero(cohort == i)) != set(leaf) for i, leaf in enumerate(leaves))
    assert moved == (side_by_side > 1)


def test_large_classes_become_small_cohorts():
    """Cohorts have fewer than 2 k members where alpha allows."""
    graph = uniform(500, 4000, rng=np.random.default_rng(1), n_tuples=2, sensitive_share=0.0)
    cohorts = tree_of(graph, k=10)
    assert cohorts.sizes.min() >= 10
    assert cohorts.sizes.max() < 20


def test_a_class_at_its_limit_is_still_divided():
    """With exactly a share alpha sensitive, the sensitive are spread over the cohorts."""
    n = 100
    counts = neighbour_counts(uniform(n, 600, rng=np.random.default_rng(2), n_tuples=1))
    is_ill = np.arange(n) < 20
    cohorts = cohorts_of(
        np.zeros(n, dtype=np.int32), is_ill, counts, PrivacyParams(), rng=np.random.default_rng(0)
    )
    assert len(cohorts.sizes) == 10
