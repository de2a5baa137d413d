"""Rows of a database as events: the change envelope of Debezium, read by a table of columns.

Debezium tells of a row before and after a change, and of what happened (`op`):

    c, r, u    created, read by a snapshot, updated    -> vertex.upsert, edge.add, from `after`
    d          deleted                                 -> vertex.delete, edge.remove, from `before`

Which table holds vertices and which edges, and in which columns, is configured; changes of other
tables, and the marks at which transactions begin and end, change nothing. The time of an event is
the time of the change in the database. Envelopes may come with their schema
(`value.converter.schemas.enable`) or without.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec

from ktsafe.connectors.base import Record
from ktsafe.stream.ingest import events
from ktsafe.stream.ingest.events import AttributeValue, Event, MalformedEvent
from ktsafe.stream.process.logs import get_logger

log = get_logger(__name__)

UNAVAILABLE: Final = "__debezium_unavailable_value"
"""What stands for a long value that did not change and was not told."""
OTHER_TABLES_MAX: Final = 20
"""Names that are kept of tables which are not configured."""
_TABLE: Final = re.compile(r"[A-Za-z_]\w{0,30}(\.[A-Za-z_]\w{0,30})?", re.ASCII)
_WRITTEN: Final = frozenset({"c", "r", "u"})
_EPOCH: Final = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)

Name = Annotated[str, msgspec.Meta(min_length=1)]
Row = dict[str, Any]


class PeopleColumns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of people.

    Attributes
    ----------
    table:
        `table`, `schema.table` or `database.table`.
    id:
        The column with a person's id, a text or a whole number.
    attributes:
        The column of each attribute.
    """

    table: Name
    id: Name
    attributes: dict[str, Name] = {}


class TieColumns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of ties: the columns with the ids of both ends."""

    table: Name
    source: Name
    target: Name


class Tables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where in the database the graph is."""

    vertices: Annotated[tuple[PeopleColumns, ...], msgspec.Meta(min_length=1)]
    edges: tuple[TieColumns, ...] = ()


class _Source(msgspec.Struct, frozen=True):
    """Where and when a row changed."""

    table: str | None = None
    schema: str | None = None
    db: str | None = None
    ts_us: int | None = None
    ts_ms: int | None = None

    def name(self) -> str | None:
        """Return the name that a configuration would best mean the table by, if it looks like one.

        It is told to the operator, and whoever sends records may write there what they like.
        """
        name = ".".join(part for part in (self.schema or self.db, self.table) if part)
        return name if _TABLE.fullmatch(name) else None

    def names(self) -> set[str | None]:
        """Return the names by which a configuration may mean the table."""
        return {self.table, f"{self.schema}.{self.table}", f"{self.db}.{self.table}"}


class _Change(msgspec.Struct, frozen=True):
    """The part of the envelope that matters here."""

    op: str | None = None
    before: Row | None = None
    after: Row | None = None
    source: _Source | None = None
    ts_ms: int | None = None
    status: str | None = None


class _Envelope(_Change, frozen=True):
    """A change by itself, or in `payload` beside its schema."""

    payload: _Change | None = None


_envelopes: Final = msgspec.json.Decoder(_Envelope)


