"""Commands to a running service: erase, rebase, release, freeze, between any two rounds."""

import csv
import json
from contextlib import closing
from pathlib import Path

import pytest

from ktsafe.seals import check_seals
from ktsafe.state.inspection import examine
from ktsafe.state.rocksdb import RocksDBStore
from ktsafe.state.store_base import StateUnusable
from ktsafe.stream.config.places import STORE
from ktsafe.stream.errors import Refused
from ktsafe.stream.maintenance import backup
from ktsafe.stream.observer import Observer
from ktsafe.stream.service.control import Arguments
from tests import feeds
from tests.stream.service.simulation import SCHEMA, World, event

ANN = "ann-7049dc83012d"
EVENTS = [
    event("vertex.upsert", 1, ANN, gender="f", health="well"),
    event("vertex.upsert", 2, "bob", gender="m", health="ill"),
    event("edge.add", 3, ANN, "bob"),
    event("vertex.upsert", 4, "cyd", gender="f"),
    event("vertex.upsert", 12, "dan", gender="f", health="well"),
    event("edge.add", 13, "dan", "cyd"),
    event("vertex.upsert", 25, "eve", gender="m"),
    event("edge.add", 32, "eve", ANN),
]
LATER = [event("vertex.upsert", 43, "fay", gender="m"), event("vertex.upsert", 51, "gus")]


class Commands:
    """Stands in for the control socket: gives each command as soon as its condition holds.

    Conditions, arguments and `after` (told of every result) are functions of the operations.
    """

    def __init__(self, *planned, after=lambda _: None):
        self.left = list(planned)
        self.results = []
        self._after = after

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def advance(self, operations):
        if not self.left:
            return
        holds, command, arguments = self.left[0]
        if not holds(operations) or operations.must_wait(command):
            return
        del self.left[0]
        try:
            self.results.append(operations.do(command, arguments(operations)))
        except Refused as error:
            self.results.append(error)
        self._after(operations)


def given(**arguments):
    """Return arguments that are the same whatever the service."""
    return lambda _: Arguments(**arguments)


def at_once(_):
    """Hold."""
    return True


def idle(operations):
    """Return whether no release is in flight."""
    return not operations.loop.is_releasing


def taken(count):
    """Return a condition: the loop has taken in so many records."""
    return lambda operations: sum(operations.loop.ingest.offsets.values()) >= count


ALL_READ = taken(len(EVENTS))


def world_of(folder, events=EVENTS):
    return World(
        folder,
        [events],
        store=lambda: RocksDBStore.open(folder / STORE, SCHEMA),
        seed=5,
    )


def run(world, commands, rounds=60, executor=None, **loop):
    """Run the service for some rounds of a feed that has no end, commands coming in between."""
    left = iter(range(rounds))
    world.run(
        stopping=lambda: next(left, None) is None,
        loop={"drain": False, "idle_s": 1e9} | loop,
        ingest={"checkpoint_interval_s": 1e9, "batch_records_max": 2},
        open_control=lambda: commands,
        executor=executor,
    )
    assert not commands.left, "the command never came to be done"


