"""Ranks, rows and keys are numbered and compared as numpy's slower functions do."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktsafe.graph import numbering
from ktsafe.graph.numbering import (
    CameAndWent,
    Ids,
    are_distinct,
    came_and_went,
    classes_of,
    ranks,
    union,
)

INTEGERS = st.lists(st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1)))
ROWS = st.lists(st.tuples(*[st.one_of(st.integers(-2, 2), st.integers(-(2**62), 2**62))] * 3))


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int32])
@given(values=INTEGERS)
def test_ranks_are_those_of_unique(dtype: type[np.integer], values: list[int]) -> None:
    """Whatever the range: with a table, and by sorting."""
    column = np.array(values, dtype=np.int64).astype(dtype)
    expected = np.unique(column, return_inverse=True)[1].reshape(-1)
    assert ranks(column).tolist() == expected.tolist()
    assert are_distinct(column) == (len(np.unique(column)) == len(column))


@given(ROWS)
def test_classes_are_numbered_as_sorted_rows(rows: list[tuple[int, ...]]) -> None:
    """Equal rows have equal numbers, which ascend with the rows."""
    table = np.array(rows, dtype=np.int64).reshape(-1, 3)
    number = {row: i for i, row in enumerate(sorted(set(rows)))}
    assert classes_of(list(table.T)).tolist() == [number[row] for row in rows]


@given(st.lists(st.sets(st.integers(0, 9)), min_size=2, max_size=4), st.randoms())
def test_what_came_and_went_are_differences_of_sets(
    sets: list[set[int]], random: np.random.Generator
) -> None:
    """In any order of the keys, and in several steps."""
    drawn = [np.array(random.sample(sorted(each), len(each)), dtype=np.int64) for each in sets]
    steps = [came_and_went(*each) for each in itertools.pairwise(drawn)]
    for (before, after), step in zip(itertools.pairwise(sets), steps, strict=True):
        assert [each.tolist() for each in step] == [sorted(after - before), sorted(before - after)]
    came, went = functools.reduce(CameAndWent.then, steps)
    assert came.tolist() == sorted(sets[-1] - sets[0])
    assert went.tolist() == sorted(sets[0] - sets[-1])
    assert union(drawn).tolist() == sorted(set().union(*sets))


@given(st.lists(st.integers(0, 2**64 - 1)), st.sampled_from([1, 2, numbering.AT_ONCE]))
def test_ids_are_the_texts_of_their_numbers(numbers: list[int], at_once: int) -> None:
    """One by one, in a row, by slices, and in the order of the texts."""
    texts = [f"{number:016x}" for number in numbers]
    ids = Ids(np.array(numbers, dtype=np.uint64))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbering, "AT_ONCE", at_once)
        assert list(ids) == texts
        assert Ids.of(texts) == ids
    assert [ids[i] for i in range(len(ids))] == texts
    assert list(ids[1:-1]) == texts[1:-1]
    assert ids.text() == "".join(texts)
    assert Ids.of(texts) == ids == texts
    assert ids != [*texts, "0" * 16]
    ordered, order = ids.ordered()
    assert list(ordered) == sorted(texts) == [texts[i] for i in order.tolist()]


@pytest.mark.parametrize(
    "text", ["", "a", "0" * 15, "0" * 17, "00 00000000000000"[:16], "A" * 16, "g" * 16, "é" * 16]
)
def test_what_is_no_id_is_not_taken_for_one(text: str) -> None:
    """Nor where all together have the length of ids."""
    plain = "0" * 16
    assert Ids.of([plain, text]) is None
    assert Ids.of([text, plain]) is None
    assert Ids.of(["0" * 15, "0" * 17]) is None
    with pytest.raises(TypeError, match="unhashable"):
        hash(Ids(np.zeros(1, dtype=np.uint64)))
