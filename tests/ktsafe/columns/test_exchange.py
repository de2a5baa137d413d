"""Insensitive columns: what holds of them, and that no value tells whose it is."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from ktsafe import Anonymized, AnonymizeOptions, NotKTSafe, PrivacyParams, anonymize
from ktsafe.attacks import Case
from ktsafe.attacks.known_columns import known_columns
from ktsafe.columns import Columns, exchanged
from ktsafe.columns.shared_values import shared, typed
from ktsafe.datasets.synthetic import uniform
from ktsafe.graph import AttributedGraph
from ktsafe.verify.insensitive_columns import check_exchanged, check_shared

K = 5


def released(n: int = 300, seed: int = 0, **kwargs) -> tuple[AttributedGraph, Anonymized]:
    """Return a graph of three classes and its release."""
    rng = np.random.default_rng(seed)
    graph = uniform(n, 4 * n, n_tuples=3, rng=rng)
    return graph, anonymize(graph, PrivacyParams(k=K), rng=rng, **kwargs)


def columns(graph: AttributedGraph, seed: int = 1) -> Columns:
    """Return six columns of people, one that goes with degrees, and two of ties."""
    rng = np.random.default_rng(seed)
    n = graph.n_vertices
    return Columns(
        {"degree": graph.degrees.tolist()}
        | {f"c{i}": rng.integers(0, 3 + i, n).tolist() for i in range(5)},
        {
            "weight": rng.integers(1, 6, graph.n_edges).tolist(),
            "kind": [("work", "home")[i] for i in rng.integers(0, 2, graph.n_edges)],
        },
    ).typed()


def behind(made: Anonymized, column: list) -> list:
    return [column[i] if i >= 0 else None for i in made.origin.tolist()]


def test_a_class_shows_the_values_of_its_people() -> None:
    """Where all are published and none is inserted, each class has its own values, reordered."""
    graph, made = released()
    given = columns(graph)
    shown = exchanged(given, graph, made, 1, np.random.default_rng(2))
    assert (made.origin >= 0).all()
    assert len(made.origin) == graph.n_vertices
    for name, column in shown.of_vertices.items():
        own = behind(made, given.of_vertices[name])
        for each in np.unique(made.graph.qi_classes):
            rows = np.flatnonzero(made.graph.qi_classes == each).tolist()
            assert Counter(column[i] for i in rows) == Counter(own[i] for i in rows)


def test_values_go_with_degrees_as_they_did() -> None:
    """A column that is the true degree goes with the released degree."""
    graph, made = released(600)
    shown = exchanged(columns(graph), graph, made, K, np.random.default_rng(2)).of_vertices
    assert np.corrcoef(shown["degree"], made.graph.degrees)[0, 1] > 0.9
    assert abs(np.corrcoef(shown["c2"], made.graph.degrees)[0, 1]) < 0.15


def test_every_member_of_a_cell_shows_a_value_equally_often() -> None:
    """Over 400 exchanges, a person's value is found on each vertex of a cell equally often."""
    graph, made = released(120)
    cell = made.graph.qi_classes * 1_000 + made.graph.degrees
    largest = np.flatnonzero(cell == Counter(cell.tolist()).most_common(1)[0][0])
    given = Columns({"owner": list(range(graph.n_vertices))})
    rng = np.random.default_rng(3)
    shown = [
        np.array(exchanged(given, graph, made, 1, rng).of_vertices["owner"])[largest]
        for _ in range(400)
    ]
    owner = Counter(np.concatenate(shown).tolist()).most_common(1)[0][0]
    seen = (np.array(shown) == owner).sum(axis=0)
    expected = seen.sum() / len(seen)
    assert expected > 5
    assert ((seen - expected) ** 2 / expected).sum() < 3 * len(seen)


def test_columns_are_exchanged_one_by_one() -> None:
    """Two copies of a column do not agree afterwards: no row of values stays together."""
    graph, made = released()
    column = columns(graph).of_vertices["c4"]
    given = Columns({"one": column, "two": column})
    shown = exchanged(given, graph, made, 1, np.random.default_rng(2)).of_vertices
    same = np.mean([a == b for a, b in zip(shown["one"], shown["two"], strict=True)])
    assert same < 0.25


def test_nothing_of_withheld_people_is_shown() -> None:
    """A value of withheld people and their ties alone is nowhere, though many have it."""
    rng = np.random.default_rng(0)
    graph = uniform(300, 900, n_tuples=60, rng=rng)
    made = anonymize(graph, PrivacyParams(k=8), rng=rng)
    is_published = np.isin(np.arange(300), made.origin)
    assert 20 < is_published.sum() < 280
    ends = is_published[graph.edges].all(axis=1)
    given = Columns(
        {"there": ["yes" if x else "no" for x in is_published.tolist()]},
        {"both": ["yes" if x else "no" for x in ends.tolist()]},
    )
    shown = exchanged(given, graph, made, 8, rng)
    assert set(shown.of_vertices["there"]) == {"yes"}
    assert set(shown.of_edges["both"]) <= {"yes"}


