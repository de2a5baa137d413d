"""Propagation: from some people that are linked to their places, link their neighbours.

A person and a place that have many linked neighbours in common are probably the same. Each round
scores all pairs of one quasi-identifier class by the links so far, links the pairs that are each
other's best, and forgets the links of former rounds, the seeds' excepted.

Source: Narayanan and Shmatikov, "De-anonymizing social networks" (IEEE S&P 2009), Section 5.2.
*Departure*: all pairs are scored at once, in rounds, not one at a time in random order; mutual
best pairs are taken without a threshold of eccentricity; a common neighbour counts the fourth root
of the inverse product of its two degrees. Measured, each of these finds more.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ktsafe.attacks.common.case import Case
from ktsafe.attacks.common.common_neighbours import adjacency
from ktsafe.graph import AttributedGraph

PATHS_MAX = 1 << 22
"""Pairs that are scored at a time: it bounds the memory."""
NOBODY = -1
SLACK = 1 - 1e-9
"""Scores are sums of floats: two that differ by less than this factor are equal."""


@dataclasses.dataclass(frozen=True, eq=False)
class Guesses:
    """The best place for every true vertex, by the links of the last round.

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
    """Return what can be guessed from seeds, or from first links that may be wrong.

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
    n_true, n_shown = case.original.n_vertices, case.released.n_vertices
    own = case.own_place
    link = np.full(n_true, NOBODY, dtype=np.int64) if first is None else first.copy()
    link[seeds] = own[seeds]
    is_seed = np.zeros(n_true, dtype=np.bool_)
    is_seed[seeds] = True
    taken = np.zeros(n_shown, dtype=np.bool_)
    taken[own[seeds]] = True
    chances = np.zeros(n_true)
    classes = _classes(case)
    for _ in range(rounds):
        chances = np.zeros(n_true)
        best_of_true, best_of_shown = np.zeros(n_true), np.zeros(n_shown)
        choice = np.full(n_true, NOBODY, dtype=np.int64)
        for people, places, scores in _scored(classes, link, case):
            free = ~is_seed[people] & ~taken[places]
            v, u, score = people[free], places[free], scores[free]
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
        if np.array_equal(new, link):
            break
        link = new
    return Guesses(chances, link)


@dataclasses.dataclass(frozen=True, eq=False)
class _Class:
    """The true vertices and the places of one published tuple, and their ties by weight."""

    people: NDArray[np.int64]
    places: NDArray[np.int64]
    reach: sparse.csr_matrix
    beyond: sparse.csr_matrix
    path_max: int
    """Most places of the class beside any place."""


def _classes(case: Case) -> list[_Class]:
    """Return the classes: scored one by one, paths to places of others are never walked."""
    _, shown, _ = case.tuples
    known = sparse.diags(_rare(case.original)) @ adjacency(case.original).astype(np.float64)
    seen = adjacency(case.released).astype(np.float64) @ sparse.diags(_rare(case.released))
    found = []
    for each in np.intersect1d(case.published_tuple, shown):
        people = np.flatnonzero(case.published_tuple == each)
        places = np.flatnonzero(shown == each)
        beyond = seen[:, places]
        path_max = int(np.diff(beyond.indptr).max(initial=0))
        found.append(_Class(people, places, known[people], beyond, path_max))
    return found


def _rare(graph: AttributedGraph) -> NDArray[np.float64]:
    return np.maximum(graph.degrees, 1) ** -0.25


def _scored(
    classes: Sequence[_Class], link: NDArray[np.int64], case: Case
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]:
    """Yield pairs of true vertices and places of one class with their scores, by true vertex."""
    linked = np.flatnonzero(link >= 0)
    worth = _rare(case.original)[linked] * _rare(case.released)[link[linked]]
    shape = (len(link), case.released.n_vertices)
    bridge = sparse.csr_matrix((worth, (linked, link[linked])), shape=shape)
    for one in classes:
        reach = one.reach @ bridge
        # Parts of rows with so many paths at most, or of one row.
        part = reach.indptr[1:].astype(np.int64) * one.path_max // PATHS_MAX
        cuts = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(one.people)]
        for begin, end in itertools.pairwise(cuts):
            rows = reach if len(cuts) == 2 else reach[begin:end]
            scores = (rows @ one.beyond).tocoo()
            yield one.people[scores.row + begin], one.places[scores.col], scores.data
