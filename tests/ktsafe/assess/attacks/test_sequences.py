"""Attacks on sequences: intersection, changes and age, against literal counts."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph, InvalidGraph, InvalidParams, PrivacyParams
from ktsafe.assess.attacks import Case, History, ids_removed, run_sequence
from ktsafe.assess.attacks.denoised import age
from ktsafe.assess.attacks.known_changes import changes, intersection
from tests.ktsafe.assess.attacks import naive
from tests.ktsafe.assess.attacks.releases import CATEGORIES, SCHEMA, graph_of, noisy, random_graph

PARAMS = PrivacyParams(k=3)


def seeded() -> np.random.Generator:
    """Return a generator with a fixed seed."""
    return np.random.default_rng(0)


def churned(graph: AttributedGraph, rng: np.random.Generator, share: float) -> AttributedGraph:
    """Return the graph with a share of its ties replaced by random ones."""
    kept = graph.edges[rng.random(graph.n_edges) >= share]
    if not graph.n_vertices:
        return graph
    more = rng.integers(0, graph.n_vertices, (graph.n_edges - len(kept), 2))
    return graph_of(graph.codes, np.concatenate((kept, more)))


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Draw two or three releases of a changing graph, people and ids coming and going."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    graph = random_graph(draw(st.integers(3, 10)), draw(st.integers(0, 25)), rng)
    cases, ids, persons = [], [], []
    id_of = rng.permutation(20)
    for _ in range(draw(st.integers(2, 3))):
        there = np.sort(rng.permutation(graph.n_vertices)[draw(st.integers(0, 1)) :])
        case = noisy(graph.subgraph(there), rng, inserted=draw(st.integers(0, 2)), withheld=0)
        behind = case.original_of
        fakes = 12 + np.cumsum(behind < 0)
        ids.append(id_of[np.where(behind >= 0, there[behind], fakes)])
        cases.append(case)
        persons.append(there.astype(np.int64))
        graph = churned(graph, rng, 0.3)
    return History(cases, ids, persons)


def published(history: History, i: int) -> dict[int, tuple[str, ...]]:
    """Return the published tuple of every id at release i."""
    return dict(
        zip(history.ids[i].tolist(), naive.qi_texts(history.cases[i].released), strict=True)
    )


def person_of(history: History, i: int) -> dict[int, int]:
    """Return the person behind each id of release i that has one."""
    behind = history.cases[i].original_of.tolist()
    return {
        u: int(history.persons[i][v])
        for u, v in zip(history.ids[i].tolist(), behind, strict=True)
        if v >= 0
    }


def joint(graph: AttributedGraph, names: np.ndarray) -> dict[int, Counter]:
    """Return the neighbours' tuples of every named vertex."""
    return {int(name): naive.star(graph, v, "joint") for v, name in enumerate(names)}


def l1(one: Counter, two: Counter) -> int:
    """Return the sum of absolute differences."""
    return sum(abs(one[f] - two[f]) for f in one.keys() | two.keys())


@settings(max_examples=50, deadline=None)
@given(histories())
def test_intersection_equals_a_literal_sum(history: History) -> None:
    """The best guess names the id of least total distance among those equally present."""
    n = len(history.cases)
    shown = [published(history, i) for i in range(n)]
    known = [joint(c.original, p) for c, p in zip(history.cases, history.persons, strict=True)]
    seen = [joint(c.released, u) for c, u in zip(history.cases, history.ids, strict=True)]
    chances, sizes = [], []
    for own, person in person_of(history, n - 1).items():
        candidates = [
            u for u in shown[-1] if all(shown[i].get(u) == shown[i].get(own) for i in range(n))
        ]
        distance = {
            u: sum(l1(known[i].get(person, Counter()), seen[i].get(u, Counter())) for i in range(n))
            for u in candidates
        }
        best = [u for u, d in distance.items() if d == min(distance.values())]
        chances.append(1 / len(best) if own in best else 0)
        sizes.append(len(candidates))
    (result,) = intersection(history, PARAMS)
    assert result.targets == len(chances)
    assert result.value == pytest.approx(np.mean(chances) if chances else 0)
    if sizes:
        assert result.figures["candidates_min"] == min(sizes)
        assert result.figures["candidates_below_k"] == np.mean([s < 3 for s in sizes])