class RowEvents:
    """Turns changes of rows into events.

    Parameters
    ----------
    tables:
        Which tables and columns mean what.
    other_tables:
        The names of other tables that came are added here.
    """

    def __init__(self, tables: Tables, other_tables: set[str] | None = None) -> None:
        log.warning(
            "rows of a database: what its log does not tell is not known. Let each table of ties "
            "have one row for a pair, ids be columns of the key (or REPLICA IDENTITY FULL), and no "
            "table be truncated; docs/service.md says more"
        )
        self._tables = tables
        self._other_tables = set() if other_tables is None else other_tables

    def decode(self, record: Record) -> Event | None:
        """Return the event that a record's change comes to; None if it concerns no table of ours.

        Raises
        ------
        MalformedEvent
            If the record holds no envelope, or lacks what its table needs.
        """
        value = record.value or b""
        envelope = events.decoded(_envelopes, value)
        events.check_keys(value)
        change = envelope.payload or envelope
        if change.op is None:
            if change.status in {"BEGIN", "END"}:
                return None
            raise MalformedEvent("missing_field", "at op")
        if change.source is None:
            raise MalformedEvent("missing_field", "at source")
        names = change.source.names()
        for vertex_table in self._tables.vertices:
            if vertex_table.table in names:
                return _vertex(vertex_table, change)
        for edge_table in self._tables.edges:
            if edge_table.table in names:
                return _edge(edge_table, change)
        if len(self._other_tables) < OTHER_TABLES_MAX and (name := change.source.name()):
            self._other_tables.add(name)
        return None


def _vertex(table: PeopleColumns, change: _Change) -> Event:
    row, written = _row(change)
    vertex_id, time = _id(row, table.id), _time(change)
    if not written:
        return events.VertexDeleteEvent(vertex_id, time)
    _check_identity(change, row, table.id)
    told = {a: column for a, column in table.attributes.items() if row.get(column) != UNAVAILABLE}
    attributes = {name: _value(row, column) for name, column in told.items()}
    return events.VertexUpsertEvent(vertex_id, attributes, time)


def _edge(table: TieColumns, change: _Change) -> Event:
    row, written = _row(change)
    source, target = _id(row, table.source), _id(row, table.target)
    if not written:
        return events.EdgeRemoveEvent(source, target, _time(change))
    _check_identity(change, row, table.source, table.target)
    return events.EdgeAddEvent(source, target, _time(change))


def _check_identity(change: _Change, row: Row, *columns: str) -> None:
    """Refuse an update that makes of a row another person or tie.

    One record is one event, and this would be two: nothing is done by halves. Debezium tells of a
    changed primary key as of a deletion and a creation, so this concerns other keys only, and
    those only if the database tells the row before.
    """
    before = change.before or {}
    for column in columns:
        if before.get(column) is not None and _id(before, column) != _id(row, column):
            raise MalformedEvent("wrong_type", f"at column {column}: it must not change")


def _row(change: _Change) -> tuple[Row, bool]:
    """Return the row that tells what a change is about, and whether it is there from then on."""
    if change.op in _WRITTEN:
        row, where = change.after, "after"
    elif change.op == "d":
        row, where = change.before, "before"
    else:
        raise MalformedEvent("unknown_event_type", "at op")
    if row is None:
        raise MalformedEvent("missing_field", f"at {where}")
    return row, where == "after"


def _id(row: Mapping[str, Any], column: str) -> str:
    """Return an id as text; columns are settings, so errors may name them."""
    value = row.get(column)
    if value is None:
        raise MalformedEvent("missing_field", f"at column {column}")
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise MalformedEvent("wrong_type", f"at column {column}")
    return events.checked_id(str(value))


def _value(row: Mapping[str, Any], column: str) -> AttributeValue:
    """Return an attribute's value; a column that is absent is one that is empty."""
    value: Any = row.get(column)
    if value is None or isinstance(value, str | int | float):
        return value
    raise MalformedEvent("wrong_type", f"at column {column}")


def _time(change: _Change) -> datetime.datetime | int | None:
    """Return when the row changed, else when Debezium saw it, else None: the record's time."""
    assert change.source is not None
    if change.source.ts_us:
        if change.source.ts_us < events.EPOCH_MS_MIN * 1000:
            raise MalformedEvent("bad_time", "at source.ts_us: before 1990")
        try:
            return _EPOCH + datetime.timedelta(microseconds=change.source.ts_us)
        except OverflowError:
            raise MalformedEvent("bad_time", "at source.ts_us") from None
    return change.source.ts_ms or change.ts_ms
