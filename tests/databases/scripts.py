"""Twenty scripts of statements, each about one thing that mirrors of tables get wrong."""

from __future__ import annotations

import dataclasses
import datetime
import random
from decimal import Decimal
from typing import Any, Final

from tests.databases.networks import ATTRIBUTES, PLAIN, SURROGATE, Layout
from tests.databases.tables import (
    Column,
    Delete,
    Insert,
    Statement,
    Table,
    Transaction,
    Truncate,
    Update,
)

TYPED: Final = Layout(
    Table(
        "people",
        ("id",),
        (
            Column("id", not_null=True),
            *ATTRIBUTES,
            Column("born", "date"),
            Column("income", "numeric(10,2)"),
            Column("member", "boolean", not_null=True),
            Column("note", "text", long=True),
            Column("filler", "text", long=True),
        ),
    ),
    PLAIN.ties,
)
"""With dates, decimals, and a text that is told only when it changes."""


@dataclasses.dataclass(frozen=True)
class Script:
    """What is there when the snapshot is taken, and the transactions after it."""

    name: str
    layout: Layout
    before: tuple[Transaction, ...]
    after: tuple[Transaction, ...]


def person(i: int, **values: Any) -> Insert:
    """Return a person's row by its id."""
    row = {"id": i, "gender": "fm"[i % 2], "age": 20 + i % 3, "health": "well" if i % 5 else "ill"}
    return Insert("people", row | values)


def numbered(pk: int, i: int, **values: Any) -> Insert:
    """Return a person's row by another key."""
    return Insert("people", {"pk": pk} | person(i, **values).row)


def follows(a: int, b: int, kind: str | None = None) -> Insert:
    """Return a row of a tie by its ends."""
    return Insert("ties", {"a": a, "b": b, "kind": kind})


def tie(k: int, a: int, b: int, kind: str | None = None) -> Insert:
    """Return a row of a tie by another key."""
    return Insert("ties", {"k": k, "a": a, "b": b, "kind": kind})


def _each(*statements: Statement) -> tuple[Transaction, ...]:
    return tuple([statement] for statement in statements)


def _typed(i: int, **values: Any) -> Insert:
    row = {
        "born": datetime.date(1960 + i, 1 + i % 12, 1 + i),
        "income": Decimal(123450 * (i - 2)).scaleb(-2),
        "member": i % 2 == 0,
        "note": _noise(i, 400),
        "filler": _noise(-i, 4000),
    }
    return person(i, **(row | values))


def _noise(seed: int, n: int) -> str:
    return random.Random(seed).randbytes(n).hex()


_SIX: Final = tuple(person(i) for i in range(1, 7))
_SIX_NUMBERED: Final = tuple(numbered(10 + i, i) for i in range(1, 7))
_RING: Final = tuple(follows(i, i % 6 + 1) for i in range(1, 7))
_RING_NUMBERED: Final = tuple(tie(i, i, i % 6 + 1) for i in range(1, 7))

