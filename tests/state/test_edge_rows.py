"""Rows of edges against a plain dictionary."""

from __future__ import annotations

import numpy as np
import pytest

from ktsafe.state.edge_rows import EdgeRows
from ktsafe.state.keys import edge_key


def add(rows: EdgeRows, given: dict[int, int]) -> None:
    """Add edges with their rows, which may be new ones."""
    lacking = max(given.values(), default=-1) + 1 - len(rows.low)
    for column in (rows.low, rows.high):
        column.extend([-1] * lacking)
    ascending = sorted(given.items())
    rows.add(*np.array(ascending, dtype=np.int64).reshape(-1, 2).T)


def test_loaded_removed_and_added_rows_are_the_dictionary() -> None:
    """Loaded, then altered at random, every look-up is that of a dictionary."""
    rng = np.random.default_rng(1)
    pairs = np.unique(rng.integers(0, 40, (300, 2)), axis=0)
    keys = np.array([edge_key(a, b) for a, b in pairs.tolist() if a < b], dtype=np.int64)
    rows, model = EdgeRows(), dict(zip(keys.tolist(), range(len(keys)), strict=True))
    rows.load(keys, 45)
    left = dict(model)
    for row in range(len(keys), len(keys) + 600):
        a, b = sorted(rng.choice(45, 2, replace=False).tolist())
        key = edge_key(a, b)
        assert rows.find(np.array([key])).tolist() == [model.get(key, -1)]
        if key in model:
            assert rows.remove(model.pop(key)) == (left.pop(key, None) is not None)
            with pytest.raises(KeyError):
                rows[key]
        else:
            add(rows, {key: row})
            model[key] = row
        assert len(rows) == len(model)
        for vertex in (a, b):
            around = [n for key, n in left.items() if vertex in {key >> 32, key & 0xFFFFFFFF}]
            assert sorted(rows.loaded_around(vertex)) == sorted(around)
            assert rows.n_loaded_around(vertex) == len(around)
    assert left
    assert dict(rows) == model
    asked = np.array([edge_key(a, b) for a in range(45) for b in range(a + 1, 46)])
    assert rows.find(asked).tolist() == [model.get(key, -1) for key in asked.tolist()]


@pytest.mark.parametrize("seed", range(5))
def test_batches_with_rows_used_again_are_the_dictionary(seed: int) -> None:
    """Batches of any size, rows freed and given to other edges or the same: a dictionary's."""
    rng = np.random.default_rng(seed)
    rows, model, free = EdgeRows(), dict[int, int](), list[int]()
    everything = np.array([edge_key(a, b) for a in range(30) for b in range(a + 1, 30)])
    for _ in range(80):
        n_gone = min(len(model), int(rng.integers(0, 30)))
        for key in rng.permutation(list(model))[:n_gone].tolist():
            free.append(model.pop(key))
            assert not rows.remove(free[-1])
        absent = [key for key in everything.tolist() if key not in model]
        new = rng.permutation(absent)[: int(2 ** rng.uniform(0, 6)) - 1].tolist()
        numbers = [free.pop() for _ in new[: len(free)]]
        numbers += range(len(rows.low), len(rows.low) + len(new) - len(numbers))
        add(rows, dict(zip(new, numbers, strict=True)))
        model |= zip(new, numbers, strict=True)
        assert rows.find(everything).tolist() == [model.get(key, -1) for key in everything.tolist()]
        shuffled = rng.permutation(everything)
        assert rows.find(shuffled).tolist() == [model.get(key, -1) for key in shuffled.tolist()]
        assert dict(rows) == model
        assert len(rows) == len(model)


def test_an_edge_that_comes_and_goes_for_ever_takes_no_more_room() -> None:
    """Of what was removed nothing stays for long, not even where the same row is used again."""
    rows, keys = EdgeRows(), np.array([edge_key(0, 1), edge_key(0, 2)])
    for _ in range(500):
        add(rows, {keys[0]: 0, keys[1]: 1})
        assert rows.find(keys).tolist() == [0, 1]
        rows.remove(0)
        rows.remove(1)
    assert sum(len(run) for run, _ in rows._runs) <= 4


def test_nothing_loaded_is_nothing_found() -> None:
    """An empty load is as none."""
    rows = EdgeRows()
    rows.load(np.empty(0, dtype=np.int64), 0)
    assert rows.find(np.array([edge_key(0, 1)])).tolist() == [-1]
    assert len(rows) == 0
    assert not list(rows.loaded_around(0))


@pytest.mark.parametrize("pairs", [[(0, 2), (0, 1)], [(0, 1), (0, 1)]])
def test_rows_out_of_order_are_refused(pairs: list[tuple[int, int]]) -> None:
    """Rows are their places in an ascending order: in another one they would not be found."""
    with pytest.raises(ValueError, match="ascend"):
        EdgeRows().load(np.array([edge_key(*pair) for pair in pairs], dtype=np.int64), 3)
