"""Aligned releases: safe at every radius and in both readings, by proof and by definition."""

from __future__ import annotations

import dataclasses
import itertools
import multiprocessing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ktsafe import (
    AnonymizeOptions,
    AttributedGraph,
    InvalidParams,
    NotKTSafe,
    PrivacyParams,
)
from ktsafe.anonymization.request import Request
from ktsafe.assess.attacks.alignment import seeds
from ktsafe.assess.attacks.common.case import Case
from ktsafe.graph.numbering import edge_keys
from ktsafe.graph.synthetic import uniform
from ktsafe_lab.alignment import _aligned_core as core
from ktsafe_lab.alignment import parts as alignment_parts
from ktsafe_lab.alignment.aligned_strategy import seated
from ktsafe_lab.strategies import LabRelease, anonymize, everybody, in_order
from ktsafe_lab.verify_hops import verify, verify_graph
from tests.ktsafe.small_graphs import graphs

OPTIONS = AnonymizeOptions("fast")


def aligned(graph: AttributedGraph, params: PrivacyParams, seed: int = 0) -> LabRelease:
    return everybody(Request(graph, params, np.random.default_rng(seed), OPTIONS), "aligned")


def orbits_of(shift: NDArray[np.int32]) -> dict[frozenset[int], set[frozenset[int]]]:
    """Return for every pair of vertices the pairs to which the shift takes it, one by one."""
    orbits: dict[frozenset[int], set[frozenset[int]]] = {}
    for u, v in itertools.combinations(range(len(shift)), 2):
        if frozenset((u, v)) not in orbits:
            orbit: set[frozenset[int]] = set()
            while frozenset((u, v)) not in orbit:
                orbit.add(frozenset((u, v)))
                u, v = int(shift[u]), int(shift[v])  # noqa: PLW2901
            orbits |= dict.fromkeys(orbit, orbit)
    return orbits


@settings(max_examples=25, deadline=None)
@given(
    graphs(n_max=14),
    st.sampled_from([1, 2, 3, 4]),
    st.sampled_from([Fraction(1, 4), Fraction(1, 2), Fraction(1)]),
    st.integers(0, 2**32),
)
def test_aligned_releases_are_safe_at_every_radius(
    graph: AttributedGraph, k: int, alpha: Fraction, seed: int
) -> None:
    """By certificate and by definition, without any tolerance; shown is what is half true."""
    params = PrivacyParams(k=k, alpha=alpha, epsilon=0, t=0)  # type: ignore[arg-type]
    outcome = aligned(graph, params, seed)
    released = outcome.graph
    assert verify_graph(released, params, certificate=outcome.shift).is_safe
    for hops in (0, 1, 2, 3):
        for reading in ("walk", "induced"):
            asked = dataclasses.replace(params, n_hops=hops, reading=reading)
            verdict = verify_graph(released, asked, workers=1)
            assert verdict.is_safe
    n = graph.n_vertices
    assert np.array_equal(released.codes[:n], graph.codes)
    true = set(map(frozenset, graph.edges.tolist()))
    assert outcome.shift is not None
    orbits = orbits_of(outcome.shift)
    half = {pair for pair, orbit in orbits.items() if 2 * len(orbit & true) >= len(orbit)}
    shown = set(map(frozenset, released.edges.tolist()))
    assert shown == half
    assert len(shown ^ true) <= len(true)


