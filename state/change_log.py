"""Rows of the log, one a commit, and marks of ties.

It is put without reading, in the order of commits. A row names the people whose registers the
commit altered, and has each change to a tie in columns: both ends, the stamp, whether the tie is
there from then on, and its mark, where one has any. People are keyed hashes. What rows of tables
say of ties is there by their keys (`ktsafe.state.rows`).

The log is a format (`keys.FORMAT`). Ties are put unread, so nothing may be checked here that needs
the graph; what counts as a tie is decided in `counting` and `mark_of_row`
(tests/stream/ingest/test_kinds.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import eq
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe.state.changes import (
    Change,
    EdgeAdd,
    EdgeRemove,
    Stamp,
    VertexDelete,
    VertexUpsert,
)
from ktsafe.state.keys import HASH_BYTES, Hashes
from ktsafe.state.registers import Mark, Origins

_OF_TIES: Final = (EdgeAdd, EdgeRemove)
HASH: Any = np.dtype(("S", HASH_BYTES))
"""numpy compares hashes as texts: a zero at the end counts for nothing, and all are as long."""


class HeldTie(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """Row of a tie: both ends, kind, and direction."""

    source: bytes
    target: bytes
    kind: str | None
    is_directed: bool
    position: int | None


LoggedRows: TypeAlias = dict[bytes, HeldTie | None]
"""What rows of ties say from then on, by their keys; None: nothing any more."""


class Logged(msgspec.Struct, array_like=True, frozen=True):
    """Commit of m ties and n people.

    Numbers are int64, `present` is bytes. `marks` is empty where all are 0.
    """

    people: bytes
    ends: bytes
    time: bytes
    origin: bytes
    offset: bytes
    present: bytes
    marks: bytes = b""
    rows: LoggedRows = {}

    def __len__(self) -> int:
        return len(self.present) + len(self.rows) + len(self.people) // HASH_BYTES


_log_decoder: Final = msgspec.msgpack.Decoder(Logged)


class TieChanges(NamedTuple):
    """Changes to ties, columns int64 (m,); `ends` hashes, (m, 2)."""

    ends: NDArray[np.bytes_]
    time: NDArray[np.int64]
    origin: NDArray[np.int64]
    offset: NDArray[np.int64]
    present: NDArray[np.int64]
    marks: NDArray[np.int64]


class Said(NamedTuple):
    """Changes of a commit: people one by one, ties in columns."""

    people: list[tuple[bytes, Mark, VertexUpsert | VertexDelete]]
    ties: Logged  # but for the people

    def logged(self, people: Iterable[bytes], rows: LoggedRows) -> Logged:
        """Return a commit's row of the log, given the people it alters."""
        return msgspec.structs.replace(self.ties, people=b"".join(people), rows=rows)


def said(
    changes: Sequence[Change], hashes: Hashes, origins: Origins, kinds: dict[str, int]
) -> Said:
    """Return changes as a commit takes them.

    Origins and kinds may become more.

    Raises
    ------
    ValueError
        If a tie has one end only.
    """
    # Every event passes here: lists are made of one attribute of all, which costs each little.
    ties = [change for change in changes if isinstance(change, _OF_TIES)]
    ends = [end for change in ties for end in (change.source, change.target)]
    if any(map(eq, ends[::2], ends[1::2])):
        raise ValueError("an edge needs two ends")
    others = [change for change in changes if not isinstance(change, _OF_TIES)]
    alias_of = hashes.of_many([*ends, *[change.id for change in others]])
    stamps = [change.stamp for change in ties]
    found = Logged(
        people=b"",
        ends=b"".join(map(alias_of.__getitem__, ends)),
        time=_packed([stamp.time_us for stamp in stamps]),
        origin=_packed(_origins(stamps, origins)),
        offset=_packed([stamp.offset for stamp in stamps]),
        present=bytes([type(change) is EdgeAdd for change in ties]),
        marks=_marks(ties, alias_of, kinds),
    )
    of_people = _origins([change.stamp for change in others], origins)
    marks = (
        (change.stamp.time_us, origin, change.stamp.offset)
        for change, origin in zip(others, of_people, strict=True)
    )
    aliases = [alias_of[change.id] for change in others]
    return Said(list(zip(aliases, marks, others, strict=True)), found)


def tie_changes(rows: Sequence[Logged]) -> TieChanges:
    """Return what rows of the log say of ties.

    Raises
    ------
    ValueError
        If they do not read back as written.
    """
    ends = np.frombuffer(b"".join([row.ends for row in rows]), dtype=HASH).reshape(-1, 2)
    time, origin, offset = (
        np.frombuffer(b"".join([getattr(row, name) for row in rows]), dtype="<i8")
        for name in ("time", "origin", "offset")
    )
    present = np.frombuffer(b"".join([row.present for row in rows]), dtype=np.uint8)
    marks = np.frombuffer(
        b"".join([row.marks or bytes(8 * len(row.present)) for row in rows]), dtype="<i8"
    )
    if not len(ends) == len(time) == len(origin) == len(offset) == len(present) == len(marks):
        raise ValueError("changes to ties are not whole")
    return TieChanges(ends, time, origin, offset, present.astype(np.int64), marks)


