"""The kt-tree of people who wait: after any history it is what its definition says."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from ktsafe import PrivacyParams
from ktsafe.anonymization.tree_cuts import AT_BORDERS, leaves_of
from ktsafe.sequence.memory.waiting_tree import WaitingTree

CLASSES = 3
PARAMS = PrivacyParams(k=3)

People = dict[int, tuple[int, tuple[int, ...]]]
"""The class and the row of each person."""

rows = st.tuples(*[st.integers(0, 4)] * CLASSES)
person = st.tuples(st.integers(0, CLASSES - 1), rows) | st.none()
histories = st.lists(st.dictionaries(st.integers(0, 30), person, max_size=25), max_size=6)
"""What people become, release by release; None: they leave."""


def follow(tree: WaitingTree, people: People, changes: dict[int, tuple | None]) -> WaitingTree:
    """Change people, and return the tree that follows."""
    for number, what in changes.items():
        people.pop(number, None)
        if what is not None:
            people[number] = what
    inside = {
        cls: np.array(sorted(n for n, (own, _) in people.items() if own == cls), dtype=np.int64)
        for cls in sorted({cls for cls, _ in people.values()})
    }
    counts = [people[n][1] for numbers in inside.values() for n in numbers.tolist()]
    table = csr_array(np.array(counts, dtype=np.int32).reshape(-1, CLASSES))
    return tree.following(list(inside.items()), table, PARAMS)


@settings(max_examples=150, deadline=None)
@given(histories)
def test_the_tree_is_what_it_says_after_any_history(history) -> None:
    """Sizes, pivots and distances are those that everybody's rows give, however it was reached."""
    tree, people = WaitingTree({}), {}
    for changes in history:
        tree = follow(tree, people, changes)
    assert set(tree.branches) == {cls for cls, _ in people.values()}
    for branch in tree.branches.values():
        table = np.array([people[n][1] for n in branch.people.tolist()], dtype=np.int32)
        apart = 0
        for leaf, pivot in enumerate(branch.pivots):
            inside = table[branch.leaf == leaf]
            assert len(inside) >= PARAMS.k or len(branch.pivots) == 1
            nobody = np.zeros(len(inside), dtype=np.bool_)
            assert len(leaves_of(inside, nobody, PARAMS, ways=AT_BORDERS)) == 1
            median = np.sort(inside, axis=0)[(len(inside) - 1) // 2]
            assert pivot.tolist() == median[table.any(axis=0)].tolist()
            apart += int(np.abs(inside - median).sum())
        assert (branch.apart, branch.ties) == (apart, table.sum())
    anew = follow(WaitingTree({}), dict(people), {})
    for cls, branch in tree.branches.items():
        assert branch.leaf.tolist() == anew.branches[cls].leaf.tolist()


@settings(max_examples=60, deadline=None)
@given(histories, st.dictionaries(st.integers(0, 30), person, max_size=3))
def test_pivots_are_kept_while_nobody_of_a_class_moves(history, last) -> None:
    """Other classes are the same objects as before, and all leaves are kept or computed."""
    tree, people = WaitingTree({}), {}
    for changes in history:
        tree = follow(tree, people, changes)
    before = dict(people)
    after = follow(tree, people, last)
    moved = {
        known[number][0]
        for known in (before, people)
        for number in last
        if number in known and before.get(number) != people.get(number)
    }
    kept = {cls for cls in after.branches if after.branches[cls] is tree.branches.get(cls)}
    assert kept == set(after.branches) - moved
    assert after.n_kept == sum(len(after.branches[cls].pivots) for cls in kept)
    assert after.n_kept + after.n_computed == sum(
        len(branch.pivots) for branch in after.branches.values()
    )
