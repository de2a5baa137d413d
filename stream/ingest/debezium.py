"""Read Debezium's change envelopes as rows of listed tables.

Keys of rows are stored by hash: another spelling of them (`key_of`, `_by_content`) would lose the
rows of existing states. New faults take a reason of `events.REASONS`.

A topic of envelopes is a log of rows. The key of a record is that of a row, and the order of the
log is that of its changes. What became of the row is in `op`:

    c, r, u    created, read by a snapshot, updated    the row is as `after` shows it
    d          deleted                                 it is gone, whatever `before` shows
    t          the table was emptied                   all its rows are gone

What a row means follows from the list. Rows of other tables, tombstones, and the marks at which
transactions begin and end, change nothing. What the store held of a row says what it was before
(`ktsafe.state.rows`). The time of a change says to which slot it belongs, and nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

import msgspec

from ktsafe import Schema
from ktsafe.connectors.base import DeadLetter, Record
from ktsafe.errors import InvalidGraph
from ktsafe.state.changes import PersonRow, RowChange, Stamp, TableCleared, TieRow, Told
from ktsafe.stream.ingest import events
from ktsafe.stream.ingest.change_envelopes import (
    Convert,
    EnvelopeChange,
    Envelopes,
    Row,
    RowSource,
    converted,
    encode,
    key_of,
    row_of,
)
from ktsafe.stream.ingest.events import MalformedEvent
from ktsafe.stream.ingest.judge import JudgedRecords

UNAVAILABLE: Final = "__debezium_unavailable_value"
"""What stands for a long value that did not change and was not told."""
OTHER_TABLES_MAX: Final = 20
"""Names that are kept of tables which are not listed."""
_TIME_US_MIN: Final = events.EPOCH_MS_MIN * 1000
_INT_MAX: Final = 2**63
"""Below it a whole number is an id as it is."""

Name = Annotated[str, msgspec.Meta(min_length=1)]


class MirroredTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of people or of ties.

    Attributes
    ----------
    table:
        `table`, `schema.table` or `database.table`.
    columns:
        Of people the column of `id` (a text or a whole number), and of each attribute that is not
        in one of its own name. Of ties those of both ends, `source` and `target`, and of the
        `kind`.
    """

    table: Name
    columns: dict[str, Name]

    def __post_init__(self) -> None:
        """Refuse tables neither of people nor of ties."""
        of_ties = {"source", "target"} <= self.columns.keys() <= {"source", "target", "kind"}
        if not (self.is_of_people or of_ties):
            raise ValueError("columns must name id, or source and target")

    @property
    def is_of_people(self) -> bool:
        """Whether its rows are people."""
        return "id" in self.columns

    @property
    def kind(self) -> str | None:
        """The column with the kind of a tie."""
        return None if self.is_of_people else self.columns.get("kind")


Tables = tuple[MirroredTable, ...]
"""Where in the database the graph is."""


