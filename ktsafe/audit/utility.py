"""What a release is still good for: figures of its structure beside those of the true graph.

Nobody outside knows which vertices are inserted, so all figures of a release are of all of it, and
only comparisons vertex by vertex are restricted to those that have an original. The figures are
private like the audit: those of the true graph tell of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph
from scipy.special import gammaln

from ktsafe.audit import _utility_core as core
from ktsafe.audit.conclusions import conclusions, summary
from ktsafe.audit.distributions import assortativity, attribute_mix, degree_bands
from ktsafe.audit.originals import Traced
from ktsafe.graph import AttributedGraph

PAIRS = 1_000
TARGETS_PER_SOURCE = 10
DAMPING = 0.85
LEVELS_MAX = 20
PASSES_MAX = 20


def utility_figures(traced: Traced, *, rng: np.random.Generator) -> dict[str, Any]:
    """Return the JSON-ready utility figures of a release.

    Parameters
    ----------
    traced:
        The release beside the true graph, from `ktsafe.audit.trace`.
    rng:
        Draws the pairs whose distance is measured, and the order of vertices in communities. The
        same graphs and seed give the same figures.

    Returns
    -------
    dict
        `original`, `released`: the figures of `structure` of either graph.
        `degree_emd`: see `degree_emd`, in edges; `degree_bands`, `attribute_mix`: see
        `ktsafe.audit.distributions`.
        `paths`: 1,000 pairs of originals, drawn as 100 sources with 10 targets each; how many are
        connected in each graph, and the mean distance in hops of those connected in both.
        `pagerank`: the share of the true top k (1% of the originals, at least 10) that is among
        the top k of the originals by PageRank in the release.
        `communities`: adjusted mutual information of Louvain communities of both graphs, on the
        originals; `ami_again` is that of two runs on the true graph, which no release can be
        expected to beat; `modularity` of the communities of either graph.
        `conclusions`: what a reader works out by attribute value, see
        `ktsafe.audit.conclusions.summary`.

    Complexity
    ----------
    O(m^1.5) for the triangles, O(m) per source, sweep and level for the rest.
    """
    original, released = traced.original, traced.released
    return {
        "original": structure(original),
        "released": structure(released),
        "degree_emd": degree_emd(original, released),
        "degree_bands": degree_bands(original, released),
        "attribute_mix": attribute_mix(original, released),
        "paths": _paths(traced, rng),
        "pagerank": _pagerank_overlap(traced),
        "communities": _community_agreement(traced, rng),
        "conclusions": summary(conclusions(original, released)),
    }


def structure(graph: AttributedGraph) -> dict[str, Any]:
    """Return the figures of one graph.

    Returns
    -------
    dict
        `mean_degree`, in edges.
        `clustering`: mean over all vertices of the share of pairs of neighbours that are tied; 0
        for a vertex with fewer than two.
        `transitivity`: the share of paths of two edges that are closed; 0 without any.
        `largest_component`: its share of the vertices.
        `assortativity`: per quasi-identifier, see `assortativity`.
    """
    n = graph.n_vertices
    triangles = core.triangles(graph.indptr, graph.indices)
    wedges = graph.degrees * (graph.degrees - 1) // 2
    components = csgraph.connected_components(_matrix(graph), directed=False)[1] if n else []
    quasi_identifiers = graph.schema.quasi_identifiers
    return {
        "mean_degree": _rounded(2 * graph.n_edges / n) if n else None,
        "clustering": _rounded((triangles / np.maximum(wedges, 1)).mean()) if n else None,
        "transitivity": _rounded(triangles.sum() / max(int(wedges.sum()), 1)),
        "largest_component": _rounded(np.bincount(components).max() / n) if n else None,
        "assortativity": {
            name: assortativity(graph, j) for j, name in enumerate(quasi_identifiers)
        },
    }


def degree_emd(original: AttributedGraph, released: AttributedGraph) -> float | None:
    """Return the earth mover's distance of the two degree distributions, in edges.

    That is the area between their cumulative distributions; for equally many vertices, the mean
    change of the sorted degrees. None where a graph is empty.
    """
    if not (original.n_vertices and released.n_vertices):
        return None
    top = int(max(original.degrees.max(), released.degrees.max())) + 1
    shares = [
        np.cumsum(np.bincount(graph.degrees, minlength=top)) / graph.n_vertices
        for graph in (original, released)
    ]
    return _rounded(np.abs(shares[0] - shares[1]).sum())


def pagerank(graph: AttributedGraph) -> NDArray[np.float64]:
    """Return the PageRank of every vertex at damping 0.85, shape (n,), summing to 1.

    A vertex without edges leads anywhere with equal chance.
    """
    n = graph.n_vertices
    if n == 0:
        return np.zeros(0)
    rank = np.full(n, 1 / n)
    share = 1 / np.maximum(graph.degrees, 1)
    is_lone = graph.degrees == 0
    matrix = _matrix(graph)
    # The error falls by the damping each time: 0.85 ** 200 is far below what a ranking can show.
    for _ in range(200):
        follow = matrix @ (rank * share) + rank[is_lone].sum() / n
        before, rank = rank, DAMPING * follow + (1 - DAMPING) / n
        if np.abs(rank - before).sum() < 1e-10:
            break
    return rank


def communities(graph: AttributedGraph, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the community of every vertex by Louvain's method, shape (n,), 0..communities-1.

    Local moves, then a graph whose vertices are the communities, until none merge.
    """
    matrix = _matrix(graph)
    community = np.arange(graph.n_vertices)
    for _ in range(LEVELS_MAX):
        n = matrix.shape[0]
        order = rng.permutation(n)
        moved = core.move_vertices(
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int32),
            matrix.data.astype(np.float64),
            order,
            PASSES_MAX,
        )
        names, coarse = np.unique(moved, return_inverse=True)
        community = coarse[community]
        if len(names) == n:
            break
        into = sparse.csr_array((np.ones(n), (np.arange(n), coarse)), shape=(n, len(names)))
        matrix = sparse.csr_array(into.T @ matrix @ into)
    return community


