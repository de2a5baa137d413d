"""Tables and what is derived from them, against dicts; the former value stays as it was."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.sequence.memory.column_table import (
    SPARE_ROWS,
    ColumnTable,
    PairTable,
    among,
    distinct,
)
from ktsafe.sequence.memory.current_release import NumberList
from ktsafe.sequence.memory.sequence_tables import PersonTable, by_classes


class Pairs(PairTable):
    """A table of pairs, and nothing else."""

    name = "pairs"
    columns = ("low", "high")


SIZE = 12
PAIRS = [(u, v) for v in range(SIZE) for u in range(v)]


def column(drawn: list[tuple[int, int]]) -> np.ndarray:
    """Return pairs as an array."""
    return np.array(drawn, dtype=np.int64).reshape(-1, 2)


def column_of(numbers: list[int]) -> np.ndarray:
    """Return numbers as an array."""
    return np.array(numbers, dtype=np.int64)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_rows_are_found_by_their_pairs(seed: int) -> None:
    """After any additions, removals, copies and questions, few or many at once, in any order."""
    rng, table, there = np.random.default_rng(seed), Pairs(), {}
    for _ in range(12):
        new = [p for p in PAIRS if p not in there and rng.random() < 0.2]
        ends = column(new)
        rows = table.add(len(new), low=ends[:, 0], high=ends[:, 1])
        there |= dict(zip(new, rows.tolist(), strict=True))
        gone = [p for p in there if rng.random() < 0.2]
        table.free(np.array([there.pop(p) for p in gone], dtype=np.int64))
        if rng.random() < 0.3:
            table = table.copy()
        turned = column([p if rng.random() < 0.5 else p[::-1] for p in PAIRS])
        asked = np.concatenate((turned, [[-1, 3]], turned[:5]))
        expected_rows = [there.get(p, -1) for p in PAIRS]
        assert table.rows_of(asked).tolist() == [*expected_rows, -1, *expected_rows[:5]]
        numbers = rng.permutation(SIZE)[: rng.integers(SIZE + 1)]
        at, others, rows = table.around(numbers)
        around = list(zip(numbers[at].tolist(), others.tolist(), rows.tolist(), strict=True))
        both = [(u, v, row) for pair, row in there.items() for u, v in (pair, pair[::-1])]
        order = {number: i for i, number in enumerate(numbers.tolist())}
        expected = [found for found in both if found[0] in order]
        assert around == sorted(expected, key=lambda found: (order[found[0]], found[1]))
        assert table.rows_around(numbers).tolist() == sorted({row for *_, row in expected})


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_copy_changes_by_itself(seed: int) -> None:
    """As dicts do, with the least free numbers for new rows; whoever is written first."""
    rng = np.random.default_rng(seed)
    tables: list[tuple[ColumnTable, dict[int, tuple[int, ...]]]] = [(Pairs(), {})]
    for _ in range(8):
        table, rows = tables[rng.integers(len(tables))]
        tables.append((table.copy(), dict(rows)))
        for chosen, known in (tables[-1], (table, rows)):
            ends = rng.integers(0, 99, (int(rng.integers(5)), 2))
            free = [row for row in range(chosen.n + len(ends)) if row not in known][: len(ends)]
            assert chosen.add(len(ends), low=ends[:, 0], high=ends[:, 1]).tolist() == free
            known |= dict(zip(free, map(tuple, ends.tolist()), strict=True))
            changed = chosen.used()[rng.random(len(chosen.used())) < 0.3]
            chosen.write(changed, high=7 * changed)
            known |= {row: (known[row][0], 7 * row) for row in changed.tolist()}
            gone = chosen.used()[rng.random(len(chosen.used())) < 0.3]
            chosen.free(gone)
            for row in gone.tolist():
                del known[row]
    for chosen, known in tables:
        found = map(tuple, chosen.pairs(np.arange(chosen.n)).tolist())
        assert dict(enumerate(found)) == {r: known.get(r, (-1, -1)) for r in range(chosen.n)}
        again = Pairs()
        again.load([page for _, page in chosen.pages()])
        assert dict(again.pages()) == dict(chosen.pages())
        assert again.used().tolist() == sorted(known)


@given(
    keys=st.lists(st.one_of(st.integers(0, 20), st.integers(0, 2**62)), unique=True),
    more=st.lists(st.integers(-2, 2**62)),
)
def test_people_are_found_by_dense_keys_and_by_others(keys: list[int], more: list[int]) -> None:
    """Against a dict: each key's row, and nobody's for a key that is not there, whatever keys."""
    table = PersonTable()
    rows = table.add(len(keys), key=column_of(keys), place=-1, cls=0, sensitive=0, since=0)
    gone, more = rows[::3], [*more, *range(-2, 24)]
    table.free(gone)
    naive = dict(zip(keys, rows.tolist(), strict=True))
    for key in keys[::3]:
        del naive[key]
    found = table.rows_of(column_of([*keys, *more]))
    assert found.tolist() == [naive.get(key, -1) for key in [*keys, *more]]


def test_columns_are_frozen() -> None:
    """What is read of a table cannot be written past it."""
    table = PersonTable()
    table.add(2, key=np.array([1, 2]), place=0, cls=0, sensitive=0, since=0)
    with pytest.raises(ValueError, match="read-only"):
        table.key[0] = 9
    twin = table.copy()
    twin.write(0, key=9)
    assert (table.key[0], twin.key[0]) == (1, 9)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), share=st.floats(0, 1))
def test_a_table_is_packed_where_most_is_free(seed: int, share: float) -> None:
    """What is in use keeps its order, and is found; who shares the rows does not notice."""
    rng, table = np.random.default_rng(seed), Pairs()
    ends = np.column_stack((np.arange(3 * SPARE_ROWS), 7 + np.arange(3 * SPARE_ROWS)))
    table.add(len(ends), low=ends[:, 0], high=ends[:, 1])
    table.free(np.flatnonzero(rng.random(len(ends)) < share))
    table.rows_of(ends)  # So it knows where pairs are.
    twin, known = table.copy(), table.pairs(table.used())
    twin.pack()
    is_packed = table.n > 2 * len(known) + SPARE_ROWS
    assert twin.n == (len(known) if is_packed else table.n)
    for each in (table, twin):
        assert np.array_equal(each.pairs(each.used()), known)
        found = each.rows_of(ends)
        assert np.array_equal(each.pairs(found[found >= 0]), known)
    if is_packed:
        assert twin.version("low") != table.version("low")
        assert twin.add(2, low=np.array([1, 2]), high=7).tolist() == [twin.n - 2, twin.n - 1]


def test_pairs_of_great_numbers_stay_apart() -> None:
    """They are kept as int32, and two of them make one key."""
    great = 2**31 - 2
    table = Pairs()
    table.add(2, low=np.array([great - 1, 5]), high=great)
    pairs = np.array([[great - 1, great], [5, great], [great - 1, 5]])
    assert table.rows_of(pairs).tolist() == [0, 1, -1]
    assert table.pairs(np.arange(2)).tolist() == pairs[:2].tolist()
    position, other, row = table.around(np.array([great]))
    assert (position.tolist(), other.tolist(), row.tolist()) == ([0, 0], [5, great - 1], [1, 0])


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_numbers_keep_their_order(seed: int) -> None:
    """As the keys of a dict do; what is removed is told from what was not there."""
    rng, numbers, naive = np.random.default_rng(seed), NumberList(), {}
    for _ in range(8):
        new = [x for x in range(30) if x not in naive and rng.random() < 0.3]
        numbers.add(np.array(new, dtype=np.int64))
        naive |= dict.fromkeys(new)
        gone = [x for x in range(30) if rng.random() < 0.3]
        assert numbers.remove(np.array(gone, dtype=np.int64)).tolist() == [x in naive for x in gone]
        naive = {x: None for x in naive if x not in set(gone)}
        assert numbers.array().tolist() == list(naive)


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
