"""Which groups a matching covers: never some of one, and nearly as many as can be."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ktsafe.sequence.ties import _groups_core, _matching_core

Array = NDArray[np.int64]
NO_TIES = np.zeros((0, 2), dtype=np.int64)


def chosen(
    edges: list[tuple[int, int]], group: Array, need: Array, ties: Array = NO_TIES, seed: int = 0
) -> _matching_core.Search:
    """Return the matching after groups were chosen."""
    neighbours: list[list[int]] = [[] for _ in group]
    for u, v in edges:
        neighbours[u].append(v)
        neighbours[v].append(u)
    indptr = np.cumsum([0, *map(len, neighbours)])
    indices = np.array([v for others in neighbours for v in others], dtype=np.int64)
    search = _matching_core.new_search(indptr, indices, group, need)
    _matching_core.match_greedily(search)
    _matching_core.match_all(search)
    _groups_core.choose_groups(search, ties, np.random.default_rng(seed).random(512))
    return search


def bipartite(seed: int, groups: int, size: int, extra: int) -> tuple[list[tuple[int, int]], Array]:
    """Return edges between groups of equal size: some whole matchings of two, and random ones."""
    rng = np.random.default_rng(seed)
    n = groups * size
    edges = set()
    for left, right in zip(rng.permutation(groups), rng.permutation(groups), strict=True):
        if rng.random() < 0.6:
            turn = rng.permutation(size)
            edges |= {(int(left * size + i), int(n + right * size + turn[i])) for i in range(size)}
    for u, v in rng.integers(0, n, (extra, 2)).tolist():
        edges.add((u, n + v))
    return sorted(edges), np.repeat(np.arange(2 * groups), size)


def most_covered(edges: list[tuple[int, int]], group: Array, need: Array) -> int:
    """Return the most vertices that a choice of groups has which can be matched as wholes."""
    groups = range(len(need))
    for count in range(len(need), 0, -1):
        for choice in combinations(groups, count):
            inside = np.isin(group, choice)
            graph = nx.Graph((u, v) for u, v in edges if inside[u] and inside[v])
            if 2 * len(nx.max_weight_matching(graph, maxcardinality=True)) == inside.sum():
                return int(inside.sum())
    return 0


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(2, 4), st.integers(0, 30))
def test_no_group_is_covered_in_part(seed: int, groups: int, size: int, extra: int) -> None:
    """Partners are mutual neighbours, and of each group none or as many as it needs have one."""
    edges, group = bipartite(seed, groups, size, extra)
    need = np.random.default_rng(seed).integers(1, size + 1, 2 * groups)
    search = chosen(edges, group, need, seed=seed)
    for v in np.flatnonzero(search.mate >= 0).tolist():
        assert search.mate[search.mate[v]] == v
        assert tuple(sorted((v, int(search.mate[v])))) in set(edges)
    count = np.bincount(group[search.mate >= 0], minlength=len(need))
    assert (count == search.matched).all()
    assert ((count == 0) | (count >= need)).all()


def test_nearly_as_much_is_covered_as_can_be() -> None:
    """Groups that need all their members: the most that any choice covers, in nearly every case."""
    most, found = [], []
    for seed in range(60):
        edges, group = bipartite(seed, 4, 3, 8)
        need = np.full(8, 3)
        most.append(most_covered(edges, group, need))
        found.append(int((chosen(edges, group, need, seed=seed).mate >= 0).sum()))
    assert all(some <= all_ for some, all_ in zip(found, most, strict=True))
    assert sum(most) > 0
    assert sum(found) >= 0.98 * sum(most)


def test_closing_what_lacks_most_would_cover_less() -> None:
    """The walk finds more than closing the worst group again and again."""
    walked, closed = 0, 0
    for seed in range(20):
        edges, group = bipartite(seed, 12, 5, 60)
        need = np.full(24, 5)
        walked += int((chosen(edges, group, need, seed=seed).mate >= 0).sum())
        search = chosen(edges, group, np.zeros(24, dtype=np.int64))
        search.need[:] = need
        groups = _groups_core._all_open(search, NO_TIES)
        _groups_core._close_failing(search, groups)
        closed += int((search.mate >= 0).sum())
    assert walked > 1.05 * closed > 0


def test_ties_decide_between_groups() -> None:
    """Of two groups that want the same partners, that with a tie is covered."""
    # Group 0 and group 1 both have edges only to group 2; group 3 is matched with group 4.
    edges = [(0, 4), (1, 5), (2, 4), (3, 5), (6, 8), (7, 9)]
    group = np.repeat(np.arange(5), 2)
    need = np.full(5, 2)
    for favoured, other in ((0, 2), (2, 0)):
        search = chosen(edges, group, need, np.array([[favoured, 6]]))
        assert (search.mate[favoured : favoured + 2] >= 0).all()
        assert (search.mate[other : other + 2] < 0).all()
