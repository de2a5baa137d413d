"""Alternating paths: nobody lacks more afterwards, and graph and index stay in step."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import PrivacyParams
from ktsafe.incremental import _deficit_core as core
from ktsafe.incremental import _gaining_core as gaining
from ktsafe.incremental import _inviting_core as inviting
from ktsafe.incremental import alternating, engine
from ktsafe.incremental.alternating import lead_away
from ktsafe.incremental.carrying import carry
from ktsafe.incremental.indexed import IndexedGraph
from ktsafe.index._table_core import NONE
from ktsafe.index.table import LocationTable, real_floors, similarity_rule
from ktsafe.working.graph import WorkingGraph
from tests import naive
from tests.ktsafe.incremental.streams import Network, begun

PARAMS = PrivacyParams(k=4, t=Fraction(1, 4), alpha=Fraction(2, 5), epsilon=2)
TOLERANCE = naive.Tolerance(4, Fraction(1, 4), Fraction(2, 5), 2)


def unsettled(seed: int) -> IndexedGraph:
    """Return a release with another truth in it: many people then lack something."""
    rng = np.random.default_rng(seed)
    network, releases = Network(rng, 50), begun(PARAMS)
    releases.release(*network.graph(), rng)
    for _ in range(3):
        network.change()
    graph, keys = engine._in_order(*network.graph())
    assert releases.last is not None
    working = carry(releases.last, graph, keys).working
    caps = np.full(working.space.n_classes, 60, dtype=np.int64)
    rule = similarity_rule(working.space, PARAMS)
    table = LocationTable(working, rule, caps, real_floors(working, rule))
    return IndexedGraph(working, rule, table)


def small(working: WorkingGraph) -> naive.Small:
    """Return a working graph as the oracle knows it, by its lists of edges alone."""
    tuples = working.space.tuples[working.arrays.cls[: working.n]]
    edges = np.concatenate((working.original_edges, working.inserted_edges))
    return naive.Small(
        [tuple(row) for row in tuples.tolist()],
        working.arrays.is_sensitive[: working.n].tolist(),
        [(u, v) for u, v in edges.tolist()],
    )


def naive_deficit(working: WorkingGraph) -> int:
    """Return what everybody lacks, from the definition, pair by pair."""
    graph, k = small(working), TOLERANCE.k
    classes = working.arrays.cls[: working.n].tolist()
    n_real = [classes[: working.n_original].count(c) for c in range(working.space.n_classes)]
    total = 0
    for v, members in enumerate(naive.protection_sets(graph, TOLERANCE)):
        sensitive = sum(graph.is_sensitive[u] for u in members)
        needed = max(k, -(-sensitive * TOLERANCE.alpha.denominator // TOLERANCE.alpha.numerator))
        total += core.SAFETY * max(0, needed - len(members))
        if v < working.n_original and n_real[classes[v]] >= k:
            total += max(0, k - sum(u < working.n_original for u in members))
    return total


def counted(indexed: IndexedGraph) -> int:
    """Return what everybody lacks, location by location."""
    table = indexed.table.arrays
    places = np.flatnonzero(table.population > 0)
    return sum(int(core.deficit_with(table, indexed.rule, at, 0, 0, 0)) for at in places)


def check_in_step(indexed: IndexedGraph) -> None:
    """Compare degrees, neighbours, edge set and index with what the lists of edges say."""
    working, table = indexed.working, indexed.table
    graph = small(working)
    assert len({frozenset(edge) for edge in graph.edges}) == len(graph.edges)
    assert all(u != v for u, v in graph.edges)
    reach = naive.closed_neighbourhoods(graph)
    assert working.arrays.degree[: working.n].tolist() == [len(near) - 1 for near in reach]
    for v, near in enumerate(reach):
        columns = working.space.columns[working.arrays.cls[sorted(near)]].reshape(-1)
        counted = np.bincount(columns, minlength=working.n_columns)
        assert counted.tolist()[: working.space.n_columns] == (
            working.arrays.hist[v, : working.space.n_columns].tolist()
        )
    sizes = table.arrays.ps_size[table.arrays.of_vertex[: working.n]]
    assert sizes.tolist() == [len(m) for m in naive.protection_sets(graph, TOLERANCE)]
    kept = working.arrays.edge_slots[working.arrays.edge_slots >= 0]
    ends = {frozenset((key >> 32, key & 0xFFFFFFFF)) for key in kept.tolist()}
    assert ends == {frozenset(edge) for edge in graph.edges}


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32))
def test_the_deficit_is_that_of_the_definition(seed: int) -> None:
    """Counted at locations as pair by pair; what a move would do is what it does."""
    indexed = unsettled(seed)
    g, table, rule = indexed.working.arrays, indexed.table.arrays, indexed.rule
    before = counted(indexed)
    assert before == naive_deficit(indexed.working)
    u, v = indexed.working.inserted_edges[0].tolist()
    lifted = core.lift(g, table, rule, u)
    core.turn(g, u, v, NONE)
    foreseen = core.growth(g, table, rule, u)
    assert core.place(g, table, rule, u) == foreseen
    assert counted(indexed) == before + lifted + foreseen
    is_borne = core.exchange_if_borne(g, table, rule, u, NONE, v)
    assert is_borne == (lifted + foreseen >= 0)
    assert counted(indexed) == (before if is_borne else before + lifted + foreseen)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32))
def test_a_neighbour_of_each_class_is_judged_as_if_it_came(seed: int) -> None:
    """What one more neighbour would do, for all classes at once, is what each would do."""
    indexed = unsettled(seed)
    working, table, rule = indexed.working, indexed.table.arrays, indexed.rule
    g = working.arrays
    scene = alternating.scene_of(working)
    members, start = scene.members, scene.start
    sums = np.zeros((4, working.space.n_classes), dtype=np.int64)
    is_near = np.zeros(working.space.n_columns, dtype=np.bool_)
    for v in np.random.default_rng(seed).permutation(working.n)[:12].tolist():
        core.lift(g, table, rule, v)
        gaining.growth_by_class(g, table, rule, v, sums, is_near)
        for c in range(working.space.n_classes):
            like = int(members[start[c]])
            core.turn(g, v, NONE, like)
            assert sums[gaining.GROWN, c] == core.growth(g, table, rule, v)
            core.turn(g, v, like, NONE)
        core.place(g, table, rule, v)
    check_in_step(indexed)


def test_who_is_invited_is_not_similar_yet() -> None:
    """Those who are nearest come first, members of the same class and not similar so far."""
    indexed = unsettled(4)
    working, table = indexed.working, indexed.table.arrays
    g, sets = working.arrays, naive.protection_sets(small(working), TOLERANCE)
    scene = alternating.scene_of(working)
    members, start = scene.members, scene.start
    found = 0
    for v in range(working.n):
        own = members[start[g.cls[v]] : start[g.cls[v] + 1]]
        invited = np.zeros(3, dtype=np.int32)
        n = inviting.invite(g, table, indexed.rule, own, v, 2, invited)
        few, more = invited[:n].tolist(), np.zeros(working.n, dtype=np.int32)
        n_more = inviting.invite(g, table, indexed.rule, own, v, 2, more)
        assert set(few) <= set(more[:n_more].tolist()) <= set(own.tolist())
        # They are lifted to see who misses them, and put back.
        assert not set(more[:n_more].tolist()) & set(sets[v])
        found += n_more
    assert found
    check_in_step(indexed)


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32))
def test_nobody_lacks_more_and_all_stays_in_step(seed: int) -> None:
    """What all lack never grows; true ties stay; graph, edge set and index tell the same."""
    indexed = unsettled(seed)
    working = indexed.working
    before, ties = naive_deficit(working), working.original_edges.tolist()
    lead_away(indexed, np.random.default_rng(seed), set())
    check_in_step(indexed)
    assert naive_deficit(working) <= before
    assert working.original_edges.tolist() == ties


def test_most_of_what_is_lacking_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a few networks most of the deficit goes, less where nobody may join another."""

    def left() -> tuple[int, int]:
        before = after = 0
        for seed in range(8):
            indexed = unsettled(seed)
            before += counted(indexed)
            lead_away(indexed, np.random.default_rng(seed), set())
            after += counted(indexed)
        return before, after

    before, after = left()
    assert after < before / 2
    monkeypatch.setattr(alternating, "PASSES_MAX", 0)
    assert after < left()[1]


