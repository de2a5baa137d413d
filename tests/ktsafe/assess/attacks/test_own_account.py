"""Own account: an attacker with an account names the people it is tied to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from ktsafe.assess.attacks import Case
from ktsafe.assess.attacks import own_account as module
from ktsafe.assess.attacks.own_account import own_account
from tests.ktsafe.assess.attacks import naive
from tests.ktsafe.assess.attacks.releases import cases, graph_of


def naive_chances(case: Case, account: int, *, knows_value: bool) -> tuple[float, list[float]]:
    """Return the chance that the account's vertex is named, and each friend; vertex by vertex."""
    texts, shown = naive.qi_texts(case.released), naive.neighbours(case.released)
    place_of = {p: place for place, p in enumerate(case.original_of.tolist()) if p >= 0}
    published = naive.qi_texts(case.original)
    for person, place in place_of.items():
        published[person] = texts[place]
    friends = naive.neighbours(case.original)[account]
    inside = [v for v in range(len(texts)) if texts[v] == published[account]]
    if knows_value:
        value = case.original.values(account)["s"]
        inside = [v for v in inside if case.released.values(v)["s"] == value] or inside
    known = [published[f] for f in friends]

    def distance(v: int) -> int:
        seen = [texts[u] for u in shown[v]]
        return sum(abs(known.count(kind) - seen.count(kind)) for kind in set(known + seen))

    nearest = [v for v in inside if distance(v) == min(map(distance, inside))]
    chances = []
    for friend in (f for f in friends if f in place_of):
        of_kind = [u for u in range(len(texts)) if texts[u] == published[friend]]
        votes = {u: sum(u in shown[v] for v in nearest) for u in of_kind}
        best = [u for u in of_kind if votes[u] == max(votes.values())]
        chances.append((place_of[friend] in best) / len(best))
    return (place_of[account] in nearest) / len(nearest), chances


@settings(max_examples=60, deadline=None)
@given(cases())
def test_friends_named_equal_a_literal_search(case: Case) -> None:
    """With and without the account's value, everybody with a tie being the attacker in turn."""
    tied = [v for v in case.people.tolist() if naive.neighbours(case.original)[v]]
    for result, knows_value in zip(own_account(case, seeded()), (True, False), strict=True):
        found = [naive_chances(case, v, knows_value=knows_value) for v in tied]
        chances = [chance for _, each in found for chance in each]
        assert result.figures["accounts"] == len(tied)
        assert result.targets == len(chances)
        assert result.promise is None
        if tied:
            assert result.figures["own"] == pytest.approx(np.mean([own for own, _ in found]))
        if chances:
            assert result.value == pytest.approx(np.mean(chances))


def test_accounts_are_those_with_about_as_many_ties_as_are_planted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A star's centre has 20 ties; its friends have one, and the attacker is the centre."""
    monkeypatch.setattr(module, "ACCOUNTS_MAX", 1)
    star = graph_of(np.zeros((31, 3), dtype=int), np.array([[0, v] for v in range(1, 21)]))
    for result in own_account(Case(star, star, np.arange(31)), seeded()):
        assert result.targets == 20
        assert result.figures == {"accounts": 1, "own": 1}


def seeded() -> np.random.Generator:
    """Return randomness that is the same each time."""
    return np.random.default_rng(0)
