"""Targets: what cohorts want of each other is what a graph can have, and near to the truth."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.anonymization.kt_tree import cohorts_of, neighbour_counts
from ktsafe_lab.by_attribute import _targets_core as core
from ktsafe_lab.by_attribute.targets import Kinds, neighbours_wanted
from ktsafe_lab.quasi_identifier_space import QuasiIdentifierSpace
from lab.tests.by_attribute.hubs import fast, with_hubs
from tests.ktsafe.small_graphs import graphs

LONG = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
COLUMNS = np.array([[0, 3], [0, 4], [1, 3], [2, 4]])
"""Four classes of two attributes, of three values and of two."""


def drawn_targets(rng: np.random.Generator, sizes: np.ndarray | None = None) -> core.Targets:
    """Return targets of twelve random cohorts, three of each class."""
    sizes = rng.integers(1, 6, size=12) if sizes is None else sizes
    class_of = np.repeat(np.arange(4), 3)
    n, people = int(sizes.sum()), np.bincount(class_of, sizes).astype(np.int64)
    most = people - np.eye(4, dtype=np.int64)
    number = np.minimum(rng.integers(0, 6, size=(12, 4)), most[class_of])
    return core.Targets(
        counts=rng.integers(0, 8, size=(n, 5)),
        members=np.arange(n),
        first=np.concatenate(([0], np.cumsum(sizes))),
        class_of=class_of,
        class_first=np.arange(0, 13, 3),
        columns=COLUMNS,
        ties=rng.integers(0, 20, size=(12, 4)),
        number=number,
        wanted=wanted(number),
        between=between(number, sizes),
        truth=rng.integers(0, 60, size=(4, 4)),
    )


def wanted(number: np.ndarray) -> np.ndarray:
    """Count neighbours by value, class by class."""
    found = np.zeros((len(number), 5), dtype=np.int64)
    for c, b in itertools.product(range(len(number)), range(4)):
        for column in COLUMNS[b]:
            found[c, column] += number[c, b]
    return found


def between(number: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Count what all people of a class want of another, cohort by cohort."""
    found = np.zeros((4, 4), dtype=np.int64)
    for c in range(len(number)):
        found[c // 3] += number[c] * sizes[c]
    return found


def asymmetry(table: np.ndarray) -> int:
    """Return how far a table is from one that a graph can have."""
    return int(np.abs(np.triu(table - table.T)).sum() + (np.diag(table) % 2).sum())


def assert_counted(targets: core.Targets) -> None:
    """What kernels counted is what counting anew gives, within what classes have."""
    sizes = np.diff(targets.first)
    people = np.bincount(targets.class_of, sizes).astype(np.int64)
    assert (targets.number >= 0).all()
    assert (targets.number <= (people - np.eye(4, dtype=np.int64))[targets.class_of]).all()
    assert np.array_equal(targets.wanted, wanted(targets.number))
    assert np.array_equal(targets.between, between(targets.number, sizes))


@LONG
@given(st.integers(0, 2**32))
def test_targets_that_settle_are_counted_right(seed: int) -> None:
    """Where nothing but asymmetry costs anything, it shrinks."""
    rng = np.random.default_rng(seed)
    targets = drawn_targets(rng)
    before = asymmetry(targets.between)
    core.anneal_targets(targets, 3000, 1e6, 0.1, rng)
    assert_counted(targets)
    assert asymmetry(targets.between) <= before


def test_settling_comes_near_to_what_members_have() -> None:
    """With asymmetry for nothing, cohorts want about what their members have of each value."""
    rng = np.random.default_rng(0)
    targets = drawn_targets(rng, np.full(12, 20))
    rows = np.array([[6, 3, 2, 5, 6], [1, 2, 1, 3, 1], [9, 0, 4, 9, 4]])
    targets.counts[:] = rows[np.repeat(np.arange(12) % 3, 20)]
    # As many of each class as one of these rows has: (0, 3), (0, 4), (1, 3), (2, 4).
    ties = np.array([[2, 4, 3, 2], [1, 0, 2, 1], [9, 0, 0, 4]])
    targets.ties[:] = 20 * ties[np.arange(12) % 3]
    targets.truth[:] = between(targets.ties, np.ones(12, dtype=np.int64))
    for _ in range(3):
        core.anneal_targets(targets, 20_000, 0.0, 1e-9, rng)
    assert np.array_equal(targets.wanted, rows[np.arange(12) % 3])
    assert np.array_equal(targets.number, ties[np.arange(12) % 3])


@LONG
@given(st.integers(0, 2**32), st.booleans())
def test_pairs_are_balanced(seed: int, uneven: bool) -> None:
    """Two classes want as many of each other, within one it is even; other pairs are untouched."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, 12) if uneven else np.array([2] * 3 + [3] * 3 + [4] * 3 + [5] * 3)
    targets = drawn_targets(rng, sizes)
    for a, b in itertools.combinations_with_replacement(range(4), 2):
        before = targets.between.copy()
        core.balance(targets, a, b)
        assert_counted(targets)
        assert targets.between[a, b] == targets.between[b, a]
        assert a != b or targets.between[a, a] % 2 == 0
        before[[a, b], [b, a]] = targets.between[[a, b], [b, a]]
        assert np.array_equal(before, targets.between)


def test_balancing_changes_little() -> None:
    """A difference of one is a step up and a step down of cohorts whose sizes differ by one."""
    rng = np.random.default_rng(0)
    sizes = np.tile([10, 11, 12], 4)
    targets = drawn_targets(rng, sizes)
    targets.number[:] = 3
    targets.number[0, 1], targets.number[1, 1] = 2, 4
    targets.wanted[:] = wanted(targets.number)
    targets.between[:] = between(targets.number, sizes)
    targets.counts[:] = targets.wanted[np.repeat(np.arange(12), sizes)]
    targets.ties[:] = targets.number * sizes[:, None]
    targets.truth[:] = targets.between
    before = targets.number.copy()
    core.balance(targets, 0, 1)
    assert targets.between[0, 1] == targets.between[1, 0]
    assert np.abs(targets.number - before).sum() == 2


@LONG
@given(st.integers(0, 2**32))
def test_no_pair_is_cleared_that_can_be_balanced(seed: int) -> None:
    """With room for steps up and down there is a way to each multiple of the sizes' divisor."""
    rng = np.random.default_rng(seed)
    sizes = np.column_stack((np.full((4, 2), 5), rng.integers(5, 10, size=4))).ravel()
    targets = drawn_targets(rng, sizes)
    targets.number[:] = rng.integers(4, 9, size=(12, 4))
    targets.wanted[:] = wanted(targets.number)
    targets.between[:] = between(targets.number, sizes)
    # Whom a step up brings nearer to the truth, a step back does not.
    targets.counts[:] = targets.wanted[np.repeat(np.arange(12), sizes)] + rng.integers(-2, 3)
    for a, b in itertools.combinations(range(4), 2):
        of_pair = [*sizes[3 * a : 3 * a + 3], *sizes[3 * b : 3 * b + 3]]
        away = int(targets.between[a, b] - targets.between[b, a])
        core.balance(targets, a, b)
        assert targets.between[a, b] > 0 or away % np.gcd.reduce(of_pair)


def test_pairs_that_cannot_be_balanced_are_cleared() -> None:
    """Three of three members each and one cohort of five never want the same but nothing."""
    rng = np.random.default_rng(0)
    targets = drawn_targets(rng, np.array([2, 2, 2, 1, 1, 3, 7, 7, 7, 7, 7, 7]))
    # All three cohorts of class 0 are full of class 1, whose members want none.
    targets.number[:3, 1], targets.number[3:6, 0] = 0, 0
    targets.number[3, 0] = 1
    targets.wanted[:] = wanted(targets.number)
    targets.between[:] = between(targets.number, np.diff(targets.first))
    core.balance(targets, 0, 1)
    assert_counted(targets)
    assert targets.between[0, 1] == targets.between[1, 0]


def wanted_of(graph: AttributedGraph, params: PrivacyParams, seed: int) -> np.ndarray:
    """Return what all people want of each class, one row each."""
    request = fast(graph, params, seed)
    kinds = Kinds(graph.qi_classes.astype(np.int64), QuasiIdentifierSpace.of_graph(graph))
    counts = csr_array(neighbour_counts(graph))
    cohorts = cohorts_of(
        graph.qi_classes, graph.is_sensitive, counts, params, rng=np.random.default_rng(seed)
    )
    return neighbours_wanted(request, kinds, cohorts)[cohorts.of_vertex]


@LONG
@given(graphs(), st.integers(1, 5), st.integers(0, 2**32))
def test_a_graph_can_have_what_is_wanted(graph: AttributedGraph, k: int, seed: int) -> None:
    """Summed over all people, the table of classes is symmetric with an even diagonal."""
    if not graph.n_vertices or graph.codes.shape[1] < 2:
        return
    rows = wanted_of(graph, PrivacyParams(k=k), seed)
    table = np.zeros((rows.shape[1],) * 2, dtype=np.int64)
    np.add.at(table, graph.qi_classes, rows)
    assert asymmetry(table) == 0
    assert (rows >= 0).all()


def test_degrees_are_kept_about() -> None:
    """People of a network with hubs want about as many neighbours as they have."""
    graph = with_hubs(600, 30, seed=0)
    rows = wanted_of(graph, PrivacyParams(k=5), 0)
    assert abs(rows.sum() / graph.degrees.sum() - 1) < 0.1
    assert np.corrcoef(rows.sum(axis=1), graph.degrees)[0, 1] > 0.9
