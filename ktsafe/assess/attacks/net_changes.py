"""Net changes: an attacker with true gains and losses over releases.

Known are the person's cohort and the classes of quasi-identifiers of all ties that began and that
ended in the span. The releases at both ends of it show what each member of the cohort gained and
lost on the whole. From one release to the next that is the same for all of them (cover). Across
releases in which a pair of classes was dark it is not: the attacker names the likeliest member.

`PRIOR`, `LEAST` and bounds may be tuned, towards attackers that find more:
tests/ktsafe/assess/attacks/test_net_changes.py counts likelihoods literally, and breaks a release
that must be found out.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ktsafe.assess.attacks.common.history import ABSENT, History
from ktsafe.assess.attacks.common.result import Result, share_result
from ktsafe.graph.numbering import CameAndWent, classes_of
from ktsafe.params import PrivacyParams

Numbers = NDArray[np.int64]

SPANS = ("two", "all")
TARGETS_MAX = 5_000
"""Greatest number of attacked people in a span; more are sampled down to it."""
PRIOR = 4.0
"""Members by which the rate of a kind of change is drawn towards that of all kinds."""
PAIRS_MAX = 1 << 22
"""Targets and members of their groups that are scored at a time, about: it bounds the memory."""
LEAST = 0.001
"""Least chance that any kind of change is taken to have, and to lack."""


@dataclasses.dataclass(frozen=True, eq=False)
class NetChange:
    """True and visible gains and losses of people at both ends.

    Attributes
    ----------
    true, seen:
        Booleans, shape (people, classes): whether a tie to somebody of a class began (or ended) in
        the span, and whether an edge appeared (or vanished).
    """

    true: sparse.csr_matrix
    seen: sparse.csr_matrix


def net_changes(
    history: History,
    params: PrivacyParams,
    rng: np.random.Generator,
    *,
    spans: Iterable[str] = SPANS,
) -> list[Result]:
    """Return the share of people found by their net changes.

    Parameters
    ----------
    history:
        The releases and the truth.
    params:
        Its k tells which groups are cohorts.
    rng:
        Draws `TARGETS_MAX` people where more changed.
    spans:
        Which of `SPANS`.

    Returns
    -------
    list of Result
        `net_changes.two`, over every release and the next but one, and `net_changes.all`, over the
        first release and the last. Targets are the people published at both ends of whom a tie to
        another such person began or ended. Candidates are the ids with the same published tuple
        and equally many neighbours of every tuple at both ends; those of a tuple that have fewer
        than k such are candidates for each other. The control is a uniform guess among them.
        Nothing is promised. No result without a span of two releases.
    """
    n = len(history.cases)
    pairs_of = {"two": [(i, i + 2) for i in range(n - 2)], "all": [(0, n - 1)] * (n > 2)}
    results = []
    for name in spans:
        found = [_found(history, params.k, rng, *pair) for pair in pairs_of[name]]
        if not found:
            continue
        chances = np.concatenate([one for one, _ in found])
        sizes = np.concatenate([size for _, size in found])
        control = float((1 / sizes).mean()) if len(sizes) else 0.0
        results.append(share_result(f"net_changes.{name}", chances, control=control))
    return results


def guessed(
    changes: Iterable[NetChange], classes: Numbers, group: Numbers, targets: Numbers
) -> NDArray[np.float64]:
    """Return each target's chance to be named within its group.

    The attacker takes kinds of changes for independent and knows at which rate each is seen where
    it is true and where it is not: those of these very releases, drawn towards the mean of all.

    Parameters
    ----------
    changes:
        What was gained, and what was lost.
    classes, group:
        int64, shape (people,): the class of each, and the group that is known.
    targets:
        int64: the attacked people.

    Returns
    -------
    numpy.ndarray
        float64, shape (targets,). Of equally likely members one is named at random.

    Examples
    --------
    Of two members the one that gained a tie visibly gained one:

    >>> gained = sparse.csr_matrix(np.array([[True], [False]]))
    >>> one_cohort = np.zeros(2, dtype=np.int64)
    >>> guessed([NetChange(gained, gained)], one_cohort, one_cohort, np.array([0])).tolist()
    [1.0]
    """
    known = list(changes)
    weights = [_weights(each, classes)[targets] for each in known]
    told = sparse.hstack(weights, format="csr")
    seen = sparse.hstack([each.seen for each in known], format="csr").astype(np.float64)
    sizes = np.bincount(group)[group[targets]]
    # Two groups share no column: so a target meets members of its own only.
    told_at, seen_at = _cells(told, group[targets]), _cells(seen, group)
    columns = np.unique(told_at)
    shape = len(targets), len(columns)
    told = sparse.csr_matrix(
        (told.data, np.searchsorted(columns, told_at), told.indptr), shape=shape
    )
    at = np.searchsorted(columns, seen_at)
    is_told = np.append(columns, -1)[at] == seen_at
    member = np.repeat(np.arange(len(group)), np.diff(seen.indptr))[is_told]
    shape = len(columns), len(group)
    beside = sparse.csr_matrix((seen.data[is_told], (at[is_told], member)), shape=shape)
    cuts = np.flatnonzero(np.diff(np.cumsum(sizes) // PAIRS_MAX)) + 1
    found = [
        _named(told[here] @ beside, targets[here], sizes[here])
        for here in np.split(np.arange(len(targets)), cuts)
    ]
    return np.concatenate(found)


def _cells(rows: sparse.csr_matrix, group: Numbers) -> Numbers:
    """Return numbers of rows' entries, equal for equal columns of a group."""
    cells: Numbers = np.repeat(group, np.diff(rows.indptr)) * rows.shape[1] + rows.indices
    return cells


