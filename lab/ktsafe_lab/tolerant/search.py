"""Edits that a safe release does not need.

Undone one by one, as t and epsilon allow.

    repeat, cooler each time:
        flip a random edge, and others at its ends that keep their degrees
        keep that if everybody stays safe and fewer edges differ, or as chance will have it

It starts from a release that is safe, and every step is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.anonymization.request import Effort, Request
from ktsafe.graph import AttributedGraph
from ktsafe.graph.numbering import edge_keys
from ktsafe_lab.tolerant import _search_core as core
from ktsafe_lab.tolerant.locations import located

HEATS: dict[Effort, tuple[float, ...]] = {
    "fast": (0.0, 0.0),
    "balanced": (0.1, 0.07, 0.05, 0.03, 0.02, 0.0),
}
"""Heat of each round: a change that costs h edges is made with probability exp(-h / heat)."""

TRIALS: dict[Effort, int] = {"fast": 10, "balanced": 100}
"""Changes that are tried for each edge in a round, at most."""

TRIALS_MAX: dict[Effort, int] = {"fast": 1_000_000, "balanced": 5_000_000}
"""Changes that are tried in a round, at most."""

DENSE = 20
"""Mean degree from which as many as that are tried; in thinner graphs there is less to choose."""


def undone(request: Request, released: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return a release's edges nearer to the truth, as safe.

    Parameters
    ----------
    request:
        Where all protection sets of a class have k people, they keep them.
    released:
        int32, shape (m, 2): the edges of a release that is safe for one hop and the walk reading.

    Returns
    -------
    int32, shape (m, 2)
    """
    graph, effort = request.graph, request.options.effort
    at, vertices, rule = located(graph, released, request.params)
    assert at.unsafe[0] == 0, "The release to start from is not safe."
    edges = _candidates(graph, released)
    m = len(edges.ends)
    mean_degree = 2 * m / max(graph.n_vertices, 1)
    trials = int(TRIALS[effort] * m * min(1.0, mean_degree / DENSE))
    trials = min(trials, TRIALS_MAX[effort])
    for heat in HEATS[effort] if m else ():
        core.search(at, vertices, rule, edges, trials, heat, request.rng)
    return edges.ends[edges.shown]


def _candidates(graph: AttributedGraph, released: NDArray[np.int32]) -> core.Edges:
    """Return all edges of the truth or of a release."""
    true, shown = edge_keys(graph.edges), edge_keys(released)
    keys = np.union1d(true, shown)
    ends = np.column_stack((keys >> 32, keys & (2**32 - 1))).astype(np.int32)
    source = ends.reshape(-1)
    return core.Edges(
        ends=ends,
        is_true=np.isin(keys, true),
        shown=np.isin(keys, shown),
        first=np.searchsorted(np.sort(source), np.arange(graph.n_vertices + 1)),
        own=np.argsort(source, kind="stable") // 2,
    )
