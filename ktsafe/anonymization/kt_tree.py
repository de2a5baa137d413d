"""The kt-tree: cohorts of people with like rows of neighbour counts.

Constants may be tuned, a release is judged afterwards; they and the order of draws settle its
bytes. Cohorts keep m members and alpha whatever is tuned
(tests/ktsafe/anonymization/test_kt_tree.py). `ktsafe.sequence` cuts with the same tree.

    for each quasi-identifier class (a root):
        while a node has at least 2 m members with unequal rows:
            cut it in two at a border of its widest neighbour count
        the leaves are the cohorts of the class
        repeat: two members of cohorts with near pivots change places, if rows then lie
            nearer to the component-wise medians
    the median row of a cohort is its pivot

Every cut leaves both sides with at least m members, at most a share alpha of them sensitive, and
so does every change of places.

Source: the kt-tree and the pivots of Section 5. *Departure*: nodes divide neighbour counts, so
that leaves are cohorts; the paper's tree only finds similar neighbourhoods.
"""

from __future__ import annotations

import dataclasses
import itertools
from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from scipy.spatial import cKDTree

from ktsafe.anonymization import _kt_tree_core as core
from ktsafe.anonymization.tree_cuts import bearable, leaves_of
from ktsafe.graph import AttributedGraph
from ktsafe.graph.numbering import small
from ktsafe.params import PrivacyParams

NEAR = 24
"""Cohorts with which a cohort changes members: those whose pivots are nearest. Twice as many take
nearly twice the time, and bring cohorts a hundredth nearer to their pivots."""

SIDE_BY_SIDE = 500
"""Cohorts, as they stand in the tree, that change members among each other. What swaps look at then
stays in the processor's cache: of 6,000 cohorts they take less than half of the time, and come
within a fiftieth of what swaps among all would come to (decision 23)."""

ROUNDS = 4
"""How often it is looked up during the search which they are. With 1 F1 of cora is .002 lower, with
8 it is .005 higher, for a third more time in all."""

SWEEPS = 3
"""How often each cohort looks for swaps in a round. With 6 F1 of cora is .005 higher, too."""

UNEVEN_FEW = 20
"""Where fewer than one member in so many is in a cohort of unequal rows, only these look for swaps:
the others have nothing to gain. Elsewhere all do, since the alike may serve the others."""


@dataclasses.dataclass(frozen=True, eq=False)
class Cohorts:
    """Cohorts of one graph.

    Attributes
    ----------
    of_vertex:
        int32, shape (n,): the cohort of each vertex; those of a class are numbered in a row.
    class_of:
        int32, shape (cohorts,): the class of each cohort.
    sizes:
        int64, shape (cohorts,): members of each cohort.
    pivots:
        csr, int32, shape (cohorts, classes): the component-wise (lower) median of the members'
        neighbour counts.
    """

    of_vertex: NDArray[np.int32]
    class_of: NDArray[np.int32]
    sizes: NDArray[np.int64]
    pivots: csr_array


def cohorts_of(
    classes: NDArray[np.int32],
    is_sensitive: NDArray[np.bool_],
    counts: csr_array,
    params: PrivacyParams,
    *,
    rng: np.random.Generator,
    executor: Executor | None = None,
) -> Cohorts:
    """Return cohorts of at least k members, at most alpha sensitive.

    A class that is itself too small, or too sensitive, becomes one cohort as it is.

    Parameters
    ----------
    classes:
        int32, shape (n,), 0..classes-1; each occurs.
    is_sensitive:
        bool, shape (n,).
    counts:
        csr, int32, shape (n, any): what is to be alike.
    params:
        k and alpha are used.
    rng:
        The only randomness.
    executor:
        Works on classes side by side, if given; the cohorts are the same without.

    Examples
    --------
    >>> from ktsafe.graph.synthetic import uniform
    >>> graph = uniform(200, 1000, rng=np.random.default_rng(0), n_tuples=3)
    >>> counts, rng = neighbour_counts(graph), np.random.default_rng(0)
    >>> cohorts = cohorts_of(
    ...     graph.qi_classes, graph.is_sensitive, counts, PrivacyParams(k=5), rng=rng
    ... )
    >>> bool(cohorts.sizes.min() >= 5)
    True
    """
    of_vertex = np.empty(len(classes), dtype=np.int32)
    class_of: list[int] = []
    pivots: list[csr_array] = []
    borders = np.cumsum(np.bincount(classes))[:-1]
    groups = np.split(np.argsort(small(classes), kind="stable"), borders)
    seeds = rng.integers(2**63, size=len(groups)).tolist()
    blocks = (counts[members] for members in groups)
    flags = (is_sensitive[members] for members in groups)
    run = map if executor is None else executor.map
    trees = run(cohorts_of_class, blocks, flags, itertools.repeat(params), seeds)
    for c, (members, (cohort, medians)) in enumerate(zip(groups, trees, strict=True)):
        of_vertex[members] = len(class_of) + cohort
        class_of += [c] * medians.shape[0]
        pivots.append(medians)
    return Cohorts(
        of_vertex=of_vertex,
        class_of=np.array(class_of, dtype=np.int32),
        sizes=np.bincount(of_vertex, minlength=len(class_of)),
        pivots=csr_array(vstack(pivots)) if pivots else csr_array((0, 0), dtype=np.int32),
    )


