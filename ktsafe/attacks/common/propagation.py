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
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ktsafe.attacks.common.case import Case
from ktsafe.attacks.common.common_neighbours import adjacency

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
    for _ in range(rounds):
        chances = np.zeros(n_true)
        best_of_true, best_of_shown = np.zeros(n_true), np.zeros(n_shown)
        choice = np.full(n_true, NOBODY, dtype=np.int64)
        for people, places, scores in _scored(case, link):
            free = ~is_seed[people] & ~taken[places]
            v, u, score = people[free], places[free], scores[free]
            if not len(v):
                continue
            starts = np.flatnonzero(np.diff(v, prepend=NOBODY))
            who = v[starts]
            best_of_true[who] = np.maximum.reduceat(score, starts)
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


def _scored(
    case: Case, link: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]]:
    """Yield pairs of true vertices and places of one class with their scores, by true vertex."""
    true, shown, _ = case.tuples
    classes = case.published_tuple
    rare_true = np.maximum(case.original.degrees, 1) ** -0.25
    rare_shown = np.maximum(case.released.degrees, 1) ** -0.25
    linked = np.flatnonzero(link >= 0)
    worth = rare_true[linked] * rare_shown[link[linked]]
    bridge = sparse.csr_matrix((worth, (linked, link[linked])), shape=(len(true), len(shown)))
    reach = sparse.diags(rare_true) @ adjacency(case.original).astype(np.float64) @ bridge
    beyond = adjacency(case.released).astype(np.float64) @ sparse.diags(rare_shown)
    paths = (reach != 0).astype(np.float64) @ case.released.degrees
    part = (np.cumsum(paths) // PATHS_MAX).astype(np.int64)
    cuts = [0, *(np.flatnonzero(np.diff(part)) + 1).tolist(), len(true)]
    for begin, end in itertools.pairwise(cuts):
        scores = (reach[begin:end] @ beyond).tocoo()
        people, places = scores.row.astype(np.int64) + begin, scores.col.astype(np.int64)
        same = classes[people] == shown[places]
        yield people[same], places[same], scores.data[same]