@settings(max_examples=10, deadline=None)
@given(graphs(n_max=12), st.sampled_from([1, 2, 3, 4]), st.integers(0, 2**32))
def test_robust_releases_are_safe_and_show_no_orbit_for_one_tie(
    graph: AttributedGraph, k: int, seed: int
) -> None:
    """Safe at every radius, never dearer than no edge; no denser orbits have a greater F1."""
    params = PrivacyParams(k=k, alpha=Fraction(1, 2), epsilon=0, t=0)
    rng = np.random.default_rng(seed)
    outcome = everybody(Request(graph, params, rng, OPTIONS), "robust")
    released = outcome.graph
    assert verify_graph(released, params, certificate=outcome.shift).is_safe
    for hops in (1, 2):
        asked = dataclasses.replace(params, n_hops=hops)
        assert verify_graph(released, asked, workers=1).is_safe
    true = set(map(frozenset, graph.edges.tolist()))
    shown = set(map(frozenset, released.edges.tolist()))
    assert outcome.shift is not None
    orbits = set(map(frozenset, orbits_of(outcome.shift).values()))
    eligible = {orbit for orbit in orbits if len(orbit & true) >= min(2, len(orbit))}
    assert shown == {pair for orbit in eligible if orbit <= shown for pair in orbit}

    def f1(pairs: set[frozenset[int]]) -> float:
        return 2 * len(pairs & true) / max(len(pairs) + len(true), 1)

    assert len(shown ^ true) <= len(true)
    for least in {Fraction(len(orbit & true), len(orbit)) for orbit in eligible}:
        denser = {p for o in eligible if Fraction(len(o & true), len(o)) >= least for p in o}
        assert 2 * len(denser & true) < len(denser) or f1(denser) <= f1(shown) + 1e-12


def test_a_missing_translate_is_seen() -> None:
    """With any one edge removed, the certificate breaks and the definition fails, too."""
    graph = uniform(60, 150, n_tuples=3, rng=np.random.default_rng(1))
    params = PrivacyParams(k=4, alpha=Fraction(1, 2), epsilon=0, n_hops=2)
    outcome = aligned(graph, params)
    released = outcome.graph
    for gone in range(0, released.n_edges, 50):
        fewer = np.delete(released.edges, gone, axis=0)
        qi, flags = released.codes[:, :-1], released.is_sensitive
        with pytest.raises(NotKTSafe):
            verify(qi, flags, fewer, params, certificate=outcome.shift)
        verdict = verify(qi, flags, fewer, params, workers=1)
        assert not verdict.is_safe


def test_one_more_sensitive_vertex_is_seen() -> None:
    """A group whose sensitive share is at alpha fails with one more sensitive member."""
    graph = uniform(40, 60, n_tuples=2, sensitive_share=0.5, rng=np.random.default_rng(2))
    params = PrivacyParams(k=4, alpha=Fraction(1, 4), n_hops=2)
    outcome = aligned(graph, params)
    flags = outcome.graph.is_sensitive.copy()
    qi = outcome.graph.codes[:, :-1]
    assert verify(qi, flags, outcome.graph.edges, params, certificate=outcome.shift).is_safe
    assert outcome.shift is not None
    flags[outcome.shift[np.flatnonzero(flags)[0]]] = True
    verdict = verify(qi, flags, outcome.graph.edges, params, certificate=outcome.shift)
    assert verdict.n_unsafe == 4


def test_the_search_lowers_the_cost_and_more_search_lowers_it_more() -> None:
    """Sharing orbits pays: below publishing no edge, and `balanced` below `fast`."""
    graph = uniform(300, 600, n_tuples=4, rng=np.random.default_rng(3))
    params = PrivacyParams(k=5, n_hops=2)
    cost = {}
    for effort in ("fast", "balanced"):
        options = dataclasses.replace(OPTIONS, effort=effort)  # type: ignore[arg-type]
        request = Request(graph, params, np.random.default_rng(0), options)
        released = in_order(request, "aligned").graph
        cost[effort] = len(np.setxor1d(edge_keys(released.edges), edge_keys(graph.edges)))
    assert cost["balanced"] < cost["fast"] < 600


def test_the_same_seed_gives_the_same_release() -> None:
    """And another seed another one."""
    graph = uniform(80, 200, n_tuples=3, rng=np.random.default_rng(4))
    params = PrivacyParams(k=3, alpha=Fraction(1, 2), n_hops=2, reading="induced")
    first, again, other = (aligned(graph, params, seed) for seed in (5, 5, 6))
    assert np.array_equal(first.graph.edges, again.graph.edges)
    assert np.array_equal(first.graph.codes, again.graph.codes)
    assert not np.array_equal(first.graph.edges, other.graph.edges)


