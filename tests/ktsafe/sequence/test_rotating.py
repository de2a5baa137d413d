"""Rotations: who loses an edge and who gains one, decided rightly and covered always."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ktsafe.errors import NotKTSafe
from ktsafe.sequence import Sequence
from ktsafe.sequence.gate import certificate, cover
from ktsafe.sequence.memory import state as columns
from ktsafe.sequence.ties import _rotating_core
from ktsafe.sequence.ties.pairing import matched_by_slack
from ktsafe.sequence.ties.pool import Kinds, pool_of
from ktsafe.sequence.ties.rotating import rotate
from tests.ktsafe.sequence.world import PARAMS, World

Edges = NDArray[np.int64]
CHANCES = np.random.default_rng(0).random(64)


@st.composite
def grouped_edges(draw: st.DrawFn) -> tuple[Edges, Edges, Edges, Edges]:
    """Draw edges of few vertices, their groups, and the need and the size of each group."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    groups = draw(st.integers(1, 6))
    size = rng.integers(2, 6, groups)
    group = np.repeat(np.arange(groups), size)
    n = len(group)
    pairs = {tuple(sorted(pair)) for pair in rng.integers(0, n, (draw(st.integers(1, 40)), 2))}
    edges = np.array(sorted(pair for pair in pairs if pair[0] != pair[1]), dtype=np.int64)
    need = rng.integers(1, size + 1)
    return edges.reshape(-1, 2), group, need, size


@settings(max_examples=60, deadline=None)
@given(grouped_edges())
def test_edges_are_droppable_if_enough_of_every_group_have_one(
    drawn: tuple[Edges, Edges, Edges, Edges],
) -> None:
    """Equal to what is left when edges of groups that lack members are struck out one by one."""
    edges, group, need, _ = drawn
    left = {tuple(edge) for edge in edges.tolist()}
    while True:
        ends = {v for edge in left for v in edge}
        lacking = {g for g in group.tolist() if sum(group[v] == g for v in ends) < need[g]}
        struck = {edge for edge in left if {group[v] for v in edge} & lacking}
        if not struck:
            break
        left -= struck
    kept = _rotating_core.droppable(edges, group, need)
    assert {tuple(edge) for edge in edges[kept].tolist()} == left


@settings(max_examples=100, deadline=None)
@given(grouped_edges(), st.integers(0, 10_000))
def test_matchings_cover_enough_of_a_group_or_none(
    drawn: tuple[Edges, Edges, Edges, Edges], seed: int
) -> None:
    """Partners are mutual and neighbours, no group is short, and served ties have both ends."""
    edges, group, need, size = drawn
    n = len(group)
    rng = np.random.default_rng(seed)
    ties = rng.integers(0, n, (4, 2))
    ties = ties[ties[:, 0] != ties[:, 1]]
    indptr, indices = _compressed(edges, n)
    mate, served = _rotating_core.covering(indptr, indices, group, need, size, ties, CHANCES)
    present = {tuple(edge) for edge in edges.tolist()}
    matched = np.flatnonzero(mate >= 0)
    for v in matched.tolist():
        assert mate[mate[v]] == v
        assert tuple(sorted((v, int(mate[v])))) in present
    count = np.bincount(group[matched], minlength=len(need))
    assert ((count == 0) | (count >= need)).all()
    ends = ties[served].reshape(-1)
    assert len(set(ends.tolist())) == len(ends)
    assert (mate[ends] >= 0).all()


def test_whole_groups_are_covered_where_others_can_spare_partners() -> None:
    """A member without a partner takes that of a group which has one more than it needs."""
    # Groups: 0, 1 | 2, 3, 4. Vertex 1 finds only 3, which 4 would have matched as well.
    edges = np.array([[0, 2], [3, 4], [1, 3]])
    group, need, size = np.array([0, 0, 1, 1, 1]), np.array([2, 2]), np.array([2, 3])
    indptr, indices = _compressed(edges, 5)
    ties = np.zeros((0, 2), dtype=np.int64)
    mate, _ = _rotating_core.covering(indptr, indices, group, need, size, ties, CHANCES)
    assert (mate[:2] >= 0).all()
    need = np.array([2, 3])
    mate, _ = _rotating_core.covering(indptr, indices, group, need, size, ties, CHANCES)
    assert (mate < 0).all()


