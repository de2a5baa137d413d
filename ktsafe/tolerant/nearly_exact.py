"""A release whose cohorts have nearly equal counts of each attribute's values.

Tuples of quasi-identifiers are many, values are few: what members of a cohort have of each *value*
is half as far from equal as what they have of each tuple, and all that the definition reads.

    cohorts           =  leaves of the kt-tree over counts of values
    targets           =  medians, moved until all vertices with one value want as many neighbours
        with another as those want of them
    ties are shown where both ends have room for all values of the other
    stubs             =  what is lacking, combined into tuples: those of a class for another are
        as many as the other's for it, as far as that is found
    stubs are joined, pair of classes by pair of classes

A few stubs are left over, since an edge moves a count of each attribute at both ends, so that no
pair of classes is solved by itself (ADR 0028). Whom that makes unsafe is brought home afterwards
(`ktsafe.tolerant.mending`).
"""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ktsafe.exact.filling import joined
from ktsafe.exact.kt_tree import Cohorts, cohorts_of
from ktsafe.quasi_identifier_space import QuasiIdentifierSpace
from ktsafe.strategies import Request
from ktsafe.tolerant import _nearly_exact_core as core

TRIALS = 200
"""Steps of targets that are tried in each round, for each cohort."""

ROUNDS = (
    (0.02, 0.5),
    (0.05, 0.5),
    (0.1, 0.5),
    (0.2, 0.5),
    (0.5, 0.5),
    (1.0, 0.5),
    (1.0, 0.3),
    (1.0, 0.1),
)
"""Price of asymmetry and heat of each."""

SWEEPS = 100
"""Times that stubs without a partner look for one."""


