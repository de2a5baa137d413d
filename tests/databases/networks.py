"""Networks in tables: two layouts, histories of them by chance, and the graph that they hold."""

from __future__ import annotations

import dataclasses
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, Final

from tests.databases.tables import (
    Column,
    Database,
    Delete,
    Insert,
    Row,
    Statement,
    Table,
    Transaction,
    Truncate,
    Update,
)

ATTRIBUTES: Final = (
    Column("gender", "text"),
    Column("age"),
    Column("health", "text", not_null=True),
)
KINDS: Final = ("friend", "colleague", None)
PEOPLE_MAX: Final = 9
"""Ids come and go among so few, so ties meet, people return, and rows name the absent."""

People = dict[str, dict[str, Any]]
Ties = set[frozenset[str]]


@dataclasses.dataclass(frozen=True)
class Layout:
    """How a network lies in tables: whether the ids of people and ends are their keys."""

    people: Table
    ties: Table

    @property
    def tables(self) -> tuple[Table, Table]:
        """Both tables."""
        return (self.people, self.ties)


PLAIN: Final = Layout(
    Table("people", ("id",), (Column("id", not_null=True), *ATTRIBUTES)),
    Table(
        "ties",
        ("a", "b"),
        (Column("a", not_null=True), Column("b", not_null=True), Column("kind", "text")),
    ),
)
"""People by their ids, ties by both ends."""
SURROGATE: Final = Layout(
    Table(
        "people",
        ("pk",),
        (Column("pk", not_null=True), Column("id", not_null=True), *ATTRIBUTES),
    ),
    Table(
        "ties",
        ("k",),
        (
            Column("k", not_null=True),
            Column("a", not_null=True),
            Column("b", not_null=True),
            Column("kind", "text"),
        ),
    ),
)
"""Keys that say nothing: several rows for a pair, ids and ends that change."""
LAYOUTS: Final = (PLAIN, SURROGATE)


def truth(
    rows: Mapping[str, Iterable[Row]], ties: str | frozenset[str] = "any"
) -> tuple[People, Ties]:
    """Return the graph that tables hold.

    Parameters
    ----------
    rows:
        Of `people` and of `ties`.
    ties:
        What counts as one: any row, two that name each other, or rows of some kinds.
    """
    people = {str(row["id"]): {c.name: row[c.name] for c in ATTRIBUTES} for row in rows["people"]}
    marks: Mapping[tuple[str, str], set[str | None]] = defaultdict(set)
    for row in rows["ties"]:
        marks[str(row["a"]), str(row["b"])].add(row["kind"])
    found: Ties = set()
    for (a, b), kinds in marks.items():
        counts = (
            ties == "any"
            or (ties == "mutual" and (b, a) in marks)
            or (not isinstance(ties, str) and not kinds.isdisjoint(ties))
        )
        if a != b and a in people and b in people and counts:
            found.add(frozenset((a, b)))
    return people, found


class History:
    """A database and transactions on it, drawn by a seed; some are made before the snapshot.

    Parameters
    ----------
    n_after:
        How many come after it; by default a few, drawn too.
    is_full:
        How the database tells of rows.
    """

    def __init__(
        self,
        seed: int,
        schema: str = "public",
        n_after: int | None = None,
        *,
        is_full: bool = False,
    ) -> None:
        self._rng = random.Random(seed)
        self.layout = self._rng.choice(LAYOUTS)
        self._keys = 0
        self._model = Database(self.layout.tables, schema)
        self.database = Database(self.layout.tables, schema, is_full=is_full)
        self.before = [self._transaction() for _ in range(self._rng.randint(0, 12))]
        few = self._rng.randint(6, 24)
        self.after = [self._transaction() for _ in range(n_after or few)]

    def _transaction(self) -> Transaction:
        drawn: list[Statement] = []
        for _ in range(self._rng.choice((1, 1, 1, 2, 3, 5))):
            statement = self._statement()
            if statement is not None:
                self._model.commit([statement])
                drawn.append(statement)
        return drawn

    def _statement(self) -> Statement | None:
        rng = self._rng
        if rng.random() < 0.012:
            return Truncate(rng.choice(("ties", "ties", "people")))
        return self._of_people() if rng.random() < 0.35 else self._of_ties()

    def _of_people(self) -> Statement | None:
        rng, rows = self._rng, self._model.rows["people"]
        named = {row["id"] for row in rows.values()}
        free = [i for i in range(1, PEOPLE_MAX + 1) if i not in named]
        kind = rng.random()
        if free and (kind < 0.55 or not rows):
            return Insert("people", self._keyed("pk", {"id": rng.choice(free)} | self._values()))
        if not rows:
            return None
        key = rng.choice(sorted(rows))
        if kind < 0.68:
            return Delete("people", key)
        if kind < 0.76 and free:
            return Update("people", key, {"id": rng.choice(free)})
        if kind < 0.82 and self.layout is SURROGATE:
            return Update("people", key, {"pk": self._next_key()})
        values = self._values()
        return Update("people", key, {n: values[n] for n in rng.sample(sorted(values), 2)})

    def _of_ties(self) -> Statement | None:
        rng, rows = self._rng, self._model.rows["ties"]
        kind = rng.random()
        if kind < 0.7 or not rows:
            a, b = rng.sample(range(1, PEOPLE_MAX + 1), 2)
            row = self._keyed("k", {"a": a, "b": b, "kind": rng.choice(KINDS)})
            key = (a, b) if self.layout is PLAIN else (row["k"],)
            return None if key in rows else Insert("ties", row)
        key = rng.choice(sorted(rows))
        if kind < 0.83:
            return Delete("ties", key)
        if kind < 0.9:
            return Update("ties", key, {"kind": rng.choice(KINDS)})
        row = rows[key]
        others = [i for i in range(1, PEOPLE_MAX + 1) if i not in {row["a"], row["b"]}]
        moved = {rng.choice(("a", "b")): rng.choice(others)}
        if self.layout is PLAIN and tuple((row | moved)[n] for n in ("a", "b")) in rows:
            return None
        return Update("ties", key, moved)

    def _values(self) -> dict[str, Any]:
        rng = self._rng
        return {
            "gender": rng.choice(("f", "m", None)),
            "age": rng.choice((20, 30, None)),
            "health": rng.choice(("well", "ill")),
        }

    def _next_key(self) -> int:
        self._keys += 1
        return self._keys

    def _keyed(self, name: str, row: dict[str, Any]) -> dict[str, Any]:
        return row if self.layout is PLAIN else {name: self._next_key()} | row
