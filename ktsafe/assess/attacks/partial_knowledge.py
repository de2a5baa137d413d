"""Partial knowledge: an attacker with some neighbours, or some wrong ones.

It compares counts of quasi-identifier tuples, as `one_hop` does.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.common.nearest import standings
from ktsafe.assess.attacks.common.result import Result
from ktsafe.assess.attacks.one_hop import guess_result, joint_rows
from ktsafe.params import PrivacyParams

KNOWN = {"10%": (0.1, 0.0), "50%": (0.5, 0.0), "90%": (0.9, 0.0), "10% wrong": (1.0, 0.1)}
"""By name: the share of true neighbours that is known, and the share of those that is wrong."""
WEIGHTINGS = ((1, 1), (3, 1), (10, 1), (1, 0))
"""What a missing and a surplus neighbour weigh: the less is known, the less a surplus one tells."""


def partial_knowledge(case: Case, params: PrivacyParams, rng: np.random.Generator) -> list[Result]:
    """Return the people found by a part of their true neighbours.

    Parameters
    ----------
    case:
        The release and the truth.
    params:
        Its k gives the promise 1/k.
    rng:
        Draws which neighbours are known, each with the same chance, and which of them wrongly: a
        wrong one has the tuple of a vertex of the true graph, drawn uniformly.

    Returns
    -------
    list of Result
        One per entry of `KNOWN`, see `standing_result`. Of `WEIGHTINGS` the one that finds
        most people is told, which the attacker would have to know.
    """
    _, shown_rows = joint_rows(case)
    results = []
    for name, (share, wrong) in KNOWN.items():
        known = _known_rows(case, share, wrong, rng)
        found = standings(known, shown_rows, case.places, case.tuples[1], WEIGHTINGS)
        told = [guess_result(f"partial_knowledge.{name}", case, params, it) for it in found]
        results.append(max(told, key=lambda result: result.value))
    return results


def _known_rows(
    case: Case, share: float, wrong: float, rng: np.random.Generator
) -> sparse.csr_matrix:
    """Return tuple counts of the known neighbours, shape (targets, tuples)."""
    true, _, size = case.tuples
    graph = case.original
    person = np.repeat(np.arange(graph.n_vertices), graph.degrees)
    label: NDArray[np.int64] = true[graph.indices]
    if len(label):
        is_wrong = rng.random(len(label)) < wrong
        label = np.where(is_wrong, true[rng.integers(0, len(true), len(label))], label)
    is_known = rng.random(len(label)) < share
    ones = np.ones(int(is_known.sum()), dtype=np.int64)
    counts = sparse.csr_matrix(
        (ones, (person[is_known], label[is_known])), shape=(graph.n_vertices, size)
    )
    return counts[case.people]