def changed(history: History, first: int, last: int, side: str) -> dict[int, Counter]:
    """Return what each person (`true`) or id (`shown`) gained and lost between two releases."""
    ties, texts = [], []
    for i in (first, last):
        case = history.cases[i]
        graph, names = (
            (case.original, history.persons[i])
            if side == "true"
            else (case.released, history.ids[i])
        )
        texts.append(dict(zip(names.tolist(), naive.qi_texts(graph), strict=True)))
        ties.append({frozenset(names[edge].tolist()) for edge in graph.edges})
    out: dict[int, Counter] = {}
    for sign, these, others, text in (
        ("+", ties[1], ties[0], texts[1]),
        ("-", ties[0], ties[1], texts[0]),
    ):
        for tie in these - others:
            for v in tie:
                (other,) = tie - {v}
                out.setdefault(v, Counter())[sign, text[other]] += 1
    return out


@settings(max_examples=50, deadline=None)
@given(histories())
def test_net_changes_equal_a_literal_count(history: History) -> None:
    """Candidates as near to the change as the own id, for true and for visible changes."""
    last = len(history.cases) - 1
    shown = [published(history, i) for i in (0, last)]
    owners = [person_of(history, i) for i in (0, last)]
    seen = changed(history, 0, last, "shown")
    results = {r.attack: r for r in changes(history, PARAMS)}
    for side in ("true", "shown"):
        known = changed(history, 0, last, side)
        near = []
        for own, person in owners[1].items():
            mine = known.get(person if side == "true" else own)
            if owners[0].get(own) != person or not mine:
                continue
            candidates = [
                u for u in shown[0] if u in shown[1] and all(s[u] == s[own] for s in shown)
            ]
            distance = {u: l1(mine, seen.get(u, Counter())) for u in candidates}
            near.append(sum(d <= distance[own] for d in distance.values()))
        result = results[f"changes.net.{side}"]
        assert result.targets == len(near)
        if near:
            assert result.figures["k_near_below_k"] == np.mean([n < 3 for n in near])
            assert result.figures["k_near_median"] == np.median(near)


@settings(max_examples=150, deadline=None)  # Most have two releases, or no inserted tie.
@given(histories())
def test_age_counts_releases_in_succession(history: History) -> None:
    """The area is that of ages counted tie by tie."""
    shown = [
        [frozenset(u[e].tolist()) for e in c.released.edges]
        for c, u in zip(history.cases, history.ids, strict=True)
    ]
    ages = []
    for tie in shown[-1]:
        gone = [i for i, ties in enumerate(shown) if tie not in ties]
        ages.append(len(shown) - 1 - max(gone, default=-1))
    true = history.cases[-1].is_true_edge.tolist()
    pairs = [(a, b) for a, x in zip(ages, true, strict=True) if x
             for b, y in zip(ages, true, strict=True) if not y]  # fmt: skip
    wins = sum((a > b) + (a == b) / 2 for a, b in pairs)
    result = age(history, PARAMS, seeded())[0]
    assert result.value == pytest.approx(wins / len(pairs) if pairs else 0.5)


def control(*, hidden: bool) -> History:
    """Return three releases with the same ids: of the changing graph, or of strangers' ties."""
    rng = np.random.default_rng(0)
    graph = random_graph(400, 3000, rng)
    shown, behind = ids_removed(graph, rng)
    cases = []
    for _ in range(3):
        true = graph.subgraph(behind)
        strangers = random_graph(400, 3000, rng).edges
        noise = AttributedGraph.from_codes(SCHEMA, CATEGORIES, true.codes, strangers)
        cases.append(Case(graph, noise if hidden else true, behind))
        graph = churned(graph, rng, 0.05)
    assert shown.n_vertices == 400
    return History(cases, [np.arange(400)] * 3, [np.arange(400)] * 3)


def test_one_release_is_no_history() -> None:
    """Changes and ages need two releases; unknown attacks and wrong numbers are refused."""
    graph = random_graph(5, 4, np.random.default_rng(0))
    one = History([Case(graph, graph, np.arange(5))], [np.arange(5)], [np.arange(5)])
    names = {r.attack.partition(".")[0] for r in run_sequence(one, PARAMS, seeded())}
    over_time = {f"{name}_over_time" for name in ("friends_values", "friends_degrees")}
    assert names == {"intersection", "sensitive_by_friends_over_time", *over_time}
    assert run_sequence(History([], [], []), PARAMS, seeded()) == []
    with pytest.raises(InvalidParams):
        run_sequence(one, PARAMS, seeded(), attacks=["one_hop"])
    for ids in ([np.arange(4)], [np.zeros(5, dtype=int)], []):
        with pytest.raises(InvalidGraph):
            History(one.cases, ids, one.persons)
