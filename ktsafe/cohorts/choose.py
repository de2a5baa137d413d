"""Which neighbourhood every lifted vertex shall get: a settled location, or a cohort's shape.

A cohort is a group of at least m = max(k, ceil(1 / alpha)) vertices of one class, at most alpha of
them sensitive, that shall become similar to each other. Its *shape* is a size, a base (how many
neighbours of each value all members have in common) and a freedom of floor(t size) neighbours in
which they may differ. Choosing the base below the componentwise maximum spends the tolerance t
where it saves most: one unit less of the base saves an edge end for every member. Where a cohort
lacks members, inserted vertices fill it.
"""

from __future__ import annotations

from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray

from ktsafe.cohorts import _choose_core as core
from ktsafe.cohorts import _shapes_core as shaping
from ktsafe.cohorts._wants_core import Wants
from ktsafe.cohorts.grouping import cohorts_of_class
from ktsafe.cohorts.targets import Targets, concatenated, fill_bases, settled_targets, wants_of
from ktsafe.index import _table_core
from ktsafe.index._table_core import NONE
from ktsafe.index.table import LocationTable
from ktsafe.params import PrivacyParams
from ktsafe.working.counting_sort import counting_sorted
from ktsafe.working.executors import in_order
from ktsafe.working.graph import WorkingGraph

# Rounds for which a cohort stands at most.
STAND_MAX = 24
EMPTY = np.zeros(0, dtype=np.int32)


def choose_targets(
    working: WorkingGraph,
    table: LocationTable,
    lifted: tuple[NDArray[np.int32], NDArray[np.int32]],
    diluted: NDArray[np.int32],
    params: PrivacyParams,
    rng: np.random.Generator,
    *,
    swaps_per_vertex: int,
    executor: Executor | None = None,
) -> Wants:
    """Give each lifted vertex a target and return what it lacks, neediest first.

    Cohorts of an earlier round stand, so that what their members got is not wasted. Of the
    others, some join a settled location; they are placed there at once, so that later joins see
    them. The rest forms new cohorts. May append inserted vertices to `working`.

    Parameters
    ----------
    working, table:
        The graph and the table of its settled vertices.
    lifted:
        Vertices without a sufficient protection set, and sensitive ones that are too many where
        they are (`LocationTable.peel`).
    diluted:
        Vertices inserted beside too many sensitive ones (`ktsafe.cohorts.dilution`).
    params, rng:
        The guarantee and the randomness.
    swaps_per_vertex:
        Budget of the search for better cohorts.
    executor:
        Runs the search of each class, if given.
    """
    too_few, too_sensitive = lifted
    # A place that lost too many others no longer holds those inserted beside it.
    diluted = np.setdiff1d(diluted, np.concatenate(lifted)).astype(np.int32)
    kept, others = _stand(working, table, too_few)
    others = rng.permutation(np.union1d(others, np.setdiff1d(too_sensitive, kept)))
    # Who left a cohort must not be fetched back with its members.
    working.cohort[others] = NONE
    places = _join_settled(working, table, others)
    parts = [
        settled_targets(working, table, diluted, table.arrays.of_vertex[diluted]),
        settled_targets(working, table, others, places),
    ]
    blocks, hosts = _blocks(working, table, others[places == NONE])
    working.stood[np.concatenate(blocks or [EMPTY])] = 0
    tasks = [_grouping(working, table, block, params, rng, swaps_per_vertex) for block in blocks]
    grouped = in_order(executor, cohorts_of_class, tasks)
    for block, cohort in zip(blocks, grouped, strict=True):
        parts.append(_shared_targets(working, table, block, cohort))
    parts.append(_kept_targets(working, table, np.union1d(kept, hosts)))
    targets = concatenated(parts, working.n_cohorts)
    assert len(np.unique(targets.vertices)) == len(targets.vertices)
    working.cohort[targets.vertices] = targets.cohort
    working.n_cohorts = max(working.n_cohorts, int(targets.cohort.max(initial=-1)) + 1)
    fill_bases(working, targets, rng)
    wants = wants_of(working, targets, rng)
    # A cohort that wants nothing and yet is unsafe has too sensitive neighbours: let it go.
    open_groups = np.bincount(wants.group, weights=wants.stubs)
    idle = wants.vertices[open_groups[wants.group] == 0]
    working.stood[idle] = STAND_MAX
    return wants