def _compressed(edges: Edges, n: int) -> tuple[Edges, Edges]:
    neighbours: list[list[int]] = [[] for _ in range(n)]
    for u, v in edges.tolist():
        neighbours[u].append(v)
        neighbours[v].append(u)
    indptr = np.cumsum([0, *(len(others) for others in neighbours)])
    return indptr, np.array([v for others in neighbours for v in others], dtype=np.int64)


def grown_world(seed: int) -> tuple[World, Sequence]:
    """Return a world after some releases, with ties held back and many inserted edges."""
    world, rng = World(120, 200, seed), np.random.default_rng(seed)
    sequence = world.begin(edge_lag_max=3)
    for _ in range(5):
        sequence.advance(world.change(ties=10, leaves=1), rng)
    return world, sequence


@settings(max_examples=6, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_rotations_are_covered_and_never_cost(seed: int) -> None:
    """Alone, they keep certificate, cover and true ties, and never make a release dearer."""
    _, sequence = grown_world(seed)
    state = sequence._state
    before, truth = sequence.figures(), sequence.truth()[0].edges.tolist()
    state.forget_visible()
    state.release += 1
    rotate(state, set(state.between), PARAMS.k, np.random.default_rng(seed))
    certificate.check(state, sequence._frame, state.members)
    cover.check_cover(state, PARAMS.k)
    after = sequence.figures()
    assert after.cost <= before.cost
    assert sequence.truth()[0].edges.tolist() == truth
    published = before.held_edges - after.held_edges
    lowered = after.moves.get("lowered", 0) - before.moves.get("lowered", 0)
    assert before.cost - after.cost == 2 * published + lowered
    assert not state.gained.keys() & state.lost.keys()


def test_rotations_of_fewer_than_k_are_refused_by_the_gate() -> None:
    """With a cover of one, somebody changes alone: the certificate holds, the cover does not."""
    refused = 0
    for seed in range(4):
        _, sequence = grown_world(seed)
        state = sequence._state
        state.forget_visible()
        state.release += 1
        rotate(state, set(state.between), 1, np.random.default_rng(seed))
        certificate.check(state, sequence._frame, state.members)
        try:
            cover.check_cover(state, PARAMS.k)
        except NotKTSafe:
            refused += 1
    assert refused


def test_ties_go_in_by_rotation_and_edges_are_taken_back() -> None:
    """Over a longer sequence both happen, and residual edges go before others."""
    world, rng = World(120, 200, 11), np.random.default_rng(0)
    sequence = world.begin(edge_lag_max=3)
    for _ in range(15):
        sequence.advance(world.change(ties=10), rng)
    moves = sequence.figures().moves
    assert moves["rotated"] > 0
    assert moves["lowered"] > 0


def test_residual_edges_are_preferred() -> None:
    """Edges of people who left come first in the pool."""
    seen = 0
    for seed in range(3):
        _, sequence = grown_world(seed)
        state = sequence._state
        state.release += 1
        for pair in sorted(state.between):
            pool = pool_of(state, pair, Kinds(state, {}), PARAMS.k, np.random.default_rng(0))
            if pool is None:
                continue
            kinds = [
                state.edges.get(state.adjacent[pool.places[u]][pool.places[v]], columns.IS_TRUE)
                for u, v in pool.ends.tolist()
            ]
            assert columns.TRUE not in kinds
            residual = kinds.count(columns.RESIDUAL)
            assert kinds[:residual] == [columns.RESIDUAL] * residual
            seen += residual
    assert seen


@pytest.mark.parametrize("seed", range(3))
def test_new_edges_are_new(seed: int) -> None:
    """No replacement is there already, or vanished a moment ago, and everybody gets one."""
    _, sequence = grown_world(seed)
    state = sequence._state
    state.forget_visible()
    rng = np.random.default_rng(seed)
    edges = [tuple(state.edges.get(row, end) for end in (0, 1)) for row in state.edges.used()]
    for u, v in edges[:20]:
        state.drop_edge(state.adjacent[u][v])
    a, b = sorted({state.cls(place) for place in state.members[0] + state.members[1]} | {0, 1})[:2]
    sides = [[p for p, cls in enumerate(state.cls_of) if cls == c][:10] for c in (a, b)]
    pairs = matched_by_slack(state, (a, b), sides, (), rng)
    assert pairs is not None
    assert sorted(place for pair in pairs for place in pair) == sorted(sides[0] + sides[1])
    for u, v in pairs:
        assert v not in state.adjacent[u]
        assert tuple(sorted((u, v))) not in state.lost
