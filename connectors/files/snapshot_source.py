"""Source of dated dumps: events that lead from one to the next.

        dump 1            dump 2              dump 3
    0 ........... end 1 ........ end 2 ............... end 3     offsets
      everything        what changed      what changed

All events are one partition. An offset is a position in this series, which depends on the dumps
alone. The identity of the source holds the end and the digest of every dump that was begun, so a
new start needs two dumps only: the last one that was read whole, and the one after it.

So the order of events within a dump (`Difference`) cannot change while a service stands inside of
one (tests/connectors/test_snapshot_source.py). Hints and `_WAIT_S` may.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from ktsafe.connectors.base import OffsetLost, Record, SourceMismatch, TopicPartition
from ktsafe.connectors.files.dumps import (
    Dump,
    DumpPlace,
    TableReader,
    check_follows,
    place_of,
    places,
    read_dump,
)

_WAIT_S: Final = 0.2
"""Pause between looks at a folder that has nothing new."""
_OPEN: Final = "open source"


@dataclasses.dataclass(frozen=True, slots=True)
class _Known:
    """A dump that was begun.

    Where its events end, and what its bytes were.
    """

    name: str
    end: int
    digest: str


class SnapshotSource:
    """Reads dated dumps as events. Implements `ktsafe.connectors.base.Source`.

    All events of a dump are of its date, which is the timestamp of their records. What came and
    went between two dumps is in neither, and so is no event.

    Parameters
    ----------
    folder:
        Holds one folder per dump, see `ktsafe.connectors.files.dumps`.
    tables:
        Reads the files.
    topic:
        Name the events carry as their topic.
    attributes:
        The columns of vertices to read; by default all but `id`.
    change_max:
        A dump in which a greater share of the people of both has another value in one column is
        refused.
    """

    def __init__(
        self,
        folder: Path,
        tables: TableReader,
        *,
        topic: str = "snapshots",
        attributes: Sequence[str] | None = None,
        change_max: float = 0.2,
    ) -> None:
        self._folder = folder
        self._tables = tables
        self._attributes = attributes
        self._change_max = change_max
        self._at = TopicPartition(topic, 0)
        self._known: list[_Known] = []
        self._dump: Dump | None = None  # The current one: the last that was begun.
        self._events: Difference | None = None
        self._start = self._next = 0
        self._paused = False

    def whole(self, folder: Path) -> Dump:
        """Return the dump in a folder of any name, if whole.

        Raises
        ------
        Misconfigured
        """
        return read_dump(place_of(folder), self._tables, self._attributes)

    def check_follows(self, base: DumpPlace, dump: Dump) -> None:
        """Refuse a dump that cannot be the one after `base`.

        Raises
        ------
        Misconfigured
        """
        before = read_dump(base, self._tables, self._attributes)
        check_follows(before, dump, self._change_max)

    def open(self, positions: Mapping[TopicPartition, int], identity: Mapping[str, str]) -> None:
        """Check the dumps against the position, and go there."""
        for partition in sorted(set(positions) - {self._at}):
            hint = (
                "the stored state has read it, and the source is another. Name the former source."
            )
            raise SourceMismatch(_OPEN, f"{partition.topic}/{partition.partition}", hint)
        # Names sort as their dates do.
        self._known = [_decoded(self._at.topic, *entry) for entry in sorted(identity.items())]
        self._seek(positions.get(self._at, 0))

    def identity(self) -> dict[str, str]:
        """Return begun dumps' last offsets, and their digests."""
        topic = self._at.topic
        return {f"{topic}/{known.name}": f"{known.end} {known.digest}" for known in self._known}

    def partitions(self) -> list[TopicPartition]:
        """Return the one partition."""
        return [self._at]

    def poll(self, timeout_s: float, records_max: int) -> list[Record]:
        """Return next records, all of one dump.

        Raises
        ------
        Misconfigured
            If the next dump is half-written, or its header is another one.
        SourceMismatch
            If a dump appeared out of order.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            if not self._paused and (records := list(self._take(records_max))):
                return records
            remaining_s = deadline - time.monotonic()
            if remaining_s <= 0:
                return []
            time.sleep(min(_WAIT_S, remaining_s))

    def pause(self, partition: TopicPartition, at_offset: int) -> None:
        """Stop at `at_offset`."""
        assert partition == self._at
        self._paused = True
        if self._start <= at_offset <= self._end:
            self._next = at_offset
        else:
            self._seek(at_offset)

    def resume(self, partition: TopicPartition) -> None:
        """Go on."""
        assert partition == self._at
        self._paused = False

    def at_end(self, partition: TopicPartition) -> bool:
        """Whether all events of all dumps that are there now were returned."""
        assert partition == self._at
        return self._next == self._end and self._following() is None

    def passed(self, partition: TopicPartition) -> int:
        """Return the number of the next event."""
        assert partition == self._at
        return self._next

    def has_open_transaction(self, partition: TopicPartition) -> bool:
        """Return False: a dump is whole."""
        return False

    def lag(self) -> dict[TopicPartition, int | None]:
        """Return how many events follow.

        None while a dump waits to be compared.
        """
        return {self._at: None if self._following() is not None else self._end - self._next}

    def ends(self) -> dict[TopicPartition, int]:
        """Return the number of events of all dumps, reading new ones."""
        other = SnapshotSource(
            self._folder,
            self._tables,
            topic=self._at.topic,
            attributes=self._attributes,
            change_max=self._change_max,
        )
        other.open({self._at: self._next}, self.identity())
        while not other.at_end(self._at):
            other._next = other._end
            other._advance()
        return {self._at: other._end}

    def acknowledge(self, positions: Mapping[TopicPartition, int]) -> None:
        """Do nothing: dumps keep no offsets."""

    def close(self) -> None:
        """Forget the dumps in memory. What was read of the identity stays."""
        self._dump = self._events = None

    @property
    def _end(self) -> int:
        """The offset after the events of the current dump."""
        return self._start + (0 if self._events is None else len(self._events))

    def _take(self, count: int) -> Iterator[Record]:
        while self._next == self._end:
            if not self._advance():
                return
        assert self._events is not None
        assert self._dump is not None
        time_ms = self._dump.place.time_ms
        topic, index = self._at
        stop = min(self._next + count, self._end)
        for offset in range(self._next, stop):
            event = self._events.event(offset - self._start)
            yield Record(topic, index, offset, time_ms, None, event)
        self._next = stop

    @property
    def _last(self) -> str:
        """The name of the last dump that was begun."""
        return max((known.name for known in self._known), default="")

    def _following(self) -> DumpPlace | None:
        """Return the dump after the current one, if it is there.

        Raises
        ------
        SourceMismatch
            If one appeared that lies before the current one.
        """
        last = "" if self._dump is None else self._dump.place.name
        return next((place for place in self._places() if place.name > last), None)

    def _places(self) -> list[DumpPlace]:
        """Return the dumps present: known ones, and later ones."""
        found = places(self._folder)
        names, last = {known.name for known in self._known}, self._last
        for place in found:
            if place.name < last and place.name not in names:
                hint = (
                    f"it is out of order: {last} was read already, and a dump before it would "
                    "change what was released. Remove it."
                )
                raise SourceMismatch("read dump", place.name, hint)
        return found

    def _advance(self) -> bool:
        """Go on to the next dump, if there is one.

        Its events begin where the last ones end.
        """
        place = self._following()
        if place is None:
            return False
        dump = self._read(place)
        check_follows(self._dump, dump, self._change_max)
        events = Difference(self._dump, dump)
        self._start = self._next = self._end
        self._dump, self._events = dump, events
        known = _Known(place.name, self._end, dump.digest)
        stored = next((one for one in self._known if one.name == known.name), None)
        if stored is None:
            self._known.append(known)
        elif stored != known:
            raise _changed(known.name)
        return True

    def _read(self, place: DumpPlace) -> Dump:
        """Read a dump, unchanged if it was read before."""
        stored = next((one for one in self._known if one.name == place.name), None)
        if stored is not None and stored.digest != place.digest():
            raise _changed(place.name)
        return read_dump(place, self._tables, self._attributes)

    def _seek(self, offset: int) -> None:
        """Go to an offset, from the dump before its own.

        Raises
        ------
        SourceMismatch
            If one of the two is gone or changed.
        OffsetLost
            If no dump holds the offset.
        """
        by_name = {place.name: place for place in self._places()}
        self._dump = self._events = None
        whole = [known for known in self._known if known.end <= offset]
        self._start = self._next = whole[-1].end if whole else 0
        if whole:
            name = whole[-1].name
            if name not in by_name:
                hint = "it was removed, and what comes next is compared with it. Restore it."
                raise SourceMismatch(_OPEN, name, hint)
            self._dump = self._read(by_name[name])
        begun = next((known.name for known in self._known if known.end > offset), None)
        if begun is not None and begun not in by_name:
            raise SourceMismatch(_OPEN, begun, "it was removed half read. Restore it.")
        while self._end < offset:
            self._next = self._end
            if not self._advance():
                hint = "the stored state has read more than the dumps hold. Restore them."
                raise OffsetLost(_OPEN, str(self._folder), hint)
        self._next = offset


def _decoded(topic: str, key: str, value: str) -> _Known:
    end, _, digest = value.partition(" ")
    of, _, name = key.rpartition("/")
    if of != topic or not end.isdecimal():
        raise SourceMismatch(_OPEN, key, "the stored state has read another source.")
    return _Known(name, int(end), digest)


def _changed(name: str) -> SourceMismatch:
    hint = "it was changed after it was read: the next one is compared with it. Restore it."
    return SourceMismatch(_OPEN, name, hint)


# Changes between two dumps as events, ordered by these alone.
#
# 1. vertex.delete   people that are gone, with all their ties
# 2. vertex.upsert   people that are new, or have other values: those values only
# 3. edge.remove     ties that are gone, both ends being there still
# 4. edge.add        ties that are new
#
# People and ties come in the order of the rows that name them, in the dump before for what is gone.

_LOW: Final = (1 << 32) - 1
_encode: Final = msgspec.json.Encoder().encode
Change = tuple[str, Mapping[str, str | None]]


class Difference:
    """The events from one dump to the next, one by one.

    Parameters
    ----------
    base:
        The dump before; None before the first.
    """

    def __init__(self, base: Dump | None, dump: Dump) -> None:
        self._ids = list(dump.position)
        self._deleted: list[str] = []
        self._base_ids: list[str] = []
        self._removed: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._added = dump.edges
        if base is None:
            pairs = zip(self._ids, dump.values, strict=True)
            self._upserted: list[Change] = [
                (name, _given(dump.columns, values)) for name, values in pairs
            ]
        else:
            self._base_ids = list(base.position)
            self._deleted = [name for name in self._base_ids if name not in dump.position]
            self._upserted = _upserted(base, dump)
            self._compare_edges(base, dump)

    def __len__(self) -> int:
        people = len(self._deleted) + len(self._upserted)
        return people + len(self._removed) + len(self._added)

    def event(self, index: int) -> bytes:
        """Return one event as JSON, 0 <= index < len."""
        if index < len(self._deleted):
            return _encode({"type": "vertex.delete", "id": self._deleted[index]})
        index -= len(self._deleted)
        if index < len(self._upserted):
            name, values = self._upserted[index]
            return _encode({"type": "vertex.upsert", "id": name, "attributes": values})
        index -= len(self._upserted)
        if index < len(self._removed):
            return _edge("edge.remove", self._base_ids, int(self._removed[index]))
        return _edge("edge.add", self._ids, int(self._added[index - len(self._removed)]))

    def _compare_edges(self, base: Dump, dump: Dump) -> None:
        """Find edges in one dump only, by rows of that dump."""
        in_base = np.array([base.position.get(name, -1) for name in self._ids], dtype=np.int64)
        u, v = in_base[dump.edges >> 32], in_base[dump.edges & _LOW]
        both = (u >= 0) & (v >= 0)
        keys = np.where(both, np.minimum(u, v) << 32 | np.maximum(u, v), -1)
        self._added = dump.edges[~np.isin(keys, base.edges)]
        stays = np.zeros(len(base.values), dtype=np.bool_)
        stays[in_base[in_base >= 0]] = True
        gone = base.edges[~np.isin(base.edges, keys)]
        self._removed = gone[stays[gone >> 32] & stays[gone & _LOW]]


def _upserted(base: Dump, dump: Dump) -> list[Change]:
    """Return the people that are new or changed."""
    # Dumps may have their columns in different orders.
    order = [base.columns.index(name) for name in dump.columns]
    found: list[Change] = []
    for (name, row), values in zip(dump.position.items(), dump.values, strict=True):
        assert values is dump.values[row]
        before = base.position.get(name)
        if before is None:
            found.append((name, _given(dump.columns, values)))
            continue
        old = base.values[before]
        changed = {
            column: value
            for column, value, j in zip(dump.columns, values, order, strict=True)
            if value != old[j]
        }
        if changed:
            found.append((name, changed))
    return found


def _given(columns: tuple[str, ...], values: tuple[str | None, ...]) -> dict[str, str | None]:
    return {name: value for name, value in zip(columns, values, strict=True) if value is not None}


def _edge(what: str, ids: list[str], key: int) -> bytes:
    return _encode({"type": what, "source": ids[key >> 32], "target": ids[key & _LOW]})
