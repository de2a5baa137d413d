"""Comparing two snapshots position by position finds what comparing the graphs finds."""

import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.sequence import changes_between
from ktsafe.stream.release.true_changes import changes_since
from tests.memory_store import MemoryStore
from tests.state.support import SCHEMA, changes


def assert_equal(found, expected):
    """Equal changes, in the same order: how many ties there are decides how soon turns pass."""
    for name in ("joined", "left", "changed", "ties_added", "ties_removed"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), name)
    assert found.joined_values == list(expected.joined_values)
    assert found.changed_values == list(expected.changed_values)


@settings(max_examples=80, deadline=None)
@given(
    drawn=changes(size_max=60),
    size=st.integers(1, 12),
    order=st.randoms(use_true_random=False),
    prune=st.booleans(),
)
def test_the_difference_of_two_snapshots(drawn, size, order, prune):
    """Any history: joins, deaths, rebirths, freed numbers and rows, waiting ties."""
    store = MemoryStore(SCHEMA)
    order.shuffle(drawn)
    before = store.snapshot()
    for start in range(0, len(drawn) + 1, size):
        store.commit(drawn[start : start + size], {})
        if prune:
            store.prune(random.Random(start).randrange(8))
        after = store.snapshot()
        found = changes_since(before.arrays, after.arrays)
        assert_equal(found, changes_between(before.graph, before.lives, after.graph, after.lives))
        if start % 3:
            before = after


def test_nothing_changed():
    """A snapshot does not differ from itself, or from the next one without a commit between."""
    store = MemoryStore(SCHEMA)
    changes = changes_since(store.snapshot().arrays, store.snapshot().arrays)
    assert not any(len(part) for part in vars(changes).values())
