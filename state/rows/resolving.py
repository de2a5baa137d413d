"""Rows of tables as they are held, and what becomes of the graph as they change.

A person is there while a row says so. A tie is there while rows name both ends, as the schema asks,
and both are there: the rows of somebody who leaves stay, and count again on a return. What a row
said before is what is held of it, whatever is told of that. A column family of its own holds:

    r<table:8><row:16>   -> msgpack `HeldPerson` or `HeldTie`
    n<alias:16>          -> msgpack `Named`: of everybody that is there, and of those who left and
                            whom rows of ties still name
    p<alias:16><alias:16>-> msgpack `Marks` of a pair that rows name, the smaller alias first
    q<alias:16><alias:16>-> nothing: the same pair, the greater first
    m                    -> msgpack `Clock`

An alias is the keyed hash of an id, and a row goes by the keyed hash of its key. So of somebody who
is not there no id is held. The changes made here carry growing stamps of a topic of their own.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

import msgspec

from ktsafe import Schema
from ktsafe.state.changes import (
    Change,
    EdgeAdd,
    EdgeRemove,
    PersonRow,
    RowChange,
    Stamp,
    TableCleared,
    TieRow,
    Told,
    VertexDelete,
    VertexUpsert,
)
from ktsafe.state.keys import HASH_BYTES, Hashes
from ktsafe.state.marks import is_tie
from ktsafe.state.rows.held_rows import (
    PAIR,
    Clock,
    Held,
    HeldPerson,
    HeldTie,
    Mark,
    Named,
    clock_of,
    held_of,
    marks_of,
    named_of,
)

ROWS_TOPIC: Final = "~rows"
"""Where the stamps of changes come from that rows come to."""
_ROW: Final = b"r"
_NAMED: Final = b"n"
_MIRRORED: Final = b"q"
_CLOCK: Final = b"m"
_TABLE_BYTES: Final = 8
"""Of the digest of a table's name: a database has few of them."""

_encode: Final = msgspec.msgpack.Encoder().encode


class Resolved(NamedTuple):
    """What becomes of the graph, the rows to be written for it, and what is not understood.

    `unknown` are places of changes that need a row of before which is not held.
    """

    changes: Sequence[Change]
    writes: dict[bytes, bytes | None]
    unknown: Sequence[int]