def cohorts_of_class(
    counts: csr_array,
    is_sensitive: NDArray[np.bool_],
    params: PrivacyParams,
    seed: int,
    nodes: list[NDArray[np.int64]] | None = None,
    least: list[int] | None = None,
) -> tuple[NDArray[np.int32], csr_array]:
    """Return one class's cohorts by member, and each cohort's pivot.

    Parameters
    ----------
    counts, is_sensitive, params:
        As in `cohorts_of`.
    seed:
        Of the swaps.
    nodes:
        The class as it is cut already, positions of members; each must satisfy k and alpha.
    least:
        How many members the cohorts of each node have at least; None: k.
    """
    columns = np.unique(counts.indices)
    rows = np.ascontiguousarray(counts[:, columns].toarray(), dtype=np.int32)
    leaves = leaves_of(rows, is_sensitive, params, nodes, least=least)
    rng = np.random.default_rng(seed)
    cohort, medians = swapped(rows, is_sensitive, leaves, params, rng)
    at = np.repeat(np.arange(len(leaves)), len(columns)), np.tile(columns, len(leaves))
    return cohort, csr_array((medians.reshape(-1), at), shape=(len(leaves), counts.shape[1]))


def neighbour_counts(graph: AttributedGraph) -> csr_array:
    """Return how many neighbours of each class each vertex has.

    Csr, int32, (n, classes).
    """
    n, classes = graph.n_vertices, graph.qi_classes
    counts = csr_array(
        (np.ones(len(graph.indices), np.int32), classes[graph.indices], graph.indptr.copy()),
        shape=(n, int(classes.max(initial=-1)) + 1),
    )
    counts.sum_duplicates()
    return counts


def swapped(
    rows: NDArray[np.int32],
    is_sensitive: NDArray[np.bool_],
    leaves: list[NDArray[np.int64]],
    params: PrivacyParams,
    rng: np.random.Generator,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return each row's cohort after swaps, and cohorts' lower medians."""
    cohort = np.empty(len(rows), dtype=np.int32)
    medians = np.empty((len(leaves), rows.shape[1]), dtype=np.int32)
    for part in np.array_split(np.arange(len(leaves)), -(-len(leaves) // SIDE_BY_SIDE)):
        members = np.sort(np.concatenate([leaves[i] for i in part]))
        places = _places(rows[members], is_sensitive[members], members, [leaves[i] for i in part])
        _swap(places, params, rng)
        cohort[members] = part[0] + places.cohort
        medians[part] = np.where(places.is_odd[:, None], places.middle, places.low)
    return cohort, medians


def _places(
    rows: NDArray[np.int32],
    is_sensitive: NDArray[np.bool_],
    members: NDArray[np.int64],
    leaves: list[NDArray[np.int64]],
) -> core.Places:
    """Return some leaves as cohorts, with members numbered in order."""
    sizes = np.array([len(leaf) for leaf in leaves], dtype=np.int64)
    by_cohort = np.searchsorted(members, np.concatenate(leaves)).astype(np.int32)
    cohort, place = np.empty((2, len(members)), dtype=np.int32)
    cohort[by_cohort] = np.repeat(np.arange(len(leaves), dtype=np.int32), sizes)
    place[by_cohort] = np.arange(len(members), dtype=np.int32)
    return core.Places(
        rows=rows,
        is_sensitive=is_sensitive,
        cohort=cohort,
        members=by_cohort,
        place=place,
        first=np.concatenate(([0], np.cumsum(sizes))),
        is_odd=sizes % 2 == 1,
        sensitive=np.bincount(cohort, is_sensitive, len(leaves)).astype(np.int64),
        low=np.zeros((len(leaves), rows.shape[1]), dtype=np.int32),
        middle=np.zeros((len(leaves), rows.shape[1]), dtype=np.int32),
        high=np.zeros((len(leaves), rows.shape[1]), dtype=np.int32),
    )


def _swap(places: core.Places, params: PrivacyParams, rng: np.random.Generator) -> None:
    """Let members of near cohorts change places."""
    sizes = np.diff(places.first)
    core.find_middles(places)
    for _ in range(ROUNDS if len(sizes) > 1 else 0):
        is_uneven = _uneven(places)
        if UNEVEN_FEW * (is_uneven @ sizes) >= len(places.rows):
            is_uneven[:] = True
        order = rng.permutation(np.flatnonzero(is_uneven))
        if not len(order):
            break
        near = _near(places.middle, is_uneven)
        core.swap_members(places, bearable(sizes, params), near, order, SWEEPS, rng)


def _uneven(places: core.Places) -> NDArray[np.bool_]:
    """Return for each cohort whether it has members with unequal rows."""
    rows = places.rows[places.members]
    first = places.first[:-1]
    is_other = (rows != np.repeat(rows[first], np.diff(places.first), axis=0)).any(axis=1)
    found: NDArray[np.bool_] = np.logical_or.reduceat(is_other, first)
    return found


def _near(pivots: NDArray[np.int32], is_sought: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the cohorts with the nearest pivots for each, mostly including itself.

    At most twice as far away as the truly nearest: an exact search takes long in large classes. A
    cohort that is not sought is only near to itself.
    """
    n_near = min(NEAR + 1, len(pivots))
    near = np.repeat(np.arange(len(pivots), dtype=np.int32)[:, None], n_near, axis=1)
    near[is_sought] = cKDTree(pivots).query(pivots[is_sought], n_near, p=1, eps=1)[1]
    return near
