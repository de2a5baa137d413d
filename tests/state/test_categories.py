"""Codes of attribute values."""

from __future__ import annotations

import numpy as np

from ktsafe.state.snapshot import MEMO_MAX, Categories
from tests.state.support import SCHEMA


def test_codes_are_categories() -> None:
    """Equal categories share a code, also when raw values differ; missing is 0."""
    categories = Categories(SCHEMA)
    codes = categories.coded(1, ["17", "3.5", "64", None])
    texts = categories.told(1, np.array(codes, dtype=np.int32)).texts
    assert [texts[code] for code in codes] == ["<18", "<18", "18..<65", "-"]
    assert len(texts) == 3


def test_many_raw_values_are_not_all_remembered() -> None:
    """A measured attribute cannot fill memory: codes stay right beyond the memo."""
    categories = Categories(SCHEMA)
    for value in range(MEMO_MAX + 10):
        (code,) = categories.coded(1, [str(value)])
    assert categories.told(1, np.array([code], dtype=np.int32)).texts[code] == ">=65"
    assert len(categories._memos[1]) == MEMO_MAX