def test_a_crowded_edge_set_ends_the_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without room for the gaps that undone turns leave, they end, and nothing is lost."""
    monkeypatch.setattr(alternating, "GAPS_MIN", 0)
    monkeypatch.setattr(WorkingGraph, "reserve_edges", grown_list)
    for seed in range(4):
        indexed = unsettled(seed)
        lead_away(indexed, np.random.default_rng(seed), set())
        check_in_step(indexed)


def grown_list(working: WorkingGraph, more: int) -> None:
    """Make room in the list of inserted edges, and none in the edge set beyond what it has."""
    inserted = np.zeros((working.n_inserted_edges + more, 2), dtype=np.int32)
    inserted[: working.n_inserted_edges] = working.inserted_edges
    working.arrays = working.arrays._replace(inserted=inserted)


def test_an_edge_that_is_not_handed_over_is_noticed() -> None:
    """If the list named another end than the neighbour sees, the comparison would fail."""
    indexed = unsettled(1)
    check_in_step(indexed)
    edges, degrees = indexed.working.inserted_edges, indexed.working.arrays.degree
    edges[0, 0] = next(v for v in range(indexed.working.n) if degrees[v] and v not in edges[0])
    with pytest.raises(AssertionError):
        check_in_step(indexed)


def test_only_so_many_are_served(monkeypatch: pytest.MonkeyPatch) -> None:
    """Others are invited once for each, and to as many as there may be."""
    monkeypatch.setattr(alternating, "SERVED_MAX", 3)
    indexed = unsettled(2)
    asked: set[int] = set()
    paths = alternating.Paths(indexed, np.random.default_rng(2))
    wishing = np.arange(8, dtype=np.int32)
    paths.invite(wishing[:2], asked)
    assert asked == {0, 1}
    paths.invite(wishing, asked)
    assert len(asked) == 3
    paths.invite(wishing, asked)
    assert len(asked) == 3
    paths.close()
    check_in_step(indexed)
