"""A made-up social network as a feed of events: people join, tie, change, part and leave."""

from __future__ import annotations

import dataclasses
import datetime
import math
import random
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from ktsafe.graph import Schema

Event = dict[str, Any]

GENDERS: Final = (("f", 49), ("m", 48), ("x", 3))
AGE_BANDS: Final = (("13-17", 9), ("18-24", 24), ("25-34", 28), ("35-49", 23), ("50+", 16))
REGIONS: Final = (("north", 30), ("south", 25), ("east", 20), ("west", 15), ("abroad", 10))
HEALTH: Final = (
    ("none", 70),
    ("allergy", 14),
    ("flu", 8),
    ("cancer", 2),
    ("depression", 5),
    ("hiv", 1),
)

SOCIAL_FEED_SCHEMA: Final = Schema(
    ("gender", "age_band", "region"), "health", frozenset({"cancer", "depression", "hiv"})
)
"""Schema of the feed's attributes; 8 % of the people hold a sensitive value at any time."""

REGION_UNSTATED: Final = 0.02
"""Share of people who do not state their region."""

PICKS_MAX: Final = 8
"""Attempts at finding a partner before a tie is given up: everybody near may be tied already."""


@dataclasses.dataclass(frozen=True)
class FeedRates:
    """Mean number of events per person who joins, and the habits of new ties (probabilities)."""

    ties: float = 6.0
    tie_removals: float = 0.6
    attribute_changes: float = 0.4
    departures: float = 0.05
    closure: float = 0.4
    preference: float = 0.3


def social_feed(
    *,
    people: int,
    days: int,
    rng: np.random.Generator,
    start: datetime.datetime = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
    rates: FeedRates | None = None,
) -> Iterator[Event]:
    """Yield the events of a growing network in order of time.

    Parameters
    ----------
    people:
        People who join in all, at uniformly random times.
    days:
        Length of the simulated period.
    rng:
        Source of all randomness: equal generators give equal feeds.
    start:
        Beginning of the period, with a time zone.
    rates:
        How lively the network is; None means the defaults.

    Yields
    ------
    dict
        `{"type": "vertex.upsert" | "vertex.delete" | "edge.add" | "edge.remove", ..., "time": ...}`
        with RFC 3339 times, as the service reads them. The memory needed is that of the graph.
    """
    # One scalar draw at a time: the standard library's generator is ten times faster at that.
    dice = random.Random(int(rng.integers(2**62)))  # noqa: S311 -- a simulation, not a secret
    network = _Network(dice, rates or FeedRates())
    length_s = days * 86_400.0
    elapsed_s = 0.0
    for joined in range(people):
        # The next of the order statistics of the joins that are still to come.
        remaining = people - joined
        gap = 1.0 - (1.0 - dice.random()) ** (1.0 / remaining)
        joins_s = elapsed_s + (length_s - elapsed_s) * gap
        yield from _timed(network.between_joins(), elapsed_s, joins_s, start, dice)
        yield from _timed([network.join()], joins_s, joins_s, start, dice)
        elapsed_s = joins_s
    yield from _timed(network.between_joins(), elapsed_s, length_s, start, dice)


def _timed(
    events: list[Event],
    begin_s: float,
    end_s: float,
    start: datetime.datetime,
    dice: random.Random,
) -> Iterator[Event]:
    """Spread events over a stretch of time, keeping their order."""
    moments = sorted(begin_s + (end_s - begin_s) * dice.random() for _ in events)
    for event, moment in zip(events, moments, strict=True):
        time = (start + datetime.timedelta(seconds=moment)).astimezone(datetime.UTC)
        event["time"] = time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        yield event


def _draw(table: tuple[tuple[str, int], ...], dice: random.Random) -> str:
    """Draw a value from (value, percentage) pairs."""
    point = dice.random() * 100
    for value, percentage in table:
        point -= percentage
        if point < 0:
            return value
    return table[-1][0]


def _poisson(mean: float, dice: random.Random) -> int:
    """Draw a Poisson number by Knuth's product; means here are small."""
    floor, product, count = math.exp(-mean), dice.random(), 0
    while product > floor:
        product *= dice.random()
        count += 1
    return count


