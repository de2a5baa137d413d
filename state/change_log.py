"""What a commit says, as a row of the log.

It is put without reading, in the order of commits. A row names the people whose registers the
commit altered, and has each change to a tie in columns: both ends, the stamp, whether the tie is
there from then on, and its mark, where one has any. People are keyed hashes. What rows of tables
say of ties is there by their keys (`ktsafe.state.rows`).
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
from ktsafe.state.marks import mark_number, way_of
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
