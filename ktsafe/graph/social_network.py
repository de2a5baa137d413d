"""A synthetic social network: its people, its ties, and its random events.

People belong to circles (a school, an office, a club), mostly of people of their age. A new tie
leads to a friend of a friend, into a circle, to somebody popular, or anywhere, and rather to
somebody alike; so ties close triangles, and communities are there to be kept or lost.

Shares, rates and the order of draws make the network of `ktsafe demo`: with any of them changed,
the figures of docs, README.txt of releases and tests are of another network. Add what is new beside
them.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
import random
from collections.abc import Callable, Iterator
from typing import Final, TypedDict

import numpy as np

from ktsafe.graph import AttributedGraph, Schema


class FeedEvent(TypedDict, total=False):
    """An event of a made-up feed, as the service reads it."""

    type: str
    id: str
    attributes: dict[str, str | None]
    source: str
    target: str
    time: str


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
"""Schema of the people's attributes; 8 % of the people hold a sensitive value at any time."""

REGION_UNSTATED: Final = 0.02
"""Share of people without a stated region."""

CIRCLE_SIZE: Final = 20
"""Mean size of a circle: one newcomer in so many founds one of each kind."""

LATEST: Final = 20
"""Half of all new ties are those of so many of the latest comers."""

LEAVERS_DRAWN: Final = 3
"""Of so many people drawn, the one with the fewest ties leaves."""

PICKS_MAX: Final = 8
"""Attempts at finding a partner before a tie is given up: everybody near may be tied already."""


@dataclasses.dataclass(frozen=True)
class FeedRates:
    """Mean number of events per newcomer, and the probabilities of new ties.

    Attributes
    ----------
    ties, tie_removals, attribute_changes, departures:
        Events between two arrivals.
    closure, circle, preference:
        Probability that a new tie leads to a friend of a friend, into a circle, or to a popular
        person.
    homophily:
        Probability that a person of another gender is rejected; the same for another age.
    """

    ties: float = 7.0
    tie_removals: float = 0.6
    attribute_changes: float = 0.4
    departures: float = 0.05
    closure: float = 0.4
    circle: float = 0.5
    preference: float = 0.05
    homophily: float = 0.3


