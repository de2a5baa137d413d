"""Changes: an attacker with ties gained or lost between two releases.

Candidates are the ids that are in both releases, with the same published tuples as the person's
own. `true`: the true changes are known, and compared with what each id visibly gained and lost.
`shown`: the person's own visible changes are known, and the ids that changed exactly alike are
left.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ktsafe.assess.attacks.common.history import ABSENT, History, tie_keys
from ktsafe.assess.attacks.common.nearest import SAME, Standing, standings
from ktsafe.assess.attacks.common.result import Result, standing_result
from ktsafe.numbering import came_and_went, classes_of
from ktsafe.params import PrivacyParams

SPANS = ("consecutive", "net")


def changes(
    history: History, params: PrivacyParams, *, spans: Iterable[str] = SPANS
) -> list[Result]:
    """Return the share of changed people found by their changes.

    Parameters
    ----------
    history:
        The releases and the truth.
    params:
        Its k gives the promise 1/k.
    spans:
        Which of `SPANS`.

    Returns
    -------
    list of Result
        `changes.consecutive.true` and `.shown`, over all pairs of releases in succession, and
        `changes.net.true` and `.shown`, of the first and the last release; see
        `standing_result`. Targets are the people with such a change; their control is a
        uniform guess among the candidates. Nothing with fewer than two releases.
    """
    n = len(history.cases)
    if n < 2:
        return []
    results = []
    pairs_of = {"consecutive": list(itertools.pairwise(range(n))), "net": [(0, n - 1)]}
    for name in spans:
        pairs = pairs_of[name]
        found = [_found(history, first, last) for first, last in pairs]
        for knowledge in ("true", "shown"):
            parts = [part[knowledge] for part in found]
            standing = Standing(
                np.concatenate([part.nearer for part, _ in parts]),
                np.concatenate([part.tied for part, _ in parts]),
            )
            sizes = np.concatenate([part for _, part in parts])
            control = float((1 / sizes).mean()) if len(sizes) else 0.0
            attack = f"changes.{name}.{knowledge}"
            # Cover is promised from one release to the next only.
            is_promised = name == "consecutive"
            results.append(
                standing_result(attack, params, standing, control=control, is_promised=is_promised)
            )
    return results


def _found(
    history: History, first: int, last: int
) -> dict[str, tuple[Standing, NDArray[np.int64]]]:
    """Return the ranking of changed people, and their numbers of candidates."""
    before, after = history.tuples_of_ids(first), history.tuples_of_ids(last)
    classes = classes_of([before, after])
    owners = history.owners(last)
    is_in_both = (before != ABSENT) & (after != ABSENT) & (owners != ABSENT)
    own = np.flatnonzero(is_in_both & (owners == history.owners(first)))
    true = _true_changes(history, first, last)[owners[own]]
    shown = shown_changes(history, first, last)
    out = {}
    for name, known in (("true", true), ("shown", shown[own])):
        changed = np.flatnonzero(np.diff(known.indptr) > 0)
        (standing,) = standings(known[changed], shown, own[changed], classes, [SAME])
        sizes = np.bincount(classes, minlength=1)[classes[own[changed]]]
        out[name] = (standing, sizes)
    return out


def _true_changes(history: History, first: int, last: int) -> sparse.csr_matrix:
    """Return what each person gained and lost, by tuple.

    Shape (n_persons, 2 tuples).
    """
    keys = [tie_keys(history.persons[i], history.cases[i].original) for i in (first, last)]
    labels = [np.full(history.n_persons, ABSENT) for _ in keys]
    for label, i in zip(labels, (first, last), strict=True):
        label[history.persons[i]] = history.tuples[0][i]
    return _gained_and_lost(keys, labels, history.n_persons, history.tuples[2])


def shown_changes(history: History, first: int, last: int) -> sparse.csr_matrix:
    """Return what each id visibly gained and lost, by tuple.

    Shape (n_ids, 2 tuples).
    """
    keys = [tie_keys(history.ids[i], history.cases[i].released) for i in (first, last)]
    labels = [history.tuples_of_ids(i) for i in (first, last)]
    return _gained_and_lost(keys, labels, history.n_ids, history.tuples[2])


def _gained_and_lost(
    keys: list[NDArray[np.int64]], labels: list[NDArray[np.int64]], n: int, n_labels: int
) -> sparse.csr_matrix:
    """Return the counts of neighbours gained and lost by label.

    A lost one has its former label.
    """
    parts = []
    for only, label in zip(came_and_went(*keys), reversed(labels), strict=True):
        low, high = only >> 32, only & 0xFFFFFFFF
        ends, neighbours = np.concatenate((low, high)), np.concatenate((high, low))
        ones = np.ones(len(ends), dtype=np.int64)
        parts.append(sparse.csr_matrix((ones, (ends, label[neighbours])), shape=(n, n_labels)))
    return sparse.hstack(parts, format="csr")