def modularity(graph: AttributedGraph, community: NDArray[np.int64]) -> float | None:
    """Return how many more of the edges lie inside communities than by chance, from -1/2 to 1.

    With e the share of edges inside, and a_c that of edge ends in community c: e - sum a_c^2. None
    where there are no edges.

    Examples
    --------
    >>> from ktsafe.datasets import uniform
    >>> graph = uniform(20, 30, rng=np.random.default_rng(1))
    >>> modularity(graph, np.zeros(20, dtype=np.int64))
    0.0
    """
    if not graph.n_edges:
        return None
    inside = np.count_nonzero(community[graph.edges[:, 0]] == community[graph.edges[:, 1]])
    ends = np.bincount(community, weights=graph.degrees) / (2 * graph.n_edges)
    return _rounded(inside / graph.n_edges - np.square(ends).sum())


def adjusted_mutual_information(
    first: NDArray[np.int64], second: NDArray[np.int64]
) -> float | None:
    """Return the mutual information of two partitions beyond that of chance, at most 1.

    0 is what random partitions into parts of the same sizes have in the mean, so that everybody
    alone, or all together, agrees with nothing. Two partitions that are each one part, or each all
    singletons, agree (1); None for nothing to part.

    Source: Vinh, Epps, Bailey, "Information Theoretic Measures for Clusterings Comparison" (2010),
    with the mean of both entropies.

    Examples
    --------
    >>> halves = np.repeat([0, 1], 8)
    >>> adjusted_mutual_information(halves, 1 - halves)
    1.0
    >>> adjusted_mutual_information(halves, np.arange(16))
    0.0
    """
    n = len(first)
    if n == 0:
        return None
    sizes = [np.unique(labels, return_counts=True)[1] for labels in (first, second)]
    if len(sizes[0]) == len(sizes[1]) and len(sizes[0]) in (1, n):
        return 1.0
    both = np.unique(np.column_stack((first, second)), axis=0, return_counts=True)[1]
    h_first, h_second, h_both = (_entropy(count / n) for count in (*sizes, both))
    chance = _information_by_chance(sizes[0], sizes[1], n)
    possible = (h_first + h_second) / 2 - chance
    if possible < 1e-12:
        return 0.0
    return _rounded((h_first + h_second - h_both - chance) / possible) + 0.0


