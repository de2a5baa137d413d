"""Taking insertions back: what spends the tolerance that epsilon, t and surplus members leave."""

from __future__ import annotations

import numpy as np

from ktsafe.index.table import LocationTable
from ktsafe.polish import _trimming_core as core
from ktsafe.working.graph import WorkingGraph

# A pass that takes back less than one edge in so many is not worth another one.
WORTH_ONE_IN = 200


def trim(
    working: WorkingGraph, table: LocationTable, rng: np.random.Generator, *, passes_max: int
) -> None:
    """Withdraw inserted edges, then inserted vertices left alone, while all stay safe.

    Parameters
    ----------
    working, table:
        A graph all of whose vertices are safe, and its table; both are kept exact.
    rng:
        Orders the edges.
    passes_max:
        Passes over all inserted edges; ends earlier once a pass finds little.
    """
    for _ in range(passes_max):
        order = rng.permutation(working.n_inserted_edges)
        taken = core.trim(working.arrays, table.arrays, table.rule, order)
        if found_little(taken, len(order)):
            break
    is_dropped = np.zeros(working.n, dtype=np.bool_)
    core.drop_isolated(working.arrays, table.arrays, table.rule, working.n_original, is_dropped)
    working.remove_vertices(is_dropped)


def found_little(taken: int, tried: int) -> bool:
    """Whether a pass over inserted edges took back so few that a further one is not worth it."""
    return taken * WORTH_ONE_IN < tried
