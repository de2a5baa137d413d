"""Changes: an attacker with ties gained or lost between two releases.

Candidates are the ids that are in both releases, with the same published tuples as the person's
own. `true`: the true changes are known, and compared with what each id visibly gained and lost.
`shown`: the person's own visible changes are known, and the ids that changed exactly alike are
left.

Spans and ways may be added, as names in audits. tests/ktsafe/assess/attacks/test_sequences.py and
test_coming_and_going.py count literally.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ktsafe.assess.attacks.common.history import ABSENT, History, Together
from ktsafe.assess.attacks.common.nearest import SAME, Standing, standings
from ktsafe.assess.attacks.common.result import (
    Result,
    area_under_curve,
    auc_result,
    share_result,
    standing_result,
)
from ktsafe.graph.numbering import CameAndWent, classes_of
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
    labels = [np.full(history.n_persons, ABSENT) for _ in range(2)]
    for label, i in zip(labels, (first, last), strict=True):
        label[history.persons[i]] = history.tuples[0][i]
    changed = history.ties_changed(first, last)
    return _gained_and_lost(changed, labels, history.n_persons, history.tuples[2])


def shown_changes(history: History, first: int, last: int) -> sparse.csr_matrix:
    """Return what each id visibly gained and lost, by tuple.

    Shape (n_ids, 2 tuples).
    """
    labels = [history.tuples_of_ids(i) for i in (first, last)]
    changed = history.edges_changed(first, last)
    return _gained_and_lost(changed, labels, history.n_ids, history.tuples[2])


def _gained_and_lost(
    changed: CameAndWent, labels: list[NDArray[np.int64]], n: int, n_labels: int
) -> sparse.csr_matrix:
    """Return the counts of neighbours gained and lost by label.

    A lost one has its former label.
    """
    parts = []
    for only, label in zip(changed, reversed(labels), strict=True):
        low, high = only >> 32, only & 0xFFFFFFFF
        ends, neighbours = np.concatenate((low, high)), np.concatenate((high, low))
        ones = np.ones(len(ends), dtype=np.int64)
        parts.append(sparse.csr_matrix((ones, (ends, label[neighbours])), shape=(n, n_labels)))
    return sparse.hstack(parts, format="csr")


# Coming and going.
#
# When ids appear and vanish, and what the attacker makes of it.
#
# `arrival`: in which release a person appeared is known, or newcomers with few ties are taken for
# people. `departure`: when a person left is known, and ids that changed unlike others are taken for
# the place that was left, or ids that vanish are taken for inserted ones.

WAYS = ("named", "net", "vanished")
"""How places that were left are looked for, see `departure`."""
UNCHANGED = -2
"""Stands for a value that is the same in two releases."""


def arrival(history: History, params: PrivacyParams) -> list[Result]:
    """Return how many newcomers are found by their time of arrival.

    Newcomers are the ids that appear after the first release. A second figure tells whether people
    and inserted vertices arrive with other numbers of ties.

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


def departure(
    history: History, params: PrivacyParams, *, ways: Iterable[str] = WAYS
) -> list[Result]:
    """Return how many of the places that their owners left are found.

    Parameters
    ----------
    history:
        The releases and the truth. A place was left if its owner is not behind it any more, or if
        `History.vacated` says so.
    params:
        Its k gives the promise 1/k.
    ways:
        Which of `WAYS`; something is promised of the first one only.

    Returns
    -------
    list of Result
        `departure.named`: the attacker knows in which release the owner was no longer there, and
        the published tuple of the place. Of the ids with this tuple one is named whose visible
        change is the rarest: first that of its value and tuple, or that it vanished, and of those
        that are equal in this the tuples of the neighbours that it gained and lost. That nothing
        changed is a change like others. The control names any id with this tuple. `by_value` looks
        at values and tuples only, `by_ties` at neighbours only, `alone` is the share of places
        that were the only id to be named. Nothing if nobody left.
        `departure.net`: the attacker compares the first release that shows an id with the last one,
        and names one of those that lost the greatest share of their neighbours, whatever came
        instead. Its `auc` is that of this share, places that were left above those that were not.
        Nothing is promised. Nothing if no place that was left is in the last release.
        `departure.vanished`: AUC of being in the last release, ids that were people at some time
        above those that never were. `vanished` is how many are not in it, `vanished_people` the
        share of them that were people. Nothing if no id vanished.
    """
    n = len(history.cases)
    if n < 2:
        return []
    found = {
        "named": lambda: _named(history, params),
        "net": lambda: _net(history),
        "vanished": lambda: _vanished(history),
    }
    return [result for way in ways for result in found[way]()]


def _named(history: History, params: PrivacyParams) -> list[Result]:
    """Name the ids with the rarest change among those of their tuple."""
    chances, controls = [], []
    for i in range(1, len(history.cases)):
        tuples = history.tuples_of_ids(i - 1)
        there = np.flatnonzero(tuples != ABSENT)
        left = history.left_at(i)[there]
        if not left.any():
            continue
        group = classes_of([tuples[there]])
        by_value, by_ties = _changes(history, i, there)
        of_value, of_ties = _times(group, by_value), _times(group, by_ties)
        of_both = of_value * (len(there) + 1) + _times(group, [*by_value, *by_ties])
        changes_later = _changes_value_from(history, i)[there]
        scores = (of_both, of_value, of_ties, changes_later.astype(np.int64))
        chances.append(np.column_stack([_least(group, score) for score in scores])[left])
        controls.append((1 / np.bincount(group)[group])[left])
    if not chances:
        return []
    by_all, by_value_only, by_ties_only, still = np.concatenate(chances).T
    figures = {
        "by_value": float(by_value_only.mean()),
        "by_ties": float(by_ties_only.mean()),
        "still": float(still.mean()),
        "alone": float((by_all == 1).mean()),
    }
    control = float(np.concatenate(controls).mean())
    promise = 1 / params.k
    return [
        share_result("departure.named", by_all, control=control, promise=promise, figures=figures)
    ]