class _Network:
    """The simulated graph: who is there, who knows whom."""

    def __init__(self, dice: random.Random, rates: FeedRates) -> None:
        self._dice = dice
        self._rates = rates
        self._n_joined = 0
        self._present: list[int] = []
        self._place: dict[int, int] = {}
        self._neighbours: dict[int, list[int]] = {}
        self._age_band: dict[int, int] = {}
        self._edges: list[tuple[int, int]] = []
        self._edge_place: dict[tuple[int, int], int] = {}

    def join(self) -> Event:
        """Let somebody join."""
        dice, person = self._dice, self._n_joined
        self._n_joined += 1
        self._place[person] = len(self._present)
        self._present.append(person)
        self._neighbours[person] = []
        band = _draw(AGE_BANDS, dice)
        self._age_band[person] = [name for name, _ in AGE_BANDS].index(band)
        region = None if dice.random() < REGION_UNSTATED else _draw(REGIONS, dice)
        attributes = {
            "gender": _draw(GENDERS, dice),
            "age_band": band,
            "region": region,
            "health": _draw(HEALTH, dice),
        }
        return {"type": "vertex.upsert", "id": f"p{person}", "attributes": attributes}

    def between_joins(self) -> list[Event]:
        """Let happen, in random order, what happens until the next person joins."""
        rates, dice = self._rates, self._dice
        actions = [
            *[self._tie] * _poisson(rates.ties, dice),
            *[self._untie] * _poisson(rates.tie_removals, dice),
            *[self._change] * _poisson(rates.attribute_changes, dice),
            *[self._leave] * _poisson(rates.departures, dice),
        ]
        dice.shuffle(actions)
        return [event for action in actions for event in [action()] if event is not None]

    def _somebody(self) -> int:
        return self._present[self._dice.randrange(len(self._present))]

    def _partner(self, person: int) -> int:
        """Pick a friend of a friend, or somebody popular, or anybody."""
        dice, point = self._dice, self._dice.random()
        own = self._neighbours[person]
        if own and point < self._rates.closure:
            return dice.choice(self._neighbours[dice.choice(own)])
        if self._edges and point < self._rates.closure + self._rates.preference:
            return dice.choice(self._edges[dice.randrange(len(self._edges))])
        return self._somebody()

    def _tie(self) -> Event | None:
        if len(self._present) < 2:
            return None
        # Half of all new ties are those of the latest comers.
        recent = self._present[-1 - self._dice.randrange(min(len(self._present), 20))]
        person = recent if self._dice.random() < 0.5 else self._somebody()
        for _ in range(PICKS_MAX):
            other = self._partner(person)
            edge = (min(person, other), max(person, other))
            if person != other and edge not in self._edge_place:
                self._edge_place[edge] = len(self._edges)
                self._edges.append(edge)
                self._neighbours[person].append(other)
                self._neighbours[other].append(person)
                return {"type": "edge.add", "source": f"p{person}", "target": f"p{other}"}
        return None

    def _untie(self) -> Event | None:
        if not self._edges:
            return None
        one, other = edge = self._edges[self._dice.randrange(len(self._edges))]
        self._drop(edge)
        return {"type": "edge.remove", "source": f"p{one}", "target": f"p{other}"}

    def _drop(self, edge: tuple[int, int]) -> None:
        last = self._edges.pop()
        place = self._edge_place.pop(edge)
        if last != edge:
            self._edges[place] = last
            self._edge_place[last] = place
        self._neighbours[edge[0]].remove(edge[1])
        self._neighbours[edge[1]].remove(edge[0])

    def _change(self) -> Event | None:
        if not self._present:
            return None
        person, point = self._somebody(), self._dice.random()
        attributes: dict[str, str | None]
        if point < 0.3 and self._age_band[person] + 1 < len(AGE_BANDS):
            self._age_band[person] += 1
            attributes = {"age_band": AGE_BANDS[self._age_band[person]][0]}
        elif point < 0.7:
            # A fresh draw keeps the sensitive share where it is.
            attributes = {"health": _draw(HEALTH, self._dice)}
        else:
            unstated = self._dice.random() < REGION_UNSTATED
            attributes = {"region": None if unstated else _draw(REGIONS, self._dice)}
        return {"type": "vertex.upsert", "id": f"p{person}", "attributes": attributes}

    def _leave(self) -> Event | None:
        if not self._present:
            return None
        person = self._somebody()
        for other in list(self._neighbours[person]):
            self._drop((min(person, other), max(person, other)))
        last = self._present.pop()
        place = self._place.pop(person)
        if last != person:
            self._present[place] = last
            self._place[last] = place
        del self._neighbours[person], self._age_band[person]
        return {"type": "vertex.delete", "id": f"p{person}"}
