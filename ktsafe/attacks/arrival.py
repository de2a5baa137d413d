"""Arrival: the attacker knows in which release a person appeared, or looks for newcomers."""

from __future__ import annotations

import numpy as np

from ktsafe.attacks.history import ABSENT, History, classes_of
from ktsafe.attacks.result import Result, auc_result, share_result
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
