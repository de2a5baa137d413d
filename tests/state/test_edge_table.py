"""The edge columns against a plain dictionary."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ktsafe.state.edge_table import EdgeTable, column
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


def table_and_model(operations: list[tuple[int, int, bool, bool]]) -> tuple[EdgeTable, Model]:
    """Apply (a, b, remove, present) to a table and a dictionary alike."""
    table, model = EdgeTable(), {}
    table.reserve(VERTICES - 1)
    for time, (a, b, remove, present) in enumerate(operations):
        key, pair = edge_key(a, b), (min(a, b), max(a, b))
        if pair not in model:
            table.add(key, (time, 0, time), present)
            model[pair] = (time, present)
        elif remove:
            table.remove(key)
            del model[pair]
        else:
            table.set(table.rows[key], (time, 0, time), present)
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
    """Loading threads the adjacency anew; the table can then be altered as before."""
    _, model = table_and_model(operations)
    table = EdgeTable()
    table.reserve(VERTICES - 1)
    stored = sorted(model.items())
    times = np.array([time for _, (time, _) in stored], dtype=np.int64)
    table.load(
        np.array([pair for pair, _ in stored], dtype=np.int32).reshape(-1, 2),
        np.array([present for _, (_, present) in stored], dtype=np.uint8),
        np.zeros(len(model), dtype=np.int32),
        times,
        times,
    )
    check(table, model)
    for a, b, _, present in more:
        key, pair = edge_key(a, b), (min(a, b), max(a, b))
        if pair in model:
            table.remove(key)
            del model[pair]
        else:
            table.add(key, (99, 0, 99), present)
            model[pair] = (99, present)
    check(table, model)


def test_rows_are_used_again() -> None:
    """Adding and removing for ever takes no more room than the most edges at one time."""
    table = EdgeTable()
    table.reserve(9)
    for time in range(100):
        table.add(edge_key(0, time % 9 + 1), (time, 0, time), True)
        table.remove(edge_key(0, time % 9 + 1))
    assert len(table.low) == 1
