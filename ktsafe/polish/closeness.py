"""Inserted edges between people who have a true neighbour in common, where that costs nothing.

A release keeps more triangles and communities if its inserted edges join people who are close
already. Once everybody is safe and nothing more is to be saved, one end of an edge may go to
another vertex of the same class: the other end sees no difference, and the cost stays. So each
inserted edge of two without a common neighbour looks for one among the two-step neighbours of its
ends. Nobody becomes unsafe by exact counts, and the number of edges that close a true triangle
never falls.
"""

from __future__ import annotations

import numpy as np

from ktsafe.graph import AttributedGraph
from ktsafe.index.columns import bands_of, packed
from ktsafe.index.table import similarity_rule
from ktsafe.params import PrivacyParams
from ktsafe.polish import _closeness_core as core
from ktsafe.polish import _edits_core as edits_core
from ktsafe.polish.annealing import enlarged, is_crowded, listed_edits, scene_of, split_edits
from ktsafe.working.graph import WorkingGraph


def draw_closer(
    working: WorkingGraph,
    graph: AttributedGraph,
    params: PrivacyParams,
    rng: np.random.Generator,
    passes: int,
) -> None:
    """Let inserted edges join people who are close, in place; the cost stays.

    Parameters
    ----------
    working:
        A graph all of whose vertices are safe; they stay so. Tables of it become stale.
    graph:
        The true graph, whose vertices come first in `working`.
    params, rng:
        The guarantee and the randomness.
    passes:
        How often each inserted edge is looked at.
    """
    bands = (
        bands_of(working, similarity_rule(working.space, params)) if working.n and passes else None
    )
    if bands is None:
        return
    scene, edits = scene_of(working), listed_edits(working)
    ties = core.Ties(graph.indptr, graph.indices)
    random = rng.integers(1 << 63, size=1, dtype=np.uint64)
    for _ in range(passes):
        at = int(edits.counts[edits_core.LISTED]) - 1
        while at >= edits.counts[edits_core.ORIGINAL]:
            at = core.draw_closer(bands, scene, edits, ties, at, random)
            if is_crowded(bands, edits):
                bands, edits = packed(bands), enlarged(edits)
    working.rewire(*split_edits(edits))
