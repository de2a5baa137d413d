"""The whole service with `departure = "hard"`: ids vanish, files say which, nobody says whose."""

import csv
import dataclasses
import itertools
import json
import shutil
from importlib import resources

import pytest

from connectors.memory import Crash
from state.rocksdb import RocksDBStore
from stream.cli import run_command
from stream.errors import Exit
from stream.files import releases_write
from stream.files.private_audits import read_owners
from stream.release.linked import LinkedReleases
from stream.upkeep import erasure
from tests import feeds
from tests.stream.release.test_linked import EVENTS, OPTIONS, PARAMS, contents, feed, guarantees
from tests.stream.service.simulation import SCHEMA, Tripwire, World, event
from tests.stream.service.test_operations import Commands, given, run, taken

HARD = dataclasses.replace(OPTIONS, departure="hard")


def world_of(folder, events=EVENTS, **settings):
    return World(folder, [events], params=PARAMS, sequence=HARD, seed=7, **settings)


def on_disk(folder):
    return {"store": lambda: RocksDBStore.open(folder / "store", SCHEMA)}


def successions(world):
    """Return the successions of every release, by its id."""
    found = {}
    for path in sorted((world.folder / "audit").glob("*/successions.csv")):
        with path.open() as file:
            header, *rows = csv.reader(file)
        assert header == ["former_id", "successor_id"]
        found[path.parent.name] = rows
    return found


def ids(world, release_id):
    """Return the published ids of a release."""
    rows = csv.DictReader(contents(world)[release_id][0].decode().splitlines())
    return {row["id"] for row in rows}


def inner_bytes(name):
    """Return what stays of an id in a page: compression may join its ends to what stands beside."""
    return int(name, 16).to_bytes(8, "little")[1:6]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Return a world whose service ran through, its state on disk."""
    folder = tmp_path_factory.mktemp("undisturbed")
    world = world_of(folder, **on_disk(folder))
    counts = world.run()
    assert len(counts.published) == 5
    assert not counts.withheld
    return world


def test_ids_vanish_with_their_people_and_the_private_audit_says_which(undisturbed):
    """One succession for each departure of a published person, in the release after it."""
    releases = sorted(contents(undisturbed))
    claimed = successions(undisturbed)
    assert sorted(claimed) == releases
    assert sum(map(len, claimed.values())) == 2
    for before, after in itertools.pairwise(releases):
        for former, successor in claimed[after]:
            assert former in ids(undisturbed, before) - ids(undisturbed, after)
            assert successor in ids(undisturbed, after) - ids(undisturbed, before)


def test_the_manifest_promises_each_release_by_itself_from_the_first_on(undisturbed):
    """Before and after the first removal it reads the same, and no file tells of one."""
    promised = guarantees(undisturbed)
    assert {json.dumps(one) for one in promised} == {json.dumps(promised[0])}
    assert promised[0]["w"] == 1
    assert "removed" in promised[0]["text"]
    for _, files in undisturbed.releases.releases.values():
        assert set(files) == {"manifest.json", "vertices.csv", "edges.csv"}


def test_the_private_audit_lists_who_is_exposed(undisturbed):
    """Judged as one object per place, safe; by ids the lists are the same as `ktsafe audit`'s."""
    for folder in sorted((undisturbed.folder / "audit").iterdir()):
        audit = json.loads((folder / "audit.json").read_text())["audit"]
        assert audit["checked"]["window"] == "all"
        assert all(found["kind"].startswith("linked_") for found in audit["violations"])
        removals = audit["figures"]["removals"]
        assert removals["candidates"]["below_k"] == len(removals["below_k"])
    assert removals["vanished"] == 2
    assert removals["vanished_below_k"] == 2


