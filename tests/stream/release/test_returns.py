"""Who leaves and comes back between two releases is somebody new."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import PrivacyParams
from ktsafe.sequence import SequenceOptions
from tests import feeds
from tests.stream.service.simulation import World, event

OPTIONS = SequenceOptions(effort="fast", sybil_margin=0, margin=0)
PARAMS = PrivacyParams(k=2, alpha="1/2")
SLOTS = 5


def restless_feed(seed):
    """Return events of people who leave and return, often within one slot, and several times."""
    rng = random.Random(seed)
    names = [f"p{i}" for i in range(14)]
    events = [
        event("vertex.upsert", 1 + i / 100, name, gender="fm"[i % 2], health="well")
        for i, name in enumerate(names)
    ]
    events += [event("edge.add", 2 + i / 100, *rng.sample(names, 2)) for i in range(20)]
    for slot in range(1, SLOTS):
        at = 10 * slot
        for turn in range(rng.randrange(1, 4)):
            at += 1
            for name in rng.sample(names, 4):
                events.append(event("vertex.delete", at, name))
                if rng.random() < 0.8:
                    gender = rng.choice("fm")
                    events.append(event("vertex.upsert", at + 0.1, name, gender=gender))
            for i in range(3):
                kind = rng.choice(["edge.add", "edge.add", "edge.remove"])
                events.append(event(kind, at + 0.2 + i / 100, *rng.sample(names, 2)))
            events.append(event("vertex.upsert", at + 0.5, f"n{slot}-{turn}", gender="f"))
    return events


def deaths(events):
    """Return the moments, in microseconds, at which each person was deleted."""
    found = {}
    for one in events:
        if one["type"] == "vertex.delete":
            found.setdefault(one["id"], []).append(feeds.time_us(one))
    return found


def check_history(world, events):
    """No id names a person in two releases with a deletion of that person between them."""
    gone = deaths(events)
    first_seen = {}
    returned = 0
    for release_id in sorted(world.mappings):
        slot_us = world.releases.releases[release_id][0] * 1000
        for published, person in world.mappings[release_id].items():
            since_us = first_seen.setdefault((published, person), slot_us)
            assert not any(since_us < at <= slot_us for at in gone.get(person, ()))
            returned += bool(person and any(at <= slot_us for at in gone.get(person, ())))
    return returned


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_who_returns_is_never_led_back(tmp_path_factory, seed):
    """Nothing crashes or is withheld, the graph is right, and a former place is never theirs."""
    events = restless_feed(seed)
    folder = tmp_path_factory.mktemp("returns")
    world = World(folder, [events], params=PARAMS, sequence=OPTIONS, seed=seed)
    counts = world.run()
    assert not counts.withheld
    assert len(counts.published) == SLOTS
    assert world.graph() == feeds.fold([events], world.schema.attributes)
    check_history(world, events)


def test_some_are_published_again(tmp_path):
    """The property above speaks of somebody: people are published after they came back."""
    events = restless_feed(1)
    world = World(tmp_path, [events], params=PARAMS, sequence=OPTIONS, seed=1)
    world.run()
    assert check_history(world, events) > 0
