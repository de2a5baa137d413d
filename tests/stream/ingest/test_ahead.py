"""Whether the time of an event is believed."""

import json
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import Schema
from ktsafe.connectors.base import TopicPartition
from ktsafe.stream.ingest import event_times as runs
from ktsafe.stream.ingest.event_times import CONFIRMING, FOLLOWING_MAX, REFUTING, Belief, weigh
from ktsafe.stream.ingest.ingest import Ingest, IngestSettings
from ktsafe.stream.observer import Observer
from ktsafe.stream.release.cut import EventTimeCut, resume_slot
from ktsafe.stream.slots import Clocks, FixedSlots
from tests import feeds
from tests.memory_connectors import MemoryDeadLetterSink, MemoryLog, MemorySource
from tests.memory_store import MemoryStore

SCHEMA = Schema(("gender",), "health", frozenset({"ill"}))
P = ("feed", 0)
HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
HOURS = FixedSlots(HOUR_US)


@pytest.mark.parametrize(
    ("following", "expected"),
    [
        ([], (Belief.OPEN, 50)),
        ([60] * (CONFIRMING - 1), (Belief.OPEN, 50)),
        ([60] * CONFIRMING, (Belief.BELIEVED, 50)),
        ([60, 5, 30, 40], (Belief.BELIEVED, 30)),
        ([5] * (REFUTING - 1), (Belief.OPEN, 50)),
        ([5] * REFUTING + [60] * CONFIRMING, (Belief.REFUTED, 50)),
        ([None] * FOLLOWING_MAX, (Belief.BELIEVED, 50)),
        ([5] + [None] * FOLLOWING_MAX, (Belief.REFUTED, 50)),
    ],
)
def test_what_follows_decides(following, expected):
    """Three beyond the bound confirm it, the earliest is the time; eight within it refute it."""
    assert weigh(50, following, 10) == expected


@pytest.mark.parametrize(
    ("following", "is_plausible", "expected"),
    [
        ([], True, Belief.BELIEVED),
        ([], False, Belief.OPEN),
        ([60, 5], True, Belief.BELIEVED),
        ([60, 5], False, Belief.REFUTED),
        ([5], True, Belief.BELIEVED),
        ([5], None, Belief.OPEN),
    ],
)
def test_at_rest_a_plausible_time_needs_no_confirmation(following, is_plausible, expected):
    """An implausible one waits while nothing speaks against it, any one where it is early."""
    assert weigh(50, following, 10, at_rest=lambda *_: is_plausible)[0] is expected


def ingest_of(log, store, letters, at_once=5):
    """Return an ingest of a log over a store, as a process that starts makes one."""
    source = MemorySource(log)
    offsets = {p: at.next_offset for p, at in store.positions().items()}
    source.open({at: offsets[at] for at in source.partitions() if at in offsets}, {})
    return Ingest(
        source,
        store,
        MemoryDeadLetterSink(letters),
        schema=SCHEMA,
        settings=IngestSettings(batch_records_max=at_once),
        observer=Observer(),
        clocks=Clocks(wall_us=lambda: 0, monotonic=lambda: 0.0),
    )


def started(log, store, letters, at_once):
    """Return an ingest, and the cut of the hour that its partition has come to."""
    clocks = [position.time_us_max for position in store.positions().values()]
    cut = EventTimeCut(HOURS, resume_slot(HOURS, last_slot_us=None, clocks=clocks))
    return ingest_of(log, store, letters, at_once), cut


def taken_in(times, *, crash_every=0, at_once=5):
    """Return the store and letters after a partition of these times was read to its end.

    A time of None is that of a record without an event.
    """
    log, store, letters = MemoryLog(), MemoryStore(SCHEMA), []
    for n, time_us in enumerate(times):
        event = None
        if time_us is not None:
            event = {"type": "vertex.upsert", "id": f"p{n}", "time": feeds.iso(time_us)}
        log.append(0, json.dumps(event).encode())
    (ingest, cut), rounds = started(log, store, letters, at_once), 0
    while True:
        rounds += 1
        taken = ingest.round(cut.admits, cut.limit_us)
        taken += ingest.decide(
            ingest.ended(), cut.admits, cut.limit_us, lambda _, outvoted: not outvoted
        )
        if cut.due([P], ingest.ended()):
            cut.take()
            ingest._source.resume(TopicPartition(*P))
            taken = 1
        if crash_every and rounds % crash_every == 0 and rounds < 10 * crash_every:
            ingest, cut = started(log, store, letters, at_once)
            taken = 1
        if rounds % 2 == 0:
            ingest.checkpoint()
        if not taken and P in ingest.ended():
            ingest.checkpoint()
            return store, {letter.record.offset for letter in letters}


def people(store):
    """Return who exists."""
    return {int(name[1:]) for name in store.snapshot().ids}


