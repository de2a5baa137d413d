# ruff: noqa: S608 -- statements of our own, for a database of our own
"""Tables whose rows change, and the envelopes by which Debezium 3.6 tells of it.

Only what a PostgreSQL with its default replica identity tells: the row before an update is not
told; of a deleted row the columns of the key are, others as null, or as 0, "" and false where they
may not be null; a changed key is a deletion and a creation; a long value that did not change is
unavailable. Or all of it, of tables without a key: then rows go by what they say.
`lab.trials.databases` compares the envelopes with those of a real engine.
"""

from __future__ import annotations

import dataclasses
import datetime
import json
from base64 import b64encode
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, Final

UNAVAILABLE: Final = "__debezium_unavailable_value"
_ZERO: Final[dict[str, Any]] = {"int": 0, "text": "", "boolean": False}
_EPOCH: Final = datetime.date(1970, 1, 1)
_TYPES: Final[dict[str, dict[str, Any]]] = {
    "int": {"type": "int32"},
    "text": {"type": "string"},
    "boolean": {"type": "boolean"},
    "date": {"type": "int32", "name": "io.debezium.time.Date"},
    "numeric(10,2)": {
        "type": "bytes",
        "name": "org.apache.kafka.connect.data.Decimal",
        "parameters": {"scale": "2", "connect.decimal.precision": "10"},
    },
}

Row = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Column:
    """A column; one that is `long` is kept apart from its row, as PostgreSQL does above 2 kB."""

    name: str
    type: str = "int"
    not_null: bool = False
    long: bool = False


@dataclasses.dataclass(frozen=True)
class Table:
    """A table with a primary key."""

    name: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    def made(self, schema: str) -> str:
        """Return the statement that makes it."""
        columns = ", ".join(
            f"{c.name} {c.type}{' NOT NULL' if c.not_null else ''}" for c in self.columns
        )
        made = (
            f"CREATE TABLE {schema}.{self.name} ({columns}, PRIMARY KEY ({', '.join(self.key)}));"
        )
        longs = [c.name for c in self.columns if c.long]
        if longs:
            made += f"ALTER TABLE {schema}.{self.name} SET (toast_tuple_target = 128);"
        for name in longs:
            made += f"ALTER TABLE {schema}.{self.name} ALTER COLUMN {name} SET STORAGE EXTERNAL;"
        return made


@dataclasses.dataclass(frozen=True)
class Insert:
    """A row comes."""

    table: str
    row: Row


@dataclasses.dataclass(frozen=True)
class Update:
    """Columns of the row of a key change, those of the key among them."""

    table: str
    key: tuple[Any, ...]
    changes: Row


@dataclasses.dataclass(frozen=True)
class Delete:
    """The row of a key goes."""

    table: str
    key: tuple[Any, ...]


@dataclasses.dataclass(frozen=True)
class Truncate:
    """All rows of a table go."""

    table: str


Statement = Insert | Update | Delete | Truncate
Transaction = Sequence[Statement]


@dataclasses.dataclass(frozen=True)
class Told:
    """What Debezium says of one row; `value` is None for the tombstone behind a deletion."""

    table: str
    key: Row | None
    value: Row | None


