"""Ingest by two shards (ADR 31, a design): their cut is that of one process, whatever dies."""

from __future__ import annotations

import json
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests import feeds
from tests.memory_connectors import Crash
from tests.stream.service.simulation import SCHEMA, SLOT_US, Tripwire, event
from tests.stream.service.two_shards import Coordinator, owner

PEOPLE = ["ann", "bob", "cyd", "dan", "eve", "fay"]
SLOTS = 3
"""The last one ends behind all events."""

person = st.sampled_from(PEOPLE)
happening = st.one_of(
    st.tuples(st.just("vertex.upsert"), person, st.sampled_from(["f", "m", None])),
    st.tuples(st.just("vertex.delete"), person),
    st.tuples(st.sampled_from(["edge.add", "edge.remove"]), person, person).filter(
        lambda tie: tie[1] != tie[2]
    ),
)
stories = st.lists(st.tuples(st.integers(1, 29), happening), max_size=40)


def feed_of(story, seed):
    """Return a story as four partitions of records; in each, times ascend from slot to slot."""
    rng = random.Random(seed)
    partitions = [[] for _ in range(4)]
    for second, (kind, *what) in story:
        if kind == "vertex.upsert":
            found = event(kind, second, what[0], gender=what[1])
        else:
            found = event(kind, second, *what)
        rng.choice(partitions).append(found)
    return [sorted(part, key=lambda e: (feeds.time_us(e) - 1) // SLOT_US) for part in partitions]


def cuts_of(partitions, *, shards, seed=0, batch=3, crashes=()):
    """Return the cuts of all slots, and the steps of the last run; crash at the given steps."""
    rng = random.Random(seed)
    lines = [[json.dumps(e).encode() for e in part] for part in partitions]
    world = Coordinator(lines, shards)
    for at_step in (*crashes, None):
        wire = Tripwire(at_step)
        try:
            world.run(SLOTS, rng.randrange, batch, wire)
        except Crash:
            continue
    return world.cuts, wire.steps


@settings(max_examples=60, deadline=None)
@given(stories, st.integers(0, 9), st.integers(1, 7))
def test_two_shards_make_the_cut_of_one(story, seed, batch) -> None:
    """Byte for byte, in every slot, at any pace and batch; and it is the fold of the feed."""
    partitions = feed_of(story, seed)
    one, _ = cuts_of(partitions, shards=1)
    two, _ = cuts_of(partitions, shards=2, seed=seed, batch=batch)
    assert one == two
    for slot_us, (people, _, _, edges) in two.items():
        until = [[e for e in part if feeds.time_us(e) <= slot_us] for part in partitions]
        vertices, ties = feeds.fold(until, SCHEMA.attributes)
        assert people.decode().split() == sorted(vertices)
        assert len(edges) // 8 == len(ties)


def test_a_crash_at_any_step_changes_no_byte() -> None:
    """Killed before and after every call of either store, and before and after each cut."""
    assert {owner(name) for name in PEOPLE} == {0, 1}
    rng = random.Random(1)
    story = []
    for second in range(1, 29):
        kind = rng.choice(["vertex.upsert", "edge.add", "edge.add", "edge.remove", "vertex.delete"])
        who = rng.sample(PEOPLE, 2)
        what = (who[0], rng.choice("fm")) if kind == "vertex.upsert" else who
        story.append((second, (kind, *(what[:1] if kind == "vertex.delete" else what))))
    story += [(second, ("vertex.upsert", name, "f")) for second, name in enumerate(PEOPLE, 3)]
    partitions = feed_of(story, 1)
    expected, _ = cuts_of(partitions, shards=1)
    assert len(set(expected.values())) == SLOTS
    undisturbed, steps = cuts_of(partitions, shards=2)
    assert undisturbed == expected
    assert steps > 100
    for step in range(steps):
        found, _ = cuts_of(partitions, shards=2, seed=step, crashes=(step,))
        assert found == expected, step


@settings(max_examples=40, deadline=None)
@given(stories, st.lists(st.integers(0, 120), min_size=1, max_size=6), st.integers(0, 99))
def test_many_crashes_change_no_byte(story, crashes, seed) -> None:
    """Killed several times in one feed, each time at a step of the run that goes on."""
    partitions = feed_of(story, seed)
    expected, _ = cuts_of(partitions, shards=1)
    found, _ = cuts_of(partitions, shards=2, seed=seed, crashes=crashes)
    assert found == expected
