"""Friends' values: what friends have names people where it stands at their own places."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams, Schema, anonymize
from ktsafe.attacks import ATTACKS, Case, ids_removed, run
from ktsafe.attacks.friends_values import friends_values
from tests.ktsafe.attacks import naive
from tests.ktsafe.attacks.releases import cases, graph_of, noisy, random_graph

PARAMS = PrivacyParams(k=5)


def found(case: Case, params: PrivacyParams = PARAMS) -> dict[str, float]:
    """Return the figures by variant."""
    results = friends_values(case, params, np.random.default_rng(0))
    return {each.attack.removeprefix("friends_values."): each.value for each in results}


def with_many_values(n: int, m: int, rng: np.random.Generator) -> AttributedGraph:
    """Return a graph of one kind of people and fifty values, five of them sensitive."""
    values = [f"v{i}" for i in range(50)]
    schema = Schema(("a",), "s", frozenset(values[:5]))
    codes = np.column_stack([np.zeros(n, dtype=np.int64), rng.integers(0, 50, n)])
    edges = random_graph(n, m, rng).edges
    return AttributedGraph.from_codes(schema, [["x"], values], codes, edges)


@settings(max_examples=60, deadline=None)
@given(cases())
def test_all_friends_are_compared_as_the_definition_says(case: Case) -> None:
    """Vertex by vertex, with lists of what neighbours have."""
    texts = [naive.qi_texts(graph) for graph in (case.original, case.released)]
    values = [
        [graph.values(v)["s"] for v in range(graph.n_vertices)]
        for graph in (case.original, case.released)
    ]
    kinds = [list(zip(*both, strict=True)) for both in zip(texts, values, strict=True)]
    friends, shown = naive.neighbours(case.original), naive.neighbours(case.released)
    chances = []
    for place in case.places.tolist():
        known = [kinds[0][u] for u in friends[int(case.original_of[place])]]
        near = {}
        for v, text in enumerate(texts[1]):
            if text == texts[1][place]:
                seen = [kinds[1][u] for u in shown[v]]
                every = set(known + seen)
                near[v] = sum(abs(known.count(x) - seen.count(x)) for x in every)
        nearest = [v for v, far in near.items() if far == min(near.values())]
        chances.append((place in nearest) / len(nearest))
    assert np.isclose(found(case)["all"], np.mean(chances) if chances else 0.0)


def test_a_planted_leak_is_found_and_a_release_of_noise_is_not() -> None:
    """With ids removed nine of ten are found, by ten friends too; strangers' ties tell nothing."""
    rng = np.random.default_rng(0)
    graph = with_many_values(300, 2400, rng)
    leaks = found(Case(graph, *ids_removed(graph, rng)))
    assert min(leaks[name] for name in ("all", "10")) > 0.9
    assert leaks["5"] > 0.7
    assert leaks["3"] > 0.1
    assert leaks["sensitive"] > 0.9
    noise = noisy(random_graph(600, 3000, rng), rng, kept=0, added=3000)
    assert max(value for name, value in found(noise).items() if name != "sensitive") < 0.05


def test_exchanged_values_tell_no_more_than_chance_in_a_cohort() -> None:
    """In place they name most people, and who is sensitive."""
    graph = with_many_values(300, 2400, np.random.default_rng(1))
    told = {}
    for values in ("exchanged", "in place"):
        options = AnonymizeOptions(effort="fast", values=values)
        made = anonymize(graph, PARAMS, rng=np.random.default_rng(2), options=options)
        told[values] = found(Case(graph, made.graph, made.origin.astype(np.int64)))
    assert told["in place"]["all"] > 0.8
    assert max(told["exchanged"][name] for name in ("all", "3", "5", "10")) <= 1 / PARAMS.k
    assert told["in place"]["sensitive"] > 0.9
    assert told["exchanged"]["sensitive"] < 0.4


def test_only_people_with_so_many_friends_are_asked_for_them() -> None:
    """Four friends of one are too few for five."""
    star = graph_of(np.zeros((5, 3), dtype=np.int64), np.array([[0, i] for i in range(1, 5)]))
    rng = np.random.default_rng(0)
    results = friends_values(Case(star, *ids_removed(star, rng)), PARAMS, rng)
    targets = {each.attack.removeprefix("friends_values."): each.targets for each in results}
    assert targets == {"all": 5, "3": 1, "5": 0, "10": 0, "sensitive": targets["sensitive"]}


def test_figures_of_older_attacks_do_not_depend_on_it() -> None:
    """Its draws follow from its name: the streams of the others, and the sample, are as before."""
    rng = np.random.default_rng(0)
    graph = random_graph(60, 200, rng)
    case = Case(graph, *ids_removed(graph, rng))
    drawing = np.random.default_rng(3).spawn(len(ATTACKS))[-1]
    expected = friends_of(case.sampled(20, drawing))
    found = run(case, PARAMS, np.random.default_rng(3), attacks=["one_hop"], targets_max=20)
    assert list(ATTACKS)[-1] == "friends_values"
    assert [each.targets for each in found] == [20] * len(found)
    assert found[0].bands == expected


def friends_of(case: Case) -> object:
    """Return the bands of the first figure of `one_hop` on these targets."""
    return ATTACKS["one_hop"](case, PARAMS, np.random.default_rng(0), None)[0].bands