class RowJudge:
    """Decides what records of envelopes do to rows.

    Attributes
    ----------
    other_tables:
        Tables whose rows came and that are not listed: some of their names.

    Parameters
    ----------
    tables:
        Which tables and columns mean what.
    schema:
        The attributes; a column that has the name of one holds it.
    record_bytes_max:
        Greater values are dead-lettered undecoded.
    """

    def __init__(self, tables: Tables, schema: Schema, *, record_bytes_max: int) -> None:
        self.other_tables: set[str] = set()
        self._schema = schema
        self._record_bytes_max = record_bytes_max
        self._listed = {table.table: _Listed(table, schema) for table in tables}
        self._by_source: dict[tuple[str | None, ...], tuple[_Listed, str]] = {}
        self._envelopes = Envelopes()

    def missing_tables(self) -> set[str]:
        """Return the listed tables of which no row came."""
        came = [listed for listed, _ in self._by_source.values()]
        return {name for name, listed in self._listed.items() if listed not in came}

    def judge(self, records: Sequence[Record]) -> JudgedRecords:
        """Return records' effects; a refused one may end its row's former."""
        judged = JudgedRecords([], {}, {})
        for place, record in enumerate(records):
            told, error = None, None
            try:
                if record.value is not None:
                    told, error = self._told(record, record.value)
            except MalformedEvent as refused:
                error = refused
            if error is not None:
                judged.letters[place] = DeadLetter(record, error.reason, error.detail)
            judged.changes.append(told)
        return judged

    def _told(self, record: Record, value: bytes) -> tuple[Told | None, MalformedEvent | None]:
        """Return the content of a record for a row, and its faults."""
        if len(value) > self._record_bytes_max:
            raise MalformedEvent("too_large", f"over {self._record_bytes_max} bytes")
        change, schema = self._envelopes.decoded(value)
        if change.op is None:
            if change.status in {"BEGIN", "END"}:
                return None, None
            raise MalformedEvent("missing_field", "at op: no change envelope of Debezium")
        source = change.source
        if source is None:
            raise MalformedEvent("missing_field", "at source")
        found = self._of(source)
        if found is None:
            return None, None
        listed, name = found
        time_us = _time_us(source, change, record)
        stamp = Stamp(time_us, record.topic, record.partition, record.offset)
        if change.op == "t":
            return TableCleared(stamp, name, source.position()), None
        if change.op not in {"c", "r", "u", "d"}:
            raise MalformedEvent("unknown_event_type", "at op")
        # What the row was before is held, unless it has no key by which it is known.
        before = row_of(change.before) if record.key is None else None
        after = None if change.op == "d" else row_of(change.after)
        if after is None and change.op != "d":
            raise MalformedEvent("missing_field", "at after")
        key, former = listed.keys(record.key, before, after)
        row, error = None, None
        if after is not None:
            try:
                row, error = listed.row(after, self._envelopes.converters(schema))
            except MalformedEvent as refused:
                error = refused
        by_content = record.key is None and change.op in {"u", "d"}
        told = RowChange(
            stamp, name, key, row, former, by_content, listed.is_of_ties, source.position()
        )
        return told, error

    def _of(self, source: RowSource) -> tuple[_Listed, str] | None:
        """Return how to read the rows of a table, and its name.

        None if it is not listed.
        """
        where = (source.db, source.schema, source.table)
        if where not in self._by_source:
            names = (source.table, f"{source.schema}.{source.table}", f"{source.db}.{source.table}")
            found = (self._listed[name] for name in names if name in self._listed)
            listed = next(found, None)
            if listed is None:
                if len(self.other_tables) < OTHER_TABLES_MAX and (name := source.name()):
                    self.other_tables.add(name)
                return None
            self._by_source[where] = listed, ".".join(map(str, where))
        return self._by_source[where]