class Database:
    """Tables in one schema, as a database would hold them.

    Parameters
    ----------
    is_full:
        Whether rows are told whole, as they were and are, and without a key.
    """

    def __init__(
        self, tables: Iterable[Table], schema: str = "public", *, is_full: bool = False
    ) -> None:
        self._is_full = is_full
        self.tables = {table.name: table for table in tables}
        self.schema = schema
        self.rows: dict[str, dict[tuple[Any, ...], Row]] = {name: {} for name in self.tables}

    def all_rows(self) -> dict[str, list[Row]]:
        """Return the rows of each table."""
        return {name: list(rows.values()) for name, rows in self.rows.items()}

    def made(self) -> str:
        """Return the statements that make the tables."""
        made = "".join(table.made(self.schema) for table in self.tables.values())
        return f"CREATE SCHEMA {self.schema};{made}"

    def sql(self, transaction: Transaction) -> str:
        """Return a transaction as text."""
        return "BEGIN;" + "".join(map(self._sql, transaction)) + "COMMIT;"

    def snapshot(self) -> list[Told]:
        """Return what the first reading of all tables tells."""
        return [
            Told(name, self._key(table, row), self._value(table, "r", None, row, "true"))
            for name, table in self.tables.items()
            for row in self.rows[name].values()
        ]

    def commit(self, transaction: Transaction) -> list[Told]:
        """Let statements take effect; return what is told of them."""
        told: list[Told] = []
        for statement in transaction:
            told += self._apply(statement)
        orders: dict[str, int] = {}
        total = 0
        for each in told:
            if each.value is None:
                continue
            total += 1
            orders[each.table] = orders.get(each.table, 0) + 1
            each.value["transaction"] = {
                "total_order": total,
                "data_collection_order": orders[each.table],
            }
        return told

    def _apply(self, statement: Statement) -> list[Told]:
        table, rows = self.tables[statement.table], self.rows[statement.table]
        if isinstance(statement, Truncate):
            rows.clear()
            return [Told(table.name, None, self._value(table, "t", None, None))]
        if isinstance(statement, Insert):
            row = {c.name: None for c in table.columns} | statement.row
            key = tuple(row[name] for name in table.key)
            assert key not in rows
            rows[key] = row
            return [self._told(table, "c", None, row)]
        before = rows.pop(statement.key)
        if isinstance(statement, Delete):
            return [*self._gone(table, before)]
        after = before | statement.changes
        key = tuple(after[name] for name in table.key)
        assert key not in rows
        rows[key] = after
        if self._is_full:
            return [self._told(table, "u", before, after)]
        if key != statement.key:
            return [*self._gone(table, before), self._told(table, "c", None, after)]
        kept = [c.name for c in table.columns if c.long and after[c.name] is not None]
        same = {n: UNAVAILABLE for n in kept if n not in statement.changes}
        return [self._told(table, "u", None, after | same)]

    def _gone(self, table: Table, row: Row) -> list[Told]:
        if self._is_full:
            return [self._told(table, "d", row, None)]
        zeros = {c.name: _ZERO.get(c.type) if c.not_null else None for c in table.columns}
        before = zeros | {name: row[name] for name in table.key}
        gone = self._told(table, "d", before, None)
        return [gone, Told(table.name, gone.key, None)]

    def _told(self, table: Table, op: str, before: Row | None, after: Row | None) -> Told:
        row = before if after is None else after
        assert row is not None
        return Told(table.name, self._key(table, row), self._value(table, op, before, after))

    def _key(self, table: Table, row: Row) -> Row | None:
        return None if self._is_full else {name: row[name] for name in table.key}

    def _value(
        self, table: Table, op: str, before: Row | None, after: Row | None, snapshot: str = "false"
    ) -> Row:
        source = {
            "version": "3.6.1.Final",
            "connector": "postgresql",
            "name": "shop",
            "snapshot": snapshot,
            "db": "postgres",
            "schema": self.schema,
            "table": table.name,
            "xmin": None,
            "origin": None,
            "origin_lsn": None,
        }
        return {
            "before": encoded(table, before),
            "after": encoded(table, after),
            "source": source,
            "op": op,
            "transaction": None,
        }

    def _sql(self, statement: Statement) -> str:
        name = f"{self.schema}.{statement.table}"
        if isinstance(statement, Truncate):
            return f"TRUNCATE {name};"
        if isinstance(statement, Insert):
            columns, values = ", ".join(statement.row), map(_literal, statement.row.values())
            return f"INSERT INTO {name} ({columns}) VALUES ({', '.join(values)});"
        key = self.tables[statement.table].key
        where = " AND ".join(
            f"{column} = {_literal(value)}"
            for column, value in zip(key, statement.key, strict=True)
        )
        if isinstance(statement, Delete):
            return f"DELETE FROM {name} WHERE {where};"
        changes = ", ".join(f"{c} = {_literal(value)}" for c, value in statement.changes.items())
        return f"UPDATE {name} SET {changes} WHERE {where};"


def row_schema(table: Table) -> Row:
    """Return the schema of a table's rows, as the JSON converter writes it into an envelope."""
    fields = [
        {"optional": not (c.not_null or c.name in table.key), "field": c.name} | _TYPES[c.type]
        for c in table.columns
    ]
    both = [
        {"type": "struct", "fields": fields, "optional": True, "field": field}
        for field in ("before", "after")
    ]
    return {"type": "struct", "fields": both, "optional": False}


def as_json(told: Told, table: Table, time_us: int, lsn: int, *, schemas: bool) -> tuple[Any, Any]:
    """Return key and value of a record, with times and positions, as bytes; None where none is."""
    key = None if told.key is None else told.key
    value = None
    if told.value is not None:
        times = {"ts_ms": time_us // 1000, "ts_us": time_us, "ts_ns": time_us * 1000}
        source = (
            told.value["source"] | times | {"txId": lsn, "lsn": lsn, "sequence": f'[null,"{lsn}"]'}
        )
        read_us = time_us + lsn % 7 * 10_000_000  # When the connector read it: later, or much so.
        read = {"ts_ms": read_us // 1000, "ts_us": read_us, "ts_ns": read_us * 1000}
        value = told.value | {"source": source} | read
    if schemas:
        value = None if value is None else {"schema": row_schema(table), "payload": value}
        key = None if key is None else {"schema": {"type": "struct"}, "payload": key}
    encode = lambda each: None if each is None else json.dumps(each).encode()  # noqa: E731
    return encode(key), encode(value)


def encoded(table: Table, row: Row | None) -> Row | None:
    return None if row is None else {c.name: _wire(row[c.name]) for c in table.columns}


def _wire(value: Any) -> Any:
    """Return a value as the JSON converter writes it."""
    if isinstance(value, datetime.date):
        return (value - _EPOCH).days
    if isinstance(value, Decimal):
        unscaled = int(value.scaleb(2))
        size = (unscaled + (unscaled < 0)).bit_length() // 8 + 1
        return b64encode(unscaled.to_bytes(size, "big", signed=True)).decode()
    return value


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str | datetime.date):
        return "'" + str(value).replace("'", "''") + "'"
    return str(value)
