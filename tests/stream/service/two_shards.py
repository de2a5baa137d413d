"""Two shards in simulation: what ADR 31 designs, of the real ingest and the real store.

A shard reads its own partitions and owns some of the vertices. Its commit has two steps:

1. Every other owner of what is held commits that, with how far it knows this shard's partitions.
2. The shard commits its own part, and its offsets.

So whatever dies in between, nothing is lost: it is read and passed on again. An edge goes to the
owners of both ends. To each of them the other's vertices are there for ever, so it says what its
own end says; an edge is in the cut if both say so. A cut is made once each shard has passed its
slot; only then do shards take in what lies beyond.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ktsafe.connectors.base import TopicPartition
from ktsafe.state.changes import Change, Stamp, VertexDelete, VertexUpsert
from ktsafe.state.snapshot import GraphSnapshot
from ktsafe.state.store import GraphStore, Position
from ktsafe.stream.clocks import Clocks
from ktsafe.stream.ingest.ingest import Ingest, IngestSettings
from ktsafe.stream.observer import Observer
from ktsafe.stream.release.cut import EventTimeCut
from ktsafe.stream.slots import FixedSlots
from tests.memory_connectors import Crash, MemoryDeadLetterSink, MemoryLog, MemorySource
from tests.memory_store import MemoryStore
from tests.stream.service.simulation import SCHEMA, SLOT_US, Tripwire

SHARDS = 2
ALWAYS = Stamp(-1, "", 0, 0)
"""Since when the vertices of others are there."""
PASSED_ON = "passed on"
"""The topic under which a shard notes how far it knows the partitions of others."""

Cut = tuple[bytes, ...]
"""A frozen cut, byte for byte: ids, categories, codes, ties."""


def owner(vertex: str) -> int:
    """Return the shard that owns a vertex."""
    return zlib.crc32(vertex.encode()) % SHARDS


def ends(change: Change) -> tuple[str, ...]:
    """Return the vertices that a change concerns."""
    if isinstance(change, VertexUpsert | VertexDelete):
        return (change.id,)
    return change.source, change.target


def owned(changes: Sequence[Change], number: int) -> list[Change]:
    """Return what concerns a shard's vertices, behind the vertices of others that it names."""
    own = [change for change in changes if number in map(owner, ends(change))]
    others = {end for change in own for end in ends(change) if owner(end) != number}
    return [*(VertexUpsert(ALWAYS, end, {}) for end in sorted(others)), *own]


class Reading(MemorySource):
    """Reads some partitions of a log."""

    def __init__(self, log: MemoryLog, numbers: Sequence[int]) -> None:
        super().__init__(log)
        self._numbers = numbers

    def partitions(self) -> list[TopicPartition]:
        """Return the partitions of this shard."""
        return [at for at in super().partitions() if at.partition in self._numbers]


class Passing:
    """The stores of all shards, as the ingest of one of them sees its own."""

    def __init__(self, number: int, stores: Sequence[GraphStore]) -> None:
        self._number = number
        self._stores = stores

    def positions(self) -> dict[tuple[str, int], Position]:
        """Return the positions of the shard's own partitions."""
        found = self._stores[self._number].positions()
        return {at: position for at, position in found.items() if at[0] != PASSED_ON}

    def source_identity(self) -> dict[str, str]:
        """Return the identity of the source."""
        return self._stores[self._number].source_identity()

    def commit(
        self, changes: Sequence[Change], positions: Mapping[tuple[str, int], Position], **given: Any
    ) -> None:
        """Have others commit what they own and do not know yet; then commit the rest."""
        for number, store in enumerate(self._stores):
            if number == self._number:
                continue
            there = store.positions()
            upto = {(PASSED_ON, p): position for (_, p), position in positions.items()}
            known = {p: there[at].next_offset for at in upto if at in there for p in at[1:]}
            fresh = [c for c in changes if c.stamp.offset >= known.get(c.stamp.partition, 0)]
            if theirs := owned(fresh, number):
                store.commit(theirs, upto)
        own = owned(changes, self._number)
        self._stores[self._number].commit(own, positions, **given)