class _Listed:
    """A table of the list, and how its rows are read."""

    def __init__(self, table: MirroredTable, schema: Schema) -> None:
        self._table = table
        self._schema = schema
        self._columns = {name: table.columns.get(name, name) for name in schema.attributes}
        self._is_directed = schema.ties == "mutual"
        self.is_of_ties = not table.is_of_people

    def keys(
        self, key: bytes | None, before: Row | None, after: Row | None
    ) -> tuple[bytes, bytes | None]:
        """Return a row's key, and its former one, if unknown.

        Raises
        ------
        MalformedEvent
            If nothing does.
        """
        if key is not None:
            return key_of(key), None
        row = before if after is None else after
        if row is None:
            raise MalformedEvent("missing_field", "at before: the record has no key")
        now = self._by_content(row)
        return now, None if before is None or after is None else self._by_content(before)

    def _by_content(self, row: Row) -> bytes:
        """Return the key of a row without one."""
        table = self._table
        columns = (table.columns["id"],) if table.is_of_people else tuple(row)
        try:
            return encode({column: row[column] for column in columns})
        except KeyError as error:
            raise MalformedEvent("missing_field", f"at column {error.args[0]}") from None

    def row(
        self, row: Row, by_type: Mapping[str, Convert]
    ) -> tuple[PersonRow | TieRow, MalformedEvent | None]:
        """Return the content of a row, and a fault of one attribute.

        Raises
        ------
        MalformedEvent
            If it names no person, or no two.
        """
        columns, kind = self._table.columns, self._table.kind
        if self._table.is_of_people:
            vertex_id = _id(row, columns["id"], by_type)
            attributes, untold, error = self._attributes(row, by_type)
            return PersonRow(vertex_id, attributes, untold), error
        source, target = (_id(row, columns[end], by_type) for end in ("source", "target"))
        if source == target and source is not None:
            raise MalformedEvent("self_loop")
        named = None if kind is None else _kind(row, kind, by_type)
        return TieRow(source, target, named, self._is_directed), None

    def _attributes(
        self, row: Row, by_type: Mapping[str, Convert]
    ) -> tuple[dict[str, str | None], tuple[str, ...], MalformedEvent | None]:
        """Return a person's attributes, the untold ones, and a fault of one."""
        told: dict[str, str | None] = {}
        untold: list[str] = []
        error = None
        for name, column in self._columns.items():
            if column not in row:
                continue
            if row[column] == UNAVAILABLE:
                untold.append(name)
                continue
            try:
                told[name] = self._text(name, _value(row, column, by_type))
            except MalformedEvent as refused:
                told[name], error = None, refused
        return told, tuple(untold), error

    def _text(self, name: str, value: object) -> str | None:
        is_code = name in self._schema.nominal
        text = events.attribute_text(value, is_code=is_code)  # type: ignore[arg-type]
        if name in self._schema.buckets:
            try:
                self._schema.category(name, text)
            except InvalidGraph:
                raise MalformedEvent("bad_attribute", _bad_border(name, self._schema)) from None
        return text


def _bad_border(name: str, schema: Schema) -> str:
    detail = events.bad_border(name, schema).detail
    return f"{detail}; dates and decimals need the schema (value.converter.schemas.enable)"


def _value(row: Row, column: str, by_type: Mapping[str, Convert]) -> object:
    """Return the value of a column; None where it is missing.

    Raises
    ------
    MalformedEvent
        If its type has no one text. The column is named, since it is a setting.
    """
    value = row[column]
    if value is None:
        return None
    convert = by_type.get(column)
    if convert is None:
        if isinstance(value, str | int | float):
            return value
        raise MalformedEvent("wrong_type", f"at column {column}: it has parts")
    try:
        return converted(convert, value)
    except MalformedEvent as error:
        raise MalformedEvent(error.reason, f"at column {column}: {error.detail}") from None


def _id(row: Row, column: str, by_type: Mapping[str, Convert]) -> str | None:
    """Return an id as text; None where it is as before."""
    told = row.get(column)
    if column not in by_type:
        if type(told) is int:
            return str(told) if 0 <= told < _INT_MAX else events.checked_id(str(told))
        if type(told) is str and told != UNAVAILABLE:
            return events.checked_id(told)
    if told is None:
        raise MalformedEvent("missing_field", f"at column {column}")
    if told == UNAVAILABLE:
        return None
    value = _value(row, column, by_type)
    if isinstance(value, bool | float):
        raise MalformedEvent("wrong_type", f"at column {column}")
    return events.checked_id(str(value))


def _kind(row: Row, column: str, by_type: Mapping[str, Convert]) -> str | None:
    """Return the kind of a tie; None where it has none."""
    if column not in row:
        raise MalformedEvent("missing_field", f"at column {column}")
    return events.checked_kind(_value(row, column, by_type))  # type: ignore[arg-type]


def _time_us(source: RowSource, change: EnvelopeChange, record: Record) -> int:
    """Return when a row changed, was seen, or was written.

    The first of these that is known.

    A time that is none takes no row out of the log: it counts as one long ago.
    """
    if source.ts_us is not None and _TIME_US_MIN <= source.ts_us <= events.TIME_US_MAX:
        return source.ts_us
    ms = (source.ts_ms, change.ts_ms, record.timestamp_ms)
    for time_us in (each * 1000 for each in ms if each is not None):
        if _TIME_US_MIN <= time_us <= events.TIME_US_MAX:
            return time_us
    return events.TIME_US_MIN
