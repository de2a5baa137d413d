"""Common neighbours of edges, and matches that spread over them.

True ties close more triangles than inserted edges do.

Bounds of memory may be tuned. `SLACK` must stay: sums of floats differ by their order, and who is
named first would depend on it (tests/ktsafe/assess/attacks/test_seeds.py).
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ktsafe.assess.attacks.common.case import Case
from ktsafe.graph import AttributedGraph

PATHS_AT_ONCE = 1 << 22
"""Neighbours of ends that are compared at a time: it bounds the memory."""


def adjacency(graph: AttributedGraph) -> sparse.csr_matrix:
    """Return the adjacency matrix, int64 ones, shape (n, n)."""
    ones = np.ones(len(graph.indices), dtype=np.int64)
    shape = (graph.n_vertices, graph.n_vertices)
    return sparse.csr_matrix((ones, graph.indices, graph.indptr), shape=shape, copy=True)


def common_neighbours(graph: AttributedGraph, worth: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return the common neighbours of each edge's ends, shape (m,).

    `worth`, shape (n,), is what each common neighbour counts. Default: 1. Two sums take hardly
    longer than one: of complex numbers.

    *Complexity*: O(sum of squared degrees) time; `PATHS_AT_ONCE` bounds the memory.
    """
    worth = np.ones(graph.n_vertices) if worth is None else worth
    beside = adjacency(graph).astype(worth.dtype)
    through = beside @ sparse.diags(worth)
    part = np.cumsum(graph.degrees[graph.edges].sum(axis=1)) // PATHS_AT_ONCE
    cuts = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), graph.n_edges]
    out = np.zeros(graph.n_edges, worth.dtype)
    for begin, end in itertools.pairwise(cuts):
        one, other = graph.edges[begin:end].T
        common = through[one].multiply(beside[other])
        out[begin:end] = np.asarray(common.sum(axis=1)).reshape(-1)
    return out


