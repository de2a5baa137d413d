"""The kept kt-tree: after any history it is what its definition says."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from ktsafe import PrivacyParams
from ktsafe.exact.kt_tree import cut_at_border
from ktsafe.sequence.memory.kept_kt_tree import NOWHERE, KeptKtTree

CLASSES = 3
PARAMS = PrivacyParams(k=3)

People = dict[int, tuple[int, tuple[int, ...]]]
"""The class and the row of each person."""

rows = st.tuples(*[st.integers(0, 4)] * CLASSES)
person = st.tuples(st.integers(0, CLASSES - 1), rows) | st.none()
histories = st.lists(st.dictionaries(st.integers(0, 30), person, max_size=25), max_size=6)
"""What people become, release by release; None: they leave."""


def follow(tree: KeptKtTree, people: People, changes: dict[int, tuple | None]) -> None:
    """Change people, and let the tree follow."""
    for number, what in changes.items():
        people.pop(number, None)
        if what is not None:
            people[number] = what
    classes = {number: people.get(number, (NOWHERE,))[0] for number in changes}

    def rows_of(numbers):
        return csr_array(np.array([people[n][1] for n in numbers], dtype=np.int32).reshape(-1, 3))

    tree.update(classes, rows_of, PARAMS)


def saved(tree: KeptKtTree) -> list[dict[str, bytes]]:
    """Return all pages of a tree."""
    return [dict(table.pages()) for table in tree.tables]


def loaded(pages: list[dict[str, bytes]]) -> KeptKtTree:
    """Return the tree that pages hold."""
    tree = KeptKtTree()
    for table, of_table in zip(tree.tables, pages, strict=True):
        table.load([of_table[name] for name in sorted(of_table)])
    tree.index()
    return tree


def check(tree: KeptKtTree, people: People) -> None:
    """Compare a tree with its definition, by looking at everybody."""
    seen = set()
    for cls in range(CLASSES):
        inside = {n for n, (own, _) in people.items() if own == cls}
        apart = ties = 0
        for leaf in tree.leaves(cls):
            members = sorted(tree.members[leaf])
            table = np.array([people[n][1] for n in members], dtype=np.int32)
            is_root = tree.nodes.parent[leaf] == NOWHERE
            assert is_root or len(members) >= PARAMS.k
            assert cut_at_border(table, PARAMS) is None
            median = np.sort(table, axis=0)[(len(members) - 1) // 2]
            assert tree.pivot(leaf) == {c: x for c, x in enumerate(median.tolist()) if x}
            apart += np.abs(table - median).sum()
            ties += table.sum()
            assert not seen & set(members)
            seen |= set(members)
            for n in members:
                assert tree.leaf_of(n) == leaf
                assert n in inside
            # Every cut above a leaf puts its members on its side.
            node = leaf
            while (parent := tree.nodes.parent[node]) != NOWHERE:
                on = table[:, tree.nodes.column[parent]] >= tree.nodes.border[parent]
                assert on.all() if tree.nodes.above[parent] == node else not on.any()
                node = parent
        assert tree.likeness(cls) == (apart, ties)
    assert seen == people.keys()
    assert set(tree.members) == {leaf for cls in range(CLASSES) for leaf in tree.leaves(cls)}
    held = set(tree.pivots.leaf[tree.pivots.used()].tolist())
    assert held <= tree.members.keys()


@settings(max_examples=150, deadline=None)
@given(histories)
def test_the_tree_is_what_it_says_after_any_history(history) -> None:
    """Borders, sizes, pivots and distances are those that everybody's rows give."""
    tree, people = KeptKtTree(), {}
    for changes in history:
        follow(tree, people, changes)
        check(tree, people)


@settings(max_examples=60, deadline=None)
@given(histories, st.dictionaries(st.integers(0, 30), person, max_size=25))
def test_a_tree_that_was_saved_goes_on_as_it_would_have(history, last) -> None:
    """A tree read back from its pages goes on alike, and its copy does not change with it."""
    tree, people = KeptKtTree(), {}
    for changes in history:
        follow(tree, people, changes)
    before, then, kept = saved(tree), dict(people), tree.copy()
    follow(tree, people, last)
    after, people = saved(tree), dict(then)
    again = loaded(before)
    follow(again, people, last)
    check(again, people)
    assert saved(again) == after
    assert saved(kept) == before
    follow(kept, dict(then), last)
    assert saved(kept) == after


@settings(max_examples=100, deadline=None)
@given(histories, st.sets(st.integers(0, 30)), st.integers(1, 8))
def test_groups_may_stand_or_are_everybody(history, chosen, least) -> None:
    """Groups are the chosen people of a class, by leaves; small ones are joined with siblings'."""
    tree, people = KeptKtTree(), {}
    for changes in history:
        follow(tree, people, changes)
    for cls in range(CLASSES):
        wanted = {n for n in chosen if n in people and people[n][0] == cls}
        groups = tree.groups(cls, wanted, lambda parts: all(len(part) >= least for part in parts))
        assert sorted(n for group in groups for n in group) == sorted(wanted)
        assert len(groups) <= 1 or all(len(group) >= least for group in groups)


@settings(max_examples=60, deadline=None)
@given(histories, st.dictionaries(st.integers(0, 30), person, max_size=25))
def test_pairs_are_counted_as_the_tree_parts_them(history, last) -> None:
    """Whoever descended is parted by boxes from other leaves; a pivot stands for the own one."""
    tree, people = KeptKtTree(), {}
    for changes in history:
        follow(tree, people, changes)
    tree = loaded(saved(tree))
    tree.count_anew()
    follow(tree, people, last)
    came = [number for number, what in last.items() if what is not None]
    pairs = [
        tree.leaf_of(number) == tree.leaf_of(other)
        for number in came
        for other, (cls, _) in people.items()
        if other != number and cls == people[number][0]
    ]
    assert tree.pairs["boxes"] == pairs.count(False)
    assert tree.pairs["pivots"] == pairs.count(True)
    tree.count_anew()
    groups = [tree.groups(cls, people, lambda _: True) for cls in range(CLASSES)]
    sizes = [[len(group) for group in groups_of] for groups_of in groups]
    within = sum(n * (n - 1) // 2 for of_class in sizes for n in of_class)
    whole = sum(sum(of_class) * (sum(of_class) - 1) // 2 for of_class in sizes)
    assert tree.pairs == {"boxes": whole - within, "compared": within}


def test_work_goes_with_who_moved() -> None:
    """Of a thousand people one comes: few pivots are computed, and nobody else descends."""
    rng = np.random.default_rng(0)
    tree, people = KeptKtTree(), {}
    many = {n: (0, tuple(rng.poisson(2, CLASSES).tolist())) for n in range(1000)}
    follow(tree, people, many)
    assert len(tree.members) > 50
    for n in range(1000, 1020):
        tree.count_anew()
        follow(tree, people, {n: (0, tuple(rng.poisson(2, CLASSES).tolist()))})
        assert tree.moved < 20
        assert 1 <= len(tree.computed) < len(tree.members) / 4
    check(tree, people)
