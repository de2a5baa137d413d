"""The edge columns against a plain dictionary."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ktsafe.state.edge_rows import column
from ktsafe.state.edge_table import EdgeChanges, EdgeTable, Merged
from ktsafe.state.keys import edge_key

VERTICES = 6
Model = dict[tuple[int, int], tuple[int, bool]]
OPERATIONS = st.lists(
    st.tuples(
        st.integers(0, VERTICES - 1),
        st.integers(0, VERTICES - 1),
        st.booleans(),
        st.booleans(),
    ).filter(lambda op: op[0] != op[1]),
    max_size=60,
)


def merge(table: EdgeTable, *changes: tuple[int, int, tuple[int, int, int], bool]) -> Merged:
    """Merge (a, b, mark, present) in one go; origin 1 comes before origin 0."""
    rows = [(a, b, *mark, present) for a, b, mark, present in changes]
    columns = np.array(rows, dtype=np.int64).reshape(-1, 6).T
    return table.merge(EdgeChanges(*columns), np.array([1, 0]))


def table_and_model(operations: list[tuple[int, int, bool, bool]]) -> tuple[EdgeTable, Model]:
    """Apply (a, b, remove, present) to a table and a dictionary alike."""
    table, model = EdgeTable(), {}
    table.reserve(VERTICES - 1)
    for time, (a, b, remove, present) in enumerate(operations):
        key, pair = edge_key(a, b), (min(a, b), max(a, b))
        if pair in model and remove:
            table.remove(table.rows[key])
            del model[pair]
        else:
            merge(table, (a, b, (time, 0, time), present))
            model[pair] = (time, present)
    return table, model


def check(table: EdgeTable, model: Model) -> None:
    """Assert that every way of looking at the table gives the model."""
    assert {(key >> 32, key & 0xFFFFFFFF) for key in table.rows} == set(model)
    for (low, high), (time, present) in model.items():
        row = table.rows[edge_key(high, low)]
        assert (table.low[row], table.high[row]) == (low, high)
        assert (table.mark(row), bool(table.present[row])) == ((time, 0, time), present)
    for vertex in range(VERTICES):
        others = [other for _, other in table.around(vertex)]
        assert len(set(others)) == len(others)
        expected = {a + b - vertex for a, b in model if vertex in {a, b}}
        assert set(others) == expected
        assert table.is_alone(vertex) == (not expected)
    assert int(np.count_nonzero(column(table.low) >= 0)) == len(model)


@given(operations=OPERATIONS)
def test_the_table_is_a_dictionary_with_adjacency(
    operations: list[tuple[int, int, bool, bool]],
) -> None:
    """After any additions, changes and removals, registers and adjacency are the model's."""
    check(*table_and_model(operations))


@given(operations=OPERATIONS, more=OPERATIONS)
def test_a_loaded_table_goes_on_like_the_one_saved(
    operations: list[tuple[int, int, bool, bool]], more: list[tuple[int, int, bool, bool]]
) -> None:
    """Edges that were loaded and later ones can be altered as in a table that never stopped."""
    _, model = table_and_model(operations)
    table = EdgeTable()
    table.reserve(VERTICES - 1)
    stored = sorted(model.items())
    times = np.array([time for _, (time, _) in stored], dtype=np.int64)
    table.load(
        np.array([edge_key(*pair) for pair, _ in stored], dtype=np.int64),
        np.array([present for _, (_, present) in stored], dtype=np.uint8),
        np.zeros(len(model), dtype=np.int32),
        times,
        times,
    )
    check(table, model)
    for a, b, _, present in more:
        key, pair = edge_key(a, b), (min(a, b), max(a, b))
        if pair in model:
            table.remove(table.rows[key])
            del model[pair]
        else:
            merge(table, (a, b, (99, 0, 99), present))
            model[pair] = (99, present)
    check(table, model)


MARKS = st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 9))
CHANGES = st.lists(
    st.tuples(
        st.integers(0, VERTICES - 1), st.integers(0, VERTICES - 1), MARKS, st.booleans()
    ).filter(lambda change: change[0] != change[1]),
    unique_by=lambda change: (min(change[:2]), max(change[:2]), change[2]),
    max_size=40,
)


@given(batches=st.lists(CHANGES, max_size=4))
def test_merged_in_batches_the_greatest_stamp_counts(
    batches: list[list[tuple[int, int, tuple[int, int, int], bool]]],
) -> None:
    """Whatever the batches, registers are those of a fold, and what it tells of them is true."""
    table, model = EdgeTable(), {}
    table.reserve(VERTICES - 1)
    for batch in batches:
        before = dict(model)
        for a, b, mark, present in batch:
            stamp = (mark[0], 1 - mark[1], mark[2])
            pair = (min(a, b), max(a, b))
            if pair not in model or stamp > model[pair][0]:
                model[pair] = (stamp, present)
        merged = merge(table, *batch)
        altered = {pair for pair in model if model[pair] != before.get(pair)}
        assert {(key >> 32, key & 0xFFFFFFFF) for key in merged.keys.tolist()} == altered
        for key, row, was, now in zip(*(each.tolist() for each in merged), strict=True):
            pair = key >> 32, key & 0xFFFFFFFF
            assert (was, now) == (before.get(pair, (0, 0))[1], model[pair][1])
            assert table.rows[key] == row
            time, origin, offset = table.mark(row)
            assert ((time, 1 - origin, offset), bool(table.present[row])) == model[pair]
    for vertex in range(VERTICES):
        around = sorted(other for _, other in table.around(vertex))
        assert around == sorted(a + b - vertex for a, b in model if vertex in {a, b})


def test_rows_are_used_again() -> None:
    """Adding and removing for ever takes no more room than the most edges at one time."""
    table = EdgeTable()
    table.reserve(9)
    for time in range(100):
        key = edge_key(0, time % 9 + 1)
        merge(table, (0, time % 9 + 1, (time, 0, time), True))
        table.remove(table.rows[key])
    assert len(table.low) == 1
