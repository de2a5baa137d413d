"""Advice: what it tries first, what it calls the best, and what it says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph, PrivacyParams, Schema
from stream.study.advice import Tried, front, in_words, recommended, tried

PARAMS = PrivacyParams(k=5, alpha="1/2")


def usefulness(f1, people=1.0):
    return {
        "edges": {"f1": f1, "precision": f1, "recall": f1},
        "vertices": {"recall": people},
    }


def settings_of(names="abc", ks=(5, 10)):
    """Draw usefulness for all settings."""
    every = [
        (k, dropped)
        for k in ks
        for size in range(len(names) + 1)
        for dropped in itertools.combinations(names, size)
    ]
    figure = st.none() | st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]).map(usefulness)
    return st.lists(figure, min_size=len(every), max_size=len(every)).map(
        lambda figures: [Tried(*one, f) for one, f in zip(every, figures, strict=True)]
    )


@settings(max_examples=60, deadline=None)
@given(settings_of())
def test_no_other_setting_beats_one_of_the_front(found) -> None:
    """The front holds those that nobody beats, by comparing all pairs; it is never empty."""

    def naive(one, other):
        better = [one.k - other.k, one.f1 - other.f1, one.people - other.people]
        kept = set(one.dropped) <= set(other.dropped)
        strictly = any(x > 0 for x in better) or set(one.dropped) < set(other.dropped)
        return kept and min(better) >= 0 and strictly

    best = front(found)
    assert best
    assert {(one.k, one.dropped) for one in best} == {
        (one.k, one.dropped)
        for one in found
        if not any(naive(other, one) for other in found if other is not one)
    }


@settings(max_examples=60, deadline=None)
@given(settings_of())
def test_every_attribute_that_is_dropped_pays(found) -> None:
    """The advice keeps the k; it gains 0.05 of F1 per attribute, or leaves nothing out."""
    base = next(one for one in found if one.k == 5 and not one.dropped)
    advised = recommended(found, 5)
    assert advised.k == 5
    assert advised.f1 >= base.f1 + 0.05 * len(advised.dropped) or advised is base


def test_the_advice_names_what_changes() -> None:
    """Attributes, and figures before and after."""
    base, better = Tried(5, (), usefulness(0.5)), Tried(5, ("town",), usefulness(0.75, 0.5))
    words = "Drop `town`: precision 0.50 -> 0.75, recall 0.50 -> 0.75, people shown 1.00 -> 0.50."
    assert in_words(base, better) == words
    assert in_words(base, base).startswith("Keep all")
    assert "none -> 0.75" in in_words(Tried(5, (), None), better)


@pytest.fixture(scope="module")
def graph():
    """Return people whose town tells nearly everybody apart."""
    rng = np.random.default_rng(0)
    columns = {
        "club": rng.choice(["a", "b"], 200).tolist(),
        "town": rng.choice([f"t{i}" for i in range(12)], 200).tolist(),
        "health": rng.choice(["yes", "no"], 200, p=[0.1, 0.9]).tolist(),
    }
    pairs = np.sort(rng.integers(0, 200, (900, 2)), axis=1)
    ties = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    schema = Schema(("club", "town"), "health", frozenset({"yes"}))
    return AttributedGraph.from_columns(schema, columns, ties)


def test_an_attribute_that_tells_everybody_apart_is_advised_against(graph) -> None:
    """Without the towns far more can be shown, and the advice says so."""
    found = tried(graph, PARAMS, [10], lambda _done, _of: True)
    assert len(found) == 8
    advised = recommended(found, 5)
    assert "town" in advised.dropped
    assert advised.f1 > found[0].f1 + 0.1
    assert tried(graph, PARAMS, [10], lambda _done, _of: True) == found


def test_without_time_each_attribute_is_left_out_once(graph) -> None:
    """The first settings are those that the advice is made of."""
    found = tried(graph, PARAMS, [10], lambda _done, _of: False)
    assert [(one.k, one.dropped) for one in found] == [(5, ()), (5, ("club",)), (5, ("town",))]
