"""Net changes: likelihoods counted literally, a broken control, and strangers' ties."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ktsafe import PrivacyParams
from ktsafe.assess.attacks import Case, History
from ktsafe.assess.attacks import net_changes as module
from ktsafe.assess.attacks.common import history as history_module
from ktsafe.assess.attacks.known_changes import shown_changes
from ktsafe.assess.attacks.net_changes import LEAST, PRIOR, NetChange, guessed, net_changes
from ktsafe.graph import numbering as edges
from tests.ktsafe.assess.attacks.test_sequences import control, histories, seeded

PARAMS = PrivacyParams(k=10)


def literal_rate(seen: int, of: int, prior: float) -> float:
    """Return a rate drawn towards what is likely before."""
    prior = min(max(prior, LEAST), 1 - LEAST)
    return min(max((seen + PRIOR * prior) / (of + PRIOR), LEAST / 10), 1 - LEAST / 10)


def literal(
    changes: list[tuple[np.ndarray, np.ndarray]], classes: list[int], group: list[int], target: int
) -> float:
    """Return the chance of a target, from the likelihood of every member over every class."""
    members = [u for u, g in enumerate(group) if g == group[target]]
    score = Counter(dict.fromkeys(members, 0.0))
    for true, seen in changes:
        overall = (true & seen).sum() / max(true.sum(), 1)
        like = [v for v, c in enumerate(classes) if c == classes[target]]
        for to in range(true.shape[1]):
            chance = {
                is_true: literal_rate(
                    sum(bool(seen[v, to]) for v in like if true[v, to] == is_true),
                    sum(bool(true[v, to] == is_true) for v in like),
                    overall if is_true else sum(seen[v, to] for v in like) / len(like),
                )
                for is_true in (True, False)
            }
            for u in members:
                told, blank = chance[bool(true[target, to])], chance[False]
                sees = bool(seen[u, to])
                score[u] += math.log(told if sees else 1 - told)
                score[u] -= math.log(blank if sees else 1 - blank)
    best = [u for u in members if score[u] >= max(score.values()) - 1e-9]
    return (target in best) / len(best)


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 3), st.floats(0, 1))
def test_guesses_equal_literal_likelihoods(
    seed: int, people: int, kinds: int, density: float
) -> None:
    """The named members are those of greatest likelihood, over all classes, gained and lost."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, kinds, people)
    group = np.unique(classes * 2 + rng.integers(0, 2, people), return_inverse=True)[1]
    tables = [tuple(rng.random((2, people, kinds)) < density) for _ in range(2)]
    changes = [NetChange(sparse.csr_matrix(t), sparse.csr_matrix(s)) for t, s in tables]
    targets = np.flatnonzero(sum(t.any(axis=1).astype(int) for t, _ in tables))
    expected = [literal(tables, classes.tolist(), group.tolist(), v) for v in targets.tolist()]
    assert guessed(changes, classes, group, targets) == pytest.approx(expected)


@settings(max_examples=30, deadline=None)
@given(histories())
def test_targets_are_people_whose_ties_changed(history: History) -> None:
    """Both ends of the tie have the same ids at both releases; candidates have the same tuple."""
    last = len(history.cases) - 1
    results = {r.attack: r for r in net_changes(history, PrivacyParams(k=2), seeded())}
    if last < 2:
        assert results == {}
        return
    owners = [history.owners(i) for i in (0, last)]
    stay = {int(p) for p, q in zip(*owners, strict=True) if p == q and p >= 0}
    ties = [
        {frozenset(history.persons[i][edge].tolist()) for edge in history.cases[i].original.edges}
        for i in (0, last)
    ]
    changed = {v for tie in ties[0] ^ ties[1] if tie <= stay for v in tie}
    assert results["net_changes.all"].targets == len(changed)
    assert 0 <= results["net_changes.all"].value <= 1


def test_while_nothing_shown_changes_guesses_are_chance() -> None:
    """Releases that stay as they are leave every candidate as likely, whatever truly changed."""
    history = control(hidden=False)
    shown = history.cases[0].released
    cases = [Case(case.original, shown, case.original_of) for case in history.cases]
    found = net_changes(History(cases, history.ids, history.persons), PARAMS, seeded())
    assert all(r.targets > 100 for r in found)
    assert [r.value for r in found] == pytest.approx([r.control for r in found])


def test_many_people_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more people than the limit so many are attacked, among as many candidates."""
    whole = net_changes(control(hidden=False), PARAMS, seeded())
    monkeypatch.setattr(module, "TARGETS_MAX", 50)
    few = net_changes(control(hidden=False), PARAMS, seeded())
    assert [r.targets for r in few] == [50, 50]
    assert few[1].control == pytest.approx(whole[1].control, rel=0.2)


@settings(max_examples=30, deadline=None)
@given(histories(), st.integers(1, 3))
def test_rows_weigh_what_their_neighbours_do(history: History, at_once: int) -> None:
    """The sums by which cohorts are told are those of whole rows, round 2**64 or not.

    However much is looked at together.
    """
    weights = np.random.default_rng(0).integers(-(2**62), 2**62, history.tuples[2])
    whole = net_changes(history, PrivacyParams(k=2), seeded())
    shown = shown_changes(history, 0, 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PAIRS_MAX", at_once)
        patch.setattr(edges, "EDGES_AT_ONCE", at_once)
        assert net_changes(history, PrivacyParams(k=2), seeded()) == whole
        assert (shown_changes(history, 0, 1) != shown).nnz == 0
        for i, case in enumerate(history.cases):
            expected = history.seen(i).astype(np.int64) @ weights
            assert (history.sums_of_neighbours(i, weights) == expected).all()
            number = np.where(history.ids[i] % 3, history.ids[i], -1)
            ends = [sorted(number[[u, v]].tolist()) for u, v in case.released.edges.tolist()]
            keys = [u << 32 | v for u, v in ends if u >= 0]
            assert history_module.tie_keys(number, case.released).tolist() == keys
