"""The whole service in simulated time: what is published, when, and after which misfortune."""

import dataclasses

import pytest

from connectors.errors import SinkConflict
from connectors.memory import Crash, unavailable
from ktsafe import PrivacyParams
from ktsafe.errors import NotKTSafe
from state.errors import StateCorrupted, StateMismatch
from stream.files import releases_write
from stream.release import fresh
from stream.service.loop import Clock
from tests.stream.service.simulation import SCHEMA, SLOT_US, Tripwire, World, disk_store, event
from tests.stream.service.simulation_feed import (
    FIRST,
    PARTITIONS,
    SECOND,
    SLOTS_S,
    check_history,
    known,
)


def test_every_slot_shows_the_graph_of_its_time(tmp_path):
    """Two partitions read at any pace: each release is the graph at its slot, by event time."""
    world = World(tmp_path, PARTITIONS)
    counts = world.run()
    check_history(world)
    assert [r for r, *_ in counts.published] == sorted(world.releases.releases)
    assert (counts.applied, counts.ignored) == (12, 1)
    assert counts.dead_letters == {"malformed_json": 1}
    assert counts.attributes_dropped == 1
    assert counts.slots_skipped == 1
    assert [letter.record.offset for letter in world.letters] == [3]


def test_a_second_run_publishes_nothing_new(tmp_path):
    """Without new events there is no new release, however often the service is started."""
    world = World(tmp_path, PARTITIONS)
    world.run()
    before = world.digests()
    world.run()
    assert world.digests() == before