class SocialNetwork:
    """The simulated network.

    Parameters
    ----------
    rng:
        Source of all randomness: equal generators give equal networks.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        # One scalar draw at a time: the standard library's generator is ten times faster at that.
        self.dice: Final = random.Random(int(rng.integers(2**62)))  # noqa: S311 -- a simulation
        self._n_joined = 0
        self._present: list[int] = []
        self._place: dict[int, int] = {}
        self._attributes: dict[int, dict[str, str | None]] = {}
        self._neighbours: dict[int, list[int]] = {}
        self._circles: dict[str, list[list[int]]] = {}
        self._circles_of: dict[int, list[list[int]]] = {}
        self._edges: list[tuple[int, int]] = []
        self._edge_place: dict[tuple[int, int], int] = {}

    def grow(self, people: int, rates: FeedRates) -> None:
        """Let people join one by one, and yield no events."""
        for _ in range(people):
            self.between_joins(rates)
            self.join()

    def graph(self) -> tuple[AttributedGraph, list[str]]:
        """Return the network as it is, and the id of each vertex."""
        order = sorted(self._present)
        position = {person: v for v, person in enumerate(order)}
        columns = {
            name: [self._attributes[person][name] for person in order]
            for name in SOCIAL_FEED_SCHEMA.attributes
        }
        ties = [(position[one], position[other]) for one, other in self._edges]
        edges = np.array(ties, dtype=np.int64).reshape(-1, 2)
        schema = SOCIAL_FEED_SCHEMA.expecting_nothing()  # a small network may lack rare values
        graph = AttributedGraph.from_columns(schema, columns, edges)
        return graph, [_name(person) for person in order]

    def join(self) -> FeedEvent:
        """Let a person join."""
        dice, person = self.dice, self._n_joined
        self._n_joined += 1
        self._place[person] = len(self._present)
        self._present.append(person)
        self._neighbours[person] = []
        band = _draw(AGE_BANDS, dice)
        self._attributes[person] = {
            "gender": _draw(GENDERS, dice),
            "age_band": band,
            "region": None if dice.random() < REGION_UNSTATED else _draw(REGIONS, dice),
            "health": _draw(HEALTH, dice),
        }
        self._circles_of[person] = [self._enter_circle(person, kind) for kind in (band, "any age")]
        attributes = dict(self._attributes[person])
        return {"type": "vertex.upsert", "id": _name(person), "attributes": attributes}

    def between_joins(self, rates: FeedRates) -> list[FeedEvent]:
        """Let happen, in random order, what happens until the next person joins."""
        dice = self.dice
        actions: list[Callable[[FeedRates], FeedEvent | None]] = [
            *[self._tie] * _poisson(rates.ties, dice),
            *[self._untie] * _poisson(rates.tie_removals, dice),
            *[self._change] * _poisson(rates.attribute_changes, dice),
            *[self._leave] * _poisson(rates.departures, dice),
        ]
        dice.shuffle(actions)
        return [event for action in actions for event in [action(rates)] if event is not None]

    def _enter_circle(self, person: int, kind: str) -> list[int]:
        """Return the circle of that kind that a newcomer enters or founds."""
        circles = self._circles.setdefault(kind, [])
        if not circles or self.dice.random() < 1 / CIRCLE_SIZE:
            circles.append([])
        circle = self.dice.choice(circles)
        circle.append(person)
        return circle

    def _somebody(self) -> int:
        return self.dice.choice(self._present)

    def _partner(self, person: int, rates: FeedRates) -> int:
        """Pick a friend's friend, a circle's member, a popular person, or anybody."""
        dice, point = self.dice, self.dice.random()
        own = self._neighbours[person]
        if own and point < rates.closure:
            return dice.choice(self._neighbours[dice.choice(own)])
        if point < rates.closure + rates.circle:
            return dice.choice(dice.choice(self._circles_of[person]))
        if self._edges and point < rates.closure + rates.circle + rates.preference:
            return dice.choice(dice.choice(self._edges))
        return self._somebody()

    def _is_passed_over(self, person: int, other: int, rates: FeedRates) -> bool:
        """Whether a person is rejected because of a difference."""
        one, two = self._attributes[person], self._attributes[other]
        return any(
            one[name] != two[name] and self.dice.random() < rates.homophily
            for name in ("gender", "age_band")
        )

    def _tie(self, rates: FeedRates) -> FeedEvent | None:
        if len(self._present) < 2:
            return None
        recent = self._present[-1 - self.dice.randrange(min(len(self._present), LATEST))]
        person = recent if self.dice.random() < 0.5 else self._somebody()
        for _ in range(PICKS_MAX):
            other = self._partner(person, rates)
            edge = (min(person, other), max(person, other))
            if person == other or edge in self._edge_place:
                continue
            if self._is_passed_over(person, other, rates):
                continue
            self._edge_place[edge] = len(self._edges)
            self._edges.append(edge)
            self._neighbours[person].append(other)
            self._neighbours[other].append(person)
            return {"type": "edge.add", "source": _name(person), "target": _name(other)}
        return None

    def _untie(self, _rates: FeedRates) -> FeedEvent | None:
        if not self._edges:
            return None
        one, other = edge = self.dice.choice(self._edges)
        self._drop(edge)
        return {"type": "edge.remove", "source": _name(one), "target": _name(other)}

    def _drop(self, edge: tuple[int, int]) -> None:
        last = self._edges.pop()
        place = self._edge_place.pop(edge)
        if last != edge:
            self._edges[place] = last
            self._edge_place[last] = place
        self._neighbours[edge[0]].remove(edge[1])
        self._neighbours[edge[1]].remove(edge[0])

    def _change(self, _rates: FeedRates) -> FeedEvent | None:
        if not self._present:
            return None
        person, point = self._somebody(), self.dice.random()
        bands = [band for band, _ in AGE_BANDS]
        older = bands.index(str(self._attributes[person]["age_band"])) + 1
        attributes: dict[str, str | None]
        if point < 0.3 and older < len(bands):
            attributes = {"age_band": bands[older]}
        elif point < 0.7:
            # A fresh draw keeps the sensitive share where it is.
            attributes = {"health": _draw(HEALTH, self.dice)}
        else:
            unstated = self.dice.random() < REGION_UNSTATED
            attributes = {"region": None if unstated else _draw(REGIONS, self.dice)}
        self._attributes[person] |= attributes
        return {"type": "vertex.upsert", "id": _name(person), "attributes": attributes}

    def _leave(self, _rates: FeedRates) -> FeedEvent | None:
        if not self._present:
            return None
        # A person with few friends leaves sooner.
        drawn = [self._somebody() for _ in range(LEAVERS_DRAWN)]
        person = min(drawn, key=lambda one: len(self._neighbours[one]))
        for other in list(self._neighbours[person]):
            self._drop((min(person, other), max(person, other)))
        last = self._present.pop()
        place = self._place.pop(person)
        if last != person:
            self._present[place] = last
            self._place[last] = place
        for circle in self._circles_of.pop(person):
            circle.remove(person)
        del self._neighbours[person], self._attributes[person]
        return {"type": "vertex.delete", "id": _name(person)}


def _name(person: int) -> str:
    return f"p{person}"


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


# A made-up social network as a feed of events.
#
# People join, tie, change, part and leave.

START: Final = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
"""When feeds begin unless told otherwise."""


def social_feed(
    *,
    people: int,
    days: int,
    rng: np.random.Generator,
    start: datetime.datetime = START,
    rates: FeedRates | None = None,
) -> Iterator[FeedEvent]:
    """Yield the events of a network that grows from nothing, by time.

    Parameters
    ----------
    people, days, start, rates:
        As in `life`.
    rng:
        Source of all randomness: equal generators give equal feeds.

    Yields
    ------
    dict
        As `life` does.

    Examples
    --------
    >>> feed = social_feed(people=3, days=30, rng=np.random.default_rng(1))
    >>> next(feed)["type"]
    'vertex.upsert'
    """
    yield from life(SocialNetwork(rng), people=people, days=days, start=start, rates=rates)


def life(
    network: SocialNetwork,
    *,
    people: int,
    days: int,
    start: datetime.datetime = START,
    rates: FeedRates | None = None,
) -> Iterator[FeedEvent]:
    """Let a network live on, in place, and yield its events.

    Parameters
    ----------
    network:
        The initial people and ties; its generator is the source of all randomness.
    people:
        Newcomers in all, at uniformly random times.
    days:
        Length of the simulated period.
    start:
        Beginning of the period, with a time zone.
    rates:
        How lively the network is; None means the defaults.

    Yields
    ------
    dict
        `{"type": "vertex.upsert" | "vertex.delete" | "edge.add" | "edge.remove", ..., "time": ...}`
        with RFC 3339 times, as the service reads them. The memory needed is that of the graph.

    Examples
    --------
    >>> network = SocialNetwork(np.random.default_rng(1))
    >>> network.grow(50, FeedRates())
    >>> len(list(life(network, people=0, days=30, rates=FeedRates(ties=3, tie_removals=0))))
    2
    """
    dice, rates = network.dice, rates or FeedRates()

    def spread(events: list[FeedEvent], begin_s: float, end_s: float) -> Iterator[FeedEvent]:
        """Spread events over a stretch of time, keeping their order."""
        moments = sorted(begin_s + (end_s - begin_s) * dice.random() for _ in events)
        for event, moment in zip(events, moments, strict=True):
            time = (start + datetime.timedelta(seconds=moment)).astimezone(datetime.UTC)
            event["time"] = time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            yield event

    length_s = days * 86_400.0
    elapsed_s = 0.0
    for joined in range(people):
        # The next of the order statistics of the joins that are still to come.
        gap = 1.0 - (1.0 - dice.random()) ** (1.0 / (people - joined))
        joins_s = elapsed_s + (length_s - elapsed_s) * gap
        yield from spread(network.between_joins(rates), elapsed_s, joins_s)
        yield from spread([network.join()], joins_s, joins_s)
        elapsed_s = joins_s
    yield from spread(network.between_joins(rates), elapsed_s, length_s)
