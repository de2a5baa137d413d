"""Comparing two snapshots position by position finds what comparing the graphs finds."""

import itertools
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.sequence import changes_between
from ktsafe.state.ledger import PendingCut
from ktsafe.stream.release.true_changes import changes_since
from tests.memory_store import MemoryDisk, MemoryStore
from tests.state.support import SCHEMA, changes
from tests.state.test_fold import life


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


@pytest.mark.parametrize("seed", range(12))
def test_a_restart_between_snapshots(seed):
    """Whenever it crashes, a cut read back and later snapshots never pass one person for another.

    People are numbered anew by whoever resolves what was said since pages were written, so only
    snapshots that one run resolved may be compared position by position.
    """
    rng = random.Random(seed)
    disk, seen, runs = MemoryDisk(), [], [0]
    store = MemoryStore(SCHEMA, disk)

    def look(snapshot, run):
        seen.append((snapshot, run))
        for (old, old_run), (new, new_run) in itertools.pairwise(seen[-4:]):
            if old.arrays.lineage is not new.arrays.lineage:
                assert old_run != new_run
                continue
            found = changes_since(old.arrays, new.arrays)
            assert_equal(found, changes_between(old.graph, old.lives, new.graph, new.lives))

    told = list(life(rng, 14, 260))
    for slot, at in enumerate(range(0, len(told), 13)):
        store.commit(told[at : at + 13], {}, cut=PendingCut(slot, {}))
        if rng.random() < 0.4:  # The cut is read from the disk, by a run of its own.
            store = MemoryStore(SCHEMA, disk)
            runs.append(len(runs))
            look(store.cut_snapshot(), f"cut {slot}")
        else:
            look(store.cut_snapshot(), runs[-1])
        store.ledger.drop_cut()
        if rng.random() < 0.3:
            store.fold()
        if rng.random() < 0.3:
            look(store.snapshot(), runs[-1])
    assert len(runs) > 3


def test_nothing_changed():
    """A snapshot does not differ from itself, or from the next one without a commit between."""
    store = MemoryStore(SCHEMA)
    changes = changes_since(store.snapshot().arrays, store.snapshot().arrays)
    assert not any(len(part) for part in vars(changes).values())