def test_the_feed_goes_on_after_a_drain(tmp_path):
    """Later events make later releases; earlier ones keep their bytes."""
    world = World(tmp_path, PARTITIONS)
    world.run()
    before = world.digests()
    more = [event("vertex.upsert", 43, "fay", gender="f"), event("edge.add", 71, "fay", "eve")]
    world.extend(0, more)
    world.run()
    after = world.digests()
    assert {r: after[r] for r in before} == before
    assert [t // 1000 for t, _ in world.releases.releases.values()] == [*SLOTS_S, 70, 80]
    assert world.graph() == known([[*FIRST, *more], SECOND])


def crash_everywhere(world_of, total):
    """Crash at every `total`-th step, start again, and check what is there in the end."""
    step = 0
    while True:
        world = world_of(step)
        wire = Tripwire(step)
        try:
            world.run(wire=wire)
        except Crash:
            seen = world.digests()
            world.run()
            final = world.digests()
            assert {r: final[r] for r in seen} == seen, wire.crashed_in
            check_history(world)
            letters = {(e.record.partition, e.record.offset) for e in world.letters}
            assert letters == {(0, 3)}, wire.crashed_in
            step += total
        else:
            return step


def test_a_crash_at_any_step_loses_and_repeats_nothing(tmp_path):
    """Crash before and after every call of store, ledger, source and sinks, then start again."""
    steps = crash_everywhere(lambda step: World(tmp_path / str(step), PARTITIONS), 1)
    assert steps > 150


def test_a_crash_loses_and_repeats_nothing_on_disk(tmp_path):
    """The same with RocksDB, at every seventh step."""

    def world_of(step):
        folder = tmp_path / str(step)
        return World(folder, PARTITIONS, store=disk_store(folder / "store", SCHEMA))

    assert crash_everywhere(world_of, 7) > 150


def test_a_sink_that_does_not_answer_is_asked_again_with_the_same_bytes(tmp_path):
    """Errors before and after the effect: each release is published once, unchanged."""
    world = World(tmp_path, PARTITIONS)
    world.faults.before["publish"] = [unavailable(), unavailable()]
    world.faults.after["publish"] = [unavailable()]
    world.run()
    check_history(world)


def test_dead_letters_are_durable_before_their_offset_passes(tmp_path):
    """While the dead-letter sink does not answer ingest waits; nothing is lost."""
    world = World(tmp_path, PARTITIONS)
    world.faults.before["write"] = [unavailable("write dead letters")] * 3
    world.run()
    check_history(world)
    assert [letter.record.offset for letter in world.letters] == [3]


@pytest.mark.parametrize(
    ("error", "reason"),
    [(NotKTSafe("3 vertices are unsafe."), "unsafe"), (RuntimeError("boom"), "error")],
)
def test_what_is_not_verified_is_never_published(tmp_path, monkeypatch, error, reason):
    """Fail closed: the release is withheld, the last one stands, the service goes on."""
    verify, calls = fresh.verify, []

    def failing(*args, **kwargs):
        calls.append(args)
        if len(calls) == 2:
            raise error
        return verify(*args, **kwargs)

    monkeypatch.setattr(fresh, "verify", failing)
    world = World(tmp_path, PARTITIONS)
    counts = world.run()
    assert counts.withheld == {reason: 1}
    times = [t // 1000 for t, _ in world.releases.releases.values()]
    assert times == [10, 40, 50]
    assert world.graph() == known()


def test_an_unsafe_release_is_stopped_by_the_real_verifier(tmp_path, monkeypatch):
    """With an anonymizer that does nothing, nothing unsafe comes out."""
    anonymize = fresh.anonymize

    def broken(graph, params, **kwargs):
        return anonymize(graph, PrivacyParams(k=1, alpha=1), **kwargs)

    monkeypatch.setattr(fresh, "anonymize", broken)
    world = World(tmp_path, PARTITIONS, params=PrivacyParams(k=4, alpha="1/2"))
    counts = world.run()
    assert counts.withheld["unsafe"] == 4
    assert not world.releases.releases


def test_a_manifest_with_other_parameters_is_withheld(tmp_path, monkeypatch):
    """The gate judges by the service's parameters; what claims others is not published."""
    write_release = releases_write.write_release

    def boasting(folder, graph, ids, header, formats):
        claim = dataclasses.replace(header, params=PrivacyParams(k=1, alpha=1))
        return write_release(folder, graph, ids, claim, formats)

    monkeypatch.setattr(releases_write, "write_release", boasting)
    world = World(tmp_path, PARTITIONS)
    assert world.run().withheld["unsafe"] == 4
    assert not world.releases.releases


def test_a_stop_between_rounds_loses_nothing(tmp_path):
    """Told to stop after any number of rounds, the next run continues exactly."""
    for rounds in range(0, 40, 3):
        world = World(tmp_path / str(rounds), PARTITIONS)
        left = iter(range(rounds))
        world.run(stopping=lambda left=left: next(left, None) is None)
        world.run()
        check_history(world)


def test_a_sink_that_is_ahead_stops_the_service(tmp_path):
    """A sink with releases that the ledger does not know means: refuse to publish."""
    world = World(tmp_path / "a", PARTITIONS)
    world.run()
    stale = World(tmp_path / "b", PARTITIONS)
    stale.releases = world.releases
    with pytest.raises(SinkConflict):
        stale.run()


def test_lost_staged_bytes_stop_the_service(tmp_path):
    """An unconfirmed release whose staged bytes are gone is never replaced by others."""
    world = World(tmp_path, PARTITIONS)
    wire = Tripwire()
    world.faults.before["publish"] = [Crash("before publishing")]
    with pytest.raises(Crash):
        world.run(wire=wire)
    for path in (tmp_path / "staging").glob("*/edges.csv"):
        path.write_text("source,target\nann,bob\n")
    with pytest.raises(StateCorrupted, match="ktsafe rebase"):
        world.run()
    assert not world.releases.releases


def test_other_parameters_are_refused(tmp_path):
    """Parameters are fixed within a sequence."""
    world = World(tmp_path, PARTITIONS)
    world.run()
    world.params = PrivacyParams(k=3, alpha="1/2")
    with pytest.raises(StateMismatch, match="ktsafe rebase"):
        world.run()


def test_a_silent_partition_does_not_hold_a_slot_up(tmp_path):
    """Without drain, a partition that is silent for `idle_s` counts as arrived."""
    world = World(tmp_path, [FIRST, []])
    rounds = iter(range(400))
    world.run(
        loop={"drain": False, "idle_s": 0.05},
        stopping=lambda: next(rounds, None) is None,
    )
    assert [t // 1000 for t, _ in world.releases.releases.values()] == [10, 20, 40]


def test_wall_clock_slots_cut_wherever_ingest_is(tmp_path):
    """By the wall clock a slot needs no event, and an unchanged graph no release."""
    world = World(tmp_path, PARTITIONS)
    world.now_s = 1_000.5  # between two slots
    rounds = iter(range(60))

    def stopping():
        world.now_s += 1.0
        return next(rounds, None) is None

    world.run(loop={"drain": False, "clock": Clock.WALL}, stopping=stopping)
    assert len(world.releases.releases) == 1
    ((time_ms, _),) = world.releases.releases.values()
    assert time_ms % (SLOT_US // 1000) == 0
    assert world.graph() == known()


def test_an_empty_feed_publishes_nothing(tmp_path):
    """No events, no release; nor for a feed of dead letters."""
    world = World(tmp_path, [[], [b"junk"]])
    counts = world.run()
    assert not world.releases.releases
    assert counts.dead_letters == {"malformed_json": 1}
