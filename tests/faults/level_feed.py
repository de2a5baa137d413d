"""A long feed of a network that stays as large as it is: as many join as leave, tie as part.

The network knows the graph that its events make, and shares nothing with the service that reads
them.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator, Sequence
from typing import TypeVar

from ktsafe import Schema
from tests.feeds import Graph

T = TypeVar("T")

SCHEMA = Schema(("gender", "region"), "health", frozenset({"ill"}))
REGIONS = ("north", "south", "east")
START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
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


def events(network: Network, n_events: int, step_us: int) -> Iterator[bytes]:
    """Yield the next events of a network, one per `step_us` of their time, as JSON."""
    for number in range(1, n_events + 1):
        moment = START + datetime.timedelta(microseconds=step_us * number)
        time = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        yield f'{network.step()},"time":"{time}"}}'.encode()
