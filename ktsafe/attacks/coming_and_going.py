"""Coming and going: when ids appear and vanish, and what the attacker makes of it.

`arrival`: in which release a person appeared is known, or newcomers with few ties are taken for
people. `departure`: when a person left is known, or ids that vanish are taken for inserted ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.attacks.common.history import ABSENT, History, classes_of
from ktsafe.attacks.common.result import Result, auc_result, share_result
from ktsafe.params import PrivacyParams


def arrival(history: History, params: PrivacyParams) -> list[Result]:
    """Return how many newcomers are found by when they came, and whether people come otherwise.

    Newcomers are the ids that appear after the first release.

    Returns
    -------
    list of Result
        `arrival.named`: of the people among them, the share that is found by naming one of the ids
        that appeared in the same release with the same published tuple. The control names any id
        with this tuple. `people_min` is the least number of people among such newcomers. Nothing
        if nobody appeared.
        `arrival.ties`: AUC of few ties in the release in which an id appeared, people above
        inserted vertices; nothing unless both appeared.
    """
    n = len(history.cases)
    if n < 2:
        return []
    tuples = np.array([history.tuples_of_ids(i) for i in range(n)])
    first = np.argmax(tuples != ABSENT, axis=0)
    came = np.flatnonzero(first > 0)
    when, what = first[came], tuples[first[came], came]
    owners = np.array([history.owners(i) for i in range(n)])
    is_person = owners[when, came] != ABSENT
    results = []
    if is_person.any():
        group = classes_of([when, what])
        people = np.bincount(group, is_person)
        present = (tuples[when] == what[:, None]).sum(axis=1)
        result = share_result(
            "arrival.named",
            1 / np.bincount(group)[group[is_person]],
            control=float((1 / present[is_person]).mean()),
            promise=1 / params.k,
            figures={"people_min": int(people[people > 0].min())},
        )
        results.append(result)
    if is_person.any() and not is_person.all():
        degrees = np.array([history.seen(i).sum(axis=1).A1 for i in range(n)])
        results.append(auc_result("arrival.ties", -degrees[when, came], is_person))
    return results


def departure(history: History, params: PrivacyParams) -> list[Result]:
    """Return how many leavers are found by when they left, and whether inserted vertices vanish.

    Returns
    -------
    list of Result
        `departure.named`: of the published people who left, the share that is found by naming an
        id that vanished then with the same published tuple, or where none did any id with this
        tuple. The control always does the latter. Nothing if nobody left.
        `departure.vanished`: AUC of being in the last release, ids that were people at some time
        above those that never were. `vanished` is how many are not in it, `vanished_people` the
        share of them that were people. Nothing if no id vanished.
    """
    n = len(history.cases)
    if n < 2:
        return []
    tuples = np.array([history.tuples_of_ids(i) for i in range(n)])
    owners = np.array([history.owners(i) for i in range(n)])
    chances, controls = [], []
    for i in range(1, n):
        for own in np.flatnonzero(_has_left(history, owners[i - 1], i)):
            alike = tuples[i - 1] == tuples[i - 1, own]
            gone = alike & (tuples[i] == ABSENT)
            named = gone if gone.any() else alike
            chances.append(named[own] / named.sum())
            controls.append(1 / alike.sum())
    results = []
    if chances:
        control = float(np.mean(controls))
        shares = np.array(chances)
        results.append(
            share_result("departure.named", shares, control=control, promise=1 / params.k)
        )
    ever = (tuples != ABSENT).any(axis=0)
    stays, was_person = tuples[-1, ever] != ABSENT, (owners[:, ever] != ABSENT).any(axis=0)
    if not stays.all():
        figures = {
            "vanished": int((~stays).sum()),
            "vanished_people": float(was_person[~stays].mean()),
        }
        score = stays.astype(np.float64)
        results.append(auc_result("departure.vanished", score, was_person, figures=figures))
    return results


def _has_left(history: History, owners: NDArray[np.int64], i: int) -> NDArray[np.bool_]:
    """Return whether the person behind each id of the former release is gone at release i."""
    left: NDArray[np.bool_] = (owners != ABSENT) & ~np.isin(owners, history.persons[i])
    return left
