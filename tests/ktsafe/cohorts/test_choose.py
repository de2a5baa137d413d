"""Cohorts: whoever reaches the shape of a cohort is similar to all who do."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ktsafe import PrivacyParams
from ktsafe.cohorts import _choose_core as core
from ktsafe.cohorts import _grouping_core as search
from ktsafe.cohorts import _shapes_core as shaping
from ktsafe.cohorts.choose import EMPTY, choose_targets
from ktsafe.cohorts.matching import match_wants
from ktsafe.cohorts.targets import balanced_choices
from ktsafe.datasets.synthetic import uniform
from ktsafe.index import _table_core as locations
from ktsafe.index._table_core import NONE
from ktsafe.index.table import LocationTable, similarity_rule
from ktsafe.neighborhoods import QuasiIdentifierSpace
from ktsafe.working.graph import WorkingGraph

OFFSETS = np.array([0, 3, 5], dtype=np.int64)


def _rule(params: PrivacyParams) -> locations.Rule:
    space = QuasiIdentifierSpace(
        np.zeros((1, 2), dtype=np.int32), OFFSETS, np.zeros((1, 2), dtype=np.int64)
    )
    return similarity_rule(space, params)


def _pool(rng: np.random.Generator, n: int, size_max: int) -> shaping.Pool:
    sizes = np.sort(rng.integers(1, size_max + 1, n))[::-1].astype(np.int32)
    rows = np.column_stack(
        (rng.multinomial(sizes, [0.5, 0.3, 0.2]), rng.multinomial(sizes, [0.7, 0.3]))
    ).astype(np.int32)
    return shaping.Pool(rows, sizes, rng.random(n) < 0.2, rng.random(n) < 0.9)


def _scratch(n: int) -> shaping.Scratch:
    room: shaping.Scratch = shaping.scratch_for(5, n)
    return room


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 8), st.sampled_from([6, 30, 90]), st.integers(0, 2**32))
def test_members_at_the_shape_are_similar(n: int, size_max: int, seed: int) -> None:
    """Members that fill the base, and the rest as they like within the freedom, are similar."""
    rng = np.random.default_rng(seed)
    rule = _rule(PrivacyParams())
    pool, scratch = _pool(rng, n, size_max), _scratch(n)
    members = np.arange(n, dtype=np.int32)
    size, free = shaping.shape(pool, rule, members, n, scratch)
    base = scratch.base
    reached = []
    for row in pool.rows:
        full = np.maximum(row, base)
        for low, high in ((0, 3), (3, 5)):
            assert np.maximum(row - base, 0)[low:high].sum() <= free
            assert base[low:high].sum() + free <= size
        # Bases that are too short are filled equally for all; the freedom is spent at random.
        for low, high in ((0, 3), (3, 5)):
            full[low] += size - free - base[low:high].sum()
            spare = size - full[low:high].sum()
            full[low:high] += rng.multinomial(spare, np.full(high - low, 1 / (high - low)))
        reached.append(full.astype(np.int32))
    for a in reached:
        for b in reached:
            assert locations.similar(rule, a, size, b, size)


@settings(max_examples=40, deadline=None)
@given(st.integers(20, 60), st.integers(0, 2**32))
@example(27, 174545)
def test_improving_keeps_cohorts_sufficient_and_does_not_cost(n: int, seed: int) -> None:
    """The search keeps every cohort large enough and never ends dearer than it began."""
    rng = np.random.default_rng(seed)
    params = PrivacyParams(k=5)
    rule = _rule(params)
    pool = _pool(rng, n, 20)
    cohort = core.seed(pool, rule, 5)
    before = np.bincount(cohort)
    state = np.array([seed], dtype=np.uint64)
    nearest = core.lookalikes(pool, 10, 4)
    start = _total_price(pool, rule, cohort)
    search.improve(pool, rule, cohort, 3000, nearest, (2.0, 0.1), state)
    after = np.bincount(cohort, minlength=len(before))
    assert after.sum() == n
    assert (after >= np.minimum(before, 5)).all()
    assert _total_price(pool, rule, cohort) <= start


def _total_price(pool: shaping.Pool, rule: locations.Rule, cohort: np.ndarray) -> int:
    total = 0
    for c in range(int(cohort.max()) + 1):
        members = np.flatnonzero(cohort == c).astype(np.int32)
        size, _ = shaping.shape(pool, rule, members, len(members), _scratch(len(members)))
        sensitive = int(pool.is_sensitive[members].sum())
        real = int(pool.is_real[members].sum())
        total += shaping.price(rule, size, len(members), sensitive, real)
    return total


def test_lookalikes_are_the_closest_rows() -> None:
    """Each vertex's look-alikes are nearest by the sum of absolute differences."""
    rng = np.random.default_rng(5)
    pool = _pool(rng, 30, 20)
    nearest = core.lookalikes(pool, 30, 3)
    distance = np.abs(pool.rows[:, None, :] - pool.rows[None, :, :]).sum(axis=2)
    np.fill_diagonal(distance, 10_000)
    for v in range(30):
        assert sorted(distance[v, nearest[v]]) == sorted(distance[v])[:3]


