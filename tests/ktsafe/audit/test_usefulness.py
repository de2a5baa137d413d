"""What a release shares with the truth, against sets of pairs."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import to_builtins

from ktsafe.audit import Overlap, Traced, audit_release, cost_parts, trace, usefulness
from ktsafe.audit.cost import share
from ktsafe.params import PrivacyParams
from ktsafe.stream.files.report_texts import percent
from tests.graphs import attributed
from tests.naive import Small

PARAMS = PrivacyParams(2, Fraction(1, 2), Fraction(1, 2), 0)


def _graph(n: int, edges: set[frozenset[int]]) -> Small:
    return Small([(0,)] * n, [False] * n, [tuple(sorted(pair)) for pair in edges])


@st.composite
def traced_pairs(draw: st.DrawFn) -> tuple[Small, Small, list[int]]:
    """Draw a true graph, a release of some of its people and others, and who is who."""
    graphs = []
    for _ in range(2):
        n = draw(st.integers(1, 7))
        pairs = [frozenset((u, v)) for v in range(n) for u in range(v)]
        graphs.append(_graph(n, draw(st.sets(st.sampled_from(pairs))) if pairs else set()))
    original, released = graphs
    people = draw(st.permutations(range(len(original.is_sensitive))))
    behind = [
        people[v] if v < len(people) and draw(st.booleans()) else -1
        for v in range(len(released.is_sensitive))
    ]
    return original, released, behind


def _traced(graphs: tuple[Small, Small, list[int]]) -> Traced:
    original, released, behind = graphs
    return trace(attributed(original), attributed(released), np.array(behind, dtype=np.int64))


@given(traced_pairs())
@settings(deadline=None)
def test_counts_are_those_of_sets(graphs: tuple[Small, Small, list[int]]) -> None:
    """Costs, precision, recall and F1 equal what sets of pairs of names say."""
    original, released, behind = graphs
    names = [who if who >= 0 else -1 - v for v, who in enumerate(behind)]
    found = usefulness(_traced(graphs))
    for overlap, true, shown in (
        (
            found.edges,
            {frozenset(pair) for pair in original.edges},
            {frozenset((names[u], names[v])) for u, v in released.edges},
        ),
        (found.vertices, set(range(len(original.is_sensitive))), set(names)),
    ):
        assert overlap.cost == len(true ^ shown)
        assert overlap.shared == len(true & shown)
        precision, recall = overlap.precision, overlap.recall
        assert precision == (round(len(true & shown) / len(shown), 6) if shown else None)
        assert recall == (round(len(true & shown) / len(true), 6) if true else None)
        if precision and recall:
            assert overlap.f1 is not None
            assert abs(overlap.f1 - 2 / (1 / precision + 1 / recall)) < 1e-5
        else:
            assert not overlap.f1
    assert found.costs_more_than_nothing == (found.edges.cost > len(original.edges))


@given(traced_pairs())
@settings(deadline=None)
def test_cost_parts_add_up_to_both_costs(graphs: tuple[Small, Small, list[int]]) -> None:
    """The cost of Equation 1 is of edges and vertices; some edges have a withheld end."""
    traced = _traced(graphs)
    found, parts = usefulness(traced), cost_parts(traced, PARAMS)
    assert parts.total == found.edges.cost + found.vertices.cost
    original, _, behind = graphs
    assert parts.edges_of_withheld == sum(not {*pair} <= {*behind} for pair in original.edges)


@given(st.integers(1, 10**9).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@example((1, 3_000_000))
@example((2_999_999, 3_000_000))
def test_a_share_is_none_or_all_only_where_it_is(counts: tuple[int, int]) -> None:
    """One of millions is not rounded away, as a figure and as text; else six places are right."""
    part, whole = counts
    found = share(part, whole)
    assert found is not None
    assert abs(Fraction(found) - Fraction(part, whole)) < Fraction(1, 10**6)
    assert (found == 0, found == 1) == (part == 0, part == whole)
    assert (percent(found) == "0%", percent(found) == "100%") == (part == 0, part == whole)


def test_shares_of_nothing_are_unknown() -> None:
    """No edges at all: nothing was lost. Edges where none are: worse than nothing."""
    assert to_builtins(Overlap.of(0, 0, 0)) == {
        "true": 0,
        "released": 0,
        "shared": 0,
        "cost": 0,
        "cost_share": None,
        "precision": None,
        "recall": None,
        "f1": None,
    }
    nothing = Overlap.of(true=3, released=0, shared=0)
    assert (nothing.cost_share, nothing.precision, nothing.recall, nothing.f1) == (1, None, 0, 0)
    invented = usefulness(_traced((_graph(2, set()), _graph(2, {frozenset((0, 1))}), [0, 1])))
    assert invented.costs_more_than_nothing
    assert (invented.edges.cost_share, invented.edges.f1) == (None, 0)


def test_the_audit_tells_it() -> None:
    """Usefulness stands beside the cost in the audit of a release, JSON-ready."""
    graph = attributed(_graph(3, {frozenset((0, 1)), frozenset((1, 2))}))
    audit = audit_release(graph, graph, PARAMS)
    assert audit.usefulness == usefulness(trace(graph, graph))
    assert audit.usefulness.edges.f1 == 1.0
    json.dumps(to_builtins(audit), allow_nan=False)
