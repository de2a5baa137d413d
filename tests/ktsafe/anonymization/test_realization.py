"""Filling: every vertex gets its degree, or the degrees are impossible."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.anonymization.pair_edges import realize
from ktsafe.anonymization.pair_program import Pair
from tests.ktsafe.anonymization.graphs import as_set


def pair_of(sizes_a, sizes_b):
    """Return a pair without candidates; one class if the second has no sizes."""
    sizes = np.array([*sizes_a, *sizes_b])
    return Pair.in_order(sizes, len(sizes_a), np.zeros((0, 2), dtype=np.int32), np.zeros(0))


def degrees_of(edges, n):
    """Return the degree of each vertex."""
    return np.bincount(np.asarray(edges).reshape(-1), minlength=n)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_two_classes_are_filled_whenever_that_is_possible(data):
    """Between two classes there is a failure only where no simple graph has such degrees."""
    sizes_a = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    sizes_b = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    pair = pair_of(sizes_a, sizes_b)
    r = np.array([data.draw(st.integers(0, sum(sizes_b))) for _ in sizes_a])
    s = np.array([data.draw(st.integers(0, sum(sizes_a))) for _ in sizes_b])
    nothing = np.zeros((0, 2), dtype=np.int32)
    filled = realize(pair, np.append(r, s), nothing, rng=np.random.default_rng(0))
    wanted_a, wanted_b = np.repeat(r, sizes_a), np.repeat(s, sizes_b)
    possible = gale_ryser(wanted_a, wanted_b)
    assert (filled is not None) == possible
    if filled is not None:
        as_set(filled)
        assert np.array_equal(
            degrees_of(filled, len(pair.cohort)), np.concatenate((wanted_a, wanted_b))
        )


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_one_class_gets_its_degrees_or_is_refused(data):
    """Within one class every vertex has its degree, and no stub is left over without a word."""
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    r = np.array([data.draw(st.integers(0, sum(sizes) - 1)) for _ in sizes])
    nothing, wanted = np.zeros((0, 2), dtype=np.int32), np.repeat(r, sizes)
    filled = realize(pair_of(sizes, []), r, nothing, rng=np.random.default_rng(0))
    assert filled is None or not wanted.sum() % 2
    if filled is not None:
        as_set(filled)
        assert np.array_equal(degrees_of(filled, len(wanted)), wanted)


def test_who_draws_a_partner_without_a_way_gets_another():
    """Here every draw but some leaves two edges whose ends find each other, and not their own."""
    pair, degrees = pair_of([4, 4], [4, 4]), np.array([7, 3, 7, 3])
    nothing = np.zeros((0, 2), dtype=np.int32)
    for seed in range(50):
        filled = realize(pair, degrees, nothing, rng=np.random.default_rng(seed))
        assert filled is not None
        as_set(filled)
        assert np.array_equal(degrees_of(filled, 16), np.repeat(degrees, 4))


def gale_ryser(a, b):
    """Return whether a simple bipartite graph has the given degrees."""
    if a.sum() != b.sum():
        return False
    ranked = np.sort(a)[::-1]
    return all(ranked[:i].sum() <= np.minimum(b, i).sum() for i in range(1, len(a) + 1))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_degrees_of_a_dense_graph_are_reached_from_part_of_it(seed, is_one):
    """Given some edges of a graph, all vertices of which get their degree: shown edges give way."""
    rng = np.random.default_rng(seed)
    sizes = [6, 7, 5]
    pair = pair_of(sizes, [] if is_one else [5, 8])
    n, n_a = len(pair.cohort), 18
    degree = rng.integers(0, 6, len(pair.sizes))
    weight = pair.signs * pair.sizes
    if (weight * degree).sum() % 2 if is_one else (weight * degree).sum():
        return
    wanted = degree[pair.cohort]
    kept = []
    for _ in range(60):
        u = int(rng.integers(0, n_a))
        v = int(rng.integers(0, n_a) if is_one else rng.integers(n_a, n))
        more = [*kept, (u, v)]
        is_new = u != v and (v, u) not in kept and (u, v) not in kept
        if is_new and (degrees_of(more, n) <= wanted).all():
            kept = more
    chosen = np.array(kept, dtype=np.int32).reshape(-1, 2)
    filled = realize(pair, degree, chosen, rng=rng)
    if filled is None:
        assert is_one or not gale_ryser(wanted[:n_a], wanted[n_a:])
        return
    as_set(filled)
    assert np.array_equal(degrees_of(filled, n), wanted)


def test_kept_edges_stay_where_there_is_room():
    """In a sparse pair all shown edges are among the filled ones."""
    pair = pair_of([10, 10], [10, 10])
    kept = np.column_stack((np.arange(15), np.arange(20, 35))).astype(np.int32)
    filled = realize(pair, np.full(4, 2), kept, rng=np.random.default_rng(0))
    assert filled is not None
    assert as_set(kept) <= as_set(filled)