def _named(scores: sparse.csr_matrix, targets: Numbers, sizes: Numbers) -> NDArray[np.float64]:
    """Return each target's chance to be named by its group's scores.

    Members that have none score 0.
    """
    row = np.repeat(np.arange(len(targets)), np.diff(scores.indptr))
    n_told = np.diff(scores.indptr)
    best = np.where(n_told < sizes, 0.0, -np.inf)
    np.maximum.at(best, row, scores.data)
    is_best = scores.data >= best[row] - 1e-9
    n_best = np.bincount(row, is_best, len(targets)) + (best <= 1e-9) * (sizes - n_told)
    is_own = scores.indices == targets[row]
    own = np.zeros(len(targets))
    own[row[is_own]] = scores.data[is_own]
    chances: NDArray[np.float64] = (own >= best - 1e-9) / n_best
    return chances


def _weights(change: NetChange, classes: Numbers) -> sparse.csr_matrix:
    """Return the evidence of a member's visible change, (people, classes).

    That is the logarithm of the odds of showing it, where it is true, over those where it is not;
    zero where nothing is known of the person.
    """
    n = change.true.shape[1]
    true, shown = change.true.tocoo(), change.seen.tocoo()
    kind = classes[true.row] * n + true.col
    kinds, of_kind = np.unique(kind, return_inverse=True)
    cells, shown_cells = (each.row.astype(np.int64) * n + each.col for each in (true, shown))
    is_seen = np.isin(cells, shown_cells)
    n_true, n_both = np.bincount(of_kind), np.bincount(of_kind[is_seen], minlength=len(kinds))
    shown_kind = classes[shown.row] * n + shown.col
    is_known = np.isin(shown_kind, kinds)
    n_seen = np.bincount(np.searchsorted(kinds, shown_kind[is_known]), minlength=len(kinds))
    members = np.bincount(classes, minlength=n)[kinds // n]
    overall = n_both.sum() / max(len(kind), 1)
    odds = [
        np.log(rate / (1 - rate))
        for rate in (
            _rate(n_both, n_true, np.full(len(kinds), overall)),
            _rate(n_seen - n_both, members - n_true, n_seen / members),
        )
    ]
    weight = (odds[0] - odds[1])[of_kind]
    return sparse.csr_matrix((weight, (true.row, true.col)), shape=change.true.shape)


def _rate(
    seen: NDArray[np.number[Any]], of: Numbers, prior: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the observed share, drawn towards the prior."""
    rate = (seen + PRIOR * np.clip(prior, LEAST, 1 - LEAST)) / (of + PRIOR)
    clipped: NDArray[np.float64] = np.clip(rate, LEAST / 10, 1 - LEAST / 10)
    return clipped


def _found(
    history: History, k: int, rng: np.random.Generator, first: int, last: int
) -> tuple[NDArray[np.float64], Numbers]:
    """Return each attacked person's chance to be named, and candidates."""
    tuples = [history.tuples_of_ids(i) for i in (first, last)]
    owners = history.owners(last)
    is_own = (owners != ABSENT) & (owners == history.owners(first))
    there = np.flatnonzero((tuples[0] != ABSENT) & (tuples[1] != ABSENT))
    classes = classes_of([tuples[1][there]])
    group = _groups(history, k, first, last, there)
    number = np.full(history.n_ids, ABSENT)
    number[there] = np.arange(len(there))
    of_person = np.full(history.n_persons + 1, ABSENT)
    own = there[is_own[there]]
    of_person[owners[own]] = number[own]
    true = _changed(history.ties_changed(first, last), of_person, classes)
    seen = _changed(history.edges_changed(first, last), number, classes)
    changes = [NetChange(*of_both) for of_both in zip(true, seen, strict=True)]
    has_changed = sum(np.diff(each.true.indptr) for each in changes) > 0
    targets = np.flatnonzero(has_changed)
    if len(targets) > TARGETS_MAX:
        targets = np.sort(rng.choice(targets, TARGETS_MAX, replace=False))
    sizes = np.bincount(group)[group[targets]] if len(group) else targets
    return guessed(changes, classes, group, targets), sizes


def _groups(history: History, k: int, first: int, last: int, there: Numbers) -> Numbers:
    """Return the group of each id that is there at both ends.

    Its cohort, as releases show it.
    """
    # Equal rows have equal sums; others have with a chance of 2**-62.
    weights = np.random.default_rng(0).integers(-(2**62), 2**62, history.tuples[2])
    columns = [history.tuples_of_ids(i)[there] for i in (first, last)]
    rows = [history.sums_of_neighbours(i, weights)[there] for i in (first, last)]
    alike, of_tuple = classes_of([*columns, *rows]), classes_of(columns)
    is_cohort = np.bincount(alike)[alike] >= k if len(alike) else alike > 0
    return classes_of([of_tuple, np.where(is_cohort, alike, ABSENT)])


def _changed(changed: CameAndWent, number: Numbers, classes: Numbers) -> list[sparse.csr_matrix]:
    """Return classes of ties that came and went between numbered ends."""
    shape = len(classes), int(classes.max(initial=-1)) + 1
    found = []
    for only in changed:
        pairs = np.stack((number[only >> 32], number[only & 0xFFFFFFFF]))
        low, high = pairs[:, (pairs >= 0).all(axis=0)]
        ends, others = np.concatenate((low, high)), np.concatenate((high, low))
        counts = sparse.csr_matrix((np.ones(len(ends)), (ends, classes[others])), shape=shape)
        found.append(counts > 0)
    return found