def _changes(
    history: History, i: int, there: NDArray[np.int64]
) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
    """Return columns that tell how ids changed since the release before.

    One column is of values, the others are of ties.
    """
    columns = []
    for before, after in (
        (history.values[i - 1], history.values[i]),
        (history.tuples_of_ids(i - 1), history.tuples_of_ids(i)),
    ):
        same = before[there] == after[there]
        columns += [np.where(same, UNCHANGED, each[there]) for each in (before, after)]
    shown = shown_changes(history, i - 1, i)
    # Equal rows have equal sums; others have with a chance of 2**-64.
    weights = np.random.default_rng(0).integers(-(2**62), 2**62, shown.shape[1])
    return columns, [(shown.astype(np.int64) @ weights)[there]]


def _changes_value_from(history: History, i: int) -> NDArray[np.bool_]:
    """Return whether each id's value changes at release i or later, (n_ids,)."""
    before = history.values[i - 1]
    later = [(after != before) & (after != ABSENT) for after in history.values[i:]]
    found: NDArray[np.bool_] = np.any(later, axis=0)
    return found


def _times(group: NDArray[np.int64], columns: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return how many of its group have the same columns as each."""
    alike = classes_of([group, *columns])
    times: NDArray[np.int64] = np.bincount(alike)[alike]
    return times


def _least(group: NDArray[np.int64], score: NDArray[Any]) -> NDArray[np.float64]:
    """Return the chance of naming each by least score in its group."""
    least = np.full(group.max() + 1, score.max())
    np.minimum.at(least, group, score)
    is_named = score == least[group]
    chance: NDArray[np.float64] = is_named / np.bincount(group, is_named)[group]
    return chance


def _net(history: History) -> list[Result]:
    """Name the ids that lost most neighbours from first to last release."""
    tuples = np.array([history.tuples_of_ids(i) for i in range(len(history.cases))])
    first = np.argmax(tuples != ABSENT, axis=0)
    last = len(history.cases) - 1
    there = np.flatnonzero((tuples[last] != ABSENT) & (first < last))
    left = np.zeros(history.n_ids, dtype=np.bool_)
    for i in range(1, last + 1):
        left |= history.left_at(i)
    is_left = left[there]
    if not is_left.any():
        return []
    lost = np.zeros(history.n_ids)
    now = _adjacent(history, last)
    for i in range(last):
        before = _adjacent(history, i)
        degrees = np.maximum(before.sum(axis=1).A1, 1)
        share = (before - before.multiply(now)).sum(axis=1).A1 / degrees
        lost[first == i] = share[first == i]
    lost = lost[there]
    group = classes_of([first[there], tuples[first[there], there]])
    chances = _least(group, -lost)[is_left]
    control = float((1 / np.bincount(group)[group])[is_left].mean())
    stays = history.owners(last)[there] != ABSENT
    judged = is_left | stays
    auc = area_under_curve(lost[judged], is_left[judged])
    return [share_result("departure.net", chances, control=control, figures={"auc": auc})]


def _adjacent(history: History, i: int) -> sparse.csr_matrix:
    """Return which ids are neighbours at release i.

    Shape (n_ids, n_ids), of ones.
    """
    one, two = history.ids[i][history.cases[i].released.edges].T
    ends = np.concatenate((one, two)), np.concatenate((two, one))
    return sparse.csr_matrix((np.ones(2 * len(one)), ends), shape=(history.n_ids, history.n_ids))


def _vanished(history: History) -> list[Result]:
    """Tell people from inserted vertices by which vertices vanished."""
    n = len(history.cases)
    tuples = np.array([history.tuples_of_ids(i) for i in range(n)])
    owners = np.array([history.owners(i) for i in range(n)])
    ever = (tuples != ABSENT).any(axis=0)
    was_person = (owners != ABSENT).any(axis=0)
    was_person[np.concatenate([[], *history.vacated]).astype(np.int64)] = True
    was_person = was_person[ever]
    stays = tuples[-1, ever] != ABSENT
    if stays.all():
        return []
    figures = {
        "vanished": int((~stays).sum()),
        "vanished_people": float(was_person[~stays].mean()),
    }
    score = stays.astype(np.float64)
    return [auc_result("departure.vanished", score, was_person, figures=figures)]


# Intersection: an attacker with true neighbours at every release.
#
# The nearest candidate is named by the sum, over releases, of the distances of `one_hop.joint`.


def intersection(history: History, params: PrivacyParams) -> list[Result]:
    """Return the people of the last release found by all together.

    Returns
    -------
    list of Result
        `intersection.joint`, see `standing_result`; nothing without releases. Its control
        is a uniform guess among the candidates. `candidates_min` is the least number of them,
        `candidates_below_k` the share of people with fewer than k.
    """
    if not history.cases:
        return []
    it = Together.of(history)
    (standing,) = standings(it.known(), it.seen(), it.own, it.classes, [SAME])
    result = it.guessed("intersection.joint", params, standing, is_promised=True)
    sizes = it.candidates
    result.figures.update(
        {
            "candidates_min": int(sizes.min(initial=history.n_ids)),
            "candidates_below_k": float((sizes < params.k).mean()) if len(sizes) else 0.0,
        }
    )
    return [result]
