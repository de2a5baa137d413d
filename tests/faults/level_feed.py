"""A long feed of a network that stays as large as it is: as many join as leave, tie as part.

The feed knows the graph it makes, which shares nothing with the service that reads it: the truth
at every slot comes from here. It lies in one file per partition, mapped and not loaded, so that
millions of events cost no memory of the process that reads them.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import mmap
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ktsafe import Schema
from ktsafe.connectors.base import Record
from tests.feeds import Graph
from tests.memory_connectors import MemoryLog

T = TypeVar("T")

SCHEMA = Schema(("gender", "region"), "health", frozenset({"ill"}))
REGIONS = ("north", "south", "east")
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
START_US = round(START.timestamp()) * 1_000_000
TIES_PER_PERSON = 4
JOIN, CHANGE = 0.02, 0.05
"""Shares of the events that are joins (as many again are departures) and changes."""


class Network:
    """People and ties, with every move in constant time."""

    def __init__(self, people: int, seed: int) -> None:
        self._random = random.Random(seed).random
        self._people_level = people
        self.people: list[str] = []
        self.attributes: dict[str, dict[str, str]] = {}
        self.ties: list[tuple[str, str]] = []
        self._place: dict[tuple[str, str], int] = {}
        self._around: dict[str, set[str]] = {}
        self._born = 0

    def graph(self) -> Graph:
        """Return the graph in the form of `tests.feeds.fold`."""
        vertices = {name: dict(values) for name, values in self.attributes.items()}
        return vertices, set(self.ties)

    def step(self) -> str:
        """Make one move and return its event as JSON, without its time and its closing brace."""
        if len(self.people) < self._people_level:
            return self._join()
        point = self._random()
        if point < JOIN:
            return self._leave()  # whoever joins next fills the place
        if point < JOIN + CHANGE:
            return self._change()
        if len(self.ties) < TIES_PER_PERSON * len(self.people):
            return self._tie()
        return self._part()

    def _pick(self, among: Sequence[T]) -> T:
        # Several times as fast as `random.choice`, and millions of picks are made.
        return among[int(self._random() * len(among))]

    def _join(self) -> str:
        name = f"person-{self._born:09d}"
        self._born += 1
        self.people.append(name)
        self._around[name] = set()
        self.attributes[name] = {}
        return self._upsert(
            name,
            gender=self._pick(("f", "m")),
            region=self._pick(REGIONS),
            health="ill" if self._random() < 0.05 else "well",
        )

    def _change(self) -> str:
        name = self._pick(self.people)
        return self._upsert(name, region=self._pick(REGIONS))

    def _upsert(self, name: str, **values: str) -> str:
        self.attributes[name] |= values
        text = ",".join(f'"{key}":"{value}"' for key, value in values.items())
        return f'{{"type":"vertex.upsert","id":"{name}","attributes":{{{text}}}'

    def _leave(self) -> str:
        place = int(self._random() * len(self.people))
        name, last = self.people[place], self.people.pop()
        if last != name:
            self.people[place] = last
        for other in self._around.pop(name):
            self._around[other].discard(name)
            self._forget((min(name, other), max(name, other)))
        del self.attributes[name]
        return f'{{"type":"vertex.delete","id":"{name}"'

    def _tie(self) -> str:
        while True:
            a, b = self._pick(self.people), self._pick(self.people)
            if a != b and b not in self._around[a]:
                break
        pair = (min(a, b), max(a, b))
        self._place[pair] = len(self.ties)
        self.ties.append(pair)
        self._around[a].add(b)
        self._around[b].add(a)
        return f'{{"type":"edge.add","source":"{a}","target":"{b}"'

    def _part(self) -> str:
        a, b = self._pick(self.ties)
        self._around[a].discard(b)
        self._around[b].discard(a)
        self._forget((a, b))
        return f'{{"type":"edge.remove","source":"{a}","target":"{b}"'

    def _forget(self, pair: tuple[str, str]) -> None:
        place, last = self._place.pop(pair), self.ties.pop()
        if last != pair:
            self.ties[place] = last
            self._place[last] = place


@dataclasses.dataclass(frozen=True)
class Truth:
    """What is true at a slot.

    Attributes
    ----------
    offsets:
        First offset of each partition behind the slot.
    digest:
        Hash of the graph, see `digest_of`.
    """

    slot_us: int
    offsets: tuple[int, ...]
    digest: str
    graph: Graph


def digest_of(graph: Graph) -> str:
    """Return a short hash of a graph."""
    vertices, ties = graph
    people = sorted((name, *sorted(values.items())) for name, values in vertices.items())
    return hashlib.sha256(repr((people, sorted(ties))).encode()).hexdigest()[:16]


def write_feed(
    folder: Path,
    events: int,
    people: int,
    seed: int,
    *,
    every_us: int,
    step_us: int = 1000,
    partitions: int = 3,
) -> list[Truth]:
    """Write the feed, one event per `step_us` of its time, and return the truth at every slot.

    The last truth is that after the last event.
    """
    folder.mkdir(parents=True, exist_ok=True)
    dice, network = random.Random(seed + 1).random, Network(people, seed)
    files = [(folder / f"{p}.jsonl").open("wb", 1 << 20) for p in range(partitions)]
    ends: list[list[int]] = [[0] for _ in files]
    truths = []
    # Slots are multiples of their length, wherever the feed begins.
    next_slot_us, told = (START_US // every_us + 1) * every_us, -1

    def truth(slot_us: int) -> Truth:
        graph = network.graph()
        return Truth(slot_us, tuple(len(p) - 1 for p in ends), digest_of(graph), graph)

    for number in range(1, events + 1):
        time_us = START_US + step_us * number
        if time_us > next_slot_us:
            truths.append(truth(next_slot_us))
            next_slot_us += every_us
        seconds, ms = divmod(step_us * number // 1000, 1000)
        if seconds != told:
            told = seconds
            moment = (START + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
        line = f'{network.step()},"time":"{moment}.{ms:03d}Z"}}\n'.encode()
        partition = int(dice() * partitions)
        files[partition].write(line)
        ends[partition].append(ends[partition][-1] + len(line))
    for file, of_partition in zip(files, ends, strict=True):
        file.close()
        np.save(Path(file.name).with_suffix(".npy"), np.array(of_partition, dtype=np.int64))
    return [*truths, truth(next_slot_us)]


class MappedRecords(Sequence[Record]):
    """The records of one partition, each made when it is asked for."""

    def __init__(self, path: Path, topic: str, partition: int) -> None:
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._ends: NDArray[np.int64] = np.load(path.with_suffix(".npy"), mmap_mode="r")
        self._topic = topic
        self._partition = partition

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, offset):
        value = self.value(offset)
        return Record(self._topic, self._partition, offset, None, None, value)

    def value(self, offset: int) -> bytes:
        """Return a record's bytes."""
        ends = self._ends
        return self._bytes[int(ends[offset]) : int(ends[offset + 1]) - 1]


def mapped(folder: Path, topic: str = "feed") -> list[MappedRecords]:
    """Return the partitions of a feed that was written to `folder`."""
    return [
        MappedRecords(path, topic, number)
        for number, path in enumerate(sorted(folder.glob("*.jsonl")))
    ]


def log_of(folder: Path) -> MemoryLog:
    """Return a feed as a log in memory that takes none."""
    items = mapped(folder)
    log = MemoryLog(partitions=len(items))
    log.items = items
    return log


def in_turn(partitions: Sequence[MappedRecords]) -> Iterator[tuple[int, bytes]]:
    """Yield (partition, value) of all records, the partitions side by side."""
    longest = max(map(len, partitions))
    for offset in range(longest):
        for number, records in enumerate(partitions):
            if offset < len(records):
                yield number, records.value(offset)
