"""Advice: what it tries, what it calls the best, and what it says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph, InvalidParams, PrivacyParams, Schema
from ktsafe.anonymization.request import MIN_F1
from ktsafe.assess.commands.hooks import HOOKS
from ktsafe.assess.generalization.advice import (
    ENOUGH,
    WORTH,
    ReleaseSetting,
    Tried,
    advised,
    attributes_table,
    front,
    in_words,
    made,
)
from ktsafe.assess.generalization.lattice import Lattice, to_check

PARAMS = PrivacyParams(k=5, alpha="1/2")
GOES_ON = {"always": lambda _what, _done: True, "never": lambda _what, _done: False}


def tried(f1, n_kept, told, k=5, people=1.0):
    """Return a setting that was tried, by its figures."""
    return Tried(ReleaseSetting(k, (n_kept,)), tuple("abc"[:n_kept]), told, f1, people)


FIGURES = st.lists(
    st.builds(
        tried,
        st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]),
        st.integers(0, 3),
        st.sampled_from([0.0, 0.5, 1.0]),
        st.sampled_from([5, 10]),
        st.sampled_from([0.5, 1.0]),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(FIGURES)
def test_no_other_setting_beats_one_of_the_front(found) -> None:
    """The front holds those that nobody beats, by comparing all pairs; it is never empty."""

    def naive(one, other):
        gives = [one.setting.k, len(one.kept), one.told, one.f1, one.people]
        than = [other.setting.k, len(other.kept), other.told, other.f1, other.people]
        return all(np.array(gives) >= than) and gives != than

    best = front(found)
    assert best
    assert set(map(id, best)) == {
        id(one) for one in found if not any(naive(other, one) for other in found)
    }


def test_attributes_count_first_where_ties_are_good_enough() -> None:
    """One more attribute beats better ties from F1 .5 on, detail has its price, else ties win."""
    assert tried(ENOUGH, 2, 1.0).merit > tried(1.0, 1, 1.0).merit
    assert tried(ENOUGH - 0.01, 2, 1.0).merit < tried(ENOUGH, 0, 0.0).merit
    assert tried(0.7, 2, 2.0).merit > tried(0.7 + 0.9 * WORTH, 2, 1.0).merit
    assert tried(0.7, 2, 2.0).merit < tried(0.7 + 1.1 * WORTH, 2, 1.0).merit


@pytest.fixture(scope="module")
def graph():
    """Return people whose town tells nearly everybody apart, and who have a few ages."""
    rng = np.random.default_rng(0)
    columns = {
        "club": rng.choice(["a", "b"], 120).tolist(),
        "town": rng.choice([f"t{i}" for i in range(6)], 120).tolist(),
        "age": [None, *rng.integers(10, 70, 119).tolist()],
        "health": rng.choice(["yes", "no"], 120, p=[0.1, 0.9]).tolist(),
    }
    pairs = np.sort(rng.integers(0, 120, (500, 2)), axis=1)
    ties = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    buckets = {"age": (20.0, 40.0)}
    schema = Schema(("club", "town", "age"), "health", frozenset({"yes"}), buckets)
    return AttributedGraph.from_columns(schema, columns, ties)


@pytest.fixture(scope="module")
def lattice(graph) -> Lattice:
    """Return the ways to tell these people."""
    return Lattice.of(graph, PARAMS.k)


@pytest.mark.parametrize("others", [[], [2], [10]])
def test_with_time_all_of_the_front_is_released(lattice, others) -> None:
    """What is advised is a release that was made for the k asked for, each by its seed."""
    advice = advised(lattice, PARAMS, others, GOES_ON["always"])
    assert advice.best.setting.k == PARAMS.k
    assert {one.setting.k for one in advice.front} <= {PARAMS.k, *others}
    assert all(one.is_made for one in (advice.base, advice.best, *advice.front))
    assert all(one.f1 >= MIN_F1 for one in advice.front)
    assert advice.best.f1 > advice.base.f1 + 0.1
    assert advice.best == made(lattice, PARAMS, advice.best.setting, 0)
    assert advice.base == made(lattice, PARAMS, ReleaseSetting(5, lattice.finest), 0)


def test_without_time_the_k_that_was_asked_for_is_answered(lattice) -> None:
    """What is advised was released; others are estimates of the same k."""
    advice = advised(lattice, PARAMS, [10], GOES_ON["never"])
    assert not advice.base.is_made
    assert advice.best.is_made
    assert advice == advised(lattice, PARAMS, [10], GOES_ON["never"])
    assert advice.best.wrong is not None
    assert 0 <= advice.best.found <= 1
    assert {one.setting.k for one in advice.front} == {5}
    levels = [len(some) for some in lattice.levels]
    assert len(advice.prices) == sum(levels)


def test_estimates_do_not_count_among_releases(graph) -> None:
    """Where no further release may be made, settings of another k are estimated all the same."""
    none, ended = (HOOKS.advised(graph, PARAMS, other_ks=[10], releases=n) for n in (0, -1))
    assert none.n_tried > ended.n_tried


def test_what_is_to_be_kept_is_kept(lattice) -> None:
    """With two values at least, whatever it costs; what is no quasi-identifier is refused."""
    for keep in (["town"], ["club", "town", "age"]):
        best = advised(lattice, PARAMS, (), GOES_ON["never"], keep=keep).best
        assert set(keep) <= set(best.kept)
    with pytest.raises(InvalidParams, match="'twon'"):
        advised(lattice, PARAMS, (), GOES_ON["never"], keep=["twon"])


def too_fine(seed: int) -> AttributedGraph:
    """Return a small network whose people have attributes of up to 40 values.

    Ties join people who are near each other in some of the attributes, more or less so.
    """
    rng = np.random.default_rng(seed)
    n, n_attributes = int(rng.integers(25, 70)), int(rng.integers(1, 3))
    score, columns = np.zeros(n), dict[str, list[object]]()
    for j in range(n_attributes):
        m = int(rng.integers(3, 40 if n_attributes == 1 else 5))
        value = rng.integers(0, m, n)
        is_number = rng.random() < 0.5
        columns[f"q{j}"] = value.tolist() if is_number else [f"v{x:02}" for x in value]
        place = value if rng.random() < 0.5 else rng.permutation(m)[value]
        score += rng.uniform(0, 2) * place / m
    columns["health"] = ["no"] * n
    u, v = np.triu_indices(n, 1)
    odds = np.exp(-np.abs(score[u] - score[v]) * rng.uniform(0, 4))
    is_tie = rng.random(len(odds)) < odds * rng.uniform(3, 10) * n / 2 / odds.sum()
    schema = Schema(tuple(columns)[:-1], "health", frozenset())
    return AttributedGraph.from_columns(schema, columns, np.column_stack((u, v))[is_tie])


@settings(max_examples=6, deadline=None, derandomize=True)
@given(st.integers(0, 10_000))
def test_advice_is_as_good_as_the_whole_lattice(seed) -> None:
    """Against releases of all settings: as many attributes, .03 less at most; no list is emptied.

    The search is by estimates, so that its regret is a measured one, and the examples are fixed.
    """
    params = PrivacyParams(k=4, alpha="1/2")
    lattice = Lattice.of(too_fine(seed), params.k)
    every = itertools.product(*(range(len(some) + 1) for some in lattice.levels))
    grid = {one: made(lattice, params, ReleaseSetting(params.k, one), 0) for one in every}
    assert len(grid) == lattice.size
    found = advised(lattice, params, (), GOES_ON["never"]).best
    assert found == grid[found.setting.levels]
    best = max(grid.values(), key=lambda one: one.merit)
    assert len(found.kept) >= len(best.kept)
    assert found.merit[1] >= best.merit[1] - 0.03
    assert found.kept or all(one.f1 < ENOUGH for one in grid.values() if one.kept)


def test_groups_made_without_their_meaning_are_told(lattice) -> None:
    """Merged values by their names, ranges as ranges; nothing of what the owner declared."""
    names = lattice.graph.schema.quasi_identifiers
    coarsest = tuple(len(levels) - 1 for levels in lattice.levels)
    told = to_check(lattice, coarsest, ())
    merged = {name for name, level in zip(names, coarsest, strict=True) if level}
    assert len(told) == len(merged) > 1
    for text, name in zip(told, [name for name in names if name in merged], strict=True):
        level = lattice.levels[names.index(name)][-1]
        assert text.startswith(f"`{name}`")
        assert ("codes" in text) == bool(level.borders)
        assert level.borders or any(group in text for group in level.texts)
    assert to_check(lattice, coarsest, names) == []
    assert to_check(lattice, lattice.finest, ()) == []


def test_the_advice_can_be_read(lattice, tmp_path) -> None:
    """It names what changes; the table is TOML and tells people exactly as was released."""
    advice = advised(lattice, PARAMS, (), GOES_ON["never"])
    changed = {
        name
        for name, level in zip(("club", "town", "age"), advice.best.setting.levels, strict=True)
        if level
    }
    assert {name for name in ("club", "town", "age") if f"`{name}`" in in_words(advice)} == changed
    declared = {"sensitive": "health", "sensitive_values": ["yes"]}
    path = tmp_path / "schema.toml"
    path.write_text(attributes_table(lattice, advice.best, declared), encoding="utf-8")
    from ktsafe.stream.files.graphs import read_schema  # noqa: PLC0415

    assert read_schema(path) == lattice.schema(advice.best.setting.levels)
