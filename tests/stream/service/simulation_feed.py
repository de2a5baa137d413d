"""A small feed for the simulated service, with a bad record, a jump over a slot, and its truth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ktsafe import PrivacyParams
from tests import feeds
from tests.stream.service.simulation import SCHEMA, World, event

FIRST = [
    event("vertex.upsert", 1, "ann", gender="f", health="well"),
    event("vertex.upsert", 2, "bob", gender="m", health="ill"),
    event("edge.add", 3, "ann", "bob"),
    b"not an event",
    event("edge.add", 8, "cyd", "ann"),
    event("vertex.upsert", 12, "cyd", gender="f"),
    event("vertex.upsert", 13, "dan", gender="f", health="well", phone="1"),
    event("edge.add", 25, "dan", "bob"),
    event("vertex.delete", 41, "bob"),
]
SECOND = [
    event("vertex.upsert", 5, "eve", gender="m"),
    None,
    event("edge.add", 14, "eve", "ann"),
    event("edge.remove", 26, "ann", "bob"),
    event("vertex.upsert", 42, "ann", health="ill"),
]
PARTITIONS = [FIRST, SECOND]
SLOTS_S = [10, 20, 40, 50]  # the slot at 30 s is crossed in one jump with that at 40 s


def small_world(folder: Path, **settings: Any) -> World:
    """Return what surrounds a service on this feed: most of its people are shown."""
    settings = {"params": PrivacyParams(k=1, alpha=1)} | settings
    return World(folder, PARTITIONS, **settings)


def known(
    partitions: Sequence[Sequence[feeds.Event | bytes | None]] = PARTITIONS,
    until_s: float | None = None,
) -> feeds.Graph:
    """Return the fold of the events up to a slot."""
    return feeds.fold(
        [
            [
                e
                for e in events
                if isinstance(e, dict) and (until_s is None or feeds.time_us(e) <= until_s * 1e6)
            ]
            for events in partitions
        ],
        SCHEMA.attributes,
    )


def check_history(world: World, slots_s: Sequence[int] = SLOTS_S) -> None:
    """Every slot has its release: from exactly the graph of that slot, and of its people alone."""
    times = [time_ms // 1000 for time_ms, _ in world.releases.releases.values()]
    assert times == list(slots_s)
    for release_id, slot_s in zip(sorted(world.releases.releases), slots_s, strict=True):
        people, _ = world.released_people(release_id)
        true_people, true_ties = known(until_s=slot_s)
        assert world.cuts[release_id] == (true_people, true_ties)
        assert people
        assert people.items() <= true_people.items()
    assert world.graph() == known()