def decoded(log: Iterable[tuple[bytes, bytes]]) -> list[Logged]:
    """Return rows of the log as stored."""
    return [_log_decoder.decode(value) for _, value in log]


def rows_of(rows: Sequence[Logged]) -> LoggedRows:
    """Return what rows of the log say of those of tables."""
    found: LoggedRows = {}
    for row in rows:
        found |= row.rows
    return found


def people_of(rows: Sequence[Logged]) -> tuple[NDArray[np.bytes_], NDArray[np.int64]]:
    """Return the people with altered registers, ascending, and their first mention."""
    named = np.frombuffer(b"".join([row.people for row in rows]), dtype=HASH)
    return np.unique(named, return_index=True)


def _origins(stamps: Sequence[Stamp], origins: Origins) -> list[int]:
    """Return the number of the origin of each stamp."""
    pairs = [(stamp.topic, stamp.partition) for stamp in stamps]
    number_of = {pair: origins.number(*pair) for pair in dict.fromkeys(pairs)}
    return list(map(number_of.__getitem__, pairs))


def _marks(
    ties: Sequence[EdgeAdd | EdgeRemove],
    alias_of: Mapping[str, bytes],
    kinds: dict[str, int],
) -> bytes:
    """Return the number of the mark of each change, if any."""
    marks = [change.mark for change in ties]
    if not any(marks):
        return b""
    numbers = [0] * len(ties)
    for place, (tie, mark) in enumerate(zip(ties, marks, strict=True)):
        if mark is not None:
            kind, is_directed = mark
            ends = alias_of[tie.source], alias_of[tie.target]
            numbers[place] = mark_number(kind, way_of(*ends, is_directed=is_directed), kinds)
    return _packed(numbers)


def _packed(values: Sequence[int]) -> bytes:
    return np.array(values, dtype="<i8").tobytes()


# Kinds and directions of ties, and the pairs that count.
#
#     mark = 3 * number of the kind + way
#
# Kinds are numbered from 1 in the order in which they came, 0 is none. A way is 0 without
# direction, 1 from the smaller keyed hash to the greater, 2 back. Of a pair each mark comes and
# goes by itself. What dumps differ in was counted before, and has the mark 0. Rows of tables have
# it, too, or their way where both ways are asked for, and it is held how many of them say each.


def way_of(source: bytes, target: bytes, *, is_directed: bool) -> int:
    """Return the way of a tie between two keyed hashes."""
    return 0 if not is_directed else 1 if source < target else 2


def mark_number(kind: str | None, way: int, kinds: dict[str, int]) -> int:
    """Return the number of a mark, also of a new kind."""
    return way if kind is None else 3 * kinds.setdefault(kind, len(kinds) + 1) + way


def mark_of_row(kind: str | None, way: int, ties: str | frozenset[str]) -> int | None:
    """Return the mark under which a row counts, if it does.

    Parameters
    ----------
    ties:
        As `Schema.ties`: any of them, both ways (or none), or one of some kinds.

    Examples
    --------
    >>> [mark_of_row("friend", 1, ties) for ties in ("any", "mutual", frozenset({"colleague"}))]
    [0, 1, None]
    """
    if isinstance(ties, frozenset):
        return 0 if kind in ties else None
    return way if ties == "mutual" else 0


def counting(
    present: Mapping[int, NDArray[np.int64]], kinds: Mapping[str, int], ties: str | frozenset[str]
) -> NDArray[np.int64]:
    """Return the codes of pairs that are ties, ascending.

    Parameters
    ----------
    present:
        By mark, the codes of the pairs that have it, ascending.

    Examples
    --------
    >>> present = {4: np.array([3, 5, 9]), 5: np.array([5, 7]), 6: np.array([11])}
    >>> kinds = {"follows": 1, "friend": 2}
    >>> counting(present, kinds, "mutual").tolist()
    [5, 11]
    >>> counting(present, kinds, frozenset({"follows"})).tolist()
    [3, 5, 7, 9]
    """
    if ties == "mutual":
        undirected, one, other = (
            _either([codes for mark, codes in present.items() if mark % 3 == way])
            for way in range(3)
        )
        both = np.sort(np.concatenate((one, other)), kind="stable")
        return _either([undirected, both[1:][both[1:] == both[:-1]]])
    asked = {number for kind, number in kinds.items() if kind in ties}
    counted = [m for m in present if not m or ties == "any" or m // 3 in asked]
    return _either([present[mark] for mark in counted])


def _either(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the codes that are in one of some ascending arrays."""
    some = [codes for codes in parts if len(codes)]
    if len(some) < 2:
        return some[0] if some else np.zeros(0, dtype=np.int64)
    codes = np.sort(np.concatenate(some), kind="stable")  # Runs that ascend are merged.
    is_first = np.ones(len(codes), dtype=np.bool_)
    is_first[1:] = codes[1:] != codes[:-1]
    return codes[is_first]
