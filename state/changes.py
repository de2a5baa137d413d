"""What an event does to the graph: four kinds of change, each with its stamp.

Changes are merged by maximum stamp (`ktsafe.state.store`), so their order of arrival does not
matter. Every event makes one, so they are what is made and let go of quickest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray


class Stamp(msgspec.Struct, frozen=True, order=True, gc=False):
    """When a change holds, with ties broken by where it was read: compared field by field."""

    time_us: int
    topic: str
    partition: int
    offset: int


class VertexUpsert(msgspec.Struct, frozen=True, gc=False):
    """The vertex exists from `stamp` on; given attributes take the given values (None: missing)."""

    stamp: Stamp
    id: str
    attributes: dict[str, str | None]


class VertexDelete(msgspec.Struct, frozen=True, gc=False):
    """The vertex and everything at or before `stamp` that hangs on it is gone."""

    stamp: Stamp
    id: str


class EdgeAdd(msgspec.Struct, frozen=True, gc=False):
    """The undirected edge is present from `stamp` on, as soon as and while both ends exist."""

    stamp: Stamp
    source: str
    target: str


class EdgeRemove(msgspec.Struct, frozen=True, gc=False):
    """The undirected edge is absent from `stamp` on."""

    stamp: Stamp
    source: str
    target: str


Change: TypeAlias = VertexUpsert | VertexDelete | EdgeAdd | EdgeRemove

_EDGE_ADD, _EDGE_REMOVE, _VERTEX_UPSERT, _VERTEX_DELETE = range(4)
_KINDS: Final[dict[type[Change], int]] = {
    EdgeAdd: _EDGE_ADD,
    EdgeRemove: _EDGE_REMOVE,
    VertexUpsert: _VERTEX_UPSERT,
    VertexDelete: _VERTEX_DELETE,
}


class ChangeColumns(NamedTuple):
    """Changes read from one partition, in order, in columns: a merge takes its ties together.

    Attributes
    ----------
    topic, partition:
        Where all of them were read.
    times, offsets:
        The rest of each stamp, int64, shape (n,).
    kinds:
        What each is, uint8, shape (n,).
    ends:
        Both ends of each tie, one tie after the other.
    people:
        The id of each change to a person.
    attributes:
        Of each upsert.
    """

    topic: str
    partition: int
    times: NDArray[np.int64]
    offsets: NDArray[np.int64]
    kinds: NDArray[np.uint8]
    ends: list[str]
    people: list[str]
    attributes: list[dict[str, str | None]]

    @classmethod
    def of(cls, topic: str, partition: int, changes: Sequence[Change]) -> ChangeColumns:
        """Return changes that were all read there."""
        ends: list[str] = []
        people: list[str] = []
        attributes: list[dict[str, str | None]] = []
        for change in changes:
            if isinstance(change, (EdgeAdd, EdgeRemove)):
                ends += (change.source, change.target)
                continue
            people.append(change.id)
            if isinstance(change, VertexUpsert):
                attributes.append(change.attributes)
        times = np.array([change.stamp.time_us for change in changes], dtype=np.int64)
        offsets = np.array([change.stamp.offset for change in changes], dtype=np.int64)
        kinds = np.array([_KINDS[type(change)] for change in changes], dtype=np.uint8)
        return cls(topic, partition, times, offsets, kinds, ends, people, attributes)

    @property
    def is_tie(self) -> NDArray[np.bool_]:
        """Which of the changes are to ties, shape (n,)."""
        return self.kinds <= _EDGE_REMOVE

    @property
    def is_present(self) -> NDArray[np.bool_]:
        """Which of the ties are there from then on, by tie."""
        is_present: NDArray[np.bool_] = self.kinds[self.is_tie] == _EDGE_ADD
        return is_present

    def counts(self) -> dict[type[Change], int]:
        """Return how many there are of each kind."""
        found = np.bincount(self.kinds, minlength=len(_KINDS)).tolist()
        return {kind: found[number] for kind, number in _KINDS.items()}

    def deleted(self) -> list[str]:
        """Return whom a change deletes."""
        kinds = self.kinds[~self.is_tie]
        return [self.people[place] for place in np.flatnonzero(kinds == _VERTEX_DELETE).tolist()]

    def each(self, without: NDArray[np.bool_] | None = None) -> Iterator[Change]:
        """Yield the changes one by one, but for ties that are marked in `without`, by tie."""
        kept = np.ones(len(self.kinds), dtype=np.bool_)
        if without is not None:
            kept[self.is_tie] = ~without
        tie = np.cumsum(self.is_tie) - 1
        person = np.arange(len(self.kinds)) - tie - 1
        upsert = np.cumsum(self.kinds == _VERTEX_UPSERT) - 1
        rows = np.flatnonzero(kept)
        columns = (self.times, self.offsets, self.kinds, tie, person, upsert)
        some = (column[rows].tolist() for column in columns)
        for time_us, offset, kind, i, j, n in zip(*some, strict=True):
            stamp = Stamp(time_us, self.topic, self.partition, offset)
            if kind == _VERTEX_UPSERT:
                yield VertexUpsert(stamp, self.people[j], self.attributes[n])
            elif kind == _EDGE_ADD:
                yield EdgeAdd(stamp, self.ends[2 * i], self.ends[2 * i + 1])
            elif kind == _EDGE_REMOVE:
                yield EdgeRemove(stamp, self.ends[2 * i], self.ends[2 * i + 1])
            else:
                yield VertexDelete(stamp, self.people[j])


Changes: TypeAlias = Sequence[Change | ChangeColumns]
"""Changes in the order in which they were read, some of them in columns."""
