"""What the feed of a history holds, and which graph any part of it makes."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Collection, Mapping, Sequence

from tests import feeds
from tests.histories import rows
from tests.stream.service.simulation import SCHEMA, event

SLOT_S = 10
BAD = b"no event"

Item = feeds.Event | bytes | None
GAP = b"an offset without a record"
"""As marks of transactions and compaction leave."""
TOPICS = ("feed", "another")
"""Of partitions in turn, where a feed is sharp. At equal times the second one's come first."""
LATENESS_S = SLOT_S * 8
MARKS = ({}, {"kind": "friend"}, {"kind": "boss", "directed": True}, {"directed": True})
SNAPPED = 0.7
"""Events of the last part of a slot happen exactly at it, where a feed is sharp."""


def drawn(
    dice: random.Random,
    n_slots: int,
    jitter_s: float,
    leaver: str | None,
    n_people: tuple[int, int] = (4, 8),
    busy: int = 1,
) -> list[list[Item]]:
    """Return the partitions of a feed: people come, change, make ties, and leave.

    Some events are sent twice, some are out of order by up to `jitter_s`, some records are no
    events. All events of `leaver` lie in the first third.
    """
    people = [f"p{number}" for number in range(dice.randint(*n_people))]
    n_partitions = dice.choice((1, 2, 2, 3))
    timed: list[tuple[float, Item]] = []
    for slot in range(n_slots):
        around = [*people, leaver] if leaver and slot <= n_slots // 3 else people
        for _ in range(busy * (dice.choice((0, 1, 2, 3, 4)) if slot else len(around))):
            at_s = slot * SLOT_S + round(dice.uniform(0.001, SLOT_S), 3)
            one = _event(dice, at_s, around)
            times = 1 + (dice.random() < 0.05)
            timed += [(at_s + dice.uniform(0, jitter_s), one) for _ in range(times)]
        if dice.random() < 0.1:
            timed.append((slot * SLOT_S + dice.random(), dice.choice((None, BAD))))
    partitions: list[list[Item]] = [[] for _ in range(n_partitions)]
    for _, item in sorted(timed, key=lambda each: each[0]):
        dice.choice(partitions).append(item)
    return partitions


def _event(dice: random.Random, at_s: float, people: list[str]) -> feeds.Event:
    chance = dice.random()
    if chance < 0.45:
        values = {"gender": dice.choice("fm"), "health": dice.choice(("well", "ill"))}
        return event("vertex.upsert", at_s, dice.choice(people), **values)
    if chance < 0.52:
        return event("vertex.delete", at_s, dice.choice(people))
    kind = "edge.add" if chance < 0.9 else "edge.remove"
    return event(kind, at_s, *dice.sample(people, 2))


def marked(dice: random.Random, partitions: list[list[Item]]) -> list[list[Item]]:
    """Return a feed whose ties have kinds and directions; what is sent twice has the same."""
    marks: dict[int, dict[str, object]] = {}

    def with_mark(item: Item) -> Item:
        if not isinstance(item, dict) or "source" not in item:
            return item
        return item | marks.setdefault(id(item), dice.choice(MARKS))

    return [list(map(with_mark, items)) for items in partitions]


def sharpened(
    dice: random.Random, partitions: list[list[Item]], *, is_in_order: bool
) -> list[list[Item]]:
    """Return a feed in which events lie where defects are: at slots, behind gaps, after silences.

    Time goes on as before, with jumps over several empty slots, and events in the last part of a
    slot happen exactly at it. Offsets have gaps, also at the end, and more records are no events.
    Where events need not be in order, some are exactly as late as they may be.
    """
    jumps_s = dict.fromkeys(range(dice.randrange(1, 5), 100, 6), 10 * dice.randrange(2, 6))

    def moved(item: Item) -> Item:
        if not isinstance(item, dict):
            return item
        slot, within_us = divmod(feeds.time_us(item), SLOT_S * 1_000_000)
        if within_us > SNAPPED * SLOT_S * 1_000_000:
            within_us = SLOT_S * 1_000_000
        jumped_s = sum(seconds for at, seconds in jumps_s.items() if at <= slot)
        return item | {"time": feeds.iso((slot * SLOT_S + jumped_s) * 1_000_000 + within_us)}

    sharp: list[list[Item]] = []
    for items in partitions:
        newest_us = 0
        sharp.append([])
        for item in map(moved, items):
            sharp[-1] += [GAP] * (dice.random() < 0.2) + [BAD] * (dice.random() < 0.05) + [item]
            if isinstance(item, dict):
                newest_us = max(newest_us, feeds.time_us(item))
                oldest_us = newest_us - LATENESS_S * 1_000_000
                if oldest_us > 0 and not is_in_order and dice.random() < 0.1:
                    sharp[-1].append(item | {"time": feeds.iso(oldest_us)})
        sharp[-1] += [GAP] * (dice.random() < 0.5)
    return sharp


def end_of(items: list[Item]) -> int:
    """Return the offset behind the last record of a partition."""
    return max((offset + 1 for offset, item in enumerate(items) if item != GAP), default=0)


def bytes_of(item: Item) -> tuple[bytes | None, bytes | None]:
    """Return key and value of a record."""
    if not isinstance(item, dict):
        return None, item
    return rows.bytes_of(item) if "told" in item else (None, json.dumps(item).encode())


def graph_of(
    partitions: list[list[Item]],
    until: Mapping[int, int],
    erased: Collection[str],
    topics: Sequence[str],
) -> feeds.Graph:
    """Return the fold of the first so many records of every partition, without the erased.

    Of events of one time those of the first topic by name come first.
    """
    if any("told" in item for items in partitions for item in items if isinstance(item, dict)):
        return rows.graph_of(partitions, until)
    people, ties = feeds.fold(
        [
            [e for e in items[: until.get(number, 0)] if isinstance(e, dict)]
            for _, number, items in sorted(
                zip(topics, itertools.count(), partitions, strict=False), key=lambda each: each[:2]
            )
        ],
        SCHEMA.attributes,
    )
    people = {name: values for name, values in people.items() if name not in erased}
    return people, {tie for tie in ties if not set(tie) & set(erased)}
