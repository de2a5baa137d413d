"""Friends' values: what friends have names people where it stands at their own places."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings

from ktsafe import AttributedGraph, PrivacyParams, Schema
from ktsafe.assess.attacks import Case, History, ids_removed
from ktsafe.assess.attacks.friends import friends_values, sensitive_by_friends
from tests.ktsafe.assess.attacks import naive
from tests.ktsafe.assess.attacks.releases import cases, graph_of, noisy, random_graph
from tests.ktsafe.assess.attacks.test_sequences import histories, l1, person_of, published

PARAMS = PrivacyParams(k=5)


def found(history: History) -> dict[str, float]:
    """Return the figures by variant."""
    results = friends_values(history, PARAMS, np.random.default_rng(0))
    results += sensitive_by_friends(history, PARAMS, np.random.default_rng(0))
    return {each.attack.partition(".")[2]: each.value for each in results}


def with_many_values(n: int, m: int, rng: np.random.Generator) -> AttributedGraph:
    """Return a graph of one kind of people and fifty values, five of them sensitive."""
    values = [f"v{i}" for i in range(50)]
    schema = Schema(("a",), "s", frozenset(values[:5]))
    codes = np.column_stack([np.zeros(n, dtype=np.int64), rng.integers(0, 50, n)])
    edges = random_graph(n, m, rng).edges
    return AttributedGraph.from_codes(schema, [["x"], values], codes, edges)


def friends(graph: AttributedGraph, names: np.ndarray) -> dict[int, Counter]:
    """Return what the neighbours of each vertex have, quasi-identifiers and value."""
    texts, ties = naive.qi_texts(graph), naive.neighbours(graph)
    have = [(texts[v], graph.values(v)["s"]) for v in range(graph.n_vertices)]
    return {int(u): Counter(have[w] for w in ties[v]) for v, u in enumerate(names)}


def literally(history: History) -> tuple[list[float], list[bool]]:
    """Return the chance that each target is named, and of whom it is claimed that it holds."""
    n = len(history.cases)
    shown = [published(history, i) for i in range(n)]
    known = [friends(c.original, p) for c, p in zip(history.cases, history.persons, strict=True)]
    seen = [friends(c.released, u) for c, u in zip(history.cases, history.ids, strict=True)]
    last, last_ids = history.cases[-1], history.ids[-1]
    flag = dict(zip(last_ids.tolist(), last.released.is_sensitive.tolist(), strict=True))
    truth = dict(
        zip(history.persons[-1].tolist(), last.original.is_sensitive.tolist(), strict=True)
    )
    chances, claims = [], []
    for own, person in person_of(history, n - 1).items():
        distance = {
            u: sum(l1(known[i].get(person, Counter()), seen[i].get(u, Counter())) for i in range(n))
            for u in shown[-1]
            if all(shown[i].get(u) == shown[i].get(own) for i in range(n))
        }
        best = [u for u, d in distance.items() if d == min(distance.values())]
        chances.append(1 / len(best) if own in best else 0.0)
        if sum(flag[u] for u in best) > len(best) / 2:
            claims.append(truth[person])
    return chances, claims


@settings(max_examples=40, deadline=None)
@given(cases())
def test_a_release_is_judged_as_the_definition_says(case: Case) -> None:
    """Vertex by vertex, with lists of what neighbours have."""
    told = found(History.of(case))
    chances, claims = literally(History.of(case))
    assert told["all"] == pytest.approx(np.mean(chances) if chances else 0)
    assert told["named"] == pytest.approx(np.mean(claims) if claims else 0)


@settings(max_examples=40, deadline=None)
@given(histories())
def test_distances_are_added_over_releases(history: History) -> None:
    """Among the ids of the same releases and quasi-identifiers."""
    told = found(history)
    chances, claims = literally(history)
    assert told["all"] == pytest.approx(np.mean(chances) if chances else 0)
    assert told["named"] == pytest.approx(np.mean(claims) if claims else 0)


def test_few_friends_name_fewer_and_strangers_nobody() -> None:
    """Of a graph with its ids removed three friends name some, ten nearly all."""
    rng = np.random.default_rng(0)
    graph = with_many_values(300, 2400, rng)
    leaks = found(History.of(Case(graph, *ids_removed(graph, rng))))
    assert leaks["10"] > 0.9
    assert leaks["5"] > 0.7
    assert leaks["3"] > 0.1
    noise = noisy(random_graph(600, 3000, rng), rng, kept=0, added=3000)
    told = found(History.of(noise))
    assert max(told[name] for name in ("all", "3", "5", "10")) < 0.05


def test_only_people_with_so_many_friends_are_asked_for_them() -> None:
    """Four friends of one are too few for five."""
    star = graph_of(np.zeros((5, 3), dtype=np.int64), np.array([[0, i] for i in range(1, 5)]))
    rng = np.random.default_rng(0)
    results = friends_values(History.of(Case(star, *ids_removed(star, rng))), PARAMS, rng)
    assert [each.targets for each in results] == [5, 1, 0, 0]


def test_the_same_friends_are_known_at_every_release() -> None:
    """With the same truth twice, the friends that are drawn say nothing new the second time."""
    rng = np.random.default_rng(0)
    graph = with_many_values(200, 1000, rng)
    case, number = Case(graph, graph, np.arange(200)), np.arange(200)
    once = found(History.of(case))
    twice = found(History([case, case], [number] * 2, [number] * 2))
    assert 0.1 < once["3"] < 0.9
    assert twice == once
