"""Making everybody safe again, and taking back what nobody needs, around what changed.

First what changed is led along paths of inserted edges to where it is borne, and others are invited
to whoever still lacks members (`alternating`). Who is unsafe after that gets a target in a round of
the search (`ktsafe.cohorts.search`). Turns are counted by what changed, so the work follows it.
"""

from __future__ import annotations

from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray

from ktsafe.cohorts.companions import add_companions
from ktsafe.cohorts.dilution import dilute
from ktsafe.cohorts.search import BUDGETS, ROUNDS_MAX, SEARCH_ROUNDS_MAX, serve
from ktsafe.incremental import _collecting_core as core
from ktsafe.incremental.alternating import lead_away
from ktsafe.incremental.indexed import IndexedGraph
from ktsafe.options import Effort
from ktsafe.params import PrivacyParams
from ktsafe.polish import _trimming_core as trimming

EMPTY = np.zeros(0, dtype=np.int32)
# Inserted edges that are tried for each change when what nobody needs is taken back.
TRIED_PER_CHANGE = 50


def repair(
    indexed: IndexedGraph,
    params: PrivacyParams,
    effort: Effort,
    rng: np.random.Generator,
    executor: Executor | None = None,
) -> bool:
    """Make everybody safe; whether that came to an end.

    People who see fewer real ones than they should (`real_floors`) are served in the local steps
    alone: that is wished for and no part of the definition.

    Parameters
    ----------
    indexed:
        The graph, changed in place, and its index, which is in step before and afterwards.
    """
    working = indexed.working
    first = working.n_original
    core.calm(indexed.table.arrays, indexed.rule, first, working.arrays.is_sensitive)
    asked: set[int] = set()
    for round_ in range(ROUNDS_MAX):
        lead_away(indexed, rng, asked)
        unsafe = indexed.table.unsafe_vertices()
        if not len(unsafe):
            return True
        if round_ >= SEARCH_ROUNDS_MAX:
            add_companions(working, indexed.table, unsafe, params)
        else:
            _search(indexed, round_, params, effort, rng, executor)
        indexed.refresh()
    return False


def _search(
    indexed: IndexedGraph,
    round_: int,
    params: PrivacyParams,
    effort: Effort,
    rng: np.random.Generator,
    executor: Executor | None,
) -> None:
    """Serve who is unsafe in one round of the search; the index is to be refreshed.

    What is only wished for would lift whole places here, and those who stand there.
    """
    working, table = indexed.working, indexed.table
    floors = table.arrays.floor
    table.arrays = table.arrays._replace(floor=np.zeros_like(floors))
    # Where moving did not help in the first rounds, harmless vertices dilute.
    diluted = dilute(working, table, everywhere=round_ >= 2) if round_ else EMPTY
    lifted = table.peel(working, rng.permutation(working.n).astype(np.int32))
    serve(working, table, lifted, diluted, params, rng, BUDGETS[effort], executor)
    table.arrays = table.arrays._replace(floor=floors)


def collect(indexed: IndexedGraph, changes: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Withdraw inserted edges and vertices of whoever moved, while everybody stays safe.

    Parameters
    ----------
    changes:
        How much changed since the last release, which bounds the work.

    Returns
    -------
    bool, shape (vertices before,)
        Who was taken away.
    """
    working = indexed.working
    edges = working.inserted_edges
    of_moved = np.flatnonzero(indexed.is_moved[edges].any(axis=1))
    tried = rng.permutation(of_moved)[: TRIED_PER_CHANGE * changes]
    core.withdraw_each(working.arrays, indexed.table.arrays, indexed.rule, np.sort(tried)[::-1])
    return _drop_isolated(indexed)


def _drop_isolated(indexed: IndexedGraph) -> NDArray[np.bool_]:
    """Take inserted vertices without edges away that nobody needs."""
    working, table = indexed.working, indexed.table
    # The kernel takes harmless vertices away; sensitive ones are passed over.
    is_passed = working.arrays.is_sensitive[: working.n].copy()
    is_dropped = is_passed.copy()
    trimming.drop_isolated(working.arrays, table.arrays, table.rule, working.n_original, is_dropped)
    is_dropped &= ~is_passed
    indexed.drop(is_dropped)
    return is_dropped