def both_ways(graph: AttributedGraph, of_edge: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the worth of each entry of `graph.indices`, from that of edges."""
    n = graph.n_vertices
    source = np.repeat(np.arange(n, dtype=np.int64), graph.degrees)
    small, great = np.minimum(source, graph.indices), np.maximum(source, graph.indices)
    keys = graph.edges[:, 0].astype(np.int64) * n + graph.edges[:, 1]
    return of_edge[np.searchsorted(keys, small * n + great)]


# Propagation: from people linked to their places to their neighbours.
#
# A person and a place that have many linked neighbours in common are probably the same. Each round
# scores all pairs of one quasi-identifier class by the links so far, links the pairs that are each
# other's best, and forgets the links of former rounds, the seeds' excepted.
#
# Source: Narayanan and Shmatikov, "De-anonymizing social networks" (IEEE S&P 2009), Section 5.2.
# *Departure*: all pairs are scored at once, in rounds, not one at a time in random order; mutual
# best pairs are taken without a threshold of eccentricity; a common neighbour counts the fourth
# root of the inverse product of its two degrees. Measured, each of these finds more.

PATHS_MAX = 1 << 22
"""Pairs that are scored at a time: it bounds the memory."""
GROUP_ROWS = 1 << 22
"""Pairs of a class and a place in a group: one row of a sparse matrix each."""
NOBODY = -1
SLACK = 1 - 1e-9
"""Scores are sums of floats: two that differ by less than this factor are equal."""


@dataclasses.dataclass(frozen=True, eq=False)
class Guesses:
    """The best place of every true vertex by the last round's links.

    Attributes
    ----------
    chances:
        float64, shape (original vertices,): the chance that the guess is right, ties split evenly;
        0 for people that are withheld or have no linked neighbour.
    link:
        int64, shape (original vertices,): the place each is linked with, or `NOBODY`.
    """

    chances: NDArray[np.float64]
    link: NDArray[np.int64]


def propagate(
    case: Case, seeds: NDArray[np.int64], *, rounds: int, first: NDArray[np.int64] | None = None
) -> Guesses:
    """Return guesses from seeds, or from first links that may be wrong.

    Parameters
    ----------
    case:
        The release and the truth. Of `original_of` only the seeds are used, and what judges.
    seeds:
        True vertices whose places the attacker knows.
    rounds:
        At most so many; it ends when no link changes.
    first:
        Shape (original vertices,): links to begin with beside the seeds, `NOBODY` for none.
    """
    n_true = case.original.n_vertices
    own = case.own_place
    link = np.full(n_true, NOBODY, dtype=np.int64) if first is None else first.copy()
    link[seeds] = own[seeds]
    is_seed = np.zeros(n_true, dtype=np.bool_)
    is_seed[seeds] = True
    groups = _groups(case, is_seed)
    chances = np.zeros(n_true)
    # Links come to rest, or come round again and again: then the last round is known beforehand.
    met = {_digest(link): 0}
    at, end = 0, rounds
    while at < end:
        chances, new = _round(groups, link, is_seed, case)
        at += 1
        if np.array_equal(new, link):
            break
        link = new
        before = met.setdefault(_digest(link), at)
        if before < at:
            end = at + (end - at) % (at - before)
    return Guesses(chances, link)


def _digest(link: NDArray[np.int64]) -> bytes:
    return hashlib.blake2b(link.tobytes(), digest_size=16).digest()


def _round(
    groups: Sequence[_Group], link: NDArray[np.int64], is_seed: NDArray[np.bool_], case: Case
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the chances of guesses by these links, and the next links."""
    n_true, n_shown = case.original.n_vertices, case.released.n_vertices
    own = case.own_place
    chances = np.zeros(n_true)
    best_of_true, best_of_shown = np.zeros(n_true), np.zeros(n_shown)
    choice = np.full(n_true, NOBODY, dtype=np.int64)
    for v, u, score in _scored(groups, link, case):
        if not len(v):
            continue
        starts = np.flatnonzero(np.diff(v, prepend=NOBODY))
        at = v[starts]
        best_of_true[at] = np.maximum.reduceat(score, starts)
        np.maximum.at(best_of_shown, u, score)
        is_best = score >= best_of_true[v] * SLACK
        tied = np.bincount(v[is_best], minlength=n_true)
        right = is_best & (u == own[v])
        chances[v[right]] = 1 / tied[v[right]]
        alone = is_best & (tied[v] == 1)
        choice[v[alone]] = u[alone]
    chosen = np.flatnonzero(choice >= 0)
    mutual = best_of_true[chosen] >= best_of_shown[choice[chosen]] * SLACK
    new = np.where(is_seed, link, NOBODY)
    new[chosen[mutual]] = choice[chosen[mutual]]
    return chances, new


@dataclasses.dataclass(frozen=True, eq=False)
class _Group:
    """Some classes, scored together.

    Paths that end in another class are never walked.

    Attributes
    ----------
    people:
        The true vertices that are looked for.
    known, ends, offset:
        Their ties as rows (`indptr`), the other ends, and where the paths through places to the
        class of the row's vertex begin: its number in the group, times the number of places.
    beyond:
        Row (class, place): the places of the class beside the place, by weight.
    path_max:
        Most places in a row.
    """

    people: NDArray[np.int64]
    known: NDArray[np.int64]
    ends: NDArray[np.int64]
    offset: NDArray[np.int64]
    beyond: sparse.csr_matrix
    path_max: int


def _groups(case: Case, is_seed: NDArray[np.bool_]) -> list[_Group]:
    """Return the classes in groups, without seeds and their places.

    These are linked for good.
    """
    _, shown, _ = case.tuples
    n_shown = case.released.n_vertices
    taken = np.zeros(n_shown, dtype=np.bool_)
    taken[case.own_place[is_seed]] = True
    known, seen = adjacency(case.original), adjacency(case.released)
    place = np.repeat(np.arange(n_shown, dtype=np.int64), np.diff(seen.indptr))
    rare = _rare(case.released)
    classes = np.intersect1d(case.published_tuple, shown)
    found = []
    size = max(GROUP_ROWS // max(n_shown, 1), 1)
    for each in np.split(classes, range(size, len(classes), size)) if len(classes) else []:
        number = _number(each, case.published_tuple)
        people = np.flatnonzero((number >= 0) & ~is_seed)
        rows = known[people]
        to = _number(each, shown)[seen.indices]
        kept = (to >= 0) & ~taken[seen.indices]
        beyond = sparse.csr_matrix(
            (rare[seen.indices[kept]], (to[kept] * n_shown + place[kept], seen.indices[kept])),
            shape=(len(each) * n_shown, n_shown),
        )
        offset = np.repeat(number[people] * n_shown, np.diff(rows.indptr))
        path_max = int(np.diff(beyond.indptr).max(initial=0))
        found.append(_Group(people, rows.indptr, rows.indices, offset, beyond, path_max))
    return found


def _number(classes: NDArray[np.int64], of: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of each class among ascending ones, else `NOBODY`."""
    at = np.minimum(np.searchsorted(classes, of), len(classes) - 1)
    return np.where(classes[at] == of, at, NOBODY)


def _rare(graph: AttributedGraph) -> NDArray[np.float64]:
    return np.maximum(graph.degrees, 1) ** -0.25


def _scored(
    groups: Sequence[_Group], link: NDArray[np.int64], case: Case
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]:
    """Yield scored pairs of true vertices and places, by true vertex.

    Both are of one class.
    """
    rare = _rare(case.original)
    worth = rare * np.where(link >= 0, _rare(case.released)[link], 0.0)
    for one in groups:
        through = link[one.ends]
        is_linked = through >= 0
        upto = np.concatenate(([0], np.cumsum(is_linked)))[one.known]
        ways = np.diff(upto)
        share = np.repeat(rare[one.people], ways) * worth[one.ends[is_linked]]
        columns = one.offset[is_linked] + through[is_linked]
        shape = (len(one.people), one.beyond.shape[0])
        reach = sparse.csr_matrix((share, columns, upto), shape=shape)
        # Parts of rows with so many paths at most, or of one row.
        part = upto[1:] * one.path_max // PATHS_MAX
        cuts = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(one.people)]
        for begin, end in itertools.pairwise(cuts):
            scores = (reach if len(cuts) == 2 else reach[begin:end]) @ one.beyond
            people = np.repeat(one.people[begin:end], np.diff(scores.indptr))
            yield people, scores.indices, scores.data
