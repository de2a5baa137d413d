"""Protection sets for any radius and reading, exact or openly not.

The part of the strict verifier for n = 0, n >= 2 and the induced reading (`ktsafe.verify` handles
n = 1 walk by itself, where an edit distance is a difference of degrees). The order of the filters
is class, size, distributions for every attribute and L = 1..n, then the edit distance. Vertices
of one class with equal distributions and proven isomorphic neighbourhoods share a *location*, so
that releases with many alike vertices cost one comparison per pair of locations.

An edit distance that its search does not decide never helps a protection set to its size, and its
sensitive vertices count against alpha: see `Verdict`.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidGraph
from ktsafe.params import PrivacyParams
from ktsafe.verify.star_protection_sets import Coded, in_threads, threads_for
from ktsafe_lab.verify_hops import _protection_sets_core as core
from ktsafe_lab.verify_hops._distributions_core import NeighbourhoodCounts
from ktsafe_lab.verify_hops._neighbourhood_core import Reach
from ktsafe_lab.verify_hops.edit_distance import NODES_MAX

CELLS_MAX = 2**31
"""Counts of attribute values, over all vertices and radii, that are kept."""

TASKS_PER_WORKER = 8
"""Pieces of work per thread, so threads end at about the same time."""


@dataclasses.dataclass(frozen=True, eq=False)
class ProtectionSets:
    """The sizes of all protection sets.

    Attributes
    ----------
    certain, undecided:
        int64, shape (1 + f, n): members that are proven, and those whose edit distance stayed
        undecided; all of them, and those with each flag.
    pairs, undecided_pairs:
        Pairs of vertices that reached the edit distance, and those that it left undecided.
    """

    certain: NDArray[np.int64]
    undecided: NDArray[np.int64]
    pairs: int
    undecided_pairs: int


def protection_sets(
    coded: Coded,
    params: PrivacyParams,
    *,
    chosen: NDArray[np.int64] | None = None,
    nodes_max: int = NODES_MAX,
    workers: int | None = None,
) -> ProtectionSets:
    """Count the maximal protection sets.

    Parameters
    ----------
    chosen:
        Vertices whose protection sets are wanted; the counts of the others are then meaningless.
        None: all.
    nodes_max:
        Search nodes per edit distance; the result depends on it only through undecided pairs.
    workers:
        Threads to use; None means one per core. The result does not depend on it.

    Complexity
    ----------
    One neighbourhood per vertex, one comparison of counts per pair of locations of a class whose
    sizes are within epsilon, one bounded edit distance per pair that is left.
    """
    n = len(coded.classes)
    threads = threads_for(workers)
    wanted = np.ones(n, dtype=np.bool_)
    if chosen is not None:
        wanted[:] = False
        wanted[chosen] = True
    reach = _reach(coded, params)
    profiles = _profiles(reach, coded, params, threads)
    if chosen is None:
        representative = _locations(reach, profiles, nodes_max, threads)
    else:
        representative = np.arange(n)
    pairs = _candidates(profiles, np.unique(representative), wanted, params, threads)
    answers = np.concatenate(
        [
            np.zeros(0, dtype=np.int8),
            *in_threads(
                lambda part: core.decide_pairs(reach, part, params.epsilon, nodes_max),
                np.array_split(pairs, threads * TASKS_PER_WORKER),
                threads,
            ),
        ]
    )
    return _counted(representative, coded.flags, pairs, answers)


def _reach(coded: Coded, params: PrivacyParams) -> Reach:
    """Return the adjacency, rows ascending, with the extent of neighbourhoods."""
    n = len(coded.classes)
    source = np.concatenate((coded.ties.edges[:, 0], coded.ties.edges[:, 1])).astype(np.int64)
    target = np.concatenate((coded.ties.edges[:, 1], coded.ties.edges[:, 0])).astype(np.int64)
    indptr = np.zeros(n + 1, dtype=np.int64)
    np.cumsum(np.bincount(source, minlength=n), out=indptr[1:])
    key = np.sort(source * n + target)
    extent = np.array([params.n_hops, params.reading == "induced"], dtype=np.int64)
    return Reach(indptr, (key % max(n, 1)).astype(np.int32), extent)


def _profiles(
    reach: Reach, coded: Coded, params: PrivacyParams, threads: int
) -> NeighbourhoodCounts:
    n, hops, width = len(coded.classes), params.n_hops, int(coded.offsets[-1])
    if n * hops * width > CELLS_MAX:
        raise InvalidGraph(
            "The attribute values of so many neighbourhoods cannot be kept.",
            hint="Use fewer hops, or fewer values of the quasi-identifiers (buckets).",
        )
    profiles = NeighbourhoodCounts(
        coded.classes,
        np.zeros((n, hops), dtype=np.int32),
        np.zeros(n, dtype=np.int64),
        np.zeros((n, hops * width), dtype=np.int32),
        coded.offsets,
    )
    cuts = np.linspace(0, n, threads * TASKS_PER_WORKER + 1).astype(np.int64)
    in_threads(
        lambda span: core.profile_rows(reach, coded.columns, span[0], span[1], profiles),
        list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)),
        threads,
    )
    return profiles


def _locations(
    reach: Reach, profiles: NeighbourhoodCounts, nodes_max: int, threads: int
) -> NDArray[np.int64]:
    """Return for each vertex one that stands for it.

    Equal counts, isomorphic neighbourhood.
    """
    n = len(profiles.classes)
    rows = np.column_stack((profiles.classes, profiles.edges)).astype(np.int64)
    keyed = np.column_stack((rows.view(np.int32), profiles.sizes, profiles.counts))
    whole = np.ascontiguousarray(keyed).view(np.dtype((np.void, 4 * keyed.shape[1])))
    _, group = np.unique(whole.reshape(-1), return_inverse=True)
    order = np.argsort(group.reshape(-1), kind="stable")
    size = np.bincount(group.reshape(-1), minlength=0)
    several = np.repeat(size > 1, size)
    vertices = order[several]
    bounds = np.concatenate(([0], np.cumsum(size[size > 1])))
    # Cut between groups, at about equal numbers of vertices.
    goals = np.linspace(0, len(vertices), threads * TASKS_PER_WORKER + 1)
    cuts = np.unique(np.searchsorted(bounds, goals))
    representative = np.arange(n, dtype=np.int64)

    def grouped(span: tuple[int, int]) -> None:
        part = bounds[span[0] : span[1] + 1]
        mine = vertices[part[0] : part[-1]]
        same_as = core.group_isomorphic(reach, mine, part - part[0], nodes_max)
        representative[mine] = same_as

    in_threads(grouped, list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)), threads)
    return representative


def _candidates(
    profiles: NeighbourhoodCounts,
    locations: NDArray[np.int64],
    wanted: NDArray[np.bool_],
    params: PrivacyParams,
    threads: int,
) -> NDArray[np.int64]:
    """Return location pairs that only the edit distance decides."""
    outer = profiles.sizes[:, -1] if params.n_hops else np.zeros(len(wanted), dtype=np.int32)
    order = locations[np.lexsort((outer[locations], profiles.classes[locations]))]
    cuts = np.linspace(0, len(order), threads * TASKS_PER_WORKER + 1).astype(np.int64)
    tolerance = (params.t.numerator, params.t.denominator)
    found = in_threads(
        lambda span: core.candidate_pairs(profiles, order, wanted, tolerance, params.epsilon, span),
        list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True)),
        threads,
    )
    return np.concatenate([np.zeros((0, 2), dtype=np.int64), *found])


def _counted(
    representative: NDArray[np.int64],
    flags: NDArray[np.bool_],
    pairs: NDArray[np.int64],
    answers: NDArray[np.int8],
) -> ProtectionSets:
    """Count members over location pairs, and locations' own vertices."""
    n = len(representative)
    kinds = [np.ones(n, dtype=np.bool_), *flags.T]
    own = np.array(
        [np.bincount(representative[kind], minlength=n) for kind in kinds], dtype=np.int64
    )
    certain, undecided = own.copy(), np.zeros_like(own)
    for answer, found in ((core.WITHIN, certain), (core.UNDECIDED, undecided)):
        chosen = pairs[answers == answer]
        for near, far in (chosen.T, chosen.T[::-1]):
            for row, counts in zip(found, own, strict=True):
                np.add.at(row, near, counts[far])
    weights = own[0][pairs[:, 0]] * own[0][pairs[:, 1]]
    return ProtectionSets(
        certain[:, representative],
        undecided[:, representative],
        int(weights.sum()),
        int(weights[answers == core.UNDECIDED].sum()),
    )