def test_the_audit_command_judges_successors_and_names_the_exposed(undisturbed, tmp_path, capsys):
    """Safe with the private files; without them each release is judged by itself, as promised."""
    folder = tmp_path / "releases"
    for release_id, (_, files) in undisturbed.releases.releases.items():
        (folder / release_id).mkdir(parents=True)
        for name, data in files.items():
            (folder / release_id / name).write_bytes(data)
    private = undisturbed.folder / "audit"
    command = ["audit", str(folder), f"--map={private}"]
    code = run_command([*command, "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["promise"] == {"window": "all", "cover": True}
    assert all(kind["kind"].startswith("linked_") for kind in report["violations"])
    assert code == (Exit.UNSAFE if report["violations"] else Exit.OK)
    found = report["sequences"][0]["removals"]
    last = json.loads((max(private.iterdir()) / "audit.json").read_text())["audit"]["figures"]
    assert found["below_k"] == last["removals"]["below_k"]
    assert found["successions"] == found["vanished"] == 2
    run_command(command)
    text = capsys.readouterr().out
    assert "2 ids vanished with their people" in text
    assert not any(name in text for name in found["below_k"])
    assert run_command(["audit", str(folder)]) == Exit.OK
    assert "w = 1" in capsys.readouterr().out
    assert run_command(["audit", str(folder), "--window=all"]) == Exit.UNSAFE
    assert "too_few_candidates" in capsys.readouterr().out
    damaged = tmp_path / "damaged"
    shutil.copytree(private, damaged)
    (max(damaged.iterdir()) / "successions.csv").write_text("former,next\n")
    assert run_command([*command[:2], f"--map={damaged}"]) == Exit.USAGE
    assert "does not begin with the columns former_id" in capsys.readouterr().err


def test_whose_a_vanished_id_was_is_nowhere_on_the_disk(undisturbed):
    """Its rows name nobody, and what names it is releases, mappings and the pair with the next."""
    claimed = [pair for pairs in successions(undisturbed).values() for pair in pairs]
    lives = undisturbed.graph()[0]
    last = max(contents(undisturbed))
    shown = [inner_bytes(name) for name in ids(undisturbed, last)]
    files = (path for path in (undisturbed.folder / "store").rglob("*") if path.is_file())
    store = b"".join(path.read_bytes() for path in files)
    assert sum(number in store for number in shown) > 0.9 * len(shown), "the search is blind"
    for former, _ in claimed:
        holders = set()
        for path in sorted(undisturbed.folder.rglob("*")):
            if not path.is_file():
                continue
            data = path.read_bytes()
            assert inner_bytes(former) not in data, path
            if former.encode() in data:
                holders.add(path.name)
        # An audit of before may list it among who was exposed then.
        assert holders - {"audit.json"} == {"mapping.csv", "successions.csv"}
        for path in (undisturbed.folder / "audit").glob("*/mapping.csv"):
            with path.open() as file:
                behind = [row["original_id"] for row in csv.DictReader(file)]
            assert set(behind) - {""} <= set(lives)
            with path.open() as file:
                named = {row["released_id"]: row["original_id"] for row in csv.DictReader(file)}
            assert named.get(former, "") == ""


def crash_and_recover(undisturbed, world_at, step):
    """Crash at a step, run again, and compare every byte; return whether it crashed at all."""
    world = world_at(step)
    wire = Tripwire(step)
    try:
        world.run(wire=wire)
    except Crash:
        world.run()
        assert contents(world) == contents(undisturbed), wire.crashed_in
        assert successions(world) == successions(undisturbed), wire.crashed_in
        return True
    return False


def test_a_crash_at_any_step_changes_no_byte(undisturbed, tmp_path):
    """Led through history again, the auditor takes the same successions for what they are."""
    step = 7
    while crash_and_recover(undisturbed, lambda at: world_of(tmp_path / str(at)), step):
        step += 67
    assert step > 150


@pytest.mark.parametrize("lie", ["dropped", "turned", "invented"])
def test_a_mechanism_that_lies_about_successions_is_withheld(tmp_path, monkeypatch, lie):
    """A vanished id that nobody claims, a pair turned round, and an id that has not vanished."""
    real = LinkedReleases._successions

    def lying(self, made):
        pairs = real(self, made)
        if lie == "dropped":
            return []
        if lie == "turned":
            return [pair[::-1] for pair in pairs]
        released = [f"{x:016x}" for x in self._engine.released().ids.tolist()]
        return pairs if made is None else [*pairs, (released[0], released[1])]

    monkeypatch.setattr(LinkedReleases, "_successions", lying)
    counts = world_of(tmp_path, feed(people=40, seed=3)).run()
    assert counts.withheld["unsafe"] >= 1


def test_a_release_that_is_staged_again_is_judged_alike(tmp_path, monkeypatch):
    """A full disk while the audit is written: the same successors are new when built again."""
    whole = world_of(tmp_path / "whole")
    whole.run()
    write_audit, failed = releases_write.write_audit, set()

    def failing(folder, *args, **kwargs):
        if folder.name not in failed:
            failed.add(folder.name)
            raise OSError(28, "No space left on device")
        return write_audit(folder, *args, **kwargs)

    monkeypatch.setattr(releases_write, "write_audit", failing)
    world = world_of(tmp_path / "full")
    counts = world.run()
    assert not counts.withheld
    assert contents(world) == contents(whole)


def test_erasure_by_command_removes_the_place_in_the_next_release(tmp_path):
    """No event says so: the person is gone from the store, and the id from the next release."""
    world = world_of(tmp_path, **on_disk(tmp_path))
    world.run()
    last = max(contents(world))
    owners = read_owners(tmp_path / "audit", last)
    former = min(name for name, person in owners.items() if person)
    person = owners[former]
    store = world.open_store()
    report = erasure.erase_everywhere(store, [person], tmp_path / "audit", lambda _: 0)
    store.close()
    assert report["erased"] == 1
    world.extend(0, [event("vertex.upsert", 61, "another", gender="f")])
    world.run()
    after = max(contents(world))
    ((gone, successor),) = successions(world)[after]
    assert gone == former
    assert successor in ids(world, after) - ids(world, last)
    assert former not in ids(world, after)
    for path in sorted((tmp_path / "audit").glob("*/mapping.csv")):
        assert read_owners(tmp_path / "audit", path.parent.name).get(former) is None
    audit = json.loads((tmp_path / "audit" / after / "audit.json").read_text())["audit"]
    # The service was started anew after the mappings were blanked: nobody can say any more.
    assert audit["figures"]["removals"]["unconfirmed"] == 1


def test_what_a_removing_sequence_promises_is_said_in_words(capsys, tmp_path):
    """The promise has a text of its own; `config check` and `run` say it before anything runs."""
    texts = [
        releases_write.Guarantee(window, cover, removes).to_mapping()
        for window, cover, removes in ((1, False, False), ("all", True, False), (1, False, True))
    ]
    assert len({one["text"] for one in texts}) == 3
    example = resources.files("stream").joinpath("example.toml").read_text(encoding="utf-8")
    path = tmp_path / "ktsafe.toml"
    path.write_text(example.replace('departure = "counterfeit"', 'departure = "hard"'))
    assert run_command(["config", "check", str(path), "--json"]) == Exit.OK
    assert "one by one" in json.loads(capsys.readouterr().out)["guarantee"]


def test_erasure_in_a_running_service_is_confirmed_by_its_gate(tmp_path):
    """The command comes between two rounds; the auditor of the same run knows that they left."""
    slot = next(i for i, one in enumerate(EVENTS) if feeds.time_us(one) >= 30_000_000)
    later = {one.get(end) for one in EVENTS[slot:] for end in ("id", "source", "target")}
    there = {one["id"] for one in EVENTS[:20] if one["type"] == "vertex.upsert"}
    person = min(there - later - {one["id"] for one in EVENTS if one["type"] == "vertex.delete"})
    world = world_of(tmp_path, **on_disk(tmp_path))
    former = []

    def ready(operations):
        if not taken(slot + 1)(operations) or len(world.releases.releases) < 3:
            return False
        if not former:
            owners = read_owners(tmp_path / "audit", max(world.releases.releases))
            former.extend(name for name, owner in owners.items() if owner == person)
        return True

    commands = Commands((ready, "erase", given(ids=[person])))
    run(world, commands, rounds=200)
    (report,) = commands.results
    assert report["erased"] == 1
    claimed = {name: after for name, after in successions(world).items() if after}
    after = next(name for name, pairs in claimed.items() if pairs[0][0] in former)
    assert former[0] not in ids(world, after)
    audit = json.loads((tmp_path / "audit" / after / "audit.json").read_text())["audit"]
    assert audit["figures"]["removals"]["unconfirmed"] == 0
