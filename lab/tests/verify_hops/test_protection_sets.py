"""The verifier at any radius and in both readings, beside sets and permutations."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import NotKTSafe, PrivacyParams
from ktsafe.verify.verifier import coded as as_coded
from ktsafe_lab.verify_hops import WiderVerdict, verify
from ktsafe_lab.verify_hops.protection_sets import protection_sets
from lab.tests import naive_hops
from tests.graphs import arrays, copies, regular, small_graphs, union
from tests.naive import Small


def params_with(hops: int, reading: str, **others: object) -> PrivacyParams:
    return PrivacyParams(n_hops=hops, reading=reading, **others)  # type: ignore[arg-type]


@settings(max_examples=40, deadline=None)
@given(
    small_graphs(max_vertices=7, max_attributes=2),
    st.integers(0, 3),
    st.sampled_from(["walk", "induced"]),
    st.sampled_from([Fraction(0), Fraction(1, 4), Fraction(1)]),
    st.integers(0, 6),
)
def test_protection_sets_are_those_of_the_definition(
    graph: Small, hops: int, reading: str, t: Fraction, epsilon: int
) -> None:
    """Sizes and sensitive members equal those of literal sets, whatever the number of threads."""
    truth = naive_hops.protection_sets(graph, t=t, epsilon=epsilon, hops=hops, reading=reading)
    params = params_with(hops, reading, t=t, epsilon=epsilon)
    for workers in (1, 2):
        verdict = verify(*arrays(graph), params, workers=workers)
        assert verdict.ps_size.tolist() == [len(ps) for ps in truth]
        sensitive = [sum(graph.is_sensitive[u] for u in ps) for ps in truth]
        assert verdict.ps_sensitive.tolist() == sensitive
        assert verdict.undecided_pairs == 0


@settings(max_examples=30, deadline=None)
@given(small_graphs(), st.integers(0, 6))
def test_stars_are_decided_alike_by_both_parts(graph: Small, epsilon: int) -> None:
    """The general part, asked about n = 1 walk, agrees with the part that compares degrees."""
    params = PrivacyParams(t=Fraction(1, 4), epsilon=epsilon)
    qi, flags, pairs = arrays(graph)
    given = as_coded(qi, flags.reshape(-1, 1), pairs)
    general = protection_sets(given, params, workers=1)
    verdict = verify(*arrays(graph), params)
    assert general.certain.tolist() == [verdict.ps_size.tolist(), verdict.ps_sensitive.tolist()]


def test_chosen_vertices_get_the_same_counts() -> None:
    """Asking about a few vertices only gives what asking about all gives them."""
    rng = np.random.default_rng(5)
    n = 60
    edges = np.array([e for e in np.ndindex(n, n) if e[0] < e[1] and rng.random() < 0.05])
    qi, flags = rng.integers(0, 2, (n, 1)), rng.random((n, 1)) < 0.3
    coded = as_coded(qi, flags, edges)
    params = params_with(2, "walk", epsilon=12, t=Fraction(1, 2))
    everybody = protection_sets(coded, params)
    chosen = np.array([0, 7, 59])
    some = protection_sets(coded, params, chosen=chosen)
    assert np.array_equal(everybody.certain[:, chosen], some.certain[:, chosen])
    assert everybody.certain[0].max() > 1


def test_a_triangle_across_is_seen_by_the_induced_reading_only() -> None:
    """Three disjoint edges' ends and a triangle differ when ties among neighbours are known."""
    triangles = Small([()] * 6, [False] * 6, [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)])
    hexagon = Small([()] * 6, [False] * 6, [(i, (i + 1) % 6) for i in range(6)])
    both = union(triangles, hexagon)
    sizes = {
        (hops, reading): verify(*arrays(both), params_with(hops, reading, epsilon=0)).min_k
        for hops in (0, 1, 2)
        for reading in ("walk", "induced")
    }
    assert sizes[0, "walk"] == sizes[0, "induced"] == 12
    assert (sizes[1, "walk"], sizes[1, "induced"]) == (12, 6)
    assert sizes[2, "walk"] == sizes[2, "induced"] == 6


def test_undecided_pairs_fail_closed() -> None:
    """Without a search, pairs that need one leave k short and count against alpha."""
    # Two cubic graphs on 8 vertices that sizes and degrees do not tell apart.
    cube = [(i, i ^ bit) for i in range(8) for bit in (1, 2, 4) if i < i ^ bit]
    ladder = [(i, (i + 1) % 8) for i in range(8)] + [(i, i + 4) for i in range(4)]
    graph = union(Small([()] * 8, [False] * 8, cube), Small([()] * 8, [True] * 8, ladder))
    coded = as_coded(arrays(graph)[0], arrays(graph)[1].reshape(-1, 1), arrays(graph)[2])
    params = params_with(3, "induced", k=9, epsilon=12, alpha=Fraction(1, 2))
    decided = protection_sets(coded, params)
    assert decided.undecided_pairs == 0
    open_ = protection_sets(coded, params, nodes_max=0)
    assert open_.undecided_pairs
    assert np.all(open_.certain <= decided.certain)
    assert np.all(open_.certain + open_.undecided >= decided.certain)
    verdict = WiderVerdict(
        params, 16, 24, *open_.certain, open_.undecided[1], open_.undecided_pairs
    )
    assert verdict.has_too_few.all()
    assert verdict.is_too_sensitive[:8].all()
    assert verdict.max_alpha == 1 or verdict.max_alpha > params.alpha


def test_a_certificate_proves_all_radii_at_once() -> None:
    """Copies with their shift are safe by certificate, and by definition."""
    graph = copies(regular(5, 2, sensitive=1), 3)
    shift = (np.arange(15) + 5) % 15
    params = params_with(2, "induced", k=3, epsilon=0, t=Fraction(0), alpha=Fraction(1, 3))
    verdict = verify(*arrays(graph), params, certificate=shift)
    assert verdict.is_safe
    assert verdict.evidence == "certificate"
    assert verdict.ps_size.tolist() == [3] * 15
    assert verdict.ps_sensitive.tolist() == ([1] + [0] * 4) * 3
    exact = verify(*arrays(graph), params)
    assert exact.is_safe
    assert np.all(exact.ps_size >= verdict.ps_size)
    strict = params_with(2, "induced", k=4, alpha=Fraction(1, 3))
    assert not verify(*arrays(graph), strict, certificate=shift).is_safe


@pytest.mark.parametrize("what", ["edge", "class", "twice", "short"])
def test_a_broken_certificate_is_refused(what: str) -> None:
    """One missing edge, one other quasi-identifier, no permutation: each raises."""
    graph = copies(regular(5, 2)._replace(quasi_identifiers=[(0,)] * 5), 3)
    shift = (np.arange(15) + 5) % 15
    if what == "edge":
        graph = graph._replace(edges=graph.edges[:-1])
    elif what == "class":
        graph.quasi_identifiers[3] = (1,)
    elif what == "twice":
        shift[0] = shift[1]
    else:
        shift = shift[:-1]
    with pytest.raises(NotKTSafe):
        verify(*arrays(graph), PrivacyParams(k=3), certificate=shift)


def test_the_empty_graph_is_safe() -> None:
    """Nothing to protect, at any radius, with a certificate or without."""
    nothing = Small([], [], [])
    for hops in (0, 1, 2):
        assert verify(*arrays(nothing), params_with(hops, "induced")).is_safe
    assert verify(*arrays(nothing), PrivacyParams(), certificate=np.zeros(0, dtype=int)).is_safe
