"""Target numbers of neighbours that a graph can have.

    number of neighbours  =  by class, as many as members have on average
    steps of cohorts that bring the counts of *values* nearer to those of the members,
        and what two classes want of each other nearer to equal, cooler each time
    what is still unequal is balanced, pair of classes by pair of classes

Values are judged, since attackers see no more; classes are counted, since only a pair of classes
can be balanced by itself.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ktsafe.anonymization.kt_tree import Cohorts
from ktsafe.anonymization.request import Effort, Request
from ktsafe_lab.by_attribute import _targets_core as core
from ktsafe_lab.quasi_identifier_space import QuasiIdentifierSpace

TRIALS: dict[Effort, int] = {"fast": 5, "balanced": 20}
"""Steps that are tried in each round, for each cohort and class."""

TRIALS_MAX: dict[Effort, int] = {"fast": 2_000_000, "balanced": 10_000_000}
"""Steps that are tried in a round, at most: a balanced one takes about three core seconds."""

ROUNDS = (
    (0.02, 0.5),
    (0.05, 0.5),
    (0.1, 0.5),
    (0.2, 0.5),
    (0.5, 0.5),
    (1.0, 0.5),
    (1.0, 0.3),
    (1.0, 0.1),
    (3.0, 0.3),
    (3.0, 0.1),
)
"""Price of asymmetry and heat of each."""


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

    def counts(self, edges: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return the neighbours of each vertex by value: int64, shape (n, columns)."""
        counts = np.zeros((len(self.classes), self.space.n_columns), dtype=np.int64)
        for column in self.space.columns[self.classes].T:
            np.add.at(counts, (edges, column[edges[:, ::-1]]), 1)
        return counts


def neighbours_wanted(request: Request, kinds: Kinds, cohorts: Cohorts) -> NDArray[np.int64]:
    """Return cohort members' target numbers of neighbours by class.

    Parameters
    ----------
    request:
        Of its graph the ties.
    kinds, cohorts:
        The released vertices.

    Returns
    -------
    int64, shape (cohorts, classes)
        What two classes want of each other is equal, and within a class it is even.
    """
    rng = request.rng
    targets = _averages(kinds, cohorts, request.graph.edges, rng)
    effort = request.options.effort
    trials = min(TRIALS[effort] * targets.number.size, TRIALS_MAX[effort])
    for asymmetry_price, heat in ROUNDS:
        core.anneal_targets(targets, trials, asymmetry_price, heat, rng)
    unequal = targets.between != targets.between.T
    np.fill_diagonal(unequal, np.diag(targets.between) % 2)
    for a, b in np.argwhere(np.triu(unequal)):
        core.balance(targets, a, b)
    return targets.number


def _averages(
    kinds: Kinds,
    cohorts: Cohorts,
    edges: NDArray[np.int32],
    rng: np.random.Generator,
) -> core.Targets:
    """Return the averages of all members, rounded at random."""
    n_classes, sizes = kinds.space.n_classes, cohorts.sizes
    n, ends = len(kinds.classes), np.concatenate((edges, edges[:, ::-1]))
    one = np.ones(len(ends), dtype=np.int64)
    by_class = csr_array((one, (ends[:, 0], kinds.classes[ends[:, 1]])), shape=(n, n_classes))
    is_member = csr_array((np.ones(n, dtype=np.int64), (cohorts.of_vertex, np.arange(n))))
    ties = (is_member @ by_class).toarray()
    most = np.bincount(kinds.classes, minlength=n_classes) - np.eye(n_classes, dtype=np.int64)
    number = np.floor(ties / sizes[:, None] + rng.random(ties.shape)).astype(np.int64)
    number = np.minimum(number, most[cohorts.class_of])
    wanted = np.zeros((len(sizes), kinds.space.n_columns), dtype=np.int64)
    for column in kinds.space.columns.T:
        np.add.at(wanted.T, column, number.T)
    between = np.zeros((n_classes, n_classes), dtype=np.int64)
    np.add.at(between, cohorts.class_of, number * sizes[:, None])
    truth = np.zeros((n_classes, n_classes), dtype=np.int64)
    np.add.at(truth, cohorts.class_of, ties)
    return core.Targets(
        counts=kinds.counts(edges),
        members=np.argsort(cohorts.of_vertex, kind="stable"),
        first=np.concatenate(([0], np.cumsum(sizes))),
        class_of=cohorts.class_of.astype(np.int64),
        class_first=np.searchsorted(cohorts.class_of, np.arange(n_classes + 1)),
        columns=kinds.space.columns,
        ties=ties,
        number=number,
        wanted=wanted,
        between=between,
        truth=truth,
    )
