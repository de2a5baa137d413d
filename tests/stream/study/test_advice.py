"""Advice: what it tries first, what it calls the best, and what it says."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph, PrivacyParams, Schema
from ktsafe.stream.study.advice import (
    ReleaseSetting,
    Tried,
    advised,
    front,
    in_words,
    made,
    recommended,
    settings_of,
)

PARAMS = PrivacyParams(k=5, alpha="1/2")
SCHEMA = Schema(("club", "age"), "health", frozenset({"yes"}), {"age": (20.0, 40.0, 60.0)})
GOES_ON = {"always": lambda _what, _done: True, "never": lambda _what, _done: False}


def usefulness(f1, people=1.0):
    """Return the part of the figures that advice looks at."""
    return {
        "edges": {"f1": f1, "precision": f1, "recall": f1},
        "vertices": {"recall": people},
    }


def figures_of(ks=(5, 10)):
    """Draw figures for all settings."""
    every = settings_of(SCHEMA, ks)
    figure = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
    return st.lists(st.tuples(figure, figure), min_size=len(every), max_size=len(every)).map(
        lambda drawn: [Tried(one, *both) for one, both in zip(every, drawn, strict=True)]
    )


def test_settings_are_all_ways_to_tell_less() -> None:
    """Kept or left out; an attribute of buckets may also be told in broader ones."""
    every = settings_of(SCHEMA, (5, 10))
    assert len(set(every)) == len(every) == 2 * 2 * 3
    assert [one.given_up for one in every] == sorted(one.given_up for one in every)
    many = Schema(
        tuple(f"a{i}" for i in range(7)),
        "s",
        frozenset({"x"}),
        {f"a{i}": (1.0, 2.0) for i in range(7)},
    )
    assert len(settings_of(many, (5,))) == 2**7


@settings(max_examples=60, deadline=None)
@given(figures_of())
def test_no_other_setting_beats_one_of_the_front(found) -> None:
    """The front holds those that nobody beats, by comparing all pairs; it is never empty."""

    def naive(one, other):
        gives = [one.setting.k, -one.setting.given_up, one.f1, one.people]
        than = [other.setting.k, -other.setting.given_up, other.f1, other.people]
        return all(np.array(gives) >= than) and gives != than

    best = front(found)
    assert best
    assert {one.setting for one in best} == {
        one.setting for one in found if not any(naive(other, one) for other in found)
    }


@settings(max_examples=60, deadline=None)
@given(figures_of())
def test_every_step_that_is_given_up_pays(found) -> None:
    """The advice keeps the k; it gains 0.05 of F1 per attribute, or leaves nothing out."""
    base = next(one for one in found if one.setting == ReleaseSetting(5))
    best = recommended(found, 5)
    assert best.setting.k == 5
    assert best.f1 >= base.f1 + 0.025 * best.setting.given_up or best is base


def test_the_advice_names_what_changes() -> None:
    """Attributes, and figures before and after."""
    base = Tried(ReleaseSetting(5), 0.5, 1.0, usefulness(0.5))
    better = Tried(ReleaseSetting(5, ("age",), ("town",)), 0.75, 0.5, usefulness(0.75, 0.5))
    said = "precision 0.50 -> 0.75, recall 0.50 -> 0.75, people shown 1.00 -> 0.50."
    assert in_words(base, better) == f"Drop `town` and halve the buckets of `age`: {said}"
    assert in_words(base, base).startswith("Keep all")
    assert "none -> 0.75" in in_words(Tried(ReleaseSetting(5), 0.0, 0.0, is_made=True), better)
    guessed = Tried(ReleaseSetting(5), 0.5, 1.0)
    assert in_words(guessed, better).endswith("`age`: F1 of ties about 0.50 -> 0.75.")


@pytest.fixture(scope="module")
def graph():
    """Return people whose town tells nearly everybody apart, and who have a few ages."""
    rng = np.random.default_rng(0)
    columns = {
        "club": rng.choice(["a", "b"], 200).tolist(),
        "town": rng.choice([f"t{i}" for i in range(12)], 200).tolist(),
        "age": [None, *rng.integers(10, 70, 199).tolist()],
        "health": rng.choice(["yes", "no"], 200, p=[0.1, 0.9]).tolist(),
    }
    pairs = np.sort(rng.integers(0, 200, (900, 2)), axis=1)
    ties = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    schema = Schema(("club", "town", "age"), "health", frozenset({"yes"}), SCHEMA.buckets)
    return AttributedGraph.from_columns(schema, columns, ties)


def test_broader_buckets_are_those_of_a_broader_schema(graph) -> None:
    """Merging coded buckets gives the graph that raw ages in broader buckets would have given."""
    rng = np.random.default_rng(1)
    ages = [None, 10, 20, 39.5, 40, 60, 99, *rng.integers(0, 90, 50).tolist()]
    columns = {"club": ["a"] * len(ages), "age": ages, "health": ["no"] * len(ages)}
    absent = SCHEMA.expecting_nothing()
    fine = AttributedGraph.from_columns(absent, columns, [])
    coarse = dataclasses.replace(absent, buckets={"age": (40.0,)})
    expected = AttributedGraph.from_columns(coarse, columns, [])
    merged = ReleaseSetting(5, broader=("age",)).of(fine)
    assert merged.schema.buckets == {"age": (40.0,)}
    assert [merged.values(v) for v in range(len(ages))] == [
        expected.values(v) for v in range(len(ages))
    ]


def test_an_attribute_that_tells_everybody_apart_is_advised_against(graph) -> None:
    """Without the towns far more can be shown: the releases that were made say so."""
    advice = advised(graph, PARAMS, [10], GOES_ON["always"])
    assert all(one.is_made for one in (advice.base, advice.best, *advice.front))
    assert "town" in advice.best.setting.dropped
    assert advice.best.f1 > advice.base.f1 + 0.1
    assert advice.best == made(graph, PARAMS, advice.best.setting, 0)
    assert advice.base == made(graph, PARAMS, ReleaseSetting(5), 0)
    assert advised(graph, PARAMS, [10], GOES_ON["always"]) == advice


def test_without_time_the_k_that_was_asked_for_is_answered(graph) -> None:
    """What is advised was released, and no more; others are estimates of the same k."""
    advice = advised(graph, PARAMS, [10], GOES_ON["never"])
    assert not advice.base.is_made
    assert advice.best.is_made
    assert {one.setting.k for one in advice.front} == {5}
    assert not all(one.is_made for one in advice.front)
    told = sorted((*one.setting.broader, *one.setting.dropped) for one in advice.prices)
    assert told == [("age",), ("age",), ("club",), ("town",)]


def test_advice_is_as_good_as_that_of_a_grid(graph) -> None:
    """Estimates choose what releases of all settings would have chosen, but for .05 of F1."""
    grid = [made(graph, PARAMS, one, 0) for one in settings_of(graph.schema, (5,))]
    best = advised(graph, PARAMS, (), GOES_ON["never"]).best
    assert best.f1 >= recommended(grid, 5).f1 - 0.05
