"""Records of rows on the partitions of a topic, read by the real ingest into a real store."""

from __future__ import annotations

import dataclasses
import random
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from ktsafe import Schema
from ktsafe.state.snapshot import GraphSnapshot
from ktsafe.state.store import GraphStore
from ktsafe.stream.ingest.debezium import MirroredTable, Tables
from ktsafe.stream.ingest.ingest import Ingest, IngestSettings
from ktsafe.stream.observer import Observer
from ktsafe.stream.slots import Clocks
from tests.databases.networks import History, People, Ties, truth
from tests.databases.tables import Database, Told, as_json
from tests.memory_connectors import MemoryDeadLetterSink, MemoryLog, MemorySource
from tests.memory_store import MemoryDisk, MemoryStore

SCHEMA: Final = Schema(("gender", "age"), "health", frozenset({"ill"}))
SECOND_US: Final = 1_000_000
BEGIN_US: Final = 1_767_225_600_000_000


class Written(NamedTuple):
    """A record of a topic."""

    key: bytes | None
    value: bytes | None


def tables(schema: str = "public") -> Tables:
    """Return how the tables of networks are read, in whichever of their layouts."""
    return (
        MirroredTable(f"{schema}.people", {"id": "id"}),
        MirroredTable(f"{schema}.ties", {"source": "a", "target": "b", "kind": "kind"}),
    )


def written(
    told: Iterable[Told], database: Database, time_us: int, lsn: int, *, schemas: bool
) -> list[Written]:
    """Return what is told at a time as records."""
    return [
        Written(*as_json(each, database.tables[each.table], time_us, lsn + i, schemas=schemas))
        for i, each in enumerate(told)
    ]


def scattered(log: MemoryLog, records: Iterable[Written], rng: random.Random) -> None:
    """Append records to partitions by their keys; those without one by chance."""
    n = len(log.items)
    for key, value in records:
        partition = rng.randrange(n) if key is None else zlib.crc32(key) % n
        log.append(partition, value, key=key)


class Mirror:
    """An ingest that reads all of a log, whatever the time, a few records at once.

    Parameters
    ----------
    open_store:
        Opens the store again, as after a crash.
    crashes:
        How often that happens, as a share of what is taken in.
    """

    def __init__(
        self,
        log: MemoryLog,
        open_store: Callable[[], GraphStore],
        listed: Tables,
        rng: random.Random,
        schema: Schema = SCHEMA,
        *,
        crashes: float = 0.15,
    ) -> None:
        self.log = log
        self._crashes = crashes
        self._open = open_store
        self._listed = listed
        self._rng = rng
        self._schema = schema
        self.store = open_store()
        self.letters = MemoryDeadLetterSink()
        self._ingest = self._begin()

    def read_all(self) -> None:
        """Read to the end, by turns of partitions; crash now and then, and go on."""
        while True:
            taken = self._ingest.round(lambda *_: True, 2**62, waits=False)
            if self._rng.random() < 0.5 or not taken:
                self._ingest.checkpoint()
            if self._rng.random() < self._crashes:
                self.crash()
                continue
            if not taken:
                return

    def crash(self) -> None:
        """Lose what is not in the store, and open it again."""
        self.store.close()
        self.store = self._open()
        self._ingest = self._begin()

    def _begin(self) -> Ingest:
        source = MemorySource(self.log)
        source.open(
            {p: at.start for p, at in self.store.positions().items()}, self.store.source_identity()
        )
        settings = IngestSettings(
            batch_records_max=self._rng.choice((1, 3, 7, 1000)), tables=self._listed
        )
        return Ingest(
            source,
            self.store,
            self.letters,
            schema=self._schema,
            settings=settings,
            observer=Observer(),
            clocks=Clocks(wall_us=lambda: BEGIN_US, monotonic=lambda: 0.0),
        )


def graph(snapshot: GraphSnapshot) -> tuple[dict[str, dict[str, str]], Ties]:
    """Return a graph as people with categories, and ties."""
    ids = snapshot.ids
    people = {name: snapshot.graph.values(v) for v, name in enumerate(ids)}
    return people, {frozenset((ids[u], ids[v])) for u, v in snapshot.graph.edges.tolist()}


def expected(people: People, ties: Ties, schema: Schema = SCHEMA) -> tuple[Any, Ties]:
    """Return the truth as `graph` tells it."""
    named = {
        name: {a: schema.category(a, values.get(a)) for a in schema.attributes}
        for name, values in people.items()
    }
    return named, ties


def again(records: Sequence[Written], rng: random.Random) -> list[Written]:
    """Return records some of which are told again, from one on, as after a crash of Debezium."""
    told = list(records)
    if told and rng.random() < 0.5:
        end = rng.randint(1, len(told))
        start = rng.randint(0, end)
        told[end:end] = told[start:end]
    return told


def _in_memory(schema: Schema) -> Callable[[], GraphStore]:
    disk = MemoryDisk()
    return lambda: MemoryStore(schema, disk)


CHOICES: Final[tuple[str | frozenset[str], ...]] = (
    *("any", "any", "mutual"),
    frozenset({"friend"}),
    frozenset({"friend", "colleague"}),
)
"""What counts as a tie."""


def differences(
    seed: int, open_store: Callable[[Schema], Callable[[], GraphStore]] = _in_memory
) -> list[str]:
    """Play a history by chance and return how the mirror differs from the database at its end.

    What counts as a tie is drawn, too.

    Drawn by the seed: statements, partitions, what is told again, the time of each transaction
    (that of the snapshot may lie behind those after it), batches and crashes.
    """
    rng = random.Random(seed)
    history = History(seed)
    database = history.database
    for transaction in history.before:
        database.commit(transaction)
    schemas, lsn = rng.random() < 0.5, 1000
    told = written(database.snapshot(), database, BEGIN_US + 20 * SECOND_US, lsn, schemas=schemas)
    for n, transaction in enumerate(history.after, 1):
        lsn += 100
        time_us = BEGIN_US + n * SECOND_US
        told += written(database.commit(transaction), database, time_us, lsn, schemas=schemas)
    log = MemoryLog(partitions=rng.randint(1, 3))
    scattered(log, again(told, rng), rng)
    schema = dataclasses.replace(SCHEMA, ties=rng.choice(CHOICES))
    mirror = Mirror(log, open_store(schema), tables(), rng, schema)
    mirror.read_all()
    try:
        return [
            *compared(
                graph(mirror.store.snapshot()), expected(*truth(database.all_rows(), schema.ties))
            ),
            *(f"letter {letter.reason} {letter.detail}" for letter in mirror.letters.letters),
        ]
    finally:
        mirror.store.close()


def compared(seen: tuple[Any, Ties], right: tuple[Any, Ties]) -> list[str]:
    """Return the people and ties of which two graphs differ."""
    people = {**seen[0], **right[0]}
    found = [f"person {name}" for name in people if seen[0].get(name) != right[0].get(name)]
    return found + [f"tie {sorted(tie)}" for tie in seen[1] ^ right[1]]