class RowReader(Protocol):
    """The column family of rows."""

    def rows(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of keys."""

    def rows_from(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield keys that begin so, and their values, ascending."""


def holds_rows(reader: RowReader) -> bool:
    """Return whether rows were ever held."""
    return reader.rows([_CLOCK])[0] is not None


def resolve(told: Sequence[Told], reader: RowReader, secret: bytes, schema: Schema) -> Resolved:
    """Return what rows come to, where some are told or were before.

    Parameters
    ----------
    told:
        In the order in which it takes effect. The deletion of a person, which no row tells, forgets
        all rows that name it.
    schema:
        The attributes that the graph has, and what counts as a tie.
    """
    return _Resolution(reader, secret, schema).resolve(told)


class _Resolution:
    """Rows as they are changed by one commit."""

    def __init__(self, reader: RowReader, secret: bytes, schema: Schema) -> None:
        self._reader = reader
        self._secret = secret
        self._hashes = Hashes(secret)
        self._schema = schema
        self._held: dict[bytes, Held | None] = {}
        self._named: dict[bytes, Named | None] = {}
        self._pairs: dict[bytes, dict[Mark, int]] = {}
        self._counted: dict[bytes, bool] = {}  # Whether pairs were ties before.
        self._around: dict[bytes, set[bytes]] = {}  # Of aliases the first pairs in `_pairs`.
        self._n_around = 0
        self._ids: dict[bytes, str] = {}
        self._aliases: dict[str, bytes] = {}
        self._row_keys: dict[tuple[str, bytes], bytes] = {}
        self._came: dict[bytes, None] = {}  # Those who had left, and are there.
        self._left: set[bytes] = set()  # Those who left now, for good or not: so did their ties.
        self._changed: dict[bytes, None] = {}
        self._changes: list[Change] = []
        (clock,) = reader.rows([_CLOCK])
        self._clock = Clock() if clock is None else clock_of.decode(clock)
        self._time_us, self._n = self._clock.time_us, self._clock.n_changes
        self._cleared = dict(self._clock.cleared)

    def resolve(self, told: Sequence[Told]) -> Resolved:
        """Take all in, then say which pairs are ties from now on."""
        self._read_ahead(told)
        unknown = [place for place, each in enumerate(told) if not self._take(each)]
        for alias in self._came:
            for pair in self._pairs_of(alias):
                self._pair(pair)
        for pair in list(self._pairs):
            self._tell(pair)
        for pair, marks in self._pairs.items():
            if not marks:
                self._forget_ends(pair)
        writes: dict[bytes, bytes | None] = dict(self._writes())
        return Resolved(self._changes, writes, unknown)

    # Taking in

    def _take(self, told: Told) -> bool:
        self._time_us = max(self._time_us, told.stamp.time_us)
        if isinstance(told, RowChange):
            return self._take_row(told)
        if isinstance(told, TableCleared):
            self._clear(_table(told.table), told.position)
        elif isinstance(told, VertexDelete):
            self._forget(told.id)
        else:
            raise TypeError("rows and events do not mix")
        return True

    def _take_row(self, change: RowChange) -> bool:
        table = change.table
        key = self._row_key(table, change.key)
        former = key if change.former is None else self._row_key(table, change.former)
        before = self._row(former)
        if change.needs_former and before is None:
            return False
        row = self._as_held(change, before)
        if change.row is not None and row is None:
            return False
        cleared = self._cleared.get(_table(table)) if self._cleared else None
        if cleared is not None and change.position is not None and change.position < cleared:
            row = None  # Read later, because it lies in another partition.
        if former != key:
            self._put(former, None)
        self._put(key, row)
        return True

    def _as_held(self, change: RowChange, before: Held | None) -> Held | None:
        """Return what is to be held of a row; None if it says nothing, or is not understood."""
        row = change.row
        if isinstance(row, PersonRow):
            former = before if isinstance(before, HeldPerson) else None
            if former is None and (row.untold or row.id is None):
                return None
            attributes = row.attributes
            if former is not None and row.untold:
                kept = {name: former.attributes.get(name) for name in row.untold}
                attributes = attributes | kept
            alias = former.alias if row.id is None and former else self._alias(row.id)
            return HeldPerson(change.position, alias, attributes)
        if isinstance(row, TieRow):
            tie = before if isinstance(before, HeldTie) else None
            if tie is None and (row.source is None or row.target is None):
                return None
            source = tie.source if row.source is None and tie else self._alias(row.source)
            target = tie.target if row.target is None and tie else self._alias(row.target)
            return HeldTie(change.position, source, target, row.kind, row.is_directed)
        return None

    def _put(self, key: bytes, row: Held | None) -> None:
        """Let a row say something else, or nothing."""
        before = self._row(key)
        self._held[key] = row
        self._changed[key] = None
        if isinstance(before, HeldTie):
            self._count(before, -1)
        if isinstance(row, HeldTie):
            self._count(row, 1)
        if isinstance(before, HeldPerson):
            stays = isinstance(row, HeldPerson) and row.alias == before.alias
            if not stays:
                self._leave(before.alias, key)
        if isinstance(row, HeldPerson):
            self._join(row.alias, key)

    def _join(self, alias: bytes, key: bytes) -> None:
        """Let one more row, or a row once more, say that a person is there."""
        named = self._name(alias)
        rows = () if named is None else named.rows
        if named is not None and not rows:
            self._came[alias] = None
        given = self._ids.get(alias) or (named.id if named is not None else None)
        assert given is not None
        if key not in rows:
            self._set_name(alias, Named(given, (*rows, key)))
        self._upsert(alias)

    def _leave(self, alias: bytes, key: bytes) -> None:
        """Let a row say no more that a person is there."""
        named = self._name(alias)
        assert named is not None
        assert named.id is not None
        rows = tuple(each for each in named.rows if each != key)
        if rows:
            self._set_name(alias, Named(named.id, rows))
            self._upsert(alias)
            return
        self._changes.append(VertexDelete(self._stamp(), named.id))
        is_named = any(True for _ in self._pairs_of(alias))
        self._set_name(alias, Named(None, ()) if is_named else None)
        self._came.pop(alias, None)
        self._left.add(alias)

    def _upsert(self, alias: bytes) -> None:
        """Tell what rows say of a person: for each attribute the first of them that has it."""
        named = self._name(alias)
        assert named is not None
        assert named.id is not None
        told: dict[str, str | None] = dict.fromkeys(self._schema.attributes)
        for key in sorted(named.rows):
            row = self._row(key)
            assert isinstance(row, HeldPerson)
            for name, value in row.attributes.items():
                if value is not None and told.get(name, "") is None:
                    told[name] = value
        self._changes.append(VertexUpsert(self._stamp(), named.id, told))

    def _count(self, tie: HeldTie, step: int) -> None:
        """Let one row more or less name a pair."""
        if (pair := tie.pair) is None:
            return
        marks = self._pair(pair)
        self._changed[pair] = None
        marks[tie.mark] = marks.get(tie.mark, 0) + step
        if not marks[tie.mark]:
            del marks[tie.mark]

    def _clear(self, table: bytes, position: int | None) -> None:
        """Let the rows of a table be gone, but for those that are known to be later."""
        if position is not None:
            self._cleared[table] = max(position, self._cleared.get(table, position))
        prefix = _ROW + table
        keys = {key for key, _ in self._reader.rows_from(prefix)}
        keys.update(key for key in self._held if key.startswith(prefix))
        for key in sorted(keys):
            row = self._row(key)
            if row is None:
                continue
            if position is not None and row.position is not None and row.position > position:
                continue
            self._put(key, None)

    def _forget(self, person: str) -> None:
        """Let nothing be held that names a person, who is gone by no row."""
        alias = self._alias(person)
        named = self._name(alias)
        ends = {key for key, row in self._all_rows() if alias in _aliases(row)}
        for key in sorted(ends | set(() if named is None else named.rows)):
            self._put(key, None)
        self._changes.append(VertexDelete(self._stamp(), person))

    # Telling

    def _tell(self, pair: bytes) -> None:
        """Say whether a pair is a tie from now on, where that is not so already."""
        low, high = pair[1:17], pair[17:]
        counts, was_tie = is_tie(self._pairs[pair], self._schema.ties), self._counted[pair]
        if counts and (not was_tie or self._has_moved(low) or self._has_moved(high)):
            self._changes.append(EdgeAdd(self._stamp(), low, high))
        elif was_tie and not counts:
            self._changes.append(EdgeRemove(self._stamp(), low, high))

    def _has_moved(self, alias: bytes) -> bool:
        return alias in self._came or alias in self._left

    def _stamp(self) -> Stamp:
        self._n += 1
        return Stamp(self._time_us, ROWS_TOPIC, 0, self._n)

    def _forget_ends(self, pair: bytes) -> None:
        """Let nothing be held of somebody who left, once no row names it."""
        for alias in (pair[1:17], pair[17:]):
            named = self._name(alias)
            if named is not None and not named.rows and not any(self._pairs_of(alias)):
                self._set_name(alias, None)

    def _writes(self) -> Iterator[tuple[bytes, bytes | None]]:
        for key in self._changed:
            if key[:1] == _ROW:
                row = self._held[key]
                yield key, None if row is None else _encode(row)
            elif key[:1] == _NAMED:
                named = self._named[key[1:]]
                yield key, None if named is None else _encode(named)
            else:
                marks = self._pairs[key]
                told = [(kind, way, n) for (kind, way), n in marks.items()]
                if len(told) > 1:
                    told.sort(key=lambda each: (each[0] or "", each))
                yield key, _encode(told) if told else None
                yield _MIRRORED + key[17:] + key[1:17], b"" if told else None
        clock = Clock(self._time_us, self._n, self._cleared)
        yield _CLOCK, _encode(clock)

    # Reading

    def _read_ahead(self, told: Sequence[Told]) -> None:
        """Read most of what will be asked for, in few steps."""
        keys: dict[bytes, None] = {}
        aliases: dict[bytes, None] = {}
        pairs: dict[bytes, None] = {}
        for each in told:
            if not isinstance(each, RowChange):
                continue
            keys[self._row_key(each.table, each.key)] = None
            if each.former is not None:
                keys[self._row_key(each.table, each.former)] = None
            row = each.row
            if isinstance(row, PersonRow) and row.id is not None:
                aliases[self._alias(row.id)] = None
            elif isinstance(row, TieRow) and row.source and row.target:
                ends = self._alias(row.source), self._alias(row.target)
                pairs[PAIR + min(ends) + max(ends)] = None
        for key, value in self._found(keys):
            row = self._held[key] = None if value is None else held_of.decode(value)
            aliases.update(dict.fromkeys(_aliases(row)))
            if isinstance(row, HeldTie) and row.pair is not None:
                pairs[row.pair] = None
        for key, value in self._found(_NAMED + alias for alias in aliases):
            self._named[key[1:]] = None if value is None else named_of.decode(value)
        for key, value in self._found(pairs):
            self._note_pair(key, value)

    def _found(self, keys: Iterable[bytes]) -> Iterator[tuple[bytes, bytes | None]]:
        asked = list(keys)
        return zip(asked, self._reader.rows(asked), strict=True)

    def _row(self, key: bytes) -> Held | None:
        if key not in self._held:
            (value,) = self._reader.rows([key])
            self._held[key] = None if value is None else held_of.decode(value)
        return self._held[key]

    def _name(self, alias: bytes) -> Named | None:
        if alias not in self._named:
            (value,) = self._reader.rows([_NAMED + alias])
            self._named[alias] = None if value is None else named_of.decode(value)
        return self._named[alias]

    def _set_name(self, alias: bytes, named: Named | None) -> None:
        self._named[alias] = named
        self._changed[_NAMED + alias] = None

    def _pair(self, pair: bytes) -> dict[Mark, int]:
        if pair not in self._pairs:
            self._note_pair(pair, self._reader.rows([pair])[0])
        return self._pairs[pair]

    def _note_pair(self, pair: bytes, value: bytes | None) -> None:
        if value is None:
            self._pairs[pair], self._counted[pair] = {}, False
            return
        marks = self._pairs[pair] = {(kind, way): n for kind, way, n in marks_of.decode(value)}
        self._counted[pair] = is_tie(marks, self._schema.ties)

    def _pairs_of(self, alias: bytes) -> Iterator[bytes]:
        """Yield the pairs of a person that rows name as of now."""
        # Most commits ask for nobody's.
        for pair in itertools.islice(self._pairs, self._n_around, None):
            for end in (pair[1:17], pair[17:]):
                self._around.setdefault(end, set()).add(pair)
        self._n_around = len(self._pairs)
        seen = self._around.get(alias, set()).copy()
        yield from sorted(pair for pair in seen if self._pairs[pair])
        for key, _ in self._reader.rows_from(PAIR + alias):
            if key not in seen:
                yield key
        for key, _ in self._reader.rows_from(_MIRRORED + alias):
            if (pair := PAIR + key[17:] + key[1:17]) not in seen:
                yield pair

    def _all_rows(self) -> Iterator[tuple[bytes, Held | None]]:
        for key, value in self._reader.rows_from(_ROW):
            if key not in self._held:
                yield key, held_of.decode(value)
        yield from list(self._held.items())

    def _row_key(self, table: str, key: bytes) -> bytes:
        found = self._row_keys.get((table, key))
        if found is None:
            digest = hashlib.blake2b(key, key=self._secret, digest_size=HASH_BYTES).digest()
            found = self._row_keys[table, key] = _ROW + _table(table) + digest
        return found

    def _alias(self, person: str | None) -> bytes:
        assert person is not None
        alias = self._aliases.get(person)
        if alias is None:
            alias = self._aliases[person] = self._hashes.of(person)
            self._ids[alias] = person
        return alias


@functools.lru_cache(maxsize=256)
def _table(name: str) -> bytes:
    return hashlib.blake2b(name.encode(), digest_size=_TABLE_BYTES).digest()


def _aliases(row: Held | None) -> tuple[bytes, ...]:
    if row is None:
        return ()
    return (row.alias,) if isinstance(row, HeldPerson) else (row.source, row.target)
