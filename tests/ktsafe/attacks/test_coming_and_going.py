"""Arrival and departure of a sequence's vertices, against literal counts and known answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from ktsafe import PrivacyParams
from ktsafe.attacks import Case, History
from ktsafe.attacks.coming_and_going import arrival, departure
from tests.ktsafe.attacks.releases import graph_of
from tests.ktsafe.attacks.test_sequences import histories, person_of, published

PARAMS = PrivacyParams(k=3)


@settings(max_examples=60, deadline=None)
@given(histories())
def test_arrivals_equal_a_literal_count(history: History) -> None:
    """Each person among the ids of a release is as likely named as newcomers look alike."""
    chances, controls, seen = [], [], set(published(history, 0))
    for i in range(1, len(history.cases)):
        shown, person = published(history, i), person_of(history, i)
        came = [u for u in shown if u not in seen]
        for own in came:
            if own in person:
                chances.append(1 / sum(shown[u] == shown[own] for u in came))
                controls.append(1 / sum(text == shown[own] for text in shown.values()))
        seen |= set(shown)
    found = {r.attack: r for r in arrival(history, PARAMS)}
    assert ("arrival.named" in found) == bool(chances)
    if chances:
        assert found["arrival.named"].value == pytest.approx(np.mean(chances))
        assert found["arrival.named"].control == pytest.approx(np.mean(controls))


@settings(max_examples=60, deadline=None)
@given(histories())
def test_departures_equal_a_literal_count(history: History) -> None:
    """Whoever left is sought among the ids that vanished with the tuple, else among all with it."""
    chances = []
    for i in range(1, len(history.cases)):
        before, after = published(history, i - 1), published(history, i)
        for own, person in person_of(history, i - 1).items():
            if person in history.persons[i]:
                continue
            alike = [u for u in before if before[u] == before[own]]
            named = [u for u in alike if u not in after] or alike
            chances.append((own in named) / len(named))
    found = {r.attack: r for r in departure(history, PARAMS)}
    assert ("departure.named" in found) == bool(chances)
    if chances:
        assert found["departure.named"].value == pytest.approx(np.mean(chances))


def pair(gone: list[int], came: list[int], people: set[int]) -> History:
    """Return two releases of ids 0 to 9, all alike; some vanish and some come; ties in a ring."""
    cases, ids, persons = [], [], []
    for names in (range(10), [u for u in range(10) if u not in gone] + came):
        here = np.array(names)
        real = np.array([u for u in names if u in people])
        ring = np.column_stack((np.arange(len(here)), np.roll(np.arange(len(here)), 1)))
        keep = [row for row in ring.tolist() if not {int(here[v]) for v in row} & set(came)]
        codes = np.zeros((len(here), 3), dtype=np.int64)
        released = graph_of(codes, np.array(keep).reshape(-1, 2))
        original = graph_of(codes[: len(real)], np.zeros((0, 2), dtype=np.int64))
        behind = np.array([list(real).index(u) if u in people else -1 for u in names])
        cases.append(Case(original, released, behind))
        ids.append(here)
        persons.append(real)
    return History(cases, ids, persons)


def test_one_who_comes_or_goes_alone_is_found() -> None:
    """The positive control: a single id that appears, or vanishes, is the person's own."""
    history = pair(gone=[3], came=[10], people=set(range(11)))
    (named,) = arrival(history, PARAMS)
    assert (named.value, named.figures["people_min"]) == (1.0, 1)
    left, vanished = departure(history, PARAMS)
    assert left.value == 1.0
    assert vanished.figures == {"prior": 1.0, "vanished": 1, "vanished_people": 1.0}


def test_inserted_vertices_that_vanish_or_come_with_ties_are_told() -> None:
    """Ids that vanish were nobody's, or newcomers without ties are people: areas of one."""
    vanished = departure(pair([8, 9], [], people=set(range(8))), PARAMS)[0]
    assert vanished.attack == "departure.vanished"
    assert (vanished.value, vanished.figures["vanished_people"]) == (1.0, 0.0)
    several = pair([], [10, 11, 12], people={*range(10), 10, 11})
    found = {r.attack: r for r in arrival(several, PARAMS)}
    assert found["arrival.ties"].value == 0.5
    assert found["arrival.named"].value == pytest.approx(1 / 3)


def test_who_comes_and_goes_in_company_is_not_found() -> None:
    """The negative control: k who come or go together are as good as a guess among k."""
    history = pair(gone=[1, 2, 3], came=[10, 11, 12], people=set(range(13)))
    assert arrival(history, PARAMS)[0].value == pytest.approx(1 / 3)
    assert not arrival(history, PARAMS)[0].is_broken
    assert departure(history, PARAMS)[0].value == pytest.approx(1 / 3)
    assert departure(pair([], [], set(range(10))), PARAMS) == []
    assert arrival(pair([], [], set(range(10))), PARAMS) == []
