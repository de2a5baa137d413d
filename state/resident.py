"""The graph as it is resident: registers, derived existence, and how changes alter them.

RocksDB holds the durable copy; the two agree after every commit. A merge touches memory only and
returns what it touched, so the store can write all of it in one batch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ktsafe import Schema
from ktsafe.state.changes import Change, EdgeAdd, EdgeRemove, VertexUpsert
from ktsafe.state.edge_rows import column
from ktsafe.state.edge_table import EdgeChanges, EdgeTable
from ktsafe.state.keys import edge_key
from ktsafe.state.registers import Mark, Origins, VertexRecord
from ktsafe.state.snapshot import FrozenArrays
from ktsafe.state.vertex_table import VertexTable

_EDGE_CHANGES: Final = (EdgeAdd, EdgeRemove)
_NO_ROW: Final = np.array([-1])
ReadRecords = Callable[[Sequence[int]], Sequence[VertexRecord]]
"""Reads the stored registers of vertex numbers, in bulk."""


@dataclasses.dataclass(frozen=True, slots=True)
class Touched:
    """What a merge altered, to be written.

    Attributes
    ----------
    vertices:
        New registers by vertex number; None: nothing is remembered any more.
    edge_keys, edge_rows:
        Edges whose registers are others now, int64, ascending, and the row of each; -1: nothing is
        remembered any more.
    """

    vertices: dict[int, VertexRecord | None]
    edge_keys: NDArray[np.int64]
    edge_rows: NDArray[np.int64]


class ResidentGraph:
    """All of the graph but the vertices' own registers, which the store reads when they change.

    Parameters
    ----------
    attributes:
        Every attribute name ever stored; its position is the attribute's number. Grows.
    secret:
        Key of the hash that stands for absent persons.
    """

    def __init__(
        self, schema: Schema, attributes: list[str], origins: Origins, secret: bytes
    ) -> None:
        self.schema = schema
        self.lineage = object()
        self.origins = origins
        self.attributes = attributes
        attributes.extend(name for name in schema.attributes if name not in attributes)
        self._number_of = {name: attributes.index(name) for name in schema.attributes}
        self._position_of = {
            self._number_of[name]: position for position, name in enumerate(schema.attributes)
        }
        self.vertices = VertexTable(schema, secret)
        self.edges = EdgeTable()
        self.n_present = 0  # edges that are there as soon as both ends exist
        self.n_edges = 0  # edges that exist
        self._records: dict[int, VertexRecord] = {}
        self._touched_vertices: set[int] = set()
        self._touched_edges: list[tuple[NDArray[np.int64], NDArray[np.int64]]] = []

    def prepare(self, changes: Sequence[Change], read: ReadRecords) -> dict[int, VertexRecord]:
        """Read, in one go, the registers of every known vertex that the changes alter.

        Raises
        ------
        ValueError
            If an edge has one end only. Nothing was altered, here or later.
        """
        people: list[str] = []
        for change in changes:
            if not isinstance(change, _EDGE_CHANGES):
                people.append(change.id)
            elif change.source == change.target:
                raise ValueError("an edge needs two ends")
        found = map(self.vertices.find, people)
        numbers = sorted({number for number in found if number is not None})
        return dict(zip(numbers, read(numbers), strict=True))

    def merge(self, changes: Sequence[Change], records: dict[int, VertexRecord]) -> Touched:
        """Merge `changes`; `records` is what `prepare` returned for them.

        People are merged one by one. Ties are held, and merged together: at the end, and before a
        person leaves that has to find some of them.
        """
        self._records = records
        # Every event passes here. Of each tie six numbers are held, as in `EdgeChanges`.
        held: list[int] = []
        ends: set[int] = set()  # of the ties held when somebody left last
        n_known = 0
        find, downs = self.vertices.find, self.vertices.downs
        # A hash is that of somebody who is absent, and no id is one.
        number_of: Callable[[str | bytes], int | None] = self.vertices.numbers.get  # type: ignore[assignment]
        topic, partition, origin = "", -1, -1
        for change in changes:
            stamp = change.stamp
            time_us, offset = stamp.time_us, stamp.offset
            # Changes come in runs of one origin.
            if stamp.partition != partition or stamp.topic != topic:
                topic, partition = stamp.topic, stamp.partition
                origin = self.origins.number(topic, partition)
            if isinstance(change, _EDGE_CHANGES):
                a, b = number_of(change.source), number_of(change.target)
                if a is None or b is None or a in downs or b in downs:
                    a, b = self._ends((time_us, origin, offset), (a, b), change)
                    if a is None or b is None:
                        continue
                held += (a, b, time_us, origin, offset, type(change) is EdgeAdd)
                continue
            if isinstance(change, VertexUpsert):
                self._upsert((time_us, origin, offset), change)
                continue
            number = find(change.id)
            if number is None:
                number = self._allocate(change.id)
            ends.update(held[n_known::6], held[n_known + 1 :: 6])
            n_known = len(held)
            if ends and self._concern(ends, number):
                self._merge_edges(held)
                held.clear()
                ends.clear()
                n_known = 0
            self._delete((time_us, origin, offset), number)
        self._merge_edges(held)
        return self._take_touched()

    def counts(self) -> dict[str, int]:
        """Return how many vertices and edges exist, edges wait, and tombstones are kept."""
        return {
            "vertices": self.vertices.n_existing,
            "edges": self.n_edges,
            "edges_waiting": self.n_present - self.n_edges,
            "tombstones": len(self.vertices.downs) + len(self.edges.rows) - self.n_present,
        }

    def tombstones(self, horizon_us: int) -> tuple[list[int], list[int]]:
        """Return the vertex numbers and the edge keys whose tombstones are before `horizon_us`."""
        numbers = [n for n, mark in self.vertices.downs.items() if mark[0] < horizon_us]
        edges = self.edges
        low, high = column(edges.low), column(edges.high)
        absent = (low >= 0) & (column(edges.present) == 0)
        rows = np.flatnonzero(absent & (column(edges.time) < horizon_us))
        keys = low[rows].astype(np.int64) << 32 | high[rows]
        return numbers, keys.tolist()

    def forget(
        self,
        numbers: Sequence[int],
        edge_keys: Sequence[int],
        records: Sequence[VertexRecord],
    ) -> Touched:
        """Forget the tombstones of these vertices, whose registers are `records`, and edges."""
        self._records = dict(zip(numbers, records, strict=True))
        rows = self.edges.rows.find(np.array(edge_keys, dtype=np.int64))
        for key, row in zip(edge_keys, rows.tolist(), strict=True):
            self._drop_edge(key, row, keep=-1)
        for number in numbers:
            self._records[number].down = None
            self._touched_vertices.add(number)
            del self.vertices.downs[number]
            self._release_if_idle(number)
        return self._take_touched()

    def freeze(self) -> FrozenArrays:
        """Return a copy that later merges do not alter."""
        vertices, edges = self.vertices, self.edges
        names = self.schema.attributes
        told = {name: vertices.told(j) for j, name in enumerate(names)}
        return FrozenArrays(
            schema=self.schema,
            labels=vertices.labels.copy(),
            exists=column(vertices.exists).astype(np.bool_),
            codes=np.column_stack([each.codes for each in told.values()]),
            categories=tuple(each.texts for each in told.values()),
            values={name: each.values for name, each in told.items() if each.values},
            low=column(edges.low),
            high=column(edges.high),
            present=column(edges.present).astype(np.bool_),
            lives=column(vertices.lives),
            n_lives=vertices.n_lives,
            lineage=self.lineage,
        )

    def numbers_of_attributes(self) -> list[int]:
        """Return the number of each attribute of the schema, by position."""
        return list(self._position_of)

    def recount(self) -> None:
        """Count the edges after a load."""
        exists = column(self.vertices.exists)
        present = column(self.edges.present).astype(np.bool_)
        low, high = column(self.edges.low)[present], column(self.edges.high)[present]
        self.n_present = int(np.count_nonzero(present))
        self.n_edges = int(np.count_nonzero(exists[low] & exists[high]))

    def _take_touched(self) -> Touched:
        labels = self.vertices.labels
        touched = Touched(
            {
                number: None if labels[number] is None else self._records[number]
                for number in self._touched_vertices
            },
            *_last_rows(self._touched_edges),
        )
        self._records = {}
        self._touched_vertices = set()
        self._touched_edges = []
        return touched

    def _allocate(self, vertex_id: str | bytes) -> int:
        number = self.vertices.allocate(vertex_id)
        alias = self.vertices.labels[number]
        assert isinstance(alias, bytes)
        self.edges.reserve(number)
        self._records[number] = VertexRecord(alias=alias)
        self._touched_vertices.add(number)
        return number

    def _upsert(self, mark: Mark, change: VertexUpsert) -> None:
        vertices, vertex_id, number_of = self.vertices, change.id, self._number_of
        values = {number_of[name]: x for name, x in change.attributes.items() if name in number_of}
        number = vertices.find(vertex_id)
        if number is None:
            number = vertices.join(vertex_id)
            self.edges.reserve(number)
            told = {attribute: (mark, value) for attribute, value in values.items()}
            life = vertices.lives[number]
            record = VertexRecord(id=vertex_id, up=mark, attributes=told, life=life)
            self._records[number] = record
        else:
            record = self._records[number]
            if not record.upsert(mark, values, self.origins):
                return
            if not vertices.exists[number]:
                vertices.appear(number, vertex_id)
                record.id, record.alias = vertex_id, None
                record.life = vertices.lives[number]
                self._count_around(number, 1)
        self._touched_vertices.add(number)
        position_of, told = self._position_of, record.attributes
        vertices.set_codes(number, [(position_of[x], told[x][1]) for x in values])

    def _delete(self, mark: Mark, number: int) -> None:
        vertices = self.vertices
        record = self._records[number]
        if not record.delete(mark, self.origins):
            return
        self._touched_vertices.add(number)
        vertices.downs[number] = mark
        for row, other in list(self.edges.around(number)):
            if not self.origins.later(self.edges.mark(row), mark):
                self._drop_edge(edge_key(number, other), row, keep=number)
        if record.up is None and vertices.exists[number]:
            self._count_around(number, -1)
            record.id, record.alias, record.life = None, vertices.vanish(number), None
        elif vertices.exists[number]:
            vertices.live_again(number)
            record.life = vertices.lives[number]
        lost = [p for x, p in self._position_of.items() if x not in record.attributes]
        vertices.set_codes(number, [(position, None) for position in lost])

    def _ends(
        self, mark: Mark, ends: tuple[int | None, int | None], change: EdgeAdd | EdgeRemove
    ) -> tuple[int | None, int | None]:
        """Return the numbers of both ends of a tie; None if it is covered by a departure.

        Given are those of people who exist.
        """
        find, source, target = self.vertices.find, change.source, change.target
        a, b = (find(source) if ends[0] is None else ends[0]), ends[1]
        b = find(target) if b is None else b
        if self._is_covered(mark, a) or self._is_covered(mark, b):
            return None, None
        return self._allocate(source) if a is None else a, self._allocate(
            target
        ) if b is None else b

    def _concern(self, ends: set[int], number: int) -> bool:
        """Whether ties of these ends may matter where a person leaves.

        They are the person's, or those of somebody that is remembered for ties alone.
        """
        exists, downs = self.vertices.exists, self.vertices.downs
        return number in ends or any(
            other in ends and not exists[other] and other not in downs
            for _, other in self.edges.around(number)
        )

    def _merge_edges(self, held: list[int]) -> None:
        if not held:
            return
        columns = np.fromiter(held, dtype=np.int64, count=len(held)).reshape(-1, 6).T
        merged = self.edges.merge(EdgeChanges(*columns), self.origins.ranks())
        exists = np.frombuffer(self.vertices.exists, dtype=np.bool_)
        exist = exists[merged.keys >> 32] & exists[merged.keys & 0xFFFFFFFF]
        steps = merged.is_present - merged.was_present
        self.n_present += int(steps.sum())
        self.n_edges += int(steps[exist].sum())
        self._touched_edges.append((merged.keys, merged.rows))

    def _is_covered(self, mark: Mark, number: int | None) -> bool:
        """Whether a change to an edge is at or below the `down` of one of its ends."""
        down = None if number is None else self.vertices.downs.get(number)
        return down is not None and not self.origins.later(mark, down)

    def _drop_edge(self, key: int, row: int, *, keep: int) -> None:
        """Forget an edge register, and each end but `keep` if that is now free of any memory."""
        edges, exists = self.edges, self.vertices.exists
        low, high = edges.low[row], edges.high[row]
        if edges.present[row]:
            self.n_present -= 1
            self.n_edges -= bool(exists[low] and exists[high])
        edges.remove(row)
        self._touched_edges.append((np.array([key]), _NO_ROW))
        for end in (low, high):
            if end != keep:
                self._release_if_idle(end)

    def _release_if_idle(self, number: int) -> None:
        vertices = self.vertices
        if (
            not vertices.exists[number]
            and number not in vertices.downs
            and self.edges.is_alone(number)
        ):
            vertices.release(number)
            self._records.pop(number, None)
            self._touched_vertices.add(number)

    def _count_around(self, number: int, step: int) -> None:
        """Count the edges that begin (1) or cease (-1) to exist with a vertex."""
        exists, present = self.vertices.exists, self.edges.present
        for row, other in self.edges.around(number):
            if present[row] and exists[other]:
                self.n_edges += step


def _last_rows(
    touched: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each edge that was touched, ascending, and its row after the last time."""
    if len(touched) == 1:  # Of one merge: ascending, each edge once.
        return touched[0]
    keys = np.concatenate([_NO_ROW[:0], *(each for each, _ in touched)])
    rows = np.concatenate([_NO_ROW[:0], *(each for _, each in touched)])
    unique, from_the_end = np.unique(keys[::-1], return_index=True)
    return unique, rows[::-1][from_the_end]
