"""Ways to tell an attribute: spellings, ranges, merging, and what an owner declares."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph, InvalidGraph, Schema
from ktsafe.assess.generalization.lattice import Lattice
from ktsafe.assess.generalization.levels import levels_of
from ktsafe.assess.generalization.value_merging import Items, merged
from ktsafe.graph.schemas import named_values, people_of_values

VALUES = {
    "words": ["F", "f ", "female", "Female", "m", "M", "male", None, "other"],
    "numbers": [None, *range(3, 90)],
    "dates": [None, *(f"{y}-{m:02}-15" for y in range(1990, 2024) for m in (1, 6, 11))],
    "ranges": ["<18", "18-24", "25-64", "65+"] * 3 + [None],
    "few": ["a", "b"],
}
SCHEMA = Schema(("x",), "s", frozenset())


def graph_of(values, n=300, *, seed=0, schema=SCHEMA, k_rare=0):
    """Return n people with values drawn from a list, each tied to a few others."""
    rng = np.random.default_rng(seed)
    drawn = [values[i] for i in rng.integers(len(values), size=n - k_rare)]
    columns = {"x": [*drawn, *["a rare one"] * k_rare], "s": ["no"] * n}
    pairs = np.sort(rng.integers(0, n, (2 * n, 2)), axis=1)
    ties = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    return AttributedGraph.from_columns(schema, columns, ties), columns, ties


@pytest.mark.parametrize("kind", VALUES)
def test_a_level_tells_what_its_schema_tells(kind) -> None:
    """Coded values that are merged are those that raw values become under the schema of a level."""
    graph, columns, ties = graph_of(VALUES[kind])
    lattice = Lattice.of(graph, 5)
    for level in range(len(lattice.levels[0])):
        merged_ = lattice.at((level,))
        schema = lattice.schema((level,))
        expected = AttributedGraph.from_columns(schema, columns, ties)
        assert [merged_.values(v) for v in range(300)] == [expected.values(v) for v in range(300)]
        # What was published is read as it is.
        told = {"x": [merged_.values(v)["x"] for v in range(300)], "s": columns["s"]}
        again = AttributedGraph.from_columns(SCHEMA, told, ties)
        assert (
            Counter(again.qi_classes.tolist()).keys() == Counter(merged_.qi_classes.tolist()).keys()
        )


@pytest.mark.parametrize("kind", VALUES)
def test_levels_become_coarser_down_to_two(kind) -> None:
    """Each has fewer groups and less entropy, and people who are alike stay alike."""
    graph, _, _ = graph_of(VALUES[kind])
    levels = levels_of(graph, 0, 5)
    sizes = [len(level.texts) for level in levels]
    assert sizes == sorted(set(sizes), reverse=True)
    assert sizes[-1] == 2
    shown = graph.codes[:, 0]
    for fine, coarse in itertools.pairwise(levels):
        assert coarse.bits < fine.bits
        pairs = set(zip(fine.of_code[shown].tolist(), coarse.of_code[shown].tolist(), strict=True))
        assert len(pairs) == len({a for a, _ in pairs})


def test_only_certain_spellings_are_one_value_at_first() -> None:
    """Case and spaces; a letter and the only word that it begins go together next."""
    levels = levels_of(graph_of(["F", "f ", "female", "m", "Male", "other"])[0], 0, 5)
    assert sorted(map(sorted, levels[0].groups.values())) == [["F", "f "]]
    groups = [{frozenset(values) for values in level.groups.values()} for level in levels]
    assert {frozenset({"F", "f ", "female"}), frozenset({"m", "Male"})} <= groups[
        -1 - (len(groups) > 3)
    ]


def test_borders_are_round_and_ranges_of_similar_size() -> None:
    """No border is one person's value by being one: it is a multiple of a step, or a beginning."""
    numbers = levels_of(graph_of([x * 37.31 for x in range(200)], 2000)[0], 0, 5)[1]
    assert all(border % 50 == 0 for border in numbers.borders)
    dates = levels_of(graph_of(VALUES["dates"])[0], 0, 5)[1]
    assert all(str(border).endswith("-01-01") for border in dates.borders)
    assert len(numbers.borders) == 15


def test_who_gave_no_value_is_no_group_unless_many_are() -> None:
    """A few go with others; a quarter and more are told apart at every level."""
    few = levels_of(graph_of([None, *range(20)])[0], 0, 5)[-1]
    assert sorted(few.texts)[1].endswith(" or -") or min(few.texts).endswith(" or -")
    for values in ([None, None, *range(4)], [None, None, "a", "b", "c", "d"]):
        many = levels_of(graph_of(values)[0], 0, 5)[-1]
        assert "-" in many.texts
        assert len(many.texts) == 3