@settings(max_examples=20, deadline=None)
@given(graphs(n_max=20), st.sampled_from([1, 3, 8]), st.sampled_from([Fraction(1, 7), Fraction(1)]))
def test_without_hops_nothing_is_inserted(graph: AttributedGraph, k: int, alpha: Fraction) -> None:
    """For n = 0 whole classes are protection sets: all ties of the published are shown."""
    params = PrivacyParams(k=k, alpha=alpha, n_hops=0)
    made = in_order(Request(graph, params, np.random.default_rng(0), OPTIONS), "aligned")
    assert verify_graph(made.graph, params, workers=1).is_safe
    assert (made.origin >= 0).all()
    assert np.array_equal(made.graph.edges, graph.subgraph(made.origin).edges)


def test_strategies_for_stars_refuse_other_neighbourhoods() -> None:
    """The default does not promise what it cannot keep."""
    graph = uniform(20, 20, n_tuples=1, rng=np.random.default_rng(8))
    for changes in ({"n_hops": 2}, {"n_hops": 0}, {"reading": "induced"}):
        params = PrivacyParams(**changes)  # type: ignore[arg-type]
        with pytest.raises(InvalidParams, match="aligned"):
            in_order(Request(graph, params, np.random.default_rng(0)), "exact")


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_parts_give_the_same_release_in_any_executor(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Searched in the calling thread, by two threads or by another process: equal, and safe."""
    monkeypatch.setattr(alignment_parts, "EDGES_PER_PART", 100)
    graph = uniform(200, 450, n_tuples=3, rng=np.random.default_rng(9))
    params = PrivacyParams(k=4, alpha=Fraction(1, 2), n_hops=2)
    alone = aligned(graph, params)
    context = multiprocessing.get_context("spawn")
    with (
        ThreadPoolExecutor(2) if kind == "threads" else ProcessPoolExecutor(1, mp_context=context)
    ) as pool:
        together = everybody(
            Request(graph, params, np.random.default_rng(0), OPTIONS, pool), "aligned"
        )
    assert np.array_equal(alone.graph.edges, together.graph.edges)
    assert np.array_equal(alone.graph.codes, together.graph.codes)
    assert verify_graph(together.graph, params, certificate=together.shift).is_safe


def test_parts_hold_every_vertex_once_and_are_put_back() -> None:
    """Whatever the number of parts: a plan that is cut and put back is the same plan."""
    graph = uniform(150, 400, n_tuples=4, rng=np.random.default_rng(10))
    problem = core.Problem(graph.indptr, graph.indices, graph.qi_classes, graph.is_sensitive)
    seats = seated(graph, PrivacyParams(k=5))
    before = [array.copy() for array in seats]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alignment_parts, "EDGES_PER_PART", 90)
        parts = alignment_parts.cut_into_parts(problem, seats)
    assert len(parts) == 4
    assert sorted(np.concatenate([part.vertices for part in parts]).tolist()) == [*range(150)]
    for part in parts:
        alignment_parts.put_back(seats, part, part.seats.occupant)
    for one, two in zip(before, seats, strict=True):
        assert np.array_equal(one, two)


def test_robust_releases_let_fewer_be_found() -> None:
    """With all true ties and a twentieth of the people known: half of what an exact one gives."""
    graph = uniform(600, 3000, n_tuples=4, rng=np.random.default_rng(0))
    found = {}
    for strategy in ("exact", "robust"):
        made = anonymize(Request(graph, PrivacyParams(), np.random.default_rng(0)), strategy)
        case = Case(graph, made.graph, made.origin)
        found[strategy] = seeds(case, np.random.default_rng(0))[-1].value
    assert found["robust"] < found["exact"] / 2
    assert found["exact"] > 0.5
