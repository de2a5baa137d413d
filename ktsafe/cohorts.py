"""Which neighbourhood every lifted vertex shall get: a settled location, or a cohort's shape.

A cohort is a group of at least m = max(k, ceil(1 / alpha)) vertices of one class, at most alpha of
them sensitive, that shall become similar to each other. Its *shape* is a size, a base (how many
neighbours of each value all members have in common) and a freedom of floor(t size) neighbours in
which they may differ. Choosing the base below the componentwise maximum spends the tolerance t
where it saves most: one unit less of the base saves an edge end for every member. Where a cohort
lacks members, inserted vertices fill it.
"""

from __future__ import annotations

import dataclasses
from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray

from ktsafe import _cohorts_core as core
from ktsafe import _locations_core
from ktsafe import _shapes_core as shaping
from ktsafe._locations_core import NONE
from ktsafe._matching_core import Wants
from ktsafe.executors import in_order
from ktsafe.grouping import HOPELESS_SHARE, cohorts_of_class
from ktsafe.locations import LocationTable
from ktsafe.params import PrivacyParams
from ktsafe.working import WorkingGraph

STAND_MAX = 24
EMPTY = np.zeros(0, dtype=np.int32)
# Beyond this many classes a table of class pairs costs more memory than it is worth.
CLASSES_PAIRED_MAX = 1500


@dataclasses.dataclass(frozen=True, eq=False)
class Targets:
    """What vertices shall reach: parallel to `vertices`, in any order.

    Attributes
    ----------
    vertices:
        int32, shape (r,).
    base:
        int32, shape (r, columns): common part of the closed histogram.
    size:
        int64, shape (r,): closed neighbourhood size to reach.
    free:
        int64, shape (r,): neighbours outside the base, per attribute.
    group:
        int64, shape (r,): equal for those that share a target.
    cohort:
        int64, shape (r,): the group where it is a cohort, NONE where it is a settled location.
    """

    vertices: NDArray[np.int32]
    base: NDArray[np.int32]
    size: NDArray[np.int64]
    free: NDArray[np.int64]
    group: NDArray[np.int64]
    cohort: NDArray[np.int64]


def dilute(working: WorkingGraph, table: LocationTable, *, everywhere: bool) -> NDArray[np.int32]:
    """Insert harmless vertices where protection sets are large enough but too sensitive.

    Unless `everywhere`, only in classes that are so sensitive as a whole that moving sensitive
    vertices to other cohorts is of no use.

    They are counted at the location at once; they still have to get there.
    """
    t, limits = table.arrays, table.rule.limits
    num, den = limits[_locations_core.ALPHA_NUM], limits[_locations_core.ALPHA_DEN]
    crowded = (t.population > 0) & (t.ps_size >= limits[_locations_core.K])
    crowded &= t.ps_sensitive * den > t.ps_size * num
    if not everywhere:
        g, n_classes = working.arrays, working.space.n_classes
        n = np.bincount(g.cls, minlength=n_classes)
        sensitive = np.bincount(g.cls, g.is_sensitive, minlength=n_classes)
        crowded &= (sensitive > HOPELESS_SHARE * (num / den) * n)[t.cls]
    places: list[int] = []
    for at in np.flatnonzero(crowded):
        missing = int(_locations_core.missing_harmless(t, table.rule, at))
        if missing:
            _locations_core.shift(t, table.rule, at, missing, 0, 0)
            places += [int(at)] * missing
    at_places = np.array(places, dtype=np.int32)
    new = working.add_vertices(t.cls[at_places])
    table.extend(len(new))
    table.arrays.of_vertex[new] = at_places
    return new


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
        Vertices inserted beside too many sensitive ones (`dilute`).
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
    joined = _join_settled(working, table, others)
    parts = [
        _settled_targets(working, table, diluted, table.arrays.of_vertex[diluted]),
        _settled_targets(working, table, others, joined),
    ]
    rest = others[joined == NONE]
    g = working.arrays
    order = np.lexsort((-g.degree[rest], g.cls[rest]))
    bounds = np.flatnonzero(np.diff(g.cls[rest][order])) + 1
    blocks: list[NDArray[np.int32]] = []
    for block in np.split(rest[order], bounds):
        if not len(block):
            continue
        alone = block
        rule = _target_rule(working, table, int(g.cls[block[0]]))
        real = int(np.count_nonzero(block < working.n_original))
        lacking = shaping.lacking(rule, len(block), int(g.is_sensitive[block].sum()))
        if lacking or shaping.lacking_real(rule, real):
            alone = _adopt(working, table, block)
            adopted = np.setdiff1d(block, alone)
            kept = np.union1d(kept, _lift_cohorts(working, table, working.cohort[adopted]))
        if len(alone):
            blocks.append(alone)
    working.stood[np.concatenate(blocks or [EMPTY])] = 0
    tasks = [_grouping(working, table, block, params, rng, swaps_per_vertex) for block in blocks]
    grouped = in_order(executor, cohorts_of_class, tasks)
    for block, cohort in zip(blocks, grouped, strict=True):
        parts.append(_shared_targets(working, table, block, cohort))
    parts.append(_kept_targets(working, table, kept))
    targets = _joined_parts(parts, working.n_cohorts)
    assert len(np.unique(targets.vertices)) == len(targets.vertices)
    working.cohort[targets.vertices] = targets.cohort
    working.n_cohorts = max(working.n_cohorts, int(targets.cohort.max(initial=-1)) + 1)
    fill_bases(working, targets, rng)
    wants = _wants(working, targets, rng)
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
        _locations_core.lift(table.arrays, table.rule, v, int(working.arrays.is_sensitive[v]))
    return members


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
    order = np.argsort(compact.reshape(-1), kind="stable").astype(np.int32)
    start = np.concatenate(([0], np.cumsum(np.bincount(compact.reshape(-1)))))
    everyone: NDArray[np.int32] = np.concatenate((others, block)).astype(np.int32)
    rule = _target_rule(working, table, int(g.cls[block[0]]))
    best = core.adopt(_pool(working, everyone), rule, order, start, len(others))
    working.cohort[block] = np.where(best == NONE, NONE, labels[best])
    alone: NDArray[np.int32] = block[best == NONE]
    return alone


