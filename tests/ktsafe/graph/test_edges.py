"""Lists of edges, against sets of pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.graph import numbering as edges
from ktsafe.graph.numbering import edge_ends, edge_keys, n_common_edges, renumbered

PAIRS = st.sets(
    st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda pair: pair[0] < pair[1])
)


def listed(pairs: set[tuple[int, int]], seed: int) -> np.ndarray:
    """Return pairs in any order, each in any direction."""
    rng = np.random.default_rng(seed)
    array = rng.permutation(np.array(sorted(pairs), dtype=np.int32).reshape(-1, 2))
    return np.where(rng.random((len(array), 1)) < 0.5, array, array[:, ::-1])


@settings(deadline=None)
@given(one=PAIRS, other=PAIRS, seed=st.integers(0, 99), at_once=st.sampled_from([1, 3, 1000]))
def test_common_edges_are_counted(
    one: set[tuple[int, int]], other: set[tuple[int, int]], seed: int, at_once: int
) -> None:
    """In any order and direction, a few at once or all."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edges, "EDGES_AT_ONCE", at_once)
        assert n_common_edges(listed(one, seed), listed(other, seed + 1)) == len(one & other)


@given(pairs=PAIRS, seed=st.integers(0, 99))
def test_keys_say_which_ends_they_have(pairs: set[tuple[int, int]], seed: int) -> None:
    """Those of both directions are one, and ascend as pairs do."""
    keys = np.sort(edge_keys(listed(pairs, seed)))
    assert list(map(tuple, edge_ends(keys).tolist())) == sorted(pairs)


@given(pairs=PAIRS, seed=st.integers(0, 99), at_once=st.sampled_from([1, 3, 1000]))
def test_edges_keep_their_order_under_other_numbers(
    pairs: set[tuple[int, int]], seed: int, at_once: int
) -> None:
    """Those of which an end has none are left out, however many are looked at together."""
    number = np.random.default_rng(seed).integers(-2, 5, 10)
    array = listed(pairs, seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edges, "EDGES_AT_ONCE", at_once)
        found = renumbered(number, array).tolist()
    named = number[array].tolist()
    assert found == [ends for ends in named if min(ends) >= 0]