def test_names_and_manifests_list_only_values_that_k_people_have() -> None:
    """A value of three people appears in no name and in no list, though it is in a group."""
    graph, _, _ = graph_of(["red", "green", "blue"], k_rare=3)
    lattice = Lattice.of(graph, 5)
    for level in lattice.levels[0][1:]:
        assert not any("rare" in text for text in level.texts)
    schema = lattice.schema((len(lattice.levels[0]) - 1,))
    told = named_values(schema.groups, people_of_values(graph), 5)
    inside = {value for groups in schema.groups.values() for v in groups.values() for value in v}
    assert "a rare one" in inside
    assert "rare" not in str(told)


def test_declared_levels_take_the_place_of_derived_ones() -> None:
    """Groups may name groups of the level before; numbers may have borders."""
    graph, _, _ = graph_of(["a", "b", "c", "d"])
    first, second = {"ab": ["a", "b"]}, {"abc": ["ab", "c"], "z": ["d"]}
    found = Lattice.of(graph, 5, {"x": [first, second]}).levels[0]
    assert [set(level.texts) for level in found] == [
        {"a", "b", "c", "d"},
        {"ab", "c", "d"},
        {"abc", "z"},
    ]
    assert found[2].groups["abc"] == ("a", "b", "c")
    ages = Lattice.of(graph_of(range(60))[0], 5, {"x": [[20, 40], [40]]}).levels[0]
    assert [level.borders for level in ages] == [(), (20, 40), (40,)]
    for declared, words in (
        ({"y": [first]}, "'y'"),
        ({"x": [[20, 40]]}, "borders"),
    ):
        with pytest.raises(InvalidGraph, match=words):
            Lattice.of(graph, 5, declared)


def test_groups_of_a_schema_are_taken_apart_once_more() -> None:
    """What the schema groups already is a value of the first level, and whole in coarser ones."""
    schema = dataclasses.replace(SCHEMA, groups={"x": {"warm": ("red", "orange")}})
    graph, columns, ties = graph_of(["red", "orange", "blue", "green"] * 3 + [None], schema=schema)
    lattice = Lattice.of(graph, 5)
    assert "warm" in lattice.levels[0][0].texts
    coarse = lattice.schema((len(lattice.levels[0]) - 1,))
    expected = AttributedGraph.from_columns(coarse, columns, ties)
    assert expected.qi_classes.max() == 1


@settings(max_examples=50, deadline=None)
@given(st.integers(2, 9), st.integers(0, 10_000), st.booleans())
def test_merging_is_nested_and_ranges_stay_whole(n, seed, is_chain) -> None:
    """Every number of groups that was asked for is reached, as unions of the groups before."""
    rng = np.random.default_rng(seed)
    ties = rng.integers(0, 9, (n, n))
    items = Items(rng.integers(0, 50, n), ties + ties.T, range(n - 1) if is_chain else ())
    counts = list(range(n - 1, 0, -1))
    found = merged(items, counts)
    assert [len(set(one.tolist())) for one in found] == counts
    for fine, coarse in itertools.pairwise(found):
        assert len(set(zip(fine.tolist(), coarse.tolist(), strict=True))) == len(set(fine.tolist()))
    if is_chain:
        for one in found:
            assert np.count_nonzero(np.diff(one[: n - 1])) < len(set(one.tolist()))


def test_alike_and_small_values_are_merged_first() -> None:
    """Of values of one size, those whose ties go the same way; else the smallest."""
    ties = np.array([[9, 9, 0, 0], [9, 9, 0, 0], [0, 0, 5, 0], [0, 0, 0, 5]])
    assert merged(Items(np.full(4, 10), ties), [3])[0].tolist() == [0, 0, 1, 2]
    assert merged(Items(np.array([90, 80, 2, 3]), ties), [3])[0].tolist() == [0, 1, 2, 2]


def test_a_group_of_bands_names_them_in_their_order() -> None:
    """By the number that they begin with, whichever of them has most people."""
    graph, _, _ = graph_of(["25-34"] * 5 + ["13-17"] + ["18-24"] * 4 + ["65+"] * 2)
    coarsest = levels_of(graph, 0, 5)[-1]
    assert any(" / " in text for text in coarsest.texts)
    for text in coarsest.texts:
        named = text.split(" / ")
        assert named == sorted(named, key=lambda band: int(band[:2]))