def _joined_parts(parts: list[Targets], first_cohort: int) -> Targets:
    """Concatenate targets; groups are numbered through, cohorts from `first_cohort`."""
    first = 0
    groups, cohorts = [], []
    for part in parts:
        groups.append(part.group + first)
        cohorts.append(np.where(part.cohort == NONE, NONE, part.cohort + first_cohort + first))
        first += int(part.group.max(initial=-1)) + 1
    return Targets(
        np.concatenate([part.vertices for part in parts]),
        np.concatenate([part.base for part in parts]),
        np.concatenate([part.size for part in parts]),
        np.concatenate([part.free for part in parts]),
        np.concatenate(groups),
        np.concatenate(cohorts),
    )


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
            _locations_core.shift(t, table.rule, at, 1, sensitive, real)
            t.of_vertex[v] = at
            working.stood[v] = 1
            joined[i] = at
    return joined


def _settled_targets(
    working: WorkingGraph, table: LocationTable, vertices: NDArray[np.int32], at: NDArray[np.int32]
) -> Targets:
    """Return the locations `at` (where not `NONE`) as exact targets of vertices."""
    vertices, at = vertices[at != NONE], at[at != NONE]
    return Targets(
        vertices,
        np.ascontiguousarray(table.arrays.hist[at, working.target_columns]),
        table.arrays.degree[at].astype(np.int64) + 1,
        np.zeros(len(at), dtype=np.int64),
        np.arange(len(at), dtype=np.int64),
        np.full(len(at), NONE, dtype=np.int64),
    )


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
) -> tuple[shaping.Pool, _locations_core.Rule, PrivacyParams, int, NDArray[np.uint64]]:
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
    members = np.argsort(cohort, kind="stable").astype(np.int32)
    count = np.bincount(cohort, minlength=n_cohorts)
    start = np.concatenate(([0], np.cumsum(count)))
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
) -> _locations_core.Rule:
    """Return the rule with the columns in which targets are chosen, and the floor of a class.

    Targets by tuple leave no freedom, so that they contain what every member has.
    """
    limits = table.rule.limits.copy()
    if cls is not None:
        limits[_locations_core.FLOOR] = table.arrays.floor[cls]
    if working.by_tuple:
        limits[_locations_core.T_NUM] = 0
    return _locations_core.Rule(working.target_space.offsets, limits)


