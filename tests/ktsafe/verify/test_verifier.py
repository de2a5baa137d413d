"""The strict verifier against the definition, pair by pair."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ktsafe import InvalidGraph, NotKTSafe, PrivacyParams
from ktsafe.errors import InvalidParams
from ktsafe.verify import _stars_core as core
from ktsafe.verify import star_protection_sets as module
from ktsafe.verify import verify, verify_graph
from ktsafe.verify._attribute_distance_core import scaled_limit
from tests import naive
from tests.graphs import (
    arrays,
    attributed,
    copies,
    paper_anonymized,
    paper_original,
    params_of,
    regular,
    small_graphs,
    tolerances,
    union,
    verdict_of,
)
from tests.naive import Small, Tolerance

EXACT = Tolerance(2, Fraction(0), Fraction(1, 2), 0)


def check(graph: Small, tolerance: Tolerance, *, workers: int | None = None) -> None:
    """Assert that verifier and oracle agree on every protection set and on every vertex."""
    verdict = verify(*arrays(graph), params_of(tolerance), workers=workers)
    sets = naive.protection_sets(graph, tolerance)
    assert [len(ps) for ps in sets] == verdict.ps_size.tolist()
    assert [sum(graph.is_sensitive[u] for u in ps) for ps in sets] == verdict.ps_sensitive.tolist()
    unsafe = naive.unsafe_vertices(graph, tolerance)
    assert unsafe == {failure.vertex for failure in verdict.failures()}
    assert (not unsafe) == verdict.is_safe
    assert len(unsafe) == verdict.n_unsafe


@given(small_graphs(), tolerances())
@settings(deadline=None)
@example(Small([], [], []), EXACT)
@example(Small([()], [True], []), Tolerance(1, Fraction(0), Fraction(1), 0))
@example(Small([(3,)], [True], []), Tolerance(1, Fraction(0), Fraction(1, 2), 0))
def test_agrees_with_the_definition(graph: Small, tolerance: Tolerance) -> None:
    """On random graphs every |PS|, sensitive count and verdict equals the definition's."""
    check(graph, tolerance)


@given(small_graphs(), tolerances())
@settings(deadline=None, max_examples=60)
def test_run_histograms_agree_with_the_definition(graph: Small, tolerance: Tolerance) -> None:
    """The path for hubs and for many attribute values gives the same results."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "COLUMNS_MAX", -1)
        check(graph, tolerance)


@given(small_graphs(), tolerances())
@settings(deadline=None, max_examples=60)
def test_neighbourhoods_of_equal_hashes_are_told_apart(graph: Small, tolerance: Tolerance) -> None:
    """Where all hashes are equal the results are those of the definition."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            core,
            "neighbourhood_hashes",
            lambda *_: np.zeros(len(graph.is_sensitive), dtype=np.uint64),
        )
        check(graph, tolerance)
        check(graph, tolerance._replace(t=Fraction(0), epsilon=0))


@given(st.integers(0, 2**32), st.sampled_from([0, 2, 3, 6]), st.integers(1, 30))
@settings(deadline=None, max_examples=12)
def test_hubs_around_the_narrow_limit(seed: int, epsilon: int, tenths: int) -> None:
    """Hubs on both sides of the int16 limit are compared with each other exactly."""
    rng = np.random.default_rng(seed)
    leaves, hubs = 134, 8
    qi = [(0, 0)] * hubs + [tuple(x) for x in rng.integers(0, 3, (leaves, 2)).tolist()]
    edges = [
        (hub, hubs + int(leaf))
        for hub in range(hubs)
        for leaf in rng.choice(leaves, core.NARROW_SIZE_MAX - 4 + hub, replace=False)
    ]
    graph = Small(qi, [bool(x) for x in rng.random(len(qi)) < 0.3], edges)
    check(graph, Tolerance(3, Fraction(tenths, 1000), Fraction(1, 5), epsilon))


