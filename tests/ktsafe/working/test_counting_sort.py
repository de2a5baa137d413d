"""Positions sorted by a small number."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ktsafe.working.counting_sort import counting_sorted


@given(st.lists(st.integers(0, 6), max_size=30), st.integers(7, 9))
def test_each_number_has_its_positions_ascending(numbers: list[int], n_numbers: int) -> None:
    """The slice of a number holds exactly the positions that have it; absent ones are empty."""
    start, members = counting_sorted(np.array(numbers, dtype=np.int32), n_numbers)
    found = [members[start[b] : start[b + 1]].tolist() for b in range(n_numbers)]
    assert found == [[i for i, x in enumerate(numbers) if x == b] for b in range(n_numbers)]
