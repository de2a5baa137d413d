"""Pivots: the selection of a set that prunes much.

What a pivot rules out is `_kt_tree_as_published_core.pruned_by_pivots` (Lemma 5.1). *Departure*:
its proof uses the triangle inequality both ways, which an edit distance of insertions alone does
not satisfy, not being symmetric; so deletions count, too, there and in candidate sets.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams
from ktsafe_lab.paper import _pivots_core as core

PIVOTS = 10
SAMPLE_SIZE = 1_000
ITERATIONS = 100
"""The paper's |PVTs|, |V(g_s)| and `ite`."""


def select_pivots(
    graph: AttributedGraph,
    params: PrivacyParams,
    rng: np.random.Generator,
    *,
    pivots: int = PIVOTS,
    sample_size: int = SAMPLE_SIZE,
    iterations: int = ITERATIONS,
) -> NDArray[np.int32]:
    """Return vertices that, as pivots, rule out most pairs of a sample.

    Parameters
    ----------
    graph:
        The graph; without vertices there are no pivots.
    params:
        epsilon.
    rng:
        Draws the sample and the pivots.
    pivots, sample_size, iterations:
        The algorithm's |PVTs|, |V(g_s)| and iter.

    Returns
    -------
    int32, shape (min(pivots, n),)

    *Source*: Algorithm 7 (Pivot Set Selection). *Departure*: line 16 assigns `PVTs <- pvts` where
    `pvts` is still null after the first iteration; the first set is kept as it is. *Reading*: with
    n = 1 a sample of vertices stands for the sample graph, since stars do not change by sampling.
    """
    n = graph.n_vertices
    count = min(pivots, n)
    sample = rng.choice(n, min(sample_size, n), replace=False) if n else np.zeros(0, dtype=int)
    chosen = rng.choice(n, count, replace=False) if n else np.zeros(0, dtype=int)
    degrees = graph.degrees[sample]
    most = core.pruned_pairs(degrees, graph.degrees[chosen], params.epsilon)
    for _ in range(1, iterations if n > count else 1):
        tried = chosen.copy()
        place, vertex = int(rng.integers(count)), int(rng.integers(n))
        if vertex in chosen:
            continue
        tried[place] = vertex
        pruned = core.pruned_pairs(degrees, graph.degrees[tried], params.epsilon)
        if pruned > most:
            chosen, most = tried, pruned
    return chosen.astype(np.int32)
