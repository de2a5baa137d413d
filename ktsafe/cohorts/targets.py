"""What vertices shall reach: targets, their completion, and what vertices lack to them.

A target is a size of the closed neighbourhood, a base (how many neighbours of each value it holds
at least) and a freedom in all others.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.cohorts._wants_core import Wants
from ktsafe.index._table_core import NONE
from ktsafe.index.table import LocationTable
from ktsafe.working.graph import WorkingGraph

# Beyond this many classes a table of class pairs costs more memory than it is worth.
CLASSES_PAIRED_MAX = 1500
# Portions in which free choices are handed out; each portion sees what the others chose.
PORTIONS = 16


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


def settled_targets(
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


def concatenated(parts: list[Targets], first_cohort: int) -> Targets:
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
        shares.append(balanced_choices(wanted, choices))
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


def wants_of(working: WorkingGraph, targets: Targets, rng: np.random.Generator) -> Wants:
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
        (targets.cohort[order] == NONE) & (targets.vertices[order] >= working.n_original),
        working.target_space.columns,
    )


def balanced_choices(
    wanted: NDArray[np.float64], choices: NDArray[np.float64]
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
    for _ in range(PORTIONS):
        total = wanted + chosen
        lack = np.maximum(total.T - total, 0)
        weight = np.where(lack.sum(axis=1, keepdims=True) > 0, lack, even)
        chosen += weight / weight.sum(axis=1, keepdims=True) * choices[:, None] / PORTIONS
    share = chosen + 1e-12
    normalized: NDArray[np.float64] = share / share.sum(axis=1, keepdims=True)
    return normalized
