"""Which neighbourhood every lifted vertex shall get: a settled location, or a cohort's maximum.

A cohort is a group of at least m = max(k, ceil(1 / alpha)) vertices of one class, at most alpha of
them sensitive, that shall end at one location: the componentwise maximum of its members, because
insertion alone cannot go below it. Where a cohort lacks members, inserted vertices fill it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ktsafe import _cohorts_core as core
from ktsafe import _locations_core
from ktsafe._matching_core import Wants
from ktsafe.locations import LocationTable
from ktsafe.params import PrivacyParams
from ktsafe.working import WorkingGraph


def choose_targets(
    working: WorkingGraph,
    table: LocationTable,
    lifted: NDArray[np.int32],
    params: PrivacyParams,
    rng: np.random.Generator,
) -> Wants:
    """Give each lifted vertex a target and return what it lacks, neediest first.

    Vertices that join a settled location are placed there at once, so that later joins see them.
    May append inserted vertices to `working`.
    """
    lifted = rng.permutation(lifted)
    hist = working.joint_histograms(lifted)
    targets = hist.copy()
    joined = np.zeros(len(lifted), dtype=np.bool_)
    if working.space.is_joint:
        joined = _join_settled(working, table, lifted, targets)
    rest = np.flatnonzero(~joined)
    groups = _seed_cohorts(working, lifted[rest], params)
    inserted_classes: list[int] = []
    inserted_targets: list[NDArray[np.int32]] = []
    for group in groups:
        members = rest[group]
        target = hist[members].max(axis=0)
        targets[members] = target
        lacking = _lacking(working, lifted[members], params)
        inserted_classes += [int(working.arrays.cls[lifted[members[0]]])] * lacking
        inserted_targets += [target] * lacking
    if inserted_classes:
        new = working.add_vertices(np.array(inserted_classes, dtype=np.int32))
        lifted = np.concatenate((lifted, new))
        targets = np.concatenate((targets, np.array(inserted_targets, dtype=np.int32)))
        hist = np.concatenate((hist, working.joint_histograms(new)))
        table.extend(len(new))
    residual = targets - hist
    stubs = residual.sum(axis=1, dtype=np.int32)
    order = np.argsort(-stubs, kind="stable")
    columns = np.arange(working.space.n_classes, dtype=np.int64).reshape(-1, 1)
    return Wants(
        np.ascontiguousarray(lifted[order]),
        np.ascontiguousarray(residual[order]),
        np.ascontiguousarray(stubs[order]),
        columns,
    )


def _join_settled(
    working: WorkingGraph,
    table: LocationTable,
    lifted: NDArray[np.int32],
    targets: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Let each vertex join a dominating settled location that is near; return who did."""
    g = working.arrays
    joined = np.zeros(len(lifted), dtype=np.bool_)
    for i, v in enumerate(lifted):
        sensitive = int(g.is_sensitive[v])
        degree = int(g.degree[v])
        reach = 1 + degree // 4
        at = core.join(table.arrays, table.rule, int(g.cls[v]), degree, g.hist[v], sensitive, reach)
        if at != _locations_core.NONE:
            _locations_core.shift(table.arrays, table.rule, at, 1, sensitive)
            table.arrays.of_vertex[v] = at
            targets[i] = table.arrays.hist[at]
            targets[i, g.cls[v]] -= 1
            joined[i] = True
    return joined


def _seed_cohorts(
    working: WorkingGraph, vertices: NDArray[np.int32], params: PrivacyParams
) -> list[NDArray[np.int64]]:
    """Group the vertices class by class in descending degree; return positions in `vertices`."""
    g = working.arrays
    m = params.group_size_min
    groups: list[NDArray[np.int64]] = []
    order = np.lexsort((-g.degree[vertices], g.cls[vertices]))
    bounds = np.flatnonzero(np.diff(g.cls[vertices][order])) + 1
    for block in np.split(order, bounds):
        if not len(block):
            continue
        cohort = core.seed(
            g.is_sensitive[vertices[block]], m, params.alpha.numerator, params.alpha.denominator
        )
        parts = [block[cohort == c] for c in range(int(cohort.max()) + 1)]
        if len(parts) > 1 and len(parts[-1]) < m:
            merged = np.concatenate(parts[-2:])
            if not _lacking(working, vertices[merged], params):
                parts[-2:] = [merged]
        groups += parts
    return groups


def _lacking(working: WorkingGraph, members: NDArray[np.int32], params: PrivacyParams) -> int:
    """Return how many non-sensitive vertices a cohort needs to be safe on its own."""
    sensitive = int(working.arrays.is_sensitive[members].sum())
    size = max(params.k, math.ceil(sensitive / params.alpha))
    return max(0, size - len(members))