def test_a_class_with_few_people_does_not_show_their_values_alone() -> None:
    """Inserted vertices beside one person do not all take that person's value."""
    rng = np.random.default_rng(0)
    graph = uniform(200, 600, n_tuples=2, rng=rng)
    codes = graph.codes.copy()
    lonely = 0
    categories = [(*texts, "odd") for texts in graph.categories[:-1]] + [graph.categories[-1]]
    codes[lonely, :-1] = [len(texts) - 1 for texts in categories[:-1]]
    graph = AttributedGraph.from_codes(graph.schema, categories, codes, graph.edges)
    options = AnonymizeOptions(rare_qi="pad")
    made = anonymize(graph, PrivacyParams(k=K), rng=rng, options=options)
    classes = made.graph.qi_classes
    rows = np.flatnonzero(classes == classes[made.origin == lonely][0])
    assert len(rows) >= K
    column = ["mine" if v % 20 == lonely else f"v{v % 8}" for v in range(200)]
    shown = exchanged(Columns({"c": column}), graph, made, K, rng).of_vertices["c"]
    assert Counter(shown[i] for i in rows.tolist())["mine"] < K


def test_a_weight_marks_no_true_edge() -> None:
    """True and inserted edges of a pair of classes show the same weights."""
    graph, made = released(600)
    shown = exchanged(columns(graph), graph, made, K, np.random.default_rng(2)).of_edges
    case = Case(graph, made.graph, made.origin.astype(np.int64))
    weight, is_true = np.array(shown["weight"], dtype=float), case.is_true_edge
    assert 0 < is_true.sum() < len(is_true)
    spread = weight.std() * np.sqrt(1 / is_true.sum() + 1 / (~is_true).sum())
    assert abs(weight[is_true].mean() - weight[~is_true].mean()) < 4 * spread


def test_who_knows_all_columns_finds_nobody_more() -> None:
    """Exchanged columns add nothing to neighbours; the owners' own columns find everybody."""
    graph, made = released(600)
    given = columns(graph)
    shown = exchanged(given, graph, made, K, np.random.default_rng(2)).of_vertices
    case, params = Case(graph, made.graph, made.origin.astype(np.int64)), PrivacyParams(k=K)
    names = [name for name in shown if name != "degree"]
    for result in known_columns(case, params, given.of_vertices, shown):
        assert not result.is_broken
        assert result.value < result.control + 0.03
    own = {name: behind(made, given.of_vertices[name]) for name in names}
    rows, _ = known_columns(case, params, given.of_vertices, own)
    assert rows.is_broken
    assert rows.value > 0.7


def test_the_gate_refuses_columns_that_were_not_exchanged() -> None:
    """It passes what was exchanged, and refuses own values, also of only half of the people."""
    graph, made = released(600)
    given = columns(graph)
    shown = exchanged(given, graph, made, K, np.random.default_rng(2)).of_vertices
    own = {name: behind(made, column) for name, column in given.of_vertices.items()}
    cells = made.graph.qi_classes, made.graph.degrees
    check_exchanged(own, shown, *cells)
    for kept in (1, 2):
        mixed = [
            a if v % kept == 0 else b
            for v, (a, b) in enumerate(zip(own["c4"], shown["c4"], strict=True))
        ]
        with pytest.raises(NotKTSafe, match="c4"):
            check_exchanged({"c4": own["c4"]}, {"c4": mixed}, *cells)


def test_the_gate_refuses_rare_values() -> None:
    """A value of fewer than k rows, missing ones included, is refused without being told."""
    check_shared({"c": ["a"] * 5 + [None] * 5}, 5)
    for column in (["a"] * 5 + ["secret"], ["a"] * 5 + [None] * 4):
        with pytest.raises(NotKTSafe) as refused:
            check_shared({"c": column}, 5)
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize("seed", range(5))
def test_no_value_is_rare(seed: int) -> None:
    """Every value of numbers or texts is that of k rows; numbers keep their mean."""
    rng = np.random.default_rng(seed)
    numbers = typed(np.round(rng.lognormal(3, 1, 200), 2).tolist())
    texts = typed([f"t{i}" if rng.random() < 0.9 else None for i in rng.zipf(1.6, 200)])
    for column in (numbers, texts):
        check_shared({"c": shared(column, 7, rng)}, 7)
    told = shared(numbers, 7, rng)
    assert np.mean(told) == pytest.approx(np.mean(numbers), rel=1e-4)
    assert np.corrcoef(np.log(told), np.log(numbers))[0, 1] > 0.95


def test_a_column_that_names_people_is_not_shown() -> None:
    """Of texts that are all different nothing is left."""
    column = typed([f"person-{i}" for i in range(40)])
    assert shared(column, 5, np.random.default_rng(0)) == [None] * 40
