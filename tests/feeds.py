"""Feeds for tests: an independent fold, seeded perturbations, assignments to partitions.

The fold applies events one after another in stamp order, which shares nothing with the store's
registers; that both give one graph is what tests show.
"""

from __future__ import annotations

import itertools
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe import AttributedGraph, Schema

Event = dict[str, Any]
Slot = tuple[AttributedGraph, NDArray[np.int64]]
Graph = tuple[dict[str, dict[str, str]], set[tuple[str, str]]]

DAY_US = timedelta(days=1) // timedelta(microseconds=1)
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def time_us(event: Event) -> int:
    """Return the time of an event in microseconds."""
    return (datetime.fromisoformat(event["time"]) - _EPOCH) // timedelta(microseconds=1)


def ends(event: Event) -> tuple[str, ...]:
    """Return the vertices that an event concerns."""
    return (event["id"],) if "id" in event else (event["source"], event["target"])


def fold(partitions: Sequence[Sequence[Event]], attributes: Iterable[str]) -> Graph:
    """Return the graph that events make, applied in stamp order: (vertices, edges).

    Vertices map ids to attribute texts ("-" where missing); edges are ascending pairs, of any kind
    or direction, each of which comes and goes by itself. No lateness bound is applied.
    """
    stamped = [
        (time_us(event), p, offset, event)
        for p, events in enumerate(partitions)
        for offset, event in enumerate(events)
    ]
    names = tuple(attributes)
    vertices: dict[str, dict[str, str]] = {}
    ties: dict[str, set[tuple[str, Any]]] = defaultdict(set)
    for *_, event in sorted(stamped, key=lambda item: item[:3]):
        match event["type"]:
            case "vertex.upsert":
                values = vertices.setdefault(event["id"], dict.fromkeys(names, "-"))
                given = event.get("attributes", {})
                values |= {n: "-" if v is None else str(v) for n, v in given.items() if n in names}
            case "vertex.delete":
                vertices.pop(event["id"], None)
                for other, mark in ties.pop(event["id"], set()):
                    ties[other].discard((event["id"], mark))
            case what:
                one, other = event["source"], event["target"]
                mark = event.get("kind"), one if event.get("directed") else None
                for own, tie in ((one, (other, mark)), (other, (one, mark))):
                    (ties[own].add if what == "edge.add" else ties[own].discard)(tie)
    edges = {
        (u, v)
        for u, others in ties.items()
        for v, _ in others
        if u < v and {u, v} <= vertices.keys()
    }
    return vertices, edges


def perturbed(events: Sequence[Event], seed: int) -> list[Event]:
    """Return the feed as a careless producer would send it; its graph is the same.

    - 5% of the events move up to 200 places;
    - 2% are sent twice;
    - a tenth of the joins come after their first ties;
    - a tenth of neighbouring events that share no vertex get one time;
    - each departure is followed by a tie of earlier time that it has ended already.
    """
    rng = random.Random(seed)
    feed = [dict(event) for event in events]
    for first, second in itertools.pairwise(feed):
        if rng.random() < 0.1 and not set(ends(first)) & set(ends(second)):
            second["time"] = first["time"]
    feed = _with_late_ties(feed, rng)
    places = []
    for place, event in enumerate(feed):
        shift = rng.uniform(-200, 200) if rng.random() < 0.05 else 0.0
        if event["type"] == "vertex.upsert" and rng.random() < 0.1:
            shift = rng.uniform(0, 200)
        places.append((place + shift, event))
        if rng.random() < 0.02:
            places.append((place + rng.uniform(0, 200), event))
    return [event for _, event in sorted(places, key=lambda item: item[0])]


def _with_late_ties(feed: list[Event], rng: random.Random) -> list[Event]:
    """Insert after each departure a tie whose time lies before it."""
    known: list[str] = []
    result = []
    for event in feed:
        result.append(event)
        if event["type"] == "vertex.upsert":
            known.append(event["id"])
        elif event["type"] == "vertex.delete":
            other = rng.choice(known)
            if other != event["id"]:
                tie = {"type": "edge.add", "source": event["id"], "target": other}
                result.append({**tie, "time": event["time"]})
                # At the same time but a later offset the tie would win: a microsecond earlier.
                result[-1]["time"] = iso(time_us(event) - 1)
    return result


def assigned(events: Sequence[Event], n_partitions: int, seed: int) -> list[list[Event]]:
    """Deal the events out to partitions at random, keeping their order within each."""
    rng = random.Random(seed)
    partitions: list[list[Event]] = [[] for _ in range(n_partitions)]
    for event in events:
        rng.choice(partitions).append(event)
    return partitions


def iso(microseconds: int) -> str:
    """Return a moment as RFC 3339 text."""
    moment = _EPOCH + timedelta(microseconds=microseconds)
    return moment.isoformat().replace("+00:00", "Z")


def slots_of(schema: Schema, events: list[Event], days: int) -> Iterator[Slot]:
    """Yield the true graph at the end of each slot with an event, and people's numbers."""
    number: dict[str, int] = {}
    given = 0
    slot = [time_us(e) // (days * DAY_US) if days else e["time"][:7] for e in events]
    ends = [i + 1 for i in range(len(events)) if i + 1 == len(events) or slot[i] != slot[i + 1]]
    for end in ends:
        people, ties = fold([events[:end]], schema.attributes)
        number = {name: key for name, key in number.items() if name in people}
        for name in sorted(people.keys() - number.keys()):
            number[name], given = given, given + 1
        names = sorted(people, key=number.__getitem__)
        at = {name: i for i, name in enumerate(names)}
        columns = {q: [people[name][q] for name in names] for q in schema.attributes}
        edges = np.array(sorted((at[u], at[v]) for u, v in ties), dtype=np.int64).reshape(-1, 2)
        graph = AttributedGraph.from_columns(schema, columns, edges)
        yield graph, np.array([number[name] for name in names], dtype=np.int64)
