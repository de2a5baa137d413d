"""Friends' values: the attacker knows a person's friends by quasi-identifiers and sensitive value.

As `one_hop` by counts of the two together: what one who studies with them, or was treated with
them, may know. No release promises anything about it. Where members of cohorts exchange values,
what friends have is shown at other places.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ktsafe.attacks.common.case import Case
from ktsafe.attacks.common.nearest import nearest_share, neighbour_counts, standings
from ktsafe.attacks.common.result import Result, share_result
from ktsafe.attacks.one_hop import SAME, guess_result
from ktsafe.params import PrivacyParams

FRIENDS = (3, 5, 10)
"""How many friends are known, of people who have as many."""
ONLY_MISSING = (1, 0)
"""Who knows some friends only learns nothing of a surplus one."""


def friends_values(case: Case, params: PrivacyParams, rng: np.random.Generator) -> list[Result]:
    """Return how many people are found by what their friends have.

    Parameters
    ----------
    case:
        The release and the truth.
    params:
        For what `one_hop.standing_result` tells; nothing is promised.
    rng:
        Draws which friends are known, uniformly among all of a person's.

    Returns
    -------
    list of Result
        `friends_values.all`: all friends are known; the vertex whose neighbours are nearest by L1
        is named. `friends_values.3` and so on: so many; the vertex that has most of them.
        `friends_values.sensitive`: of the people whose nearest vertices, all friends known, mostly
        show a sensitive value, the share that is sensitive; its control is the share of all.
    """
    true, shown, size = _labels(case)
    rows = neighbour_counts(case.released, shown, size)
    known = neighbour_counts(case.original, true, size)[case.people]
    classes = case.tuples[1]
    (found,) = standings(known, rows, case.places, classes, [SAME])
    results = [guess_result("friends_values.all", case, params, found, is_promised=False)]
    for count in FRIENDS:
        some = _with_friends(case, count)
        few = _drawn(some, true, size, count, rng)
        (found,) = standings(few, rows, some.places, classes, [ONLY_MISSING])
        name = f"friends_values.{count}"
        results.append(guess_result(name, some, params, found, is_promised=False))
    flags = case.released.is_sensitive.astype(np.float64)[:, None]
    share = nearest_share(known, rows, case.places, classes, SAME, flags)[:, 0]
    truth = case.original.is_sensitive[case.people]
    named = share > 0.5
    told = share_result(
        "friends_values.sensitive",
        truth[named].astype(np.float64),
        control=float(truth.mean()) if len(truth) else 0.0,
        figures={"named": int(named.sum()), "sensitive": int(truth.sum())},
    )
    return [*results, told]


def _labels(case: Case) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """Return a number for each tuple with each value: of true and of released vertices; of all."""
    true, shown, n_tuples = case.tuples
    true_values, shown_values, sizes = case.values
    n_values = sizes[-1]
    true_labels = true * n_values + true_values[:, -1]
    shown_labels = shown * n_values + shown_values[:, -1]
    return true_labels, shown_labels, n_tuples * n_values


def _with_friends(case: Case, count: int) -> Case:
    """Return the case with those targets only who have so many friends."""
    targets = np.arange(len(case.published)) if case.sample is None else case.sample
    has_them = case.original.degrees[case.people] >= count
    return dataclasses.replace(case, sample=targets[has_them])


def _drawn(
    case: Case, labels: NDArray[np.int64], size: int, count: int, rng: np.random.Generator
) -> sparse.csr_matrix:
    """Return the counts of the labels of so many friends of each target, drawn at random."""
    graph = case.original
    person = np.repeat(np.arange(graph.n_vertices), graph.degrees)
    order = np.lexsort((rng.random(len(person)), person))
    rank = np.arange(len(person)) - graph.indptr[person]
    drawn = order[rank < count]
    ones = np.ones(len(drawn), dtype=np.int64)
    friends = labels[graph.indices[drawn]]
    counts = sparse.csr_matrix((ones, (person[drawn], friends)), shape=(graph.n_vertices, size))
    return counts[case.people]
