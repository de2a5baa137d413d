"""Arrival and departure of a sequence's vertices, against literal counts and known answers."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import PrivacyParams
from ktsafe.assess.attacks import Case, History
from ktsafe.assess.attacks.known_changes import arrival, departure
from tests.ktsafe.assess.attacks.releases import graph_of
from tests.ktsafe.assess.attacks.test_sequences import histories, person_of, published

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


def neighbours(history: History, i: int) -> dict[int, set[int]]:
    """Return the neighbours of every id at release i."""
    names = history.ids[i].tolist()
    found: dict[int, set[int]] = {name: set() for name in names}
    for u, v in history.cases[i].released.edges.tolist():
        found[names[u]].add(names[v])
        found[names[v]].add(names[u])
    return found


def look(history: History, i: int, by: str) -> dict[int, object]:
    """Return what visibly changed of every id of release i - 1, by values, ties or both."""
    before, after = (
        {
            name: tuple(history.cases[at].released.values(v).values())
            for v, name in enumerate(history.ids[at].tolist())
        }
        for at in (i - 1, i)
    )
    old, new = neighbours(history, i - 1), neighbours(history, i)
    found: dict[int, object] = {}
    for u in before:
        values = [(x, y) for x, y in zip(before[u], after.get(u, [None] * 9), strict=False)]
        values = [pair if pair[0] != pair[1] else None for pair in values]
        gained = Counter(after[w][:-1] for w in new.get(u, set()) - old[u])
        lost = Counter(before[w][:-1] for w in old[u] - new.get(u, set()))
        # Quasi-identifiers are one value: the tuple.
        ties = frozenset(gained.items()), frozenset(lost.items())
        tuples = None if before[u][:-1] == after.get(u, ())[:-1] else (before[u], after.get(u, ()))
        shown = tuples and (tuples[0][:-1], tuples[1][:-1])
        what = (values[-1], shown), ties
        found[u] = {"value": what[0], "ties": what[1], "both": what}[by]
    return found


def named(history: History, i: int, own: int, by: str) -> float:
    """Return how likely an id is named by naming one of the rarest change with its tuple."""
    shown = published(history, i - 1)
    rarest = [u for u in shown if shown[u] == shown[own]]
    everybody = list(rarest)
    for each in ["value", "both"] if by == "both" else [by]:
        changes = look(history, i, each)
        times = Counter(changes[u] for u in everybody)
        least = min(times[changes[u]] for u in rarest)
        rarest = [u for u in rarest if times[changes[u]] == least]
    return (own in rarest) / len(rarest)


def still(history: History, i: int, own: int) -> float:
    """Return how likely an id is named by naming one whose value stays from release i - 1 on."""
    values = [
        {u: case.released.values(v)["s"] for v, u in enumerate(ids.tolist())}
        for case, ids in zip(history.cases, history.ids, strict=True)
    ]
    shown = published(history, i - 1)
    alike = [u for u in shown if shown[u] == shown[own]]
    before = values[i - 1]
    stays = [u for u in alike if all(after.get(u, before[u]) == before[u] for after in values[i:])]
    stays = stays or alike
    return (own in stays) / len(stays)


@settings(max_examples=100, deadline=None)
@given(histories(), st.booleans())
def test_departures_equal_a_literal_count(history: History, is_erased: bool) -> None:
    """A place that was left is sought among the ids with its tuple whose change is the rarest.

    Whether the mappings still name who left, or only which places were left is known.
    """
    left = [(i, u) for i in range(1, len(history.cases)) for u in vacated(history, i)]
    if is_erased:
        history = erased(history)
    found = {r.attack: r for r in departure(history, PARAMS)}
    assert ("departure.named" in found) == bool(left)
    if not left:
        return
    result = found["departure.named"]
    chances = [named(history, i, own, "both") for i, own in left]
    assert result.targets == len(left)
    assert result.value == pytest.approx(np.mean(chances))
    assert result.figures["alone"] == pytest.approx(np.mean([x == 1 for x in chances]))
    for by in ("value", "ties"):
        expected = np.mean([named(history, i, own, by) for i, own in left])
        assert result.figures[f"by_{by}"] == pytest.approx(expected)
    assert result.figures["still"] == pytest.approx(
        np.mean([still(history, i, u) for i, u in left])
    )
    sizes = [Counter(published(history, i - 1).values()) for i, _ in left]
    alike = [
        size[published(history, i - 1)[own]] for size, (i, own) in zip(sizes, left, strict=True)
    ]
    assert result.control == pytest.approx(np.mean([1 / n for n in alike]))


@settings(max_examples=100, deadline=None)
@given(histories())
def test_lost_neighbours_equal_a_literal_count(history: History) -> None:
    """From the first release of an id to the last: who lost the greatest share of neighbours."""
    last = len(history.cases) - 1
    left = {u for i in range(1, last + 1) for u in vacated(history, i)}
    lost, kind = {}, {}
    for i in range(last - 1, -1, -1):
        for u, before in neighbours(history, i).items():
            if u in published(history, last):
                kept = before & neighbours(history, last)[u]
                lost[u] = 1 - len(kept) / len(before) if before else 0.0
                kind[u] = (i, published(history, i)[u])
    chances = []
    for own in sorted(left & lost.keys()):
        alike = [u for u in lost if kind[u] == kind[own]]
        most = [u for u in alike if lost[u] >= max(lost[x] for x in alike) - 1e-12]
        chances.append((own in most) / len(most))
    found = {r.attack: r for r in departure(history, PARAMS)}
    assert ("departure.net" in found) == bool(chances)
    if chances:
        assert found["departure.net"].value == pytest.approx(np.mean(chances))
        others = [lost[u] for u in person_of(history, last) if u in lost and u not in left]
        gone = [lost[u] for u in left & lost.keys()]
        wins = [(x > y + 1e-12) + (abs(x - y) <= 1e-12) / 2 for x in gone for y in others]
        area = np.mean(wins) if wins else 0.5
        assert found["departure.net"].figures["auc"] == pytest.approx(area)


def vacated(history: History, i: int) -> list[int]:
    """Return the ids whose owner at release i - 1 is not behind them at release i."""
    now = person_of(history, i)
    return [u for u, person in person_of(history, i - 1).items() if now.get(u) != person]


def erased(history: History) -> History:
    """Return the history as the service keeps it: who left is blank, which place was left is said.

    Only people whose place was left, and stays without owner, are blank.
    """
    n = len(history.cases)
    left = [np.array(vacated(history, i) if i else [], dtype=np.int64) for i in range(n)]
    blank = set(np.concatenate(left).tolist())
    cases = [
        dataclasses.replace(
            case,
            original_of=np.where(np.isin(ids, sorted(blank)), -1, case.original_of),
        )
        for case, ids in zip(history.cases, history.ids, strict=True)
    ]
    return History(cases, history.ids, history.persons, left)


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


def test_inserted_vertices_that_vanish_or_come_with_ties_are_told() -> None:
    """Ids that vanish were nobody's, or newcomers without ties are people: areas of one."""
    vanished = departure(pair([8, 9], [], people=set(range(8))), PARAMS)[0]
    assert vanished.attack == "departure.vanished"
    assert (vanished.value, vanished.figures["vanished_people"]) == (1.0, 0.0)
    several = pair([], [10, 11, 12], people={*range(10), 10, 11})
    found = {r.attack: r for r in arrival(several, PARAMS)}
    assert found["arrival.ties"].value == 0.5
    assert found["arrival.named"].value == pytest.approx(1 / 3)