def test_lacking_counts_for_k_and_alpha() -> None:
    """Four members of which three are sensitive need eleven harmless ones at alpha = 0.2."""
    rule = _rule(PrivacyParams(k=10))
    assert shaping.lacking(rule, 4, 3) == 11
    assert shaping.lacking(rule, 4, 0) == 6
    assert shaping.lacking(rule, 12, 2) == 0


@settings(max_examples=40, deadline=None)
@given(st.integers(20, 60), st.sampled_from([0.1, 0.5, 1.0]), st.integers(0, 2**32))
def test_seeds_have_enough_real_members(n: int, sensitive: float, seed: int) -> None:
    """Cohorts with real members have as many as they should, but for the last with any."""
    rng = np.random.default_rng(seed)
    rule = _rule(PrivacyParams(k=5))
    rule.limits[locations.FLOOR] = 5
    pool = _pool(rng, n, 20)._replace(is_sensitive=rng.random(n) < sensitive)
    cohort = core.seed(pool, rule, 5)
    assert (cohort >= 0).all()
    real = np.bincount(cohort[pool.is_real])
    short = np.flatnonzero((real > 0) & (real < 5))
    assert set(short.tolist()) <= {len(real) - 1}


def test_a_lacking_real_member_is_priced_like_an_inserted_one() -> None:
    """Only where some members are real, and only as far as the floor asks for more."""
    rule = _rule(PrivacyParams(k=10))
    assert shaping.price(rule, 7, 12, 0, 4) == 84
    rule.limits[locations.FLOOR] = 10
    assert shaping.price(rule, 7, 12, 0, 4) == 84 + 6 * 7
    assert shaping.price(rule, 7, 12, 0, 0) == 84
    assert shaping.price(rule, 7, 12, 0, 11) == 84


@pytest.mark.parametrize("seed", range(8))
def test_nobody_has_two_targets(seed: int) -> None:
    """Who leaves a cohort and joins a location is not fetched back when others enter the cohort."""
    params, rng = PrivacyParams(k=3), np.random.default_rng(seed)
    graph = uniform(120, 200, rng=rng, n_tuples=4)
    space = QuasiIdentifierSpace.of_graph(graph)
    working, rule = WorkingGraph(graph, space), similarity_rule(space, params)
    for _ in range(10):
        # Cohorts of all sizes, some of which are too small to stand.
        working.n_cohorts = 30 * space.n_classes
        labels = 30 * working.arrays.cls[: working.n] + rng.integers(0, 30, working.n)
        working.cohort[:] = np.where(rng.random(working.n) < 0.5, NONE, labels)
        working.stood[:] = 0
        table = LocationTable(working, rule, np.full(space.n_classes, 500, dtype=np.int64))
        lifted = table.peel(working, rng.permutation(working.n).astype(np.int32))
        wants = choose_targets(working, table, lifted, EMPTY, params, rng, swaps_per_vertex=1)
        assert len(set(wants.vertices.tolist())) == len(wants.vertices)
        match_wants(working, wants, rng)
        assert (working.inserted_edges[:, 0] != working.inserted_edges[:, 1]).all()


@pytest.mark.parametrize("seed", range(4))
def test_who_was_inserted_and_lifted_at_once_has_one_target(seed: int) -> None:
    """A harmless vertex whose place is lifted with all who are there becomes one of them."""
    params, rng = PrivacyParams(k=3), np.random.default_rng(seed)
    graph = uniform(150, 300, n_tuples=2, rng=rng)
    space = QuasiIdentifierSpace.of_graph(graph)
    working, rule = WorkingGraph(graph, space), similarity_rule(space, params)
    table = LocationTable(working, rule, np.full(space.n_classes, 500, dtype=np.int64))
    places = np.unique(table.arrays.of_vertex[table.unsafe_vertices()])
    diluted = working.add_vertices(table.arrays.cls[places])
    table.extend(len(diluted))
    for at, v in zip(places, diluted, strict=True):
        locations.shift(table.arrays, table.rule, at, 1, 0)
        table.arrays.of_vertex[v] = at
    lifted = table.peel(working, rng.permutation(working.n).astype(np.int32))
    assert np.isin(diluted, np.concatenate(lifted)).any()
    # It is checked inside that nobody has two.
    wants = choose_targets(working, table, lifted, diluted, params, rng, swaps_per_vertex=5)
    assert np.isin(wants.vertices, np.arange(working.n)).all()


def test_balanced_choices_answer_one_sided_wants() -> None:
    """A value that others want chooses those others."""
    wanted = np.array([[0.0, 8.0], [0.0, 0.0]])
    share = balanced_choices(wanted, np.array([0.0, 8.0]))
    assert share[1, 0] > 0.95
    assert np.allclose(share.sum(axis=1), 1)
