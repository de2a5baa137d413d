"""The paper's other kinds of synthetic graph: Gaussian and Zipf degrees.

Source: Appendix "Description of Experimental Data Sets". 10,000 vertices; degrees uniform in
[0, 40], Gaussian (20, 8), or Zipf of exponent 0.8; four attributes of five values each, of the
same kind of distribution, the last one sensitive. *Reading*: a vertex draws a whole
quasi-identifier out of `n_tuples` given ones, since cost and time depend on how many there are,
and whether it is sensitive is drawn apart, since alpha is set against that share.
"""

from __future__ import annotations

import numpy as np

from ktsafe.graph import AttributedGraph
from ktsafe.graph.synthetic import N_VALUES, drawn_graph, mean_degree

ZIPF_EXPONENT = 0.8


def gaussian(
    n_vertices: int,
    n_edges: int,
    *,
    rng: np.random.Generator,
    n_tuples: int = 10,
    sensitive_share: float = 0.1,
) -> AttributedGraph:
    """Return a graph of Gaussian degrees, sigma 0.4 of the mean.

    Parameters are those of `ktsafe.graph.synthetic.uniform`.

    Examples
    --------
    >>> graph = gaussian(100, 300, rng=np.random.default_rng(0))
    >>> graph.n_vertices, graph.n_edges
    (100, 300)
    """
    mean = mean_degree(n_vertices, n_edges)
    drawn = rng.normal(mean, 0.4 * mean, n_vertices)
    degrees = np.maximum(np.rint(drawn), 0).astype(np.int64)
    weights = np.exp(-0.5 * (np.arange(N_VALUES) - (N_VALUES - 1) / 2) ** 2)
    return drawn_graph(degrees, weights, n_edges, n_tuples, sensitive_share, rng)


def zipf(
    n_vertices: int,
    n_edges: int,
    *,
    rng: np.random.Generator,
    n_tuples: int = 10,
    sensitive_share: float = 0.1,
) -> AttributedGraph:
    """Return a graph with i-th degrees that fall as i ** -0.8.

    Parameters are those of `ktsafe.graph.synthetic.uniform`.

    Examples
    --------
    >>> graph = zipf(100, 300, rng=np.random.default_rng(0))
    >>> graph.n_vertices, graph.n_edges
    (100, 300)
    """
    mean = mean_degree(n_vertices, n_edges)
    ranks = np.arange(1, n_vertices + 1, dtype=np.float64) ** -ZIPF_EXPONENT
    scaled = ranks * (mean * n_vertices / ranks.sum()) if n_vertices else ranks
    degrees = np.minimum(np.rint(scaled).astype(np.int64), max(n_vertices - 1, 0))
    weights = np.arange(1, N_VALUES + 1, dtype=np.float64) ** -ZIPF_EXPONENT
    return drawn_graph(rng.permutation(degrees), weights, n_edges, n_tuples, sensitive_share, rng)
