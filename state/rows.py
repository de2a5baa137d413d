"""Rows of tables as held, and their effect on the graph.

How rows are looked up may be changed; keys and values are a format. What rows mean is compared with
a database in memory by tests/stream/ingest/test_mirror.py, for any history of statements.

A person is there while a row says so. A tie is there while rows name both ends, as the schema asks,
and both are there: the rows of somebody who leaves stay, and count again on a return. What a row
said before is what is held of it, whatever is told of that. A column family of its own holds:

    p<table:8><row:16>  -> msgpack `HeldPerson`
    t<table:8><row:16>  -> msgpack `HeldTie`, as of the last fold
    n<alias:16>         -> msgpack `Named`: of everybody that is there
    clock               -> msgpack `Clock`

An alias is the keyed hash of an id, and a row goes by the keyed hash of its key. So of somebody who
is not there no id is held. What rows of people come to carries growing stamps of a topic of its
own. Rows of ties are logged unread, and counted by the fold: only one that says that something is
as before, or names no key, is looked up on its way in.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

import msgspec

from ktsafe import Schema
from ktsafe.state.change_log import HeldTie, LoggedRows
from ktsafe.state.changes import (
    Change,
    PersonRow,
    RowChange,
    Stamp,
    TableCleared,
    TieRow,
    Told,
    VertexDelete,
    VertexUpsert,
)
from ktsafe.state.keys import Hashes

ROWS_TOPIC: Final = "~rows"
"""Where the stamps of changes come from that rows come to."""
CLOCK: Final = b"clock"
_PERSON: Final = b"p"
_TIE: Final = b"t"
_NAMED: Final = b"n"
_TABLE_BYTES: Final = 8
"""Of the digest of a table's name: a database has few of them."""
BEFORE_ALL_US: Final = -(2**62)


