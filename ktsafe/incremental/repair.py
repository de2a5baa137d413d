"""Making everybody safe again, and taking back what nobody needs, around what changed.

First what changed is led along paths of inserted edges to where it is borne (`alternating`). Then
single inserted edges are tried at random: withdrawn, passed on to another vertex of the same class,
inserted. A change counts by its cost and by the deficit of everybody it concerns. Who is unsafe
still gets a target in the rounds of the search (`ktsafe.cohort_search`). Turns and trials are
counted by what changed, so the work follows the change.
"""

from __future__ import annotations

import dataclasses
from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray

from ktsafe import _trimming_core as trimming
from ktsafe.cohort_search import BUDGETS, ROUNDS_MAX, SEARCH_ROUNDS_MAX, serve
from ktsafe.dilution import dilute
from ktsafe.fallback import add_companions
from ktsafe.incremental import _mending_core as core
from ktsafe.incremental.alternating import by_class, lead_away
from ktsafe.incremental.indexed import IndexedGraph
from ktsafe.options import Effort
from ktsafe.params import PrivacyParams
from ktsafe.working import WorkingGraph

EMPTY = np.zeros(0, dtype=np.int32)
# How often single edges are tried before whole places are lifted.
LOCAL_ROUNDS_MAX = 2
# At this price for a unit of deficit no trial makes anybody unsafe.
FORBIDDING = 1e9


@dataclasses.dataclass(frozen=True)
class Trials:
    """How single edges are tried.

    Attributes
    ----------
    each:
        Trials for every vertex that is unsafe, or for every change.
    run_max:
        Trials at most, before the safety of everybody is looked at again.
    price:
        What one unit of deficit costs, in inserted edges.
    temperatures:
        First and last.
    shares:
        Cumulated shares of trials that withdraw and that pass on; the others insert.
    """

    each: int
    run_max: int
    price: float
    temperatures: tuple[float, float]
    shares: tuple[float, float]


MENDING = Trials(200, 3_000, 1.0, (0.5, 0.2), (0.15, 0.7))
COLLECTING = Trials(150, 5_000, FORBIDDING, (0.3, 0.1), (0.4, 1.0))


def repair(
    indexed: IndexedGraph,
    params: PrivacyParams,
    effort: Effort,
    rng: np.random.Generator,
    executor: Executor | None = None,
) -> bool:
    """Make everybody safe; whether that came to an end.

    Single edges are tried also for people who see fewer real ones than they should
    (`real_floors`), which is wished for and no part of the definition.

    Parameters
    ----------
    indexed:
        The graph, changed in place, and its index, which is in step before and afterwards.
    """
    working = indexed.working
    first = working.n_original
    core.calm(indexed.table.arrays, indexed.rule, first, working.arrays.is_sensitive)
    for round_ in range(ROUNDS_MAX):
        _repair_locally(indexed, rng)
        unsafe = indexed.table.unsafe_vertices()
        if not len(unsafe):
            return True
        if round_ >= SEARCH_ROUNDS_MAX:
            add_companions(working, indexed.table, unsafe, params)
        else:
            _search(indexed, round_, params, effort, rng, executor)
        indexed.refresh()
    return False


def _repair_locally(indexed: IndexedGraph, rng: np.random.Generator) -> None:
    """Let single edges change hands, come and go, where somebody lacks something.

    What is only wished for is tried once; for who is unsafe it pays to try again at random.
    """
    for round_ in range(LOCAL_ROUNDS_MAX):
        lead_away(indexed, rng, wishes=round_ == 0)
        needing = indexed.wishing() if round_ == 0 else indexed.table.unsafe_vertices()
        if len(needing):
            _try_edges(indexed, (needing, needing), len(needing), MENDING, rng)
        if not len(indexed.table.unsafe_vertices()):
            return


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
    """Withdraw inserted edges and vertices around whoever moved, while everybody stays safe.

    Parameters
    ----------
    changes:
        How much changed since the last release, which bounds the work.

    Returns
    -------
    bool, shape (vertices before,)
        Who was taken away.
    """
    moved = np.flatnonzero(indexed.is_moved).astype(np.int32)
    if len(moved):
        _try_edges(indexed, (moved, EMPTY), changes, COLLECTING, rng)
    return _drop_isolated(indexed)


def _try_edges(
    indexed: IndexedGraph,
    near_and_focus: tuple[NDArray[np.int32], NDArray[np.int32]],
    size: int,
    trials: Trials,
    rng: np.random.Generator,
) -> None:
    """Try inserted edges of whoever sees one of the first vertices; they may go to the second."""
    working = indexed.working
    vertices, focus = near_and_focus
    is_near = indexed.around(vertices)
    count = min(trials.each * size, trials.run_max)
    working.reserve_edges(count)
    near = core.Near(_listed_last(working, is_near), *by_class(working), *by_class(working, focus))
    plan = core.Plan(count, trials.price, *trials.temperatures, *trials.shares)
    random = rng.integers(1 << 63, size=1, dtype=np.uint64)
    core.mend(working.arrays, indexed.table.arrays, indexed.rule, near, plan, random)


def _listed_last(working: WorkingGraph, is_near: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Put the inserted edges with a near end last in their list; return where they begin."""
    edges = working.inserted_edges
    is_last = is_near[edges].any(axis=1)
    edges[:] = np.concatenate((edges[~is_last], edges[is_last]))
    return np.array([len(edges) - int(is_last.sum())], dtype=np.int64)


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
