"""Numbers, labels and codes of vertices."""

from __future__ import annotations

import numpy as np
import pytest

from ktsafe.state.registers import Mark
from ktsafe.state.vertex_table import MEMO_MAX, VertexTable
from tests.state.support import SCHEMA

SECRET = bytes(32)
Entries = list[tuple[int, str | bytes, int | None]]


def load(
    table: VertexTable, entries: Entries, n_lives: int, downs: dict[int, Mark] | None = None
) -> None:
    """Load rows of number, label and life."""
    numbers, labels, lives = zip(*entries, strict=True)
    found = [-1 if life is None else life for life in lives]
    table.load(np.array(numbers), labels, np.array(found), downs or {}, n_lives)


def table_of(*people: str) -> VertexTable:
    """Return a table in which these persons exist, numbered in order."""
    table = VertexTable(SCHEMA, SECRET)
    for person in people:
        table.appear(table.allocate(person), person)
    return table


def test_the_smallest_free_number_is_next() -> None:
    """Freed numbers are given out again, smallest first, before new ones."""
    table = table_of("a", "b", "c", "d")
    for number in (2, 0):
        table.vanish(number)
        table.release(number)
    assert [table.allocate(person) for person in ("e", "f", "g")] == [0, 2, 4]


def test_who_vanished_is_found_by_id_and_not_kept_by_it() -> None:
    """A person who does not exist is found through the hash; the id itself is gone."""
    table = table_of("a", "b")
    alias = table.vanish(1)
    assert table.find("b") == 1
    assert "b" not in table.numbers
    assert table.labels == ["a", alias]
    assert (table.n_existing, table.n_held) == (1, 2)
    table.release(1)
    assert table.find("b") is None
    assert table.n_held == 1


def test_codes_are_categories() -> None:
    """Equal categories share a code, also when raw values differ; missing is 0."""
    table = table_of("a", "b", "c", "d")
    for number, age in enumerate(["17", "3.5", "64", None]):
        table.set_codes(number, [(1, age)])
    codes = table.codes[1].tolist()
    assert [table.categories[1][code] for code in codes] == ["<18", "<18", "18..<65", "-"]
    assert len(table.categories[1]) == 3


def test_many_raw_values_are_not_all_remembered() -> None:
    """A measured attribute cannot fill memory: codes stay right beyond the memo."""
    table = table_of("a")
    for value in range(MEMO_MAX + 10):
        table.set_codes(0, [(1, str(value))])
    assert table.categories[1][table.codes[1][0]] == ">=65"
    assert len(table._memos[1]) == MEMO_MAX


def test_a_load_numbers_on_as_before() -> None:
    """Holes of the loaded numbers are filled first, as they would have been without a restart."""
    table = VertexTable(SCHEMA, SECRET)
    load(table, [(1, "b", 5), (4, b"hash", None)], 6, {4: (3, 0, 3)})
    assert [table.allocate(person) for person in ("v", "w", "x", "y")] == [0, 2, 3, 5]
    assert table.downs == {4: (3, 0, 3)}


@pytest.mark.parametrize(
    "entries",
    [
        [(1, "a", 0), (1, "b", 1)],
        [(1, "a", 0), (0, "b", 1)],
        [(0, "a", 0), (1, "a", 1)],
        [(0, b"x", None), (1, b"x", None)],
        [(2**31, "a", 0)],
        [(0, "a", 1), (1, "b", 1)],
        [(0, "a", 2)],
        [(0, "a", None)],
        [(0, b"x", 0)],
    ],
)
def test_an_impossible_load_is_refused(
    entries: Entries,
) -> None:
    """Numbers must ascend within int32, nobody is two vertices, and each lives one known life."""
    with pytest.raises(ValueError, match=r"vert|life"):
        load(VertexTable(SCHEMA, SECRET), entries, 2)