class HeldPerson(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What a row of a person says."""

    position: int | None
    alias: bytes
    attributes: dict[str, str | None]


class Named(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """A present person's id, and the keys of its rows."""

    id: str
    rows: tuple[bytes, ...]


class Clock(msgspec.Struct, array_like=True, frozen=True):
    """Progress of stamps, and cleared tables."""

    time_us: int = BEFORE_ALL_US
    n_changes: int = 0
    cleared: dict[bytes, int] = {}


_encode: Final = msgspec.msgpack.Encoder().encode
_person_of: Final = msgspec.msgpack.Decoder(HeldPerson).decode
_named_of: Final = msgspec.msgpack.Decoder(Named).decode
_clock_of: Final = msgspec.msgpack.Decoder(Clock).decode
tie_of: Final = msgspec.msgpack.Decoder(HeldTie).decode


class Resolved(NamedTuple):
    """Changes to the graph, rows to write, and faults.

    `ties` are what rows of ties say from now on. `unknown` are places of changes that need a row of
    before which is not held.
    """

    changes: Sequence[Change]
    writes: dict[bytes, bytes | None]
    ties: LoggedRows
    unknown: Sequence[int]


class RowReader(Protocol):
    """Rows as they are held."""

    def rows(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of keys."""

    def rows_from(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield keys that begin so, and their values, ascending."""

    def rows_logged(self) -> LoggedRows:
        """Return what rows of ties said since the last fold."""


def resolve(told: Sequence[Told], reader: RowReader, secret: bytes, schema: Schema) -> Resolved:
    """Return what rows come to, where some are told or were before.

    Parameters
    ----------
    told:
        In the order in which it takes effect. The deletion of a person, which no row tells, forgets
        all rows that name it.
    schema:
        The attributes that the graph has.
    """
    return _Resolution(reader, secret, schema).resolve(told)


def written(rows: LoggedRows) -> dict[bytes, bytes | None]:
    """Return the writes that hold rows of ties."""
    return {key: None if tie is None else _encode(tie) for key, tie in rows.items()}


class _Resolution:
    """Rows as they are changed by one commit."""

    def __init__(self, reader: RowReader, secret: bytes, schema: Schema) -> None:
        self._reader = reader
        self._attributes = schema.attributes
        self._hash = Hashes(secret).of_bytes
        self._ties: LoggedRows = {}
        self._people: dict[bytes, HeldPerson | None] = {}
        self._named: dict[bytes, Named | None] = {}
        self._aliases: dict[str, bytes] = {}
        self._changed: dict[bytes, None] = {}
        self._changes: list[Change] = []
        (clock,) = reader.rows([CLOCK])
        self._clock = Clock() if clock is None else _clock_of(clock)
        self._time_us, self._n = self._clock.time_us, self._clock.n_changes
        self._cleared = dict(self._clock.cleared)

    def resolve(self, told: Sequence[Told]) -> Resolved:
        """Take all in."""
        self._read_ahead(told)
        unknown = [place for place, each in enumerate(told) if not self._take(each)]
        return Resolved(self._changes, dict(self._writes()), self._ties, unknown)

    # Taking in

    def _take(self, told: Told) -> bool:
        self._time_us = max(self._time_us, told.stamp.time_us)
        if isinstance(told, RowChange):
            return self._take_tie(told) if told.is_of_ties else self._take_person(told)
        if isinstance(told, TableCleared):
            self._clear(_table(told.table), told.position)
        elif isinstance(told, VertexDelete):
            self._forget(told)
        else:
            raise TypeError("rows and events do not mix")
        return True

    def _take_tie(self, change: RowChange) -> bool:
        key, former = self._keys(_TIE, change)
        row = change.row if isinstance(change.row, TieRow) else None
        before = None
        if change.needs_former or (row is not None and (row.source is None or row.target is None)):
            before = self._tie(former)
            if before is None:
                return False
        if former != key:
            self._ties[former] = None
        self._ties[key] = None
        if row is not None and not self._is_cleared(change):
            source = before.source if row.source is None and before else self._alias(row.source)
            target = before.target if row.target is None and before else self._alias(row.target)
            tie = HeldTie(source, target, row.kind, row.is_directed, change.position)
            self._ties[key] = tie
        return True

    def _take_person(self, change: RowChange) -> bool:
        key, former = self._keys(_PERSON, change)
        row = change.row if isinstance(change.row, PersonRow) else None
        before, person = self._person(former), None
        if before is None and (
            change.needs_former or (row is not None and (row.untold or row.id is None))
        ):
            return False
        if row is not None and not self._is_cleared(change):
            alias = before.alias if row.id is None and before else self._alias(row.id)
            kept = {name: before.attributes.get(name) for name in row.untold} if before else {}
            person = HeldPerson(change.position, alias, row.attributes | kept)
        if former != key:
            self._put(former, None)
        self._put(key, person, None if row is None else row.id)
        return True

    def _keys(self, kind: bytes, change: RowChange) -> tuple[bytes, bytes]:
        """Return the key of a row, and its former one."""
        prefix = kind + _table(change.table)
        key = prefix + self._hash(change.key)
        return key, key if change.former is None else prefix + self._hash(change.former)

    def _is_cleared(self, change: RowChange) -> bool:
        """Whether a row is older than the last truncation of its table."""
        cleared = self._cleared.get(_table(change.table)) if self._cleared else None
        return cleared is not None and change.position is not None and change.position < cleared

    def _put(self, key: bytes, row: HeldPerson | None, person: str | None = None) -> None:
        """Let a row say something else of a person, or nothing."""
        before = self._person(key)
        self._people[key] = row
        self._changed[key] = None
        if before is not None and (row is None or row.alias != before.alias):
            named = self._name(before.alias)
            assert named is not None
            rows = tuple(each for each in named.rows if each != key)
            self._set_name(before.alias, Named(named.id, rows) if rows else None)
            if rows:
                self._upsert(before.alias)
            else:
                self._changes.append(VertexDelete(self._stamp(), named.id))
        if row is not None:
            named = self._name(row.alias)
            rows = () if named is None else named.rows
            given = person if named is None else named.id
            assert given is not None
            if key not in rows:
                self._set_name(row.alias, Named(given, (*rows, key)))
            self._upsert(row.alias)

    def _upsert(self, alias: bytes) -> None:
        """Tell of each attribute what the first row says that has it."""
        named = self._name(alias)
        assert named is not None
        told: dict[str, str | None] = dict.fromkeys(self._attributes)
        for key in sorted(named.rows):
            row = self._person(key)
            assert row is not None
            for name, value in row.attributes.items():
                if value is not None and told.get(name, "") is None:
                    told[name] = value
        self._changes.append(VertexUpsert(self._stamp(), named.id, told))

    def _clear(self, table: bytes, position: int | None) -> None:
        """Let rows of a table go, except later ones."""
        if position is not None:
            self._cleared[table] = max(position, self._cleared.get(table, position))

        def stays(row: HeldPerson | HeldTie) -> bool:
            return position is not None and row.position is not None and row.position > position

        for key, tie in self._all_ties(_TIE + table):
            if not stays(tie):
                self._ties[key] = None
        prefix = _PERSON + table
        people = {key for key, _ in self._reader.rows_from(prefix)}
        people.update(key for key in self._people if key.startswith(prefix))
        for key in sorted(people):
            row = self._person(key)
            if row is not None and not stays(row):
                self._put(key, None)

    def _forget(self, change: VertexDelete) -> None:
        """Let all rows go that name a person."""
        alias = self._alias(change.id)
        for key, tie in self._all_ties(_TIE):
            if alias in (tie.source, tie.target):
                self._ties[key] = None
        named = self._name(alias)
        for key in () if named is None else named.rows:
            self._put(key, None)
        self._changes.append(VertexDelete(self._stamp(), change.id))

    def _stamp(self) -> Stamp:
        self._n += 1
        return Stamp(self._time_us, ROWS_TOPIC, 0, self._n)

    def _writes(self) -> Iterator[tuple[bytes, bytes | None]]:
        for key in self._changed:
            row = self._named[key[1:]] if key[:1] == _NAMED else self._people[key]
            yield key, None if row is None else _encode(row)
        yield CLOCK, _encode(Clock(self._time_us, self._n, self._cleared))

    # Reading

    def _read_ahead(self, told: Sequence[Told]) -> None:
        """Read most of what will be asked for, in few steps."""
        of_people = [each for each in told if isinstance(each, RowChange) and not each.is_of_ties]
        keys = [self._keys(_PERSON, each)[0] for each in of_people]
        for key, value in self._found(dict.fromkeys(keys)):
            self._people[key] = None if value is None else _person_of(value)
        ids = [each.row.id for each in of_people if isinstance(each.row, PersonRow)]
        aliases = dict.fromkeys(self._alias(each) for each in ids if each is not None)
        aliases |= {row.alias: None for row in self._people.values() if row is not None}
        for key, value in self._found(_NAMED + alias for alias in aliases):
            self._named[key[1:]] = None if value is None else _named_of(value)

    def _found(self, keys: Iterable[bytes]) -> Iterator[tuple[bytes, bytes | None]]:
        asked = list(keys)
        return zip(asked, self._reader.rows(asked), strict=True)

    def _person(self, key: bytes) -> HeldPerson | None:
        if key not in self._people:
            (value,) = self._reader.rows([key])
            self._people[key] = None if value is None else _person_of(value)
        return self._people[key]

    def _tie(self, key: bytes) -> HeldTie | None:
        for told in (self._ties, self._reader.rows_logged()):
            if key in told:
                return told[key]
        (value,) = self._reader.rows([key])
        return None if value is None else tie_of(value)

    def _all_ties(self, prefix: bytes) -> Iterator[tuple[bytes, HeldTie]]:
        """Yield the rows of ties by key prefix, as of now."""
        told = self._reader.rows_logged() | self._ties
        for key, value in self._reader.rows_from(prefix):
            if key not in told:
                yield key, tie_of(value)
        for key, tie in told.items():
            if tie is not None and key.startswith(prefix):
                yield key, tie

    def _name(self, alias: bytes) -> Named | None:
        if alias not in self._named:
            (value,) = self._reader.rows([_NAMED + alias])
            self._named[alias] = None if value is None else _named_of(value)
        return self._named[alias]

    def _set_name(self, alias: bytes, named: Named | None) -> None:
        self._named[alias] = named
        self._changed[_NAMED + alias] = None

    def _alias(self, person: str | None) -> bytes:
        assert person is not None
        alias = self._aliases.get(person)
        if alias is None:
            alias = self._aliases[person] = self._hash(person.encode())
        return alias


@functools.lru_cache(maxsize=256)
def _table(name: str) -> bytes:
    return hashlib.blake2b(name.encode(), digest_size=_TABLE_BYTES).digest()