def fill_bases(working: WorkingGraph, targets: Targets, rng: np.random.Generator) -> None:
    """Fill each attribute of each base up to size - free, in place, so that wants find partners.

    An edge between values y and x serves y's want for x only where x wants y too. Where a base
    leaves the choice, y's neighbours are chosen among the values that want y more than y wants
    them; as far as all attributes leave it, whole existing tuples are chosen.
    """
    space, classes = working.target_space, working.arrays.cls[targets.vertices]
    offsets, q = space.offsets, len(space.offsets) - 1
    if not len(classes):
        return
    residual = np.maximum(targets.base - working.target_hist(targets.vertices), 0)
    _, first, group_of = np.unique(targets.group, return_index=True, return_inverse=True)
    missing = np.zeros((len(classes), q), dtype=np.int64)
    shares: list[NDArray[np.float64]] = []
    whole_tuples = 1 < space.n_classes <= CLASSES_PAIRED_MAX and q > 1
    weights = np.ones((space.n_classes, space.n_classes) if whole_tuples else (0, 0))
    for j in range(q):
        columns = slice(offsets[j], offsets[j + 1])
        own = space.columns[:, j] - offsets[j]
        missing[:, j] = targets.size - targets.free - targets.base[:, columns].sum(axis=1)
        n_values = int(offsets[j + 1] - offsets[j])
        wanted = np.zeros((n_values, n_values))
        np.add.at(wanted, own[classes], residual[:, columns])
        choices = np.bincount(own[classes], missing[:, j], n_values).astype(np.float64)
        shares.append(_balanced_choices(wanted, choices))
        if whole_tuples:
            weights *= shares[j][own][:, own]
    groups = classes[first]
    filled = np.zeros((len(first), space.n_columns), dtype=np.int32)
    rest = missing[first]
    if whole_tuples:
        weights /= weights.sum(axis=1, keepdims=True)
        whole = rng.multinomial(rest.min(axis=1), weights[groups])
        rest = rest - rest.min(axis=1, keepdims=True)
        for j in range(q):
            np.add.at(filled.T, space.columns[:, j], whole.T)
    for j in range(q):
        columns = slice(offsets[j], offsets[j + 1])
        own = space.columns[groups, j] - offsets[j]
        filled[:, columns] += rng.multinomial(rest[:, j], shares[j][own]).astype(np.int32)
    targets.base[:, :] += filled[group_of.reshape(-1)]


def _balanced_choices(
    wanted: NDArray[np.float64], choices: NDArray[np.float64], slices: int = 16
) -> NDArray[np.float64]:
    """Distribute each value's free choices so that wants become symmetric.

    Parameters
    ----------
    wanted:
        Shape (values, values): how often vertices of value y (row) want value x (column).
    choices:
        Shape (values,): how many more each value y may choose.

    Returns
    -------
    float64, shape (values, values)
        The share of y's choices that go to x; rows sum to 1.
    """
    chosen = np.zeros_like(wanted)
    even = np.broadcast_to(choices + 1e-9, wanted.shape)
    for _ in range(slices):
        total = wanted + chosen
        lack = np.maximum(total.T - total, 0)
        weight = np.where(lack.sum(axis=1, keepdims=True) > 0, lack, even)
        chosen += weight / weight.sum(axis=1, keepdims=True) * choices[:, None] / slices
    share = chosen + 1e-12
    normalized: NDArray[np.float64] = share / share.sum(axis=1, keepdims=True)
    return normalized


def _wants(working: WorkingGraph, targets: Targets, rng: np.random.Generator) -> Wants:
    """Return what each vertex lacks to its target, in descending order of stubs."""
    g, offsets = working.arrays, working.target_space.offsets
    hist = working.target_hist(targets.vertices)
    residual = targets.base - hist
    excess = np.maximum(-residual, 0)
    q = len(offsets) - 1
    free = np.zeros((len(hist), q), dtype=np.int32)
    for j in range(q):
        free[:, j] = targets.free - excess[:, offsets[j] : offsets[j + 1]].sum(axis=1)
    stubs = (targets.size - 1 - g.degree[targets.vertices]).astype(np.int32)
    order = np.lexsort((rng.random(len(stubs)), -stubs))
    return Wants(
        np.ascontiguousarray(targets.vertices[order]),
        np.ascontiguousarray(residual[order]),
        np.ascontiguousarray(free[order]),
        np.ascontiguousarray(stubs[order]),
        np.ascontiguousarray(targets.group[order]),
        # A vertex inserted beside sensitive ones is of use only where they are.
        working.by_tuple
        | (targets.cohort[order] == NONE) & (targets.vertices[order] >= working.n_original),
        working.target_space.columns,
    )
