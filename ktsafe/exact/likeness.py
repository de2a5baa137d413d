"""Inserted edges that look like ties: an attacker who removes what looks inserted finds little.

Ties close triangles, edges joined at random close few. Two inserted edges between the same two
classes may exchange ends: every vertex keeps its neighbours of each class, so that rows, cohorts
and cost stay as they are.

    repeat:
        estimate how likely an edge with so many common neighbours is a tie
        exchange ends of inserted edges while that makes them likelier
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.exact import _likeness_core as core
from ktsafe.graph import AttributedGraph, edge_keys
from ktsafe.options import Effort

TRIALS: dict[Effort, int] = {"fast": 40, "balanced": 1000, "thorough": 3000}
"""Exchanges that are tried, for each inserted edge."""

TRIALS_MAX: dict[Effort, int] = {"fast": 2_000_000, "balanced": 20_000_000, "thorough": 200_000_000}
"""Exchanges that are tried at most."""

ROUNDS: dict[Effort, int] = {"fast": 6, "balanced": 20, "thorough": 20}
ROUNDS_MIN = 4
"""Rounds, and where few of the inserted edges may exchange ends: what ties look like changes less.
In the first quarter of them edges only gain common neighbours, whatever ties have."""

BINS = 100

SAMPLE = 20_000
"""Edges of either kind from which it is estimated how likely one is a tie."""


def disguised(
    graph: AttributedGraph,
    classes: NDArray[np.int32],
    edges: NDArray[np.int32],
    *,
    rng: np.random.Generator,
    effort: Effort = "balanced",
) -> NDArray[np.int32]:
    """Return the edges of a release, inserted ones with their ends exchanged.

    Parameters
    ----------
    graph:
        The true graph.
    classes:
        int32, shape (n,): class of every released vertex; inserted ones come last.
    edges:
        int32, shape (m, 2): the released edges.
    rng:
        The only randomness.
    effort:
        How many exchanges are tried (`TRIALS`).
    """
    is_true = np.isin(edge_keys(edges), edge_keys(graph.edges))
    shown, inserted = edges[is_true], edges[~is_true]
    return np.concatenate((shown, exchanged(classes, shown, inserted, rng=rng, effort=effort)))


def exchanged(
    classes: NDArray[np.int32],
    shown: NDArray[np.int32],
    inserted: NDArray[np.int32],
    staying: NDArray[np.int32] | None = None,
    *,
    rng: np.random.Generator,
    effort: Effort = "balanced",
) -> NDArray[np.int32]:
    """Return the inserted edges after they exchanged ends.

    Parameters
    ----------
    classes:
        int32, shape (n,): class of every released vertex.
    shown, inserted:
        int32, shape (x, 2): the released true ties, and the inserted edges that may exchange ends.
    staying:
        Likewise: inserted edges that may not.
    rng, effort:
        As in `disguised`.
    """
    if not len(inserted):
        return inserted
    others = inserted[:0] if staying is None else staying
    first, near, _ = _by_vertex(np.concatenate((shown, others, inserted)), len(classes))
    own_first, _, own = _by_vertex(inserted, len(classes))
    share = np.arange(BINS + 1) / BINS
    guise = core.Guise(
        classes=classes,
        first=first,
        near=near,
        ends=inserted.copy(),
        own_first=own_first,
        own=own,
        worth=np.log(0.02 + share),
        mark=np.zeros(len(classes) + 1, dtype=np.int64),
    )
    trials = min(TRIALS[effort] * len(inserted), TRIALS_MAX[effort])
    rounds = max(ROUNDS_MIN, ROUNDS[effort] * len(inserted) // (len(inserted) + len(others)))
    for i in range(rounds):
        if i >= rounds // 4:
            guise.worth[:] = _likelihood(guise, shown, others) + 0.01 * share
        core.disguise(guise, trials // rounds, rng)
    return guise.ends


def _likelihood(
    guise: core.Guise, shown: NDArray[np.int32], others: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return the log of shown ties over inserted edges in each bin of common neighbours."""
    counts = []
    for edges in (shown, np.concatenate((others, guise.ends))):
        sample = edges[:: max(1, len(edges) // SAMPLE)]
        bins = np.bincount(core.bins_of(guise, sample), minlength=BINS + 1)
        counts.append((bins + 0.5) * max(len(edges), 1) / max(len(sample), 1))
    true, inserted = counts
    likelihood: NDArray[np.float64] = np.log(true / inserted)
    return likelihood


def _by_vertex(
    edges: NDArray[np.int32], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """Return where the edges of each vertex begin, their other ends, and their numbers."""
    source = edges.T.reshape(-1)
    order = np.argsort(source, kind="stable")
    first = np.concatenate(([0], np.cumsum(np.bincount(source, minlength=n))))
    far = edges[:, ::-1].T.reshape(-1)[order]
    return first, far.astype(np.int32), (order % len(edges)).astype(np.int32)