def _information_by_chance(first: NDArray[np.int64], second: NDArray[np.int64], n: int) -> float:
    """Return the mean mutual information of random partitions into parts of these sizes."""
    total = 0.0
    for a, n_a in zip(*np.unique(first, return_counts=True), strict=True):
        for b, n_b in zip(*np.unique(second, return_counts=True), strict=True):
            shared = np.arange(max(1, a + b - n), min(a, b) + 1)
            log_chance = (
                gammaln(a + 1)
                + gammaln(b + 1)
                + gammaln(n - a + 1)
                + gammaln(n - b + 1)
                - gammaln(n + 1)
                - gammaln(shared + 1)
                - gammaln(a - shared + 1)
                - gammaln(b - shared + 1)
                - gammaln(n - a - b + shared + 1)
            )
            worth = shared / n * np.log(n * shared / (a * b))
            total += n_a * n_b * float((worth * np.exp(log_chance)).sum())
    return total


def _paths(traced: Traced, rng: np.random.Generator) -> dict[str, Any]:
    """Return how far sampled pairs of originals are in both graphs."""
    real = traced.real
    if len(real) < 2:
        return {"pairs": 0, "connected": {}, "mean_hops": {}}
    sources = rng.integers(len(real), size=PAIRS // TARGETS_PER_SOURCE)
    # Added modulo n, so that no vertex is paired with itself.
    away = rng.integers(1, len(real), size=(len(sources), TARGETS_PER_SOURCE))
    targets = (sources[:, np.newaxis] + away) % len(real)
    hops = {
        name: core.distances(graph.indptr, graph.indices, place[sources], place[targets])
        for name, graph, place in (
            ("original", traced.original, traced.behind[real]),
            ("released", traced.released, real),
        )
    }
    both = (hops["original"] >= 0) & (hops["released"] >= 0)
    return {
        "pairs": targets.size,
        "connected": {name: int(np.count_nonzero(h >= 0)) for name, h in hops.items()},
        "mean_hops": {
            name: _rounded(h[both].mean()) if both.any() else None for name, h in hops.items()
        },
    }


def _pagerank_overlap(traced: Traced) -> dict[str, Any]:
    """Return how many of the most central originals stay so; equal ranks go by position."""
    original, real = traced.original, traced.real
    k = min(max(10, original.n_vertices // 100), len(real))
    if k == 0:
        return {"k": 0, "overlap": None}
    if original.n_edges and not traced.released.n_edges:
        # All ranks are equal: nobody is told to be central.
        return {"k": k, "overlap": 0.0}
    # Rounded, so that equal ranks that were summed in another order stay equal.
    ranks = (pagerank(original)[traced.behind[real]], pagerank(traced.released)[real])
    first, second = (np.argsort(-rank.round(12), kind="stable")[:k] for rank in ranks)
    return {"k": k, "overlap": _rounded(len(np.intersect1d(first, second)) / k)}


def _community_agreement(traced: Traced, rng: np.random.Generator) -> dict[str, Any]:
    """Return how far communities of both graphs agree on the originals."""
    original, released, real = traced.original, traced.released, traced.real
    first, again, after = (
        communities(graph, own)
        for graph, own in zip((original, original, released), rng.spawn(3), strict=True)
    )
    return {
        "original": len(np.unique(first)),
        "released": len(np.unique(after)),
        "ami": adjusted_mutual_information(first[traced.behind[real]], after[real]),
        "ami_again": adjusted_mutual_information(first, again),
        "modularity": {
            "original": modularity(original, first),
            "released": modularity(released, after),
        },
    }


def _matrix(graph: AttributedGraph) -> sparse.csr_array:
    n = graph.n_vertices
    ones = np.ones(len(graph.indices), dtype=np.float64)
    return sparse.csr_array((ones, graph.indices, graph.indptr), shape=(n, n))


def _entropy(shares: NDArray[np.float64]) -> float:
    return float(-(shares * np.log(shares)).sum())


def _rounded(value: Any) -> float:
    return round(float(value), 6)
