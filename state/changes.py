"""What an event does to the graph.

Four kinds of change, each with its stamp; and rows of tables.

Changes are merged by maximum stamp (`ktsafe.state.store`), so their order of arrival does not
matter. Every event makes one, so they are what is made and let go of quickest. Rows are another
matter: `ktsafe.state.rows` makes changes of them, in the order in which they come.

A kind of change, or a field, goes through `change_log` or `registers`, the fold,
tests/state/naive_fold.py and `ktsafe.stream.release.audits`, which reads feeds by itself. The order
of fields of `Stamp` decides which change wins.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec


class Stamp(msgspec.Struct, frozen=True, order=True, gc=False):
    """When a change holds, with ties broken by where it was read.

    Compared field by field.
    """

    time_us: int
    topic: str
    partition: int
    offset: int


class VertexUpsert(msgspec.Struct, frozen=True, gc=False):
    """The vertex exists from `stamp` on.

    Given attributes take the given values (None: missing).
    """

    stamp: Stamp
    id: str
    attributes: dict[str, str | None]


class VertexDelete(msgspec.Struct, frozen=True, gc=False):
    """The vertex and its attachments up to `stamp` are gone."""

    stamp: Stamp
    id: str


Marked: TypeAlias = tuple[str | None, bool]
"""The kind of a tie, and whether it goes from its source to its target only."""


class EdgeAdd(msgspec.Struct, frozen=True, gc=False):
    """The edge is present from `stamp` on, while both ends exist.

    Of a pair each kind and direction comes and goes by itself; `mark` is both, None
    without either.
    """

    stamp: Stamp
    source: str
    target: str
    mark: Marked | None = None


class EdgeRemove(msgspec.Struct, frozen=True, gc=False):
    """The edge of that kind and direction is absent from `stamp` on."""

    stamp: Stamp
    source: str
    target: str
    mark: Marked | None = None


Change: TypeAlias = VertexUpsert | VertexDelete | EdgeAdd | EdgeRemove


class PersonRow(msgspec.Struct, frozen=True, gc=False):
    """A row that says that a person is there.

    `id` is None, and attributes are `untold`, where the row says that they are as before.
    """

    id: str | None
    attributes: dict[str, str | None]
    untold: tuple[str, ...] = ()


class TieRow(msgspec.Struct, frozen=True, gc=False):
    """A row that names two people.

    An end is None if it is as before.

    Source and target matter to one that is directed.
    """

    source: str | None
    target: str | None
    kind: str | None = None
    is_directed: bool = False


class RowChange(msgspec.Struct, frozen=True, gc=False):
    """A row of a table is told anew, or is gone.

    Attributes
    ----------
    table, key:
        What tells the row from all others.
    row:
        What it says from now on; None: nothing any more.
    former:
        The key that it had until now, if that is another one.
    is_of_ties:
        Whether rows of its table name two people.
    needs_former:
        Whether it cannot be understood unless a row of the key before it is held.
    position:
        Its place in the log of the database, where that is known.
    """

    stamp: Stamp
    table: str
    key: bytes
    row: PersonRow | TieRow | None
    former: bytes | None = None
    needs_former: bool = False
    is_of_ties: bool = False
    position: int | None = None


class TableCleared(msgspec.Struct, frozen=True, gc=False):
    """All rows of a table that were there before are gone."""

    stamp: Stamp
    table: str
    position: int | None = None


Told: TypeAlias = Change | RowChange | TableCleared
"""What a record may come to."""
