"""What others publish instead: three mechanisms on plain graphs, each after its paper.

They know no attributes, and promise something else: equal degrees, or that a tie's existence is
hidden by noise (edge differential privacy). Vertices keep their numbers.
"""

from __future__ import annotations

import itertools

import igraph
import numpy as np
from numpy.typing import NDArray

from lab.evaluation.pgb_queries import louvain

Edges = NDArray[np.int64]
"""int64, shape (m, 2): the ends of each edge, ascending."""

SUPER_NODE = 20
"""Vertices of each group that PrivGraph begins with."""


def k_degree(n: int, edges: Edges, k: int, rng: np.random.Generator) -> Edges:
    """Return the edges and some more, so each degree is that of at least k vertices.

    Where the degrees asked for cannot be had, random vertices of low degree get one more to begin
    with, as the authors do ("probing"): as many as ends are missing.

    Source: Liu and Terzi, Towards Identity Anonymization on Graphs, SIGMOD 2008 (Supergraph).
    """
    true = np.bincount(edges.reshape(-1), minlength=n)
    asked = true.copy()
    while True:
        order = np.argsort(-asked, kind="stable")
        goal = np.empty(n, dtype=np.int64)
        goal[order] = equal_in_groups(asked[order], k)
        more = _realized(n, edges, goal - true, rng)
        if not isinstance(more, int):
            return np.concatenate((edges, more))
        lowest = np.argsort(asked, kind="stable")[: max(n // 2, 1)]
        asked[rng.permutation(lowest)[:more]] += 1


def equal_in_groups(degrees: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Return the least raised degrees, given descending, that are each had by k vertices."""
    n = len(degrees)
    total = np.concatenate(([0], np.cumsum(degrees)))
    best = np.full(n + 1, np.iinfo(np.int64).max // 2)
    best[0] = 0
    start = np.zeros(n + 1, dtype=np.int64)
    for end in range(min(k, n), n + 1):
        first = np.arange(max(0, end - 2 * k + 1), max(0, end - k) + 1)
        cost = best[first] + degrees[first] * (end - first) - (total[end] - total[first])
        at = int(np.argmin(cost))
        best[end], start[end] = cost[at], first[at]
    raised = degrees.copy()
    end = n
    while end:
        raised[start[end] : end] = degrees[start[end]]
        end = int(start[end])
    return raised


def _realized(
    n: int, edges: Edges, lack: NDArray[np.int64], rng: np.random.Generator
) -> Edges | int:
    """Return new edges that give each vertex what it lacks, or how many ends find no other."""
    if lack.sum() % 2:
        return 1
    near: list[set[int]] = [set() for _ in range(n)]
    for u, v in edges.tolist():
        near[u].add(v)
        near[v].add(u)
    left = lack.copy()
    found = []
    tie_break = rng.permutation(n)
    while left.any():
        u = int(np.lexsort((tie_break, -left))[0])
        wanted = int(left[u])
        left[u] = 0
        others = [
            v
            for v in np.lexsort((tie_break, -left))[: np.count_nonzero(left)].tolist()
            if v not in near[u]
        ]
        if len(others) < wanted:
            return wanted - len(others)
        for v in others[:wanted]:
            left[v] -= 1
            near[u].add(v)
            near[v].add(u)
            found.append((min(u, v), max(u, v)))
    return np.array(found, dtype=np.int64).reshape(-1, 2)


def top_m_filter(n: int, edges: Edges, epsilon: float, rng: np.random.Generator) -> Edges:
    """Return a graph under edge differential privacy: the cells that noise leaves greatest.

    A tenth of epsilon is spent on the number of edges. Ties whose noisy cell passes a threshold
    stay; pairs without a tie, drawn at random, make up the number.

    Source: Nguyen, Imine, Rusinowitch, Differentially Private Publication of Social Graphs at
    Linear Cost, ASONAM 2015 (TmF).
    """
    of_count, of_cells = epsilon / 10, epsilon * 9 / 10
    pairs = n * (n - 1) // 2
    wanted = int(np.clip(round(len(edges) + rng.laplace(scale=1 / of_count)), 1, pairs - 1))
    even = np.log(pairs / wanted - 1)
    # As many cells pass as there are edges, whether the threshold is below 1 or above.
    if of_cells > even:
        threshold = 0.5 + even / (2 * of_cells)
    else:
        threshold = np.log(pairs / (2 * wanted) + (np.exp(of_cells) - 1) / 2) / of_cells
    kept = edges[1 + rng.laplace(scale=1 / of_cells, size=len(edges)) > threshold]
    there = {(u, v) for u, v in edges.tolist()}
    return np.concatenate((kept, _random_pairs(n, max(wanted - len(kept), 0), there, rng)))


def _random_pairs(
    n: int, count: int, taken: set[tuple[int, int]], rng: np.random.Generator
) -> Edges:
    found: set[tuple[int, int]] = set()
    count = min(count, n * (n - 1) // 2 - len(taken))
    while len(found) < count:
        for u, v in np.sort(rng.integers(n, size=(count - len(found), 2)), axis=1).tolist():
            if u < v and (u, v) not in taken:
                found.add((u, v))
    return np.array(sorted(found), dtype=np.int64).reshape(-1, 2)


def priv_graph(n: int, edges: Edges, epsilon: float, rng: np.random.Generator) -> Edges:
    """Return a graph under edge differential privacy that is drawn from noisy communities.

    A third of epsilon each for: communities of random groups of vertices, found in their noisy
    graph; vertices moved to where their ties are, by the exponential mechanism; noisy degrees
    inside communities and counts of edges between them, from which edges are drawn.

    Source: Yuan, Zhang, Du, Chen, Cheng, Sun, PrivGraph, USENIX Security 2023.
    """
    third = epsilon / 3
    community = _adjusted(n, edges, _initial(n, edges, third, rng), third, rng)
    inside = community[edges[:, 0]] == community[edges[:, 1]]
    return np.concatenate(
        (
            _drawn_inside(n, edges[inside], community, third, rng),
            _drawn_between(edges[~inside], community, third, rng),
        )
    )


def _initial(n: int, edges: Edges, epsilon: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return communities found in the noisy graph of random groups."""
    n_groups = -(-n // SUPER_NODE)
    group = rng.permutation(n) % n_groups
    weight = np.zeros((n_groups, n_groups))
    np.add.at(weight, tuple(np.sort(group[edges], axis=1).T), 1)
    upper = np.triu_indices(n_groups)
    noisy = np.maximum(weight[upper] + rng.laplace(scale=1 / epsilon, size=len(upper[0])), 0)
    # What noise adds is taken off again, so the sum stays (NormSub).
    over = max(noisy.sum() - len(edges), 0)
    while over > 1e-9:
        positive = noisy > 0
        before = noisy.sum()
        noisy[positive] = np.maximum(noisy[positive] - over / positive.sum(), 0)
        over -= before - noisy.sum()
    some = noisy > 0
    graph = igraph.Graph(n_groups, list(zip(upper[0][some], upper[1][some], strict=True)))
    return louvain(graph, seed=int(rng.integers(2**31)), weights=noisy[some].tolist())[group]


def _adjusted(
    n: int, edges: Edges, community: NDArray[np.int64], epsilon: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return communities after each vertex chose again, more likely where it has more ties."""
    count = int(community.max()) + 1
    ties = np.zeros((n, count))
    for a, b in itertools.permutations((0, 1)):
        np.add.at(ties, (edges[:, a], community[edges[:, b]]), 1)
    weight = np.exp(epsilon / 2 * (ties - ties.max(axis=1, keepdims=True)))
    upto = np.cumsum(weight / weight.sum(axis=1, keepdims=True), axis=1)
    chosen: NDArray[np.int64] = (upto < rng.random((n, 1))).sum(axis=1)
    return np.minimum(chosen, count - 1)


def _drawn_inside(
    n: int, edges: Edges, community: NDArray[np.int64], epsilon: float, rng: np.random.Generator
) -> Edges:
    """Draw the edges inside each community after noisy degrees (Chung and Lu)."""
    degree = np.bincount(edges.reshape(-1), minlength=n)
    noisy = np.maximum(np.round(degree + rng.laplace(scale=2 / epsilon, size=n)), 0)
    parts = [np.zeros((0, 2), dtype=np.int64)]
    for c in range(int(community.max()) + 1):
        members = np.flatnonzero(community == c)
        weight = noisy[members]
        total = weight.sum()
        if total > 0:
            u, v = np.triu_indices(len(members), 1)
            likely = np.minimum(weight[u] * weight[v] / total, 1)
            drawn = rng.random(len(u)) < likely
            parts.append(np.column_stack((members[u[drawn]], members[v[drawn]])))
    return np.concatenate(parts)


def _drawn_between(
    edges: Edges, community: NDArray[np.int64], epsilon: float, rng: np.random.Generator
) -> Edges:
    """Draw as many edges between two communities as a noisy count says."""
    count = int(community.max()) + 1
    ties = np.zeros((count, count))
    np.add.at(ties, tuple(np.sort(community[edges], axis=1).T), 1)
    members = [np.flatnonzero(community == c) for c in range(count)]
    found: set[tuple[int, int]] = set()
    for a, b in itertools.combinations(range(count), 2):
        space = len(members[a]) * len(members[b])
        noisy = round(ties[a, b] + rng.laplace(scale=1 / epsilon))
        for cell in rng.choice(space, size=min(max(noisy, 0), space), replace=False).tolist():
            u, v = members[a][cell // len(members[b])], members[b][cell % len(members[b])]
            found.add((int(min(u, v)), int(max(u, v))))
    return np.array(sorted(found), dtype=np.int64).reshape(-1, 2)


def block_model(
    edges: Edges, classes: NDArray[np.int64], epsilon: float, rng: np.random.Generator
) -> Edges:
    """Return a graph under edge differential privacy: random ties, counts of each pair of classes.

    A count has Laplace noise of scale 1 / epsilon, since a tie is in one pair; ties are drawn
    uniformly inside. People and classes are published as they are. Ten lines, and no more than a
    reader of class tables needs.
    """
    count = int(classes.max(initial=-1)) + 1
    ties = np.zeros((count, count))
    np.add.at(ties, tuple(np.sort(classes[edges], axis=1).T), 1)
    members = [np.flatnonzero(classes == c) for c in range(count)]
    parts = [np.zeros((0, 2), dtype=np.int64)]
    for a, b in itertools.combinations_with_replacement(range(count), 2):
        mine, other = members[a], members[b]
        space = len(mine) * (len(mine) - 1) // 2 if a == b else len(mine) * len(other)
        noisy = round(ties[a, b] + rng.laplace(scale=1 / epsilon))
        cells = rng.choice(space, size=min(max(noisy, 0), space), replace=False)
        if a == b:
            rows, columns = np.triu_indices(len(mine), 1)
            parts.append(np.column_stack((mine[rows[cells]], mine[columns[cells]])))
        else:
            parts.append(np.column_stack((mine[cells // len(other)], other[cells % len(other)])))
    drawn = np.sort(np.concatenate(parts), axis=1)
    return drawn[np.lexsort(drawn.T[::-1])]