class Shard:
    """One process: reads its partitions up to a slot, over a store that outlives it."""

    def __init__(self, store: Any, source: MemorySource, slot_us: int, batch: int) -> None:
        self._source = source
        self._cut = EventTimeCut(FixedSlots(SLOT_US), slot_us)
        self._ingest = Ingest(
            source,
            store,
            MemoryDeadLetterSink(),
            schema=SCHEMA,
            settings=IngestSettings(batch_records_max=batch),
            observer=Observer(),
            clocks=Clocks(wall_us=lambda: 0, monotonic=lambda: 0.0),
        )
        offsets = {TopicPartition(*p): at.next_offset for p, at in store.positions().items()}
        source.open(offsets, store.source_identity())

    def round(self) -> bool:
        """Take in some records; return whether the slot is passed and all of it is durable."""
        taken = self._ingest.round(self._cut.admits, self._cut.limit_us)
        resting = self._ingest.ended()
        taken += self._ingest.decide(
            resting, self._cut.admits, self._cut.limit_us, lambda _, outvoted: not outvoted
        )
        if self._ingest.checkpoint_due():
            self._ingest.checkpoint()
        waiting = {*self._cut.arrived, *self._ingest.ended()}
        if taken or not waiting.issuperset(self._source.partitions()):
            return False
        self._ingest.checkpoint()
        return True


class Coordinator:
    """Has shards read slot by slot, and makes the cut of each; `cuts` and stores outlive it."""

    def __init__(self, partitions: Sequence[Sequence[bytes]], shards: int) -> None:
        self.log = MemoryLog(partitions=len(partitions))
        for number, values in enumerate(partitions):
            for value in values:
                self.log.append(number, value)
        self.stores = [MemoryStore(SCHEMA) for _ in range(shards)]
        self.cuts: dict[int, Cut] = {}

    def run(self, slots: int, choose: Callable[[int], int], batch: int, wire: Tripwire) -> None:
        """Make the cuts that are still to be made; at a step of `wire` a shard or this dies."""
        stores = [wire.tied(store) for store in self.stores]
        for number in range(len(self.cuts), slots):
            slot_us = (number + 1) * SLOT_US
            shards = [self._started(i, stores, slot_us, batch) for i in range(len(stores))]
            passed = [False] * len(stores)
            while not all(passed):
                # Whoever comes first: shards run at paces of their own.
                i = choose(len(stores))
                try:
                    passed[i] = passed[i] or shards[i].round()
                except Crash:
                    # This one starts again from what is durable; the other goes on.
                    shards[i] = self._started(i, stores, slot_us, batch)
            snapshots = [store.snapshot() for store in stores]
            wire.step("before the cut is known")
            self.cuts[slot_us] = merged(snapshots)
            wire.step("after the cut is known")

    def _started(self, i: int, stores: Sequence[Any], slot_us: int, batch: int) -> Shard:
        source = Reading(self.log, range(len(self.log.items))[i :: len(stores)])
        store = Passing(i, stores) if len(stores) > 1 else stores[i]
        return Shard(store, source, slot_us, batch)


def merged(snapshots: Sequence[GraphSnapshot]) -> Cut:
    """Return the cut of shards: each gives its own vertices, and ties that both owners name."""
    owner_of = owner if len(snapshots) > 1 else lambda _: 0
    values: dict[str, Mapping[str, str]] = {}
    named: list[set[tuple[str, str]]] = []
    for i, snapshot in enumerate(snapshots):
        ids = snapshot.ids
        values |= {n: snapshot.graph.values(v) for v, n in enumerate(ids) if owner_of(n) == i}
        pairs = ((ids[u], ids[v]) for u, v in snapshot.graph.edges.tolist())
        named.append({(min(pair), max(pair)) for pair in pairs})
    ties = sorted(e for e in set().union(*named) if all(e in named[owner_of(end)] for end in e))
    people = sorted(values)
    at = {name: v for v, name in enumerate(people)}
    table = [[values[name][a] for name in people] for a in SCHEMA.attributes]
    kinds = [sorted(set(texts)) for texts in table]
    codes = [[of.index(text) for text in texts] for of, texts in zip(kinds, table, strict=True)]
    edges = np.array([(at[u], at[v]) for u, v in ties], dtype=np.int32)
    columns = np.array(codes, dtype=np.int32)
    return "\n".join(people).encode(), repr(kinds).encode(), columns.tobytes(), edges.tobytes()
