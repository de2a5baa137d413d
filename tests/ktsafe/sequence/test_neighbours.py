"""Tables written in bulk, and what is derived from them, against dicts and one row at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.sequence.memory import neighbours
from ktsafe.sequence.memory.current import EdgeList
from ktsafe.sequence.memory.neighbours import Neighbours, by_classes
from ktsafe.sequence.memory.paged_table import Column, PairTable
from ktsafe.sequence.memory.sorted_numbers import among, distinct


class Pairs(PairTable):
    """A table of pairs, and nothing else."""

    name = "pairs"
    low: Column
    high: Column


SIZE = 12
PAIRS = [(u, v) for v in range(SIZE) for u in range(v)]


def column(drawn: list[tuple[int, int]]) -> np.ndarray:
    """Return pairs as an array."""
    return np.array(drawn, dtype=np.int64).reshape(-1, 2)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), share=st.sampled_from([1, 100, 10_000]))
def test_neighbours_are_those_of_the_table(seed: int, share: int) -> None:
    """After any additions, removals and questions, few or many at once, in any order."""
    rng, table = np.random.default_rng(seed), Pairs()
    known, there = Neighbours(table), {}
    threshold, neighbours.SHARE = neighbours.SHARE, share
    try:
        for _ in range(12):
            new = [p for p in PAIRS if p not in there and rng.random() < 0.2]
            ends = column(new)
            rows = table.add_many(len(new), low=ends[:, 0], high=ends[:, 1])
            known.enter(rows)
            there |= dict(zip(new, rows.tolist(), strict=True))
            asked = [int(u) for u in rng.permutation(SIZE)[: rng.integers(4)]]
            for u in asked:
                assert known[u] == {a + b - u: row for (a, b), row in there.items() if u in (a, b)}
            gone = [p for p in there if rng.random() < 0.2]
            known.leave(column(gone))
            table.free_many(np.array([there.pop(p) for p in gone], dtype=np.int64))
            turned = column([p if rng.random() < 0.5 else p[::-1] for p in PAIRS])
            asked_rows = known.rows_of(np.append(turned, [[-1, 3]], axis=0)).tolist()
            assert asked_rows == [*(there.get(p, -1) for p in PAIRS), -1]
            at, others, rows = known.around(np.arange(SIZE))
            around = sorted(zip(at.tolist(), others.tolist(), rows.tolist(), strict=True))
            both = [(u, v, row) for pair, row in there.items() for u, v in (pair, pair[::-1])]
            assert around == sorted(both)
    finally:
        neighbours.SHARE = threshold


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_many_rows_are_written_as_one_by_one(seed: int) -> None:
    """The same rows, numbers and changed pages; undone, both are as they were."""
    rng, one, many = np.random.default_rng(seed), Pairs(), Pairs()
    for step in range(6):
        ends = rng.integers(0, 99, (int(rng.integers(5)), 2))
        rows = [one.add(low=low, high=high) for low, high in ends.tolist()]
        assert many.add_many(len(ends), low=ends[:, 0], high=ends[:, 1]).tolist() == rows
        changed = one.used()[rng.random(len(one.used())) < 0.3]
        for row in changed.tolist():
            one.set(row, 1, 7 * row)
        many.set(changed, 1, 7 * changed)
        gone = one.used()[rng.random(len(one.used())) < 0.3]
        for row in gone.tolist():
            one.free(row)
        many.free_many(gone)
        assert one.pages() == many.pages()
        assert one.dirty == many.dirty
        if step == 2:
            one.commit(), many.commit()
    one.undo(), many.undo()
    assert one.pages() == many.pages()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_edges_keep_their_order(seed: int) -> None:
    """As the keys of a dict do; what is removed is told from what was not there."""
    rng, edges, naive = np.random.default_rng(seed), EdgeList(), {}
    for _ in range(8):
        new = [p for p in PAIRS if p not in naive and rng.random() < 0.3]
        edges.add(column(new))
        naive |= dict.fromkeys(new)
        gone = [p for p in PAIRS if rng.random() < 0.3]
        assert edges.remove(column(gone)).tolist() == [p in naive for p in gone]
        naive = {p: None for p in naive if p not in set(gone)}
        assert list(map(tuple, edges.array().tolist())) == list(naive)


@settings(max_examples=60, deadline=None)
@given(values=st.lists(st.integers(0, 20)), others=st.lists(st.integers(-1, 20)))
def test_sorted_numbers_are_sets(values: list[int], others: list[int]) -> None:
    """What numpy finds by hashes; pairs of classes have the rows that are given with them."""
    a, b = np.array(values, dtype=np.int64), np.array(others, dtype=np.int64)
    assert among(a, b).tolist() == np.isin(a, b).tolist()
    assert distinct(a).tolist() == sorted(set(values))
    classes = np.column_stack((a // 7, a % 7)) if len(a) else np.zeros((0, 2), dtype=np.int64)
    classes[a == 20] = -1
    found = dict(by_classes(classes, np.arange(len(a))))
    assert sum(map(len, found.values())) == sum(value != 20 for value in values)
    for (first, second), rows in found.items():
        assert all(values[row] == 7 * first + second for row in rows)