def _stand(
    working: WorkingGraph, table: LocationTable, lifted: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Split the lifted vertices into those whose cohort stands, with all its members, and others.

    Members that are settled are lifted too. A cohort stands for `STAND_MAX` rounds at most.
    """
    cohorts = np.unique(working.cohort[lifted])
    cohorts = cohorts[cohorts != NONE]
    members = np.flatnonzero(np.isin(working.cohort, cohorts) & (working.stood < STAND_MAX))
    _, compact = np.unique(working.cohort[members], return_inverse=True)
    count = np.bincount(compact.reshape(-1))
    sensitive = np.bincount(compact.reshape(-1), working.arrays.is_sensitive[members])
    real = np.bincount(compact.reshape(-1), members < working.n_original)
    floor = np.zeros(len(count), dtype=np.int64)
    floor[compact.reshape(-1)] = table.arrays.floor[working.arrays.cls[members]]
    lacking = [
        shaping.lacking(table.rule, int(c), int(s)) for c, s in zip(count, sensitive, strict=True)
    ]
    stands = (np.array(lacking, dtype=np.int64) == 0) & ((real == 0) | (real >= floor))
    standing = members[stands[compact.reshape(-1)]] if len(members) else members
    kept = _lift_cohorts(working, table, working.cohort[standing])
    working.stood[kept] += 1
    return kept, np.setdiff1d(lifted, kept).astype(np.int32)


def _lift_cohorts(
    working: WorkingGraph, table: LocationTable, cohorts: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return all members of the given cohorts, lifted."""
    members: NDArray[np.int32] = np.flatnonzero(np.isin(working.cohort, cohorts)).astype(np.int32)
    for v in members[table.arrays.of_vertex[members] != NONE]:
        _table_core.lift(table.arrays, table.rule, v, int(working.arrays.is_sensitive[v]))
    return members


def _blocks(
    working: WorkingGraph, table: LocationTable, vertices: NDArray[np.int32]
) -> tuple[list[NDArray[np.int32]], NDArray[np.int32]]:
    """Return those of each class who form new cohorts, and all members of cohorts that took others.

    Each block is in descending degree. Who would be too few for a cohort enter others that stand,
    where that costs less.
    """
    g = working.arrays
    order = np.lexsort((-g.degree[vertices], g.cls[vertices]))
    bounds = np.flatnonzero(np.diff(g.cls[vertices][order])) + 1
    blocks: list[NDArray[np.int32]] = []
    hosts = EMPTY
    for block in np.split(vertices[order], bounds):
        if not len(block):
            continue
        alone = block
        rule = _target_rule(working, table, int(g.cls[block[0]]))
        real = int(np.count_nonzero(block < working.n_original))
        lacking = shaping.lacking(rule, len(block), int(g.is_sensitive[block].sum()))
        if lacking or shaping.lacking_real(rule, real):
            alone = _adopt(working, table, block)
            adopted = np.setdiff1d(block, alone)
            hosts = np.union1d(hosts, _lift_cohorts(working, table, working.cohort[adopted]))
        if len(alone):
            blocks.append(alone)
    return blocks, hosts


def _adopt(
    working: WorkingGraph, table: LocationTable, block: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Let vertices of one class that are too few for a cohort enter others; return the rest.

    Each enters the cohort whose price rises least, if that is less than a cohort of its own,
    whose other members would all be inserted.
    """
    g = working.arrays
    of_class = g.cls[: working.n] == g.cls[block[0]]
    others = np.flatnonzero(of_class & (working.cohort != NONE) & (working.stood < STAND_MAX))
    others = np.setdiff1d(others, block).astype(np.int32)
    if not len(others):
        return block
    labels, compact = np.unique(working.cohort[others], return_inverse=True)
    start, order = counting_sorted(compact.reshape(-1), len(labels))
    everyone: NDArray[np.int32] = np.concatenate((others, block)).astype(np.int32)
    rule = _target_rule(working, table, int(g.cls[block[0]]))
    members = order.astype(np.int32)
    best = core.adopt(_pool(working, everyone), rule, members, start, len(others))
    working.cohort[block] = np.where(best == NONE, NONE, labels[best])
    alone: NDArray[np.int32] = block[best == NONE]
    return alone


def _join_settled(
    working: WorkingGraph, table: LocationTable, lifted: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Let each vertex join a dominating settled location that is near; return which.

    Once a vertex failed to reach such a location it looks for a cohort instead.
    """
    g, t = working.arrays, table.arrays
    joined = np.full(len(lifted), NONE, dtype=np.int32)
    for i, v in enumerate(lifted):
        if working.stood[v]:
            continue
        sensitive, degree = int(g.is_sensitive[v]), int(g.degree[v])
        real, reach = int(t.is_real[v]), 1 + degree // 4
        at = core.join(t, table.rule, g.cls[v], degree, g.hist[v], sensitive, reach, real)
        if at != NONE:
            _table_core.shift(t, table.rule, at, 1, sensitive, real)
            t.of_vertex[v] = at
            working.stood[v] = 1
            joined[i] = at
    return joined


def _kept_targets(working: WorkingGraph, table: LocationTable, kept: NDArray[np.int32]) -> Targets:
    """Return what the members of standing cohorts shall reach."""
    _, cohort = np.unique(working.cohort[kept], return_inverse=True)
    return _shared_targets(working, table, kept, cohort.reshape(-1))


def _grouping(
    working: WorkingGraph,
    table: LocationTable,
    block: NDArray[np.int32],
    params: PrivacyParams,
    rng: np.random.Generator,
    swaps_per_vertex: int,
) -> tuple[shaping.Pool, _table_core.Rule, PrivacyParams, int, NDArray[np.uint64]]:
    """Return the task of grouping the vertices of one class, in descending degree."""
    rule = _target_rule(working, table, int(working.arrays.cls[block[0]]))
    random = rng.integers(1 << 63, size=1, dtype=np.uint64)
    return _pool(working, block), rule, params, swaps_per_vertex * len(block), random


def _pool(working: WorkingGraph, vertices: NDArray[np.int32]) -> shaping.Pool:
    """Return what the search for cohorts knows about vertices."""
    g = working.arrays
    is_real = vertices < working.n_original
    sizes = g.degree[vertices] + 1
    return shaping.Pool(working.target_hist(vertices), sizes, g.is_sensitive[vertices], is_real)


def _shared_targets(
    working: WorkingGraph,
    table: LocationTable,
    vertices: NDArray[np.int32],
    cohort: NDArray[np.integer],
) -> Targets:
    """Return the shapes of cohorts; insert the vertices that they lack."""
    g, pool = working.arrays, _pool(working, vertices)
    n_cohorts = int(cohort.max(initial=-1)) + 1
    start, order = counting_sorted(cohort, n_cohorts)
    members, count = order.astype(np.int32), np.diff(start)
    bases = np.zeros((n_cohorts, pool.rows.shape[1]), dtype=np.int32)
    sizes, frees = np.zeros(n_cohorts, dtype=np.int64), np.zeros(n_cohorts, dtype=np.int64)
    shaping.shapes(pool, _target_rule(working, table), members, start, bases, sizes, frees)
    sensitive = np.bincount(cohort, weights=pool.is_sensitive, minlength=n_cohorts)
    short = [
        shaping.lacking(table.rule, int(count[c]), int(sensitive[c])) for c in range(n_cohorts)
    ]
    new_of = np.repeat(np.arange(n_cohorts), short)
    classes = g.cls[vertices[members[start[new_of]]]]
    new = working.add_vertices(classes)
    table.extend(len(new))
    vertices = np.concatenate((vertices, new))
    cohort = np.concatenate((cohort, new_of))
    group = cohort.astype(np.int64)
    return Targets(vertices, bases[cohort], sizes[cohort], frees[cohort], group, group)


def _target_rule(
    working: WorkingGraph, table: LocationTable, cls: int | None = None
) -> _table_core.Rule:
    """Return the rule with the columns in which targets are chosen, and the floor of a class."""
    limits = table.rule.limits.copy()
    if cls is not None:
        limits[_table_core.FLOOR] = table.arrays.floor[cls]
    return _table_core.Rule(working.target_space.offsets, limits)