@dataclasses.dataclass(frozen=True, eq=False)
class Kinds:
    """The released vertices by their quasi-identifiers.

    Attributes
    ----------
    classes:
        int64, shape (n,).
    space:
        The tuple of each class.
    """

    classes: NDArray[np.int64]
    space: QuasiIdentifierSpace

    @property
    def columns(self) -> NDArray[np.int64]:
        """The column of each value of each vertex: int64, shape (n, attributes)."""
        return self.space.columns[self.classes]

    def counts(self, edges: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the neighbours of each vertex by value: int64, shape (n, columns)."""
        counts = np.zeros((len(self.classes), self.space.n_columns), dtype=np.int64)
        for column in self.columns.T:
            np.add.at(counts, (edges, column[edges[:, ::-1]]), 1)
        return counts


def nearly_exact(
    request: Request, inserted: NDArray[np.int32], like: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the edges of a release that is nearly safe, and the cohort of each vertex.

    Parameters
    ----------
    request:
        Of its parameters k and alpha are used.
    inserted:
        int32, shape (i,): class of each inserted vertex; none is sensitive.
    like:
        int64, shape (n + i,): the person whose neighbours count for each vertex.
    """
    graph, rng = request.graph, request.rng
    kinds = Kinds(
        np.concatenate((graph.qi_classes, inserted)).astype(np.int64),
        QuasiIdentifierSpace.of_graph(graph),
    )
    true = Kinds(graph.qi_classes.astype(np.int64), kinds.space).counts(graph.edges)
    counts = true[like]
    cohorts = cohorts_of(
        kinds.classes.astype(np.int32),
        np.append(graph.is_sensitive, np.zeros(len(inserted), dtype=np.bool_)),
        csr_array(counts.astype(np.int32)),
        request.params,
        rng=rng,
        effort=request.options.effort,
        executor=request.executor,
    )
    targets = _targets(kinds, cohorts, counts)
    for price, heat in ROUNDS:
        core.settle(targets, TRIALS * len(cohorts.sizes), price, heat, rng)
    room = targets.wanted[cohorts.of_vertex]
    shown = _shown(graph.edges, kinds, counts, room, rng)
    edges = _completed(kinds, room, graph.edges[shown], rng)
    return edges, cohorts.of_vertex


def _targets(kinds: Kinds, cohorts: Cohorts, counts: NDArray[np.int64]) -> core.Targets:
    """Return the medians of each cohort, of equal sum for all attributes."""
    offsets, columns = kinds.space.offsets, kinds.space.columns[cohorts.class_of]
    wanted = cohorts.pivots.toarray().astype(np.int64)
    members = np.argsort(cohorts.of_vertex, kind="stable")
    first = np.concatenate(([0], np.cumsum(cohorts.sizes)))
    degrees = counts[:, : offsets[1]].sum(axis=1)
    for c, own in enumerate(np.split(members, first[1:-1])):
        degree = int(np.sort(degrees[own])[(len(own) - 1) // 2])
        for i, j in itertools.pairwise(offsets):
            _level(wanted[c, i:j], counts[own, i:j], degree)
    between = np.zeros((kinds.space.n_columns,) * 2, dtype=np.int64)
    for column in columns.T:
        np.add.at(between, column, wanted * cohorts.sizes[:, None])
    return core.Targets(counts, members, first, columns, offsets, wanted, between)


def _level(wanted: NDArray[np.int64], counts: NDArray[np.int64], total: int) -> None:
    """Raise or lower single counts until they have a sum, each time the one that deviates least."""
    while wanted.sum() != total:
        by = 1 if wanted.sum() < total else -1
        worse = np.abs(counts - wanted - by).sum(axis=0) - np.abs(counts - wanted).sum(axis=0)
        wanted[np.where(wanted + by < 0, counts.size + 1, worse).argmin()] += by


def _shown(
    ties: NDArray[np.int32],
    kinds: Kinds,
    counts: NDArray[np.int64],
    room: NDArray[np.int64],
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Return which ties are shown, those first whose ends have the least too much of each other."""
    excess = np.maximum(counts - room, 0) / np.maximum(counts, 1)
    off = 0.01 * rng.random(len(ties))
    for near, far in (ties.T, ties.T[::-1]):
        off += np.take_along_axis(excess[near], kinds.columns[far], axis=1).sum(axis=1)
    shown = np.zeros(len(ties), dtype=np.bool_)
    core.show(ties, np.argsort(off, kind="stable"), kinds.columns, room, shown)
    return shown


def _completed(
    kinds: Kinds, room: NDArray[np.int64], shown: NDArray[np.int32], rng: np.random.Generator
) -> NDArray[np.int32]:
    """Return the shown ties and the edges that join stubs."""
    stubs = _stubs(kinds, room, rng)
    for _ in range(SWEEPS):
        core.pair_up(stubs, rng.permutation(len(stubs.of_vertex)), rng)
    wanted = stubs.class_of[stubs.values @ stubs.radix]
    q = kinds.space.n_classes
    own = kinds.classes[stubs.of_vertex]
    pair_of = np.where(wanted < 0, -1, np.minimum(own, wanted) * q + np.maximum(own, wanted))
    ends = np.sort(kinds.classes[shown], axis=1)
    shown_pair = ends[:, 0] * q + ends[:, 1]
    of_stub, of_tie = np.argsort(pair_of, kind="stable"), np.argsort(shown_pair, kind="stable")
    members = [np.flatnonzero(kinds.classes == c) for c in range(q)]
    found = [np.zeros((0, 2), dtype=np.int32)]
    for pair in np.union1d(pair_of[pair_of >= 0], shown_pair):
        a, b = divmod(int(pair), q)
        x, y = np.searchsorted(pair_of[of_stub], [pair, pair + 1])
        lack = stubs.of_vertex[of_stub[x:y]]
        x, y = np.searchsorted(shown_pair[of_tie], [pair, pair + 1])
        kept = shown[of_tie[x:y]]
        sides = (members[a],) if a == b else (members[a], members[b])
        found.append(_joined(kinds, sides, lack, kept, rng))
    return np.concatenate(found)


def _joined(
    kinds: Kinds,
    sides: tuple[NDArray[np.int64], ...],
    lack: NDArray[np.int64],
    kept: NDArray[np.int32],
    rng: np.random.Generator,
) -> NDArray[np.int32]:
    """Return the edges of a pair of classes: those that are kept, and stubs that are joined."""
    vertices = np.concatenate(sides)
    local = np.empty(len(kinds.classes), dtype=np.int64)
    local[vertices] = np.arange(len(vertices))
    ends = local[kept]
    swapped = ends[:, 0] > ends[:, 1]
    ends[swapped] = ends[swapped, ::-1]
    stubs = np.bincount(local[lack], minlength=len(vertices))
    edges, _ = joined(len(sides[0]), stubs, ends, rng)
    return vertices[edges].astype(np.int32)


def _stubs(kinds: Kinds, room: NDArray[np.int64], rng: np.random.Generator) -> core.Stubs:
    """Return stubs for what is lacking; values are combined at random."""
    offsets, n = kinds.space.offsets, len(kinds.classes)
    widths = np.diff(offsets)
    radix = np.concatenate(([1], np.cumprod(widths)[:-1])).astype(np.int64)
    tuple_of = (kinds.space.columns - offsets[:-1]) @ radix
    class_of = np.full(int(np.prod(widths)), -1, dtype=np.int64)
    class_of[tuple_of] = np.arange(len(tuple_of))
    lack = room[:, : offsets[1]].sum(axis=1)
    of_vertex = np.repeat(np.arange(n), lack)
    values = np.empty((len(of_vertex), len(widths)), dtype=np.int64)
    for j, (i, k) in enumerate(itertools.pairwise(offsets)):
        every = np.repeat(np.tile(np.arange(k - i), n), room[:, i:k].reshape(-1))
        values[:, j] = every[np.lexsort((rng.random(len(every)), of_vertex))]
    number = np.zeros((len(tuple_of), len(class_of)), dtype=np.int64)
    np.add.at(number, (kinds.classes[of_vertex], values @ radix), 1)
    first = np.concatenate(([0], np.cumsum(lack)))
    return core.Stubs(of_vertex, first, values, radix, kinds.classes, class_of, tuple_of, number)
