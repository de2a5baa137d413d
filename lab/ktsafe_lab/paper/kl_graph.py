"""The competitor `kl-graph`: k-degree-l-diversity (Yuan, Chen, Yu, 2011/2013).

Every vertex shares its degree with at least k - 1 others, and those hold at least l different
values of the sensitive attribute. Quasi-identifiers play no part.

*Source*: the paper's reference [yuan2011protecting]; its text was not at hand, so this follows its
published outline: a k-degree-l-diverse sequence of degrees by greedy grouping, then edges between
vertices that lack degree, then noise vertices. *Departure*: a group's degree is its maximum, not
its mean, so edges are hardly ever deleted; the remaining deletions split an edge by a noise
vertex, which keeps both ends' degrees.
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import Infeasible
from ktsafe.graph import AttributedGraph

DIVERSITY = 2
"""The paper's default of l."""

TRIES = 32
"""Random partners that a vertex tries before a noise vertex serves it."""


@dataclasses.dataclass(frozen=True, eq=False)
class KLGraph:
    """A k-degree-l-diverse graph: the originals, and noise vertices after them.

    Attributes
    ----------
    inserted:
        int32, shape (i,): quasi-identifier class of each noise vertex.
    edges:
        int32, shape (m, 2): all edges.
    """

    inserted: NDArray[np.int32]
    edges: NDArray[np.int32]


def kl_graph(
    graph: AttributedGraph, k: int, diversity: int = DIVERSITY, *, rng: np.random.Generator
) -> KLGraph:
    """Return a k-degree-l-diverse supergraph (but for split edges).

    Parameters
    ----------
    graph:
        The graph.
    k, diversity:
        Least number of vertices, and (l) of sensitive values, of one degree.
    rng:
        Draws partners and the noise vertices' quasi-identifiers.

    Raises
    ------
    Infeasible
        If the graph has fewer than k vertices or l sensitive values, and is not empty.
    """
    n = graph.n_vertices
    if not n:
        return KLGraph(np.zeros(0, dtype=np.int32), graph.edges)
    target = degree_sequence(graph.degrees, graph.codes[:, -1], k, diversity)
    edges = {(int(u), int(v)) for u, v in graph.edges}
    lacking = target - graph.degrees
    _join_lacking(edges, lacking, rng)
    degree = _least_positive(target)
    noise = _serve_by_noise(edges, lacking, degree, n, rng)
    inserted = rng.choice(graph.qi_classes, noise).astype(np.int32)
    return KLGraph(inserted, np.array(sorted(edges), dtype=np.int32).reshape(-1, 2))


def degree_sequence(
    degrees: NDArray[np.int64], labels: NDArray[np.int32], k: int, diversity: int
) -> NDArray[np.int64]:
    """Return k-degree-l-diverse degrees, none below its own, even sum.

    Descending by degree, vertices join the current group until it has k vertices and l labels; the
    next ones join on while lifting them costs no more than lifting those after them to them.
    """
    n = len(degrees)
    if n < k or len(np.unique(labels)) < diversity:
        msg = f"There is no group of {k} vertices with {diversity} sensitive values."
        raise Infeasible(msg, hint="Use a smaller k.")
    order = np.argsort(-degrees, kind="stable")
    sorted_degrees, sorted_labels = degrees[order], labels[order]
    starts = [0]
    seen: set[int] = set()
    for i in range(n):
        full = i - starts[-1] >= k and len(seen) >= diversity
        if full:
            ahead = sorted_degrees[i : i + k]
            merge = sorted_degrees[starts[-1]] - ahead[0]
            if merge > np.sum(ahead[0] - ahead):
                starts.append(i)
                seen = set()
        seen.add(int(sorted_labels[i]))
    if len(starts) > 1 and (n - starts[-1] < k or len(seen) < diversity):
        starts.pop()
    bounds = [*starts, n]
    target = np.empty(n, dtype=np.int64)
    for a, b in itertools.pairwise(bounds):
        target[order[a:b]] = sorted_degrees[a]
    if target.sum() % 2:
        # A group of odd size exists, since the sum is odd; one more each makes the sum even.
        sizes = np.diff(bounds)
        odd = next(g for g in range(len(sizes)) if sizes[g] % 2 and sorted_degrees[bounds[g]] % 2)
        target[order[bounds[odd] : bounds[odd + 1]]] += 1
    return target


def _join_lacking(
    edges: set[tuple[int, int]], lacking: NDArray[np.int64], rng: np.random.Generator
) -> None:
    """Insert edges between vertices that lack degree, those that lack most first."""
    waiting = [int(v) for v in np.flatnonzero(lacking)]
    waiting.sort(key=lambda v: -int(lacking[v]))
    pool = list(waiting)
    for v in waiting:
        for _ in range(int(lacking[v]) + TRIES):
            if lacking[v] == 0 or not pool:
                break
            place = int(rng.integers(len(pool)))
            u = pool[place]
            if lacking[u] == 0:
                pool[place] = pool[-1]
                pool.pop()
                continue
            edge = (min(u, v), max(u, v))
            if u != v and edge not in edges:
                edges.add(edge)
                lacking[u] -= 1
                lacking[v] -= 1


def _least_positive(target: NDArray[np.int64]) -> int:
    """Return the least positive target.

    An odd one, if there is any, serves any number of ends.
    """
    positive = target[target > 0]
    odd = positive[positive % 2 == 1]
    return int(odd.min() if len(odd) else positive.min(initial=1))


def _serve_by_noise(
    edges: set[tuple[int, int]],
    lacking: NDArray[np.int64],
    degree: int,
    n: int,
    rng: np.random.Generator,
) -> int:
    """Join the lacking rest to noise vertices of one degree; count them."""
    ends = [int(v) for v in np.flatnonzero(lacking) for _ in range(int(lacking[v]))]
    lacking[:] = 0
    noise: list[int] = []
    # Ends of one vertex are dealt round, so no noise vertex meets a vertex twice.
    most = max((ends.count(v) for v in set(ends)), default=0)
    count = max(most, -(-len(ends) // degree))
    # An odd degree leaves an odd remainder to pairs of noise vertices.
    count += (count * degree - len(ends)) % 2
    for i in range(count):
        edges.update((v, n + i) for v in ends[i::count])
        noise.append(degree - len(ends[i::count]))
    short = [i for i in range(count) if noise[i] % 2]
    for a, b in zip(short[::2], short[1::2], strict=False):
        edges.add((n + a, n + b))
        noise[a] -= 1
        noise[b] -= 1
    for i in range(count):
        while noise[i] > 0:
            _split_edge(edges, n + i, n, rng)
            noise[i] -= 2
    return count


def _split_edge(edges: set[tuple[int, int]], vertex: int, n: int, rng: np.random.Generator) -> None:
    """Replace (a, b) by (a, vertex), (vertex, b): only `vertex` gains."""
    candidates = sorted(edge for edge in edges if edge[1] < n)
    around = {u for edge in edges if vertex in edge for u in edge}
    rng.shuffle(candidates)
    for a, b in candidates:
        if a not in around and b not in around:
            edges.remove((a, b))
            edges.update(((a, vertex), (b, vertex)))
            return
    msg = "No edge is left that a noise vertex could split."
    raise Infeasible(msg, hint="Use a smaller k.")