def slots(world):
    return [time_ms // 1000 for time_ms, _ in world.releases.releases.values()]


def originals(world, release_id):
    with (world.folder / "audit" / release_id / "mapping.csv").open() as file:
        return {row["original_id"] for row in csv.DictReader(file)} - {""}


def traces(folder, text):
    """Return the files that hold a text, but for what readers have: staged releases."""
    return [
        str(file.relative_to(folder))
        for file in sorted(folder.rglob("*"))
        if file.is_file() and text.encode() in file.read_bytes()
        if file.relative_to(folder).parts[0] != "staging"
    ]


def test_release_now_brings_the_next_slot_forward(tmp_path):
    """The slot being collected for is cut as the feed stands; what comes later is in the next."""
    world = world_of(tmp_path)
    commands = Commands((ALL_READ, "release", given()))
    run(world, commands)
    assert [each.slot for each in commands.results] == ["1970-01-01T00:00:40Z"]
    assert slots(world) == [10, 20, 30, 40]
    last = max(world.releases.releases)
    assert world.cuts[last][0].keys() == {ANN, "bob", "cyd", "dan", "eve"}
    more = [event("edge.add", 39, "dan", ANN), *LATER]
    world.extend(0, more)
    run(world, Commands())
    assert slots(world) == [10, 20, 30, 40, 50]
    assert (ANN, "dan") in world.cuts[max(world.releases.releases)][1]
    assert world.graph() == feeds.fold([[*EVENTS, *more]], SCHEMA.attributes)


def test_release_now_without_news_is_refused(tmp_path):
    """No release shows what the last one showed; asking for it does no harm."""
    world = world_of(tmp_path)
    commands = Commands((ALL_READ, "release", given()), (idle, "release", given()))
    run(world, commands)
    assert isinstance(commands.results[1], Refused)
    assert slots(world) == [10, 20, 30, 40]


def test_an_erased_person_is_gone_when_the_answer_is_there(tmp_path):
    """Records that were read and not yet applied do not bring the person back."""
    world = world_of(tmp_path, [*EVENTS, event("edge.add", 33, ANN, "dan")])
    left = []
    commands = Commands(
        (taken(len(EVENTS) + 1), "erase", given(ids=[ANN, "nobody"])),
        after=lambda _: left.append(traces(tmp_path, ANN)),
    )
    run(world, commands)
    (report,) = commands.results
    assert left == [[]]
    assert (report.asked, report.erased, report.unknown) == (2, 1, 1)
    assert report.mapping_entries_blanked == 3
    assert report.release_given_up is False
    assert set(world.graph()[0]) == {"bob", "cyd", "dan", "eve"}
    assert ANN not in originals(world, min(world.releases.releases))


class Late:
    """Runs a task when its future has been asked for a few times."""

    def submit(self, task):
        return _LateFuture(task)


class _LateFuture:
    def __init__(self, task):
        self._task, self._asked = task, 0

    def done(self):
        self._asked += 1
        return self._asked > 3

    def result(self):
        return self._task()


def test_erasure_waits_for_a_release_that_is_being_built(tmp_path):
    """A cut keeps its people until its bytes are fixed; then the erasure is done."""
    world = world_of(tmp_path)
    waited = []

    def in_the_way(operations):
        if operations.store.ledger.pending_cut() is not None:
            waited.append(operations.must_wait("erase"))
        return bool(waited)

    commands = Commands((in_the_way, "erase", given(ids=[ANN])))
    run(world, commands, executor=Late())
    assert len(waited) >= 2
    assert all(waited)
    assert commands.results[0].erased == 1
    assert ANN not in world.graph()[0]


class Told(Observer):
    """Keeps what is told of releases, in order."""

    def __init__(self):
        self.notices = []

    def release_begun(self):
        self.notices.append("begun")

    def release_phase(self, phase, seconds):
        self.notices.append(phase)

    def release_published(self, release_id, nominal_us, vertices, edges):
        self.notices.append("published")


def test_observers_know_of_a_release_before_its_first_phase_ends(tmp_path):
    """Otherwise nobody would see that one is being made during the longest phase of all."""
    world, told = world_of(tmp_path), Told()
    world.run(observer=told)
    of_one = ["begun", "anonymize", "stage", "verify", "audit", "publish", "published"]
    assert told.notices == of_one * len(world.releases.releases)
    assert told.notices


def digest(operations):
    """Return what a command sends whose configuration is the service's."""
    return Arguments(inputs_digest=operations.inputs_digest)


def test_a_rebase_begins_a_new_sequence(tmp_path):
    """Later releases are of another sequence; a changed configuration is refused before."""
    world = world_of(tmp_path)
    commands = Commands(
        (ALL_READ, "rebase", given(inputs_digest="another")), (at_once, "rebase", digest)
    )
    run(world, commands)
    refused, rebased = commands.results
    assert isinstance(refused, Refused)
    assert "changed since" in str(refused)
    world.extend(0, LATER)
    run(world, Commands())
    ids = [json.loads(manifest)["sequence_id"] for manifest in world.digests().values()]
    assert len(set(ids[:3])) == 1
    assert set(ids[3:]) == {rebased.sequence_id} != set(ids[:3])
    manifests = [files["manifest.json"] for _, files in world.releases.releases.values()]
    chain = check_seals(manifests)
    assert [(check.size, check.problems) for check in chain] == [(n, ()) for n in range(len(ids))]


def test_a_frozen_state_becomes_a_backup_that_restores(tmp_path):
    """Frozen between two rounds, copied while the service goes on: the state as of then."""
    world = world_of(tmp_path / "a")
    then = []
    commands = Commands(
        (taken(6), "freeze", given()), after=lambda o: then.append(o.store.positions())
    )
    run(world, commands)
    (frozen,) = commands.results
    folder = Path(frozen.folder)
    parts = backup.parts_of(folder, world.folder, frozen=True)
    assert parts.last_release in world.releases.releases
    backup.copy(parts, tmp_path / "backup", now_us=1)
    restored = tmp_path / "b"
    backup.restore(tmp_path / "backup", restored, lambda store: examine(store, SCHEMA))
    with closing(RocksDBStore.open(restored / STORE, SCHEMA)) as store:
        assert store.positions() == then[0] != {}
    world.run()
    assert not folder.exists(), "what nobody removed goes at the next start"


def test_an_erasure_takes_frozen_states_along(tmp_path):
    """Who copies one right then is told to begin again; no copy has the person."""
    world = world_of(tmp_path)
    commands = Commands((ALL_READ, "freeze", given()), (at_once, "erase", given(ids=[ANN])))
    seen = []

    def look(_):
        if not seen:
            folder = Path(commands.results[0].folder)
            seen.append(backup.parts_of(folder, world.folder, frozen=True))

    commands._after = look
    run(world, commands)
    assert not seen[0].store.exists()
    with pytest.raises(StateUnusable, match="Give the command again"):
        backup.copy(seen[0], tmp_path / "b", now_us=1)
    assert not (tmp_path / "b").exists()


def test_an_erasure_without_ids_is_refused(tmp_path):
    """Nothing is erased by a question that names nobody."""
    world = world_of(tmp_path)
    commands = Commands((ALL_READ, "erase", given()))
    run(world, commands)
    assert isinstance(commands.results[0], Refused)
    assert ANN in world.graph()[0]
