"""The fifteen queries of PGB, by which published graphs are compared with the true one.

Source: Liu et al., PGB: Benchmarking Differentially Private Synthetic Graph Generation Algorithms
(arXiv 2408.02928): their queries, and how wrong an answer is.
"""

from __future__ import annotations

import random
import warnings
from typing import Any

import igraph
import numpy as np
from numpy.typing import NDArray

from ktsafe.assess.utility import adjusted_mutual_information

QUERIES = (
    "vertices",
    "edges",
    "triangles",
    "mean degree",
    "variance of degrees",
    "degrees",
    "diameter",
    "mean distance",
    "distances",
    "global clustering",
    "mean clustering",
    "communities",
    "modularity",
    "assortativity",
    "eigenvector centrality",
)

SOURCES = 300
"""Vertices from which distances are measured, where there are more."""


def answers(graph: igraph.Graph, *, seed: int) -> list[Any]:
    """Return the answers of one graph, in the order of `QUERIES`."""
    degrees = np.array(graph.degree())
    n = graph.vcount()
    rng = np.random.default_rng(seed)
    sources = rng.choice(n, size=min(SOURCES, n), replace=False).tolist()
    rows = np.array(graph.distances(source=sources), dtype=float)
    steps = rows[np.isfinite(rows) & (rows > 0)].astype(np.int64)
    communities = louvain(graph, seed=seed)
    return [
        n,
        graph.ecount(),
        len(graph.list_triangles()),
        float(degrees.mean()),
        float(degrees.var()),
        np.bincount(degrees) / n,
        int(steps.max(initial=0)),
        float(steps.mean()) if len(steps) else 0.0,
        np.bincount(steps) / max(len(steps), 1),
        graph.transitivity_undirected(mode="zero"),
        graph.transitivity_avglocal_undirected(mode="zero"),
        communities,
        graph.modularity(communities.tolist()),
        graph.assortativity_degree(directed=False),
        _centralities(graph),
    ]


def _centralities(graph: igraph.Graph) -> NDArray[np.float64]:
    with warnings.catch_warnings():
        # Of graphs in several parts it says that only one part counts.
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.array(graph.eigenvector_centrality(scale=True))


def louvain(graph: igraph.Graph, *, seed: int, weights: list[float] | None = None) -> NDArray[Any]:
    """Return the community of each vertex; the same seed gives the same ones."""
    igraph.set_random_number_generator(random.Random(seed))
    return np.array(graph.community_multilevel(weights).membership)


def errors(
    true: list[Any], released: list[Any], behind: NDArray[np.int64]
) -> dict[str, float | None]:
    """Return how wrong each answer is.

    Parameters
    ----------
    true, released:
        Answers of the two graphs.
    behind:
        int64: the true vertex behind each released one, -1 for nobody.

    Returns
    -------
    dict
        Of numbers the relative error; of distributions the Kullback-Leibler divergence; of
        communities one minus their adjusted mutual information; of centralities the mean
        absolute error. The last two are of vertices that have a true one. None: not defined.
    """
    real = np.flatnonzero(behind >= 0)
    found: dict[str, float | None] = {}
    for number, name in enumerate(QUERIES):
        a, b = true[number], released[number]
        if name in {"degrees", "distances"}:
            found[name] = _divergence(a, b)
        elif name == "communities":
            found[name] = 1 - adjusted_mutual_information(a[behind[real]], b[real])
        elif name == "eigenvector centrality":
            found[name] = float(np.abs(a[behind[real]] - b[real]).mean())
        else:
            found[name] = abs(a - b) / abs(a) if a else None
    return found


def _divergence(p: NDArray[np.float64], q: NDArray[np.float64]) -> float:
    """Return KL(p || q); what q lacks counts as one in ten million."""
    size = max(len(p), len(q))
    p, q = (np.pad(x, (0, size - len(x))) for x in (p, q))
    some = p > 0
    return float((p[some] * np.log(p[some] / np.maximum(q[some], 1e-7))).sum())
