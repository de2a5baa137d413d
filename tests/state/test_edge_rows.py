"""Rows of edges against a plain dictionary."""

from __future__ import annotations

import numpy as np
import pytest

from ktsafe.state.edge_table import EdgeRows
from ktsafe.state.keys import edge_key


@pytest.mark.parametrize("ascending", [True, False])
def test_loaded_removed_and_added_rows_are_the_dictionary(ascending: bool) -> None:
    """Loaded in either order, then altered at random, every look-up is that of a dictionary."""
    rng = np.random.default_rng(1)
    pairs = np.unique(rng.integers(0, 40, (300, 2)), axis=0)
    keys = np.array([edge_key(a, b) for a, b in pairs.tolist() if a < b], dtype=np.int64)
    if not ascending:
        keys = keys[::-1]
    rows, model = EdgeRows(), dict(zip(keys.tolist(), range(len(keys)), strict=True))
    rows.load(keys)
    for row in range(len(keys), len(keys) + 600):
        a, b = sorted(rng.choice(45, 2, replace=False).tolist())
        key = edge_key(a, b)
        assert rows.find(np.array([key])).tolist() == [model.get(key, -1)]
        if key in model:
            rows.remove(key, model.pop(key))
            with pytest.raises(KeyError):
                rows[key]
        else:
            rows.add(np.array([key]), np.array([row]))
            model[key] = row
        assert len(rows) == len(model)
    assert dict(rows) == model
    asked = np.array([edge_key(a, b) for a in range(45) for b in range(a + 1, 46)])
    assert rows.find(asked).tolist() == [model.get(key, -1) for key in asked.tolist()]


def test_nothing_loaded_is_nothing_found() -> None:
    """An empty load is as none."""
    rows = EdgeRows()
    rows.load(np.empty(0, dtype=np.int64))
    assert rows.find(np.array([edge_key(0, 1)])).tolist() == [-1]
    assert len(rows) == 0