def test_more_values_than_a_dense_histogram_holds() -> None:
    """An attribute with more values than `COLUMNS_MAX`, negative and huge codes included."""
    count = module.COLUMNS_MAX + 60
    qi = [(value * 10**15 - 10**17,) for value in range(count)] * 2
    graph = Small(qi, [False] * len(qi), [(i, i + 1) for i in range(len(qi) - 1)])
    check(graph, Tolerance(2, Fraction(1, 2), Fraction(1), 2))


def test_blocks_and_threads() -> None:
    """Segments longer than a block, cut into many tasks, give the same counts on any threads."""
    rng = np.random.default_rng(5)
    n = 2 * core.BLOCK + 77
    qi = [tuple(x) for x in rng.integers(0, 4, (n, 3)).tolist()]
    for v in range(n - 200):
        qi[v] = (0, 0, 0)
    edges = {(v, (v + step) % n) for v in range(n) for step in rng.choice(range(1, 60), 4, False)}
    graph = Small(qi, [bool(x) for x in rng.random(n) < 0.2], [(u, int(v)) for u, v in edges])
    graph = graph._replace(edges=sorted({(min(e), max(e)) for e in graph.edges}))
    tolerance = Tolerance(5, Fraction(1, 5), Fraction(1, 5), 4)
    alone = verify(*arrays(graph), params_of(tolerance), workers=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PAIRS_PER_TASK", 9_000)
        patch.setattr(module, "VERTICES_PER_TASK", 100)
        shared = verify(*arrays(graph), params_of(tolerance), workers=3)
    assert alone.ps_size.tolist() == shared.ps_size.tolist()
    assert alone.ps_sensitive.tolist() == shared.ps_sensitive.tolist()
    reach = naive.closed_neighbourhoods(graph)
    for v in [0, 1, core.BLOCK - 1, core.BLOCK, n - 201, n - 1, *rng.integers(0, n, 14).tolist()]:
        members = naive.protection_set(graph, tolerance, v, reach)
        assert len(members) == alone.ps_size[v]
        assert sum(graph.is_sensitive[u] for u in members) == alone.ps_sensitive[v]


@given(st.integers(1, 2**31 - 1), st.integers(1, 2**31 - 1), st.fractions(0, 1))
@settings(deadline=None)
@example(2**31 - 1, 2**31 - 1, Fraction(9_999, 10_000))
def test_limit_is_exact_for_the_largest_sizes(first: int, second: int, t: Fraction) -> None:
    """floor(2 * t * n1 * n2) is exact up to the largest graph that is accepted."""
    t = t.limit_denominator(10_000)
    got = scaled_limit(first, second, t.numerator, t.denominator)
    assert math.floor(2 * t * first * second) == got


def test_paper_example_original_is_not_safe() -> None:
    """Example 2: v1 and v4 have equal degrees, yet their neighbours single each of them out."""
    verdict = verdict_of(paper_original(), EXACT)
    assert verdict.ps_size.tolist() == [1, 2, 1, 1, 1, 2]
    assert [verdict.ps_size[0], verdict.ps_size[3]] == [1, 1]
    assert not verdict.is_safe


def test_paper_example_release_is_safe() -> None:
    """Example 3: with v7 and v8 inserted, v1 and v4 protect each other, one of two sensitive."""
    verdict = verdict_of(paper_anonymized(), EXACT)
    assert [verdict.ps_size[0], verdict.ps_size[3]] == [2, 2]
    assert [verdict.ps_sensitive[0], verdict.ps_sensitive[3]] == [1, 1]
    assert verdict.is_safe
    assert Fraction(1, 2) == verdict.max_alpha


def pair_of_stars(first: list[int], second: list[int]) -> Small:
    """Two centres of value 0 whose leaves have the given values; leaves are in classes apart."""
    qi = [(0,), (0,), *[(x,) for x in first + second]]
    edges = [(0, 2 + i) for i in range(len(first))]
    edges += [(1, 2 + len(first) + i) for i in range(len(second))]
    return Small(qi, [False] * len(qi), edges)


@pytest.mark.parametrize(
    ("first", "second", "distance"),
    [
        ([1] * 9, [1] * 8 + [2], Fraction(1, 10)),
        ([1] * 3, [1] * 2, Fraction(1, 12)),
        ([1, 2, 3], [1, 2], Fraction(1, 4)),
        ([1] * 200, [1] * 199 + [2], Fraction(1, 201)),
        ([1] * 129, [1] * 127, Fraction(2, 128 * 130)),
    ],
)
def test_t_is_inclusive(first: list[int], second: list[int], distance: Fraction) -> None:
    """Two vertices at distance exactly t are similar; any smaller t parts them."""
    graph = pair_of_stars(first, second)
    assert distance == naive.attribute_distance([0, *first], [0, *second])
    below = Fraction(math.ceil(distance * 10_000) - 1, 10_000)
    at = verdict_of(graph, Tolerance(2, distance, Fraction(1), 6))
    under = verdict_of(graph, Tolerance(2, below, Fraction(1), 6))
    assert [at.ps_size[0], under.ps_size[0]] == [2, 1]


@pytest.mark.parametrize(
    ("epsilon", "similar"), [(0, 1), (1, 1), (2, 1), (3, 1), (4, 2), (5, 2), (6, 2)]
)
def test_epsilon_is_inclusive(epsilon: int, similar: int) -> None:
    """Degrees two apart are an edit distance of 4: one vertex and one edge for each."""
    graph = pair_of_stars([1] * 5, [1] * 3)
    verdict = verdict_of(graph, Tolerance(1, Fraction(1), Fraction(1), epsilon))
    assert similar == verdict.ps_size[1]


@pytest.mark.parametrize(("sensitive", "safe"), [(1, True), (2, True), (3, False)])
def test_alpha_is_inclusive(sensitive: int, safe: bool) -> None:
    """Exactly alpha is allowed, one more sensitive member is not."""
    verdict = verdict_of(
        regular(10, 3, sensitive=sensitive), Tolerance(10, Fraction(0), Fraction(1, 5), 0)
    )
    assert safe == verdict.is_safe


@pytest.mark.parametrize(("count", "safe"), [(9, False), (10, True)])
def test_k_is_inclusive(count: int, safe: bool) -> None:
    """The vertex itself counts among the k."""
    assert (
        safe == verdict_of(regular(count, 2), Tolerance(10, Fraction(0), Fraction(1, 5), 0)).is_safe
    )


@given(small_graphs(max_vertices=7), st.data())
@settings(deadline=None, max_examples=80)
def test_mutations_of_a_safe_graph(base: Small, data: st.DataObject) -> None:
    """An edge removed, a value changed, a flag flipped: noticed wherever the definition says so."""
    tolerance = Tolerance(3, Fraction(0), Fraction(1, 3), 0)
    graph = copies(base, 3)
    check(graph, tolerance)
    assert verdict_of(graph, tolerance).is_safe
    n = len(graph.is_sensitive)
    if n == 0:
        return
    victim = data.draw(st.integers(0, n - 1))
    flags = list(graph.is_sensitive)
    flags[victim] = not flags[victim]
    check(graph._replace(is_sensitive=flags), tolerance)
    if graph.quasi_identifiers[0]:
        values = list(graph.quasi_identifiers)
        values[victim] = (9, *values[victim][1:])
        changed = graph._replace(quasi_identifiers=values)
        check(changed, tolerance)
        assert not verdict_of(changed, tolerance).is_safe
    if graph.edges:
        gone = data.draw(st.integers(0, len(graph.edges) - 1))
        cut = graph._replace(edges=graph.edges[:gone] + graph.edges[gone + 1 :])
        check(cut, tolerance)


def test_verdict_explains_itself() -> None:
    """Each failing vertex is given with its counts, its reasons and a sentence."""
    graph = union(regular(3, 0, sensitive=2), regular(2, 1))
    verdict = verdict_of(graph, Tolerance(3, Fraction(0), Fraction(1, 5), 0))
    failures = list(verdict.failures())
    assert [failure.vertex for failure in failures] == [0, 1, 2, 3, 4]
    assert failures[0].reasons == ("too_sensitive",)
    assert (failures[0].ps_size, failures[0].ps_sensitive) == (3, 2)
    assert "2/3" in failures[0].explanation
    assert failures[4].reasons == ("too_few_candidates",)
    assert "2 candidates" in failures[4].explanation
    assert len(list(verdict.failures(limit=2))) == 2
    assert (2, Fraction(2, 3)) == (verdict.min_k, verdict.max_alpha)
    with pytest.raises(NotKTSafe, match="5 of 5 vertices"):
        verdict.raise_if_unsafe()


def test_both_reasons_at_once() -> None:
    """A vertex can fail on both conditions."""
    verdict = verdict_of(regular(2, 1, sensitive=1), Tolerance(3, Fraction(0), Fraction(1, 5), 0))
    failure = next(verdict.failures())
    assert failure.reasons == ("too_few_candidates", "too_sensitive")


def test_empty_graph_is_safe() -> None:
    """Nothing to identify: no counts, no failure."""
    verdict = verify(
        np.zeros((0, 2), int), np.zeros(0, bool), np.zeros((0, 2), int), PrivacyParams()
    )
    verdict.raise_if_unsafe()
    assert verdict.is_safe
    assert (
        verdict.min_k,
        verdict.max_alpha,
        verdict.n_vertices,
        verdict.n_edges,
    ) == (None, None, 0, 0)


def test_graph_and_arrays_agree() -> None:
    """`verify_graph` is `verify` on the graph's own arrays."""
    graph = paper_anonymized()
    assert (
        verdict_of(graph, EXACT).ps_size.tolist()
        == verify_graph(attributed(graph), params_of(EXACT)).ps_size.tolist()
    )


@pytest.mark.parametrize(
    ("qi", "sensitive", "edges"),
    [
        (np.zeros((3, 1), int), np.zeros(3, bool), [[0, 3]]),
        (np.zeros((3, 1), int), np.zeros(3, bool), [[-1, 2]]),
        (np.zeros((3, 1), int), np.zeros(3, bool), [[1, 1]]),
        (np.zeros((3, 1), int), np.zeros(3, bool), [[0, 1], [1, 0]]),
        (np.zeros((3, 1), int), np.zeros(3, bool), [[0, 1], [0, 1]]),
        (np.zeros((3, 1), int), np.zeros(3, bool), [[0.0, 1.0]]),
        (np.zeros((3, 1), int), np.zeros(3, bool), [[0, 1, 2]]),
        (np.zeros((2, 1), int), np.zeros(3, bool), [[0, 1]]),
        (np.zeros((3, 1), float), np.zeros(3, bool), [[0, 1]]),
        (np.zeros(3, int), np.zeros(3, bool), [[0, 1]]),
        (np.zeros((3, 1), int), np.zeros(3, int), [[0, 1]]),
        (np.zeros((3, 1), int), np.zeros((3, 1), bool), [[0, 1]]),
        (np.full((3, 1), 2**64 - 1, np.uint64), np.zeros(3, bool), [[0, 1]]),
    ],
)
def test_invalid_input_is_refused(
    qi: np.ndarray, sensitive: np.ndarray, edges: list[list[int]]
) -> None:
    """The verifier trusts nobody: what is no simple graph is refused."""
    with pytest.raises(InvalidGraph):
        verify(qi, sensitive, edges, PrivacyParams())


@pytest.mark.parametrize("changes", [{"n_hops": 2}, {"n_hops": 0}, {"reading": "induced"}])
def test_what_is_not_judged_here_is_refused_with_the_package(changes: dict[str, Any]) -> None:
    """Other neighbourhoods are never judged half."""
    graph = np.zeros((3, 1), int), np.zeros(3, bool), [[0, 1]]
    with pytest.raises(InvalidParams, match="ktsafe-lab"):
        verify(*graph, PrivacyParams(**changes))