SCRIPTS: Final = (
    Script("snapshot_alone", PLAIN, (_SIX, _RING), ()),
    Script("after_the_snapshot", PLAIN, (), (*_each(*_SIX), *_each(*_RING))),
    Script(
        "both_directions",
        PLAIN,
        (_SIX, _RING, [follows(i % 6 + 1, i) for i in range(1, 7)]),
        _each(*(Delete("ties", (i % 6 + 1, i)) for i in range(1, 5)), Delete("ties", (1, 2))),
    ),
    Script(
        "two_types",
        SURROGATE,
        (_SIX_NUMBERED, [tie(i, i, i % 6 + 1, "friend") for i in range(1, 7)]),
        _each(
            *(tie(10 + i, i, i % 6 + 1, "colleague") for i in range(1, 7)),
            *(Delete("ties", (i,)) for i in range(1, 4)),
            Update("ties", (14,), {"kind": "friend"}),
            Delete("ties", (4,)),
        ),
    ),
    Script("truncate_ties", PLAIN, (_SIX, _RING), ([Truncate("ties")], [follows(1, 4)])),
    Script(
        "truncate_people",
        SURROGATE,
        (_SIX_NUMBERED, _RING_NUMBERED),
        ([Truncate("people")], [numbered(31, 1), numbered(32, 2)]),
    ),
    Script(
        "truncate_and_fill_at_once",
        PLAIN,
        (_SIX, _RING),
        ([follows(2, 5), Truncate("ties"), follows(3, 6), follows(1, 2)],),
    ),
    Script(
        "key_change",
        SURROGATE,
        (_SIX_NUMBERED, _RING_NUMBERED),
        _each(Update("people", (11,), {"pk": 91}), Update("ties", (3,), {"k": 93})),
    ),
    Script(
        "key_is_the_id",
        PLAIN,
        (_SIX, _RING),
        _each(Update("people", (1,), {"id": 7}), Update("ties", (1, 2), {"a": 7})),
    ),
    Script(
        "move",
        SURROGATE,
        (_SIX_NUMBERED, _RING_NUMBERED),
        _each(*(Update("ties", (i,), {"b": (i + 2) % 6 + 1}) for i in range(1, 5))),
    ),
    Script(
        "rename",
        SURROGATE,
        (_SIX_NUMBERED, _RING_NUMBERED),
        ([Update("people", (11,), {"id": 500})], [Update("ties", (1,), {"a": 500})]),
    ),
    Script(
        "ids_trade_places",
        SURROGATE,
        (_SIX_NUMBERED, _RING_NUMBERED),
        (
            [
                Update("people", (11,), {"id": 77}),
                Update("people", (12,), {"id": 1}),
                Update("people", (11,), {"id": 2}),
            ],
        ),
    ),
    Script(
        "one_transaction",
        PLAIN,
        (_SIX, _RING),
        ([Delete("people", (1,)), person(1, gender="x"), follows(1, 4)],),
    ),
    Script(
        "delete_and_insert",
        SURROGATE,
        (_SIX_NUMBERED, _RING_NUMBERED),
        (
            *_each(Delete("people", (11,)), numbered(11, 1), Delete("ties", (2,)), tie(2, 2, 6)),
            [Delete("people", (12,)), numbered(22, 2)],
        ),
    ),
    Script(
        "departures_and_returns",
        SURROGATE,
        (_SIX_NUMBERED, _RING_NUMBERED),
        _each(
            *(Delete("people", (10 + i,)) for i in (1, 3, 4)),
            Delete("ties", (3,)),
            tie(8, 1, 5),
            *(numbered(20 + i, i, health="ill") for i in (1, 4)),
        ),
    ),
    Script(
        "ties_before_people",
        SURROGATE,
        (_RING_NUMBERED,),
        (*_each(*_SIX_NUMBERED), [tie(50, 8, 9), tie(51, 9, 1)], [numbered(9, 9)]),
    ),
    Script(
        "deleted_by_the_key_alone",
        SURROGATE,
        (_SIX_NUMBERED, _RING_NUMBERED),
        _each(*(Delete("people", (10 + i,)) for i in (5, 6)), Delete("ties", (1,))),
    ),
    Script(
        "values_change",
        PLAIN,
        (_SIX, _RING),
        _each(
            Update("people", (1,), {"gender": None}),
            Update("people", (2,), {"age": 99}),
            Update("people", (2,), {"age": 98, "health": "ill"}),
        ),
    ),
    Script(
        "dates_decimals_and_what_is_unavailable",
        TYPED,
        ([_typed(i) for i in range(1, 7)], _RING),
        _each(
            Update("people", (1,), {"gender": "x"}),
            Update("people", (2,), {"note": _noise(22, 450)}),
            Update("people", (3,), {"born": None, "income": Decimal("-0.01")}),
            Update("people", (4,), {"income": Decimal("99999999.99")}),
            _typed(7, note=None),
        ),
    ),
    Script(
        "nobody_left",
        PLAIN,
        (_SIX, _RING),
        _each(
            *(Delete("ties", (i, i % 6 + 1)) for i in range(1, 7)),
            *(Delete("people", (i,)) for i in range(1, 7)),
        ),
    ),
)