@pytest.mark.parametrize("ahead_us", [320 * DAY_US, 7900 * 366 * DAY_US, 8 * DAY_US])
def test_one_wrong_date_is_set_aside_and_makes_nothing_late(ahead_us):
    """Whatever the year: all that follows is applied, and the clock of the partition stays."""
    begin_us = 1_767_225_600_000_000
    times = [begin_us + n * 60_000_000 for n in range(100)]
    times[40] += ahead_us
    store, aside = taken_in(times)
    assert aside == {40}
    assert people(store) == set(range(100)) - {40}
    assert store.positions()[P].time_us_max == times[-1]


def test_an_early_event_within_the_lateness_bound_is_applied_and_moves_no_clock():
    """Disorder that the owner allows: the event counts, what follows it is not late."""
    times = [DAY_US + n * 60_000_000 for n in range(100)]
    times[40] += 6 * DAY_US
    store, aside = taken_in(times)
    assert not aside
    assert people(store) == set(range(100))
    assert store.positions()[P].time_us_max == times[-1]


def test_after_a_silence_time_goes_on():
    """A jump that the next events confirm is none; the first of them loses nothing."""
    times = [n * 1_000_000 for n in range(20)] + [400 * DAY_US + n * 1_000_000 for n in range(20)]
    store, aside = taken_in(times)
    assert not aside
    assert people(store) == set(range(40))


def test_few_events_a_year_are_all_applied():
    """Where each event lies far from the next, the last ones count as well."""
    store, aside = taken_in([n * 30 * DAY_US for n in range(1, 8)])
    assert not aside
    assert people(store) == set(range(7))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 3 * HOUR_US // 1_000_000), min_size=1, max_size=60),
    st.sets(st.integers(0, 59), max_size=3),
    st.integers(8, 3_000_000),
    st.integers(1, 4),
)
def test_a_crash_changes_no_decision(steps, wrong, ahead_days, crash_every):
    """Read again from the last checkpoint, the same events are applied and the same set aside."""
    times, now = [], DAY_US
    for n, step in enumerate(steps):
        now += step * 1_000_000
        times.append(min(now + ahead_days * DAY_US, 253_402_300_799_000_000) if n in wrong else now)
    store, aside = taken_in(times)
    again, aside_again = taken_in(times, crash_every=crash_every * 2 + 1)
    assert people(again) == people(store)
    assert aside_again == aside
    assert again.positions() == store.positions()
    assert people(store) | aside == set(range(len(times)))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.none() | st.integers(DAY_US, 11 * DAY_US), max_size=60),
    st.sampled_from([1, 2, 7, 100]),
    st.sampled_from([1, 2, 7, 256]),
)
def test_how_many_are_judged_together_changes_no_decision(times, at_once, together):
    """Late, early, confirmed and malformed ones in any order, polled and judged by many or few."""
    expected, aside = taken_in(times, at_once=100)
    with mock.patch.object(runs, "JUDGED_AT_ONCE", together):
        store, aside_again = taken_in(times, at_once=100)
    assert (people(store), aside_again) == (people(expected), aside)
    assert store.positions() == expected.positions()
    # What a poll ends with is weighed before more comes, so other events may be believed.
    store, aside_again = taken_in(times, at_once=at_once)
    assert people(store) | aside_again == people(expected) | aside == set(range(len(times)))


def test_lateness_is_measured_against_what_the_partition_came_to():
    """An event at the bound is applied, one microsecond beyond it is late; neither moves time."""
    newest = [n * 1_000_000 for n in range(20 * DAY_US // 1_000_000, 20 * DAY_US // 1_000_000 + 9)]
    bound_us = newest[-1] - IngestSettings().lateness_max_s * 1_000_000
    store, aside = taken_in([*newest, bound_us, bound_us - 1, newest[-1]])
    assert aside == {10}
    assert people(store) == set(range(12)) - {10}
    assert store.positions()[P].time_us_max == newest[-1]


@pytest.mark.parametrize("at_once", [5, 100])
@pytest.mark.parametrize("together", [1, 4, 256])
def test_a_slot_is_not_crossed_by_one_wrong_date(monkeypatch, at_once, together):
    """By event time the slot stays, and the partition does not arrive, until others confirm."""
    monkeypatch.setattr(runs, "JUDGED_AT_ONCE", together)
    log, store, letters = MemoryLog(), MemoryStore(SCHEMA), []
    times = [5, 6, 3600, 7, 8, 9, 9, 9, 9, 9, 9, 12, 13, 14, 15]
    for n, seconds in enumerate(times):
        event = {"type": "vertex.upsert", "id": f"p{n}", "time": feeds.iso(seconds * 1_000_000)}
        log.append(0, json.dumps(event).encode())
    ingest = ingest_of(log, store, letters, at_once)
    cut = EventTimeCut(FixedSlots(10_000_000), 10_000_000)
    for _ in range(10):
        ingest.round(cut.admits, cut.limit_us)
    assert P in cut.arrived
    assert ingest.offsets[P] == times.index(12)
    assert cut.take().slot_us == 10_000_000
    assert cut.slot_us == 20_000_000
