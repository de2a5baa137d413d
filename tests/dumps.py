"""Dated dumps of a network, and the feed that tells no more than they do.

A dump cannot show what came and went before it. `net_feed` leaves that out of a feed, by comparing
the graphs that `tests.feeds.fold` makes of it, which shares nothing with the source of snapshots.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from tests.feeds import Event, Graph, fold, time_us

NOTHING: Graph = ({}, set())


def write_dump(folder: Path, name: str, graph: Graph, attributes: Sequence[str]) -> Path:
    """Write a graph as the dump of a date, people in the order in which they came."""
    vertices, edges = graph
    hidden, place = folder / f".{name}", folder / name
    hidden.mkdir(parents=True)
    with (hidden / "vertices.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *attributes])
        writer.writerows([one, *(own[a] for a in attributes)] for one, own in vertices.items())
    with (hidden / "edges.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["source", "target"])
        writer.writerows(sorted(edges))
    return hidden.rename(place)


def at_slots(
    events: Sequence[Event], slots_us: Sequence[int], attributes: Sequence[str]
) -> list[Graph]:
    """Return the graph at each slot."""
    return [
        fold([[event for event in events if time_us(event) <= slot]], attributes)
        for slot in slots_us
    ]


def net_feed(
    events: Sequence[Event], slots_us: Sequence[int], attributes: Sequence[str]
) -> list[Event]:
    """Return the feed without what leaves no trace at the next slot, at the times it has."""
    found: list[Event] = []
    before, begin = NOTHING, None
    for slot, after in zip(slots_us, at_slots(events, slots_us, attributes), strict=True):
        part = [e for e in events if (begin is None or time_us(e) > begin) and time_us(e) <= slot]
        found += _net(before, after, part)
        before, begin = after, slot
    return found


def _net(before: Graph, after: Graph, events: Sequence[Event]) -> list[Event]:
    """Return, in order, one event for each person and tie that differs."""
    (people, ties), (people_after, ties_after) = before, after
    kept: dict[object, tuple[int, Event]] = {}
    for place, event in enumerate(events):
        if "id" in event:
            one = event["id"]
            if event["type"] == "vertex.delete":
                kept.pop(one, None)
                if one in people and one not in people_after:
                    kept[one] = place, event
            elif one in people_after:
                was = people.get(one)
                now = people_after[one]
                told = {n: v for n, v in now.items() if was is None or v != was[n]}
                if one not in kept and (was is None or told):
                    # A newcomer has the place of the join, with the values that stand in the end.
                    kept[one] = place, {**event, "attributes": told}
            continue
        pair = tuple(sorted((event["source"], event["target"])))
        kept.pop(pair, None)
        has_ends = set(pair) <= people_after.keys()
        if (pair in ties) != (pair in ties_after) and has_ends:
            is_right = (event["type"] == "edge.add") == (pair in ties_after)
            if is_right:
                kept[pair] = place, event
    return [event for _, event in sorted(kept.values(), key=lambda item: item[0])]
