"""Erasure by event and by command: afterwards no byte in the private folder names the person."""

import base64
import contextlib
import csv
import hashlib
import json
import secrets
import subprocess
import sys
from unittest.mock import Mock

import pytest

from ktsafe import PrivacyParams
from ktsafe.sequence import SequenceOptions
from ktsafe.state.changes import Stamp, VertexDelete, VertexUpsert
from ktsafe.state.database import Database, table_rows
from ktsafe.state.keys import log_text
from ktsafe.state.rocksdb import RocksDBStore
from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from ktsafe.stream.maintenance import erasure
from ktsafe.stream.maintenance.erasure import remains
from tests import running, services, sst_dump
from tests.faults.erasures import found
from tests.stream.service.simulation import SCHEMA, World, disk_store, event


def random_id():
    """Return an id whose letters are many, so that no four of them come in others."""
    return "p" + secrets.token_urlsafe(18)


ANN = random_id()
BOB = random_id()


def traces(folder, text):
    """Return the files below a folder whose bytes hold an id; RocksDB removes some meanwhile.

    Its tables are compressed: four bytes that came before are not written again, and the ends of an
    id may be among those, with what stands beside them. So its inner letters are looked for.
    """
    found, inner = [], text[4:-4].encode()
    for file in sorted(folder.rglob("*")):
        with contextlib.suppress(FileNotFoundError):
            if file.is_file() and inner in file.read_bytes():
                found.append(str(file.relative_to(folder)))
    return found


def world_of(folder, events):
    """Return a world in which everybody is shown who does not come alone."""
    return World(
        folder,
        [events],
        store=lambda: RocksDBStore.open(folder / "store", SCHEMA),
        params=PrivacyParams(k=1, alpha=1),
    )


def originals(world, release_id):
    """Return the original ids that the mapping of a release still tells."""
    with (world.folder / "audit" / release_id / "mapping.csv").open() as file:
        return {row["original_id"] for row in csv.DictReader(file)} - {""}


EVENTS = [
    event("vertex.upsert", 1, ANN, gender="f", health="well"),
    event("vertex.upsert", 2, BOB, gender="m", health="ill"),
    event("edge.add", 3, ANN, BOB),
    event("edge.add", 4, ANN, "nobody-yet"),
    event("vertex.upsert", 12, "cyd", gender="f"),
]


def test_a_deleted_person_is_gone_from_the_disk_when_the_run_ends(tmp_path):
    """Graph, waiting ties, log, tables and past mappings: found before, nowhere after."""
    world = world_of(tmp_path, EVENTS)
    world.run()
    first, second = sorted(world.releases.releases)
    assert originals(world, first) == {ANN, BOB}
    assert {place.partition("/")[0] for place in traces(tmp_path, ANN)} == {"audit", "store"}
    world.extend(0, [event("vertex.delete", 21, ANN), event("vertex.upsert", 31, "dan")])
    world.run()
    assert traces(tmp_path, ANN) == []
    assert originals(world, first) == {BOB}
    assert originals(world, second) == {BOB}
    assert traces(tmp_path, BOB)
    assert set(world.graph()[0]) == {BOB, "cyd", "dan"}


def test_a_deleted_person_is_gone_from_what_never_became_a_release(tmp_path):
    """Mappings of releases that were built and never staged, half of one, and another folder's."""
    world = world_of(tmp_path, EVENTS)
    world.run()
    audits = tmp_path / "audit"
    whole = (audits / min(world.releases.releases) / "mapping.csv").read_bytes()
    for name in ("000000-19700101T000030Z", "000001-19700101T000030Z", "0 of another"):
        (audits / name).mkdir()
        (audits / name / "mapping.csv").write_bytes(whole)
        (audits / name / "mapping.csv.partial").write_bytes(whole[:-5])
    world.extend(0, [event("vertex.delete", 21, ANN)])
    world.run()
    assert traces(tmp_path, ANN) == []
    assert traces(audits / "0 of another", BOB)


def test_who_comes_back_is_not_led_back_to_former_releases(tmp_path):
    """Deleted and back between two clean-ups: mappings from before name nobody."""
    world = world_of(tmp_path, EVENTS)
    world.run()
    back = [event("vertex.delete", 21, ANN), event("vertex.upsert", 22, ANN, gender="f")]
    world.extend(0, back)
    world.run()
    *former, last = sorted(world.releases.releases)
    assert not any(ANN in originals(world, release_id) for release_id in former)
    assert ANN in originals(world, last)


def test_a_running_service_erases_within_its_bound(tmp_path):
    """Without an end of the feed the bytes go when the bound is over, not before."""
    world = world_of(tmp_path, [*EVENTS, event("vertex.delete", 13, ANN)])
    seen = []

    def stopping():
        world.now_s += 0.5
        seen.append(bool(traces(tmp_path, ANN)))
        return world.now_s > 40

    world.run(stopping=stopping, loop={"drain": False, "erase_within_s": 20.0})
    assert seen.index(True) < seen.index(False, seen.index(True))
    assert not seen[-1]
    assert seen.count(True) > 30


def test_an_erasure_that_cannot_be_done_is_overdue_until_it_is(tmp_path, monkeypatch):
    """A deletion is not overdue within its bound; after that it is, for as long as it waits."""
    store = RocksDBStore.open(tmp_path / "store", SCHEMA)
    clock = Mock(return_value=90.0)
    eraser = erasure.Eraser(store, tmp_path / "audit", within_s=20.0, monotonic=clock)
    store.commit([VertexUpsert(Stamp(1, "feed", 0, 0), ANN, {})], {})
    store.commit([VertexDelete(Stamp(2, "feed", 0, 1), ANN)], {})
    waited = []
    with monkeypatch.context() as patch:
        patch.setattr(erasure, "erase_from_disk", Mock(side_effect=OSError))
        for clock.return_value in (100.0, 119.0, 121.0, 150.0):
            with contextlib.suppress(OSError):
                eraser.advance()
            waited.append(eraser.overdue_s())
    assert waited == [0.0, 0.0, 1.0, 30.0]
    clock.return_value = 152.0
    eraser.advance()
    assert eraser.overdue_s() == 0.0
    assert store.erasures_pending() == 0
    store.close()


def test_what_a_killed_service_left_is_erased_after_its_next_start(tmp_path):
    """A service that ended before its bound carries erasure out at once when it is back."""
    world = world_of(tmp_path, [*EVENTS, event("vertex.delete", 13, ANN)])
    rounds = iter(range(100))
    world.run(stopping=lambda: next(rounds) > 30, loop={"drain": False})
    assert traces(tmp_path, ANN)
    rounds = iter(range(100))
    world.run(stopping=lambda: next(rounds) > 3, loop={"drain": False})
    assert traces(tmp_path, ANN) == []


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return a service that consumed a feed with random ids, and one id of it."""
    names = {}
    feed = [
        {
            k: names.setdefault(v, random_id()) if k in {"id", "source", "target"} else v
            for k, v in one.items()
        }
        for one in services.small_feed(people=80)
        if one["type"] != "vertex.delete"
    ]
    folder = tmp_path_factory.mktemp("erasure")
    # Classes that a small feed fills, so that the person is shown.
    attributes = services.ATTRIBUTES | {"quasi_identifiers": ["gender"]}
    made = running.files_site(folder / "site", [feed], attributes, "month")
    person = feed[0]["id"]
    with (folder / "feed" / "feed-0.jsonl").open("a") as file:
        file.write(json.dumps({"type": "vertex.upsert", "id": person, "time": "never"}) + "\n")
        file.write('{"type": "vertex.upsert", "id": "another", "time": "never"}\n')
    made.drain()
    return made, person


def test_erase_by_command(site, capsys):
    """`ktsafe erase` leaves nothing of the person, and the service goes on without them."""
    made, person = site
    config = str(made.config)
    before = made.graph()
    assert any(place.startswith("state/store") for place in traces(made.folder, person))
    assert any(place.startswith("state/audit") for place in traces(made.folder, person))
    assert made.dead_letters() == 2
    assert run_command(["erase", person, config, "--yes", "--json"]) == Exit.OK
    report = json.loads(capsys.readouterr().out)
    assert report["erased"] == 1
    assert report["mapping_entries_blanked"] >= 3
    assert report["dead_letters_blanked"] == 1
    assert traces(made.folder, person) == []
    assert made.dead_letters() == 2
    vertices, ties = made.graph()
    assert set(vertices) == set(before[0]) - {person}
    assert ties == {pair for pair in before[1] if person not in pair}
    assert run_command(["erase", person, config, "--yes"]) == Exit.OK
    assert "1 not in the graph" in capsys.readouterr().out
    made.drain()
    assert person not in made.graph()[0]


def test_a_running_service_is_not_erased_from(site, capsys):
    """The store is locked: the error says so in words, and nothing happens."""
    made, _ = site
    person = min(made.graph()[0])
    config = str(made.config)
    store = RocksDBStore.open(made.folder / "state" / "store", made.settings.schema)
    command = [sys.executable, "-m", "ktsafe.stream.cli", "erase", person, config, "--yes"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    store.close()
    assert done.returncode == Exit.STATE
    assert "vertex.delete" in done.stderr
    assert person not in done.stderr
    assert person in made.graph()[0]
    assert run_command(["erase", "", config, "--yes"]) == Exit.USAGE
    capsys.readouterr()


AT_ONCE = {"drain": False, "erase_within_s": 0.0}


def test_values_that_nobody_has_leave_the_memory_of_a_sequence(tmp_path, monkeypatch):
    """What no release shows is found nowhere, and that it went changes no release.

    Somebody else comes with the same value later; in the other world nothing was forgotten.
    """
    odd, note = "Zoë\\odd", 'quo"ted/odd'
    first = [event("vertex.upsert", 1, f"p{i}", gender="fm"[i % 2]) for i in range(8)]
    first += [event("edge.add", 2, f"p{i}", f"p{(i + 2) % 8}") for i in range(8)]
    first += [event("vertex.upsert", 3, ANN, gender=odd, health=note)]
    then = [event("vertex.delete", 14, ANN), event("edge.add", 15, "p0", "p1")]
    last = [event("vertex.upsert", 35, BOB, gender=odd), event("edge.add", 45, "p0", "p3")]
    released = []
    for forgets in (True, False):
        folder = tmp_path / str(forgets)
        if not forgets:
            monkeypatch.setattr(erasure, "forget_texts", lambda _store: None)
        world = World(
            folder,
            [first],
            store=disk_store(folder / "store", SCHEMA),
            sequence=SequenceOptions(effort="fast"),
            seed=1,
        )
        world.run()
        assert len(remains([odd, note, ANN], [folder]).left) >= 1
        assert found(folder, [odd, note]) == {odd, note}
        world.extend(0, then[:1])
        # No release follows the deletion: it would forget them by itself.
        until_s = world.now_s + 60.0

        def stopping(world=world, until_s=until_s):
            world.now_s += 2.0
            return world.now_s > until_s

        world.run(stopping=stopping, loop=AT_ONCE)
        assert found(folder, [odd, note]) == (set() if forgets else {odd, note})
        world.extend(0, then[1:])
        world.run()
        left = {odd, note} if not forgets else set()
        assert found(folder, [odd, note, ANN]) <= left
        assert len(remains([odd, note, ANN], [folder]).left) <= len(left)
        world.extend(0, last)
        world.run()
        assert found(folder, [odd, note]) - left == {odd} - left  # Somebody has it again.
        tables = {
            (release, name): data
            for release, (_, files) in world.releases.releases.items()
            for name, data in files.items()
            if name.endswith(".csv")
        }
        released.append(tables)
    assert len(released[0]) == 8
    assert released[0] == released[1]


NOISE = base64.b64encode(hashlib.shake_256(b"noise").digest(600)).decode()
DIGEST = hashlib.sha256(b"noise").hexdigest()


@pytest.mark.parametrize("content", ['{"cut": "NOISE"}', '{"sha256": "DIGEST"}', "ID,f\n"])
def test_a_short_text_among_random_letters_is_told_apart(tmp_path, content):
    """Digests, published ids, and what is encrypted."""
    noise = {"NOISE": NOISE, "DIGEST": DIGEST, "ID": DIGEST[:16]}
    (name,) = (each for each in noise if each in content)
    # Every pair of letters that stands in the noise, as if somebody were called so.
    texts = {noise[name][i : i + 2] for i in range(len(noise[name]) - 1)}
    texts = {text for text in texts if text not in content.replace(name, "")}
    (tmp_path / "file").write_text(content.replace(name, noise[name]))
    assert remains(sorted(texts), [tmp_path]) == ({}, {str(tmp_path / "file"): len(texts)})


@pytest.mark.parametrize(
    "content",
    [
        f'{{"cut": "{NOISE}", "id": "p9"}}',
        f"{DIGEST[:16]},p9\n",
        "group-of-p9s-and-others",
        base64.b64encode(b'{"id": "p9", "more": 1}').decode(),
        base64.b64encode(b'\x00\x02\x08p9\x04"more": 1').decode(),
    ],
)
def test_a_short_text_is_left_where_it_means_something(tmp_path, content):
    """Beside random letters, in other words, and encoded."""
    (tmp_path / "file").write_text(content)
    assert remains(["p9"], [tmp_path]) == ({str(tmp_path / "file"): 1}, {})


def test_a_long_text_is_no_chance(tmp_path):
    """Nor is one that is all of a run."""
    (tmp_path / "file").write_text(f'{{"sha256": "{DIGEST}"}}')
    for text in (DIGEST, DIGEST[3:15]):
        assert remains([text], [tmp_path]) == ({str(tmp_path / "file"): 1}, {})


def test_a_proof_says_what_may_be_chance(site, capsys):
    """Two letters of an encrypted cut are nobody's id: the proof holds, and shows the place."""
    made, _ = site
    (manifest,) = (made.folder / "state" / "staging").glob("*/manifest.json")
    cut = json.loads(manifest.read_text())["cut"]
    pairs = [cut[i : i + 2] for i in range(40, 900, 2)]
    private = made.folder / "state"
    pair = next(each for each in pairs if not remains([each], [private]).left)
    assert run_command(["erase", pair, str(made.config), "--prove"]) == Exit.OK
    said = capsys.readouterr().out
    assert "left      nothing of 1" in said
    assert f"chance    1 in {manifest}" in said


def test_what_is_left_is_found_however_it_is_written(tmp_path):
    """Plain, as JSON in JSON, in CSV, in base64, and across the pieces of a log."""
    word = 'Jürgen "J" O/Brien 🙂'
    inner = json.dumps({"id": word}).replace("/", "\\/")
    written = {
        "plain": word.encode(),
        "json": inner.encode(),
        "twice": json.dumps(inner).encode(),
        "csv": b'1,"' + word.replace('"', '""').encode() + b'"\n',
        "letter": b'{"value":"' + base64.b64encode(inner.encode()) + b'"}',
        "nothing": b"Juergen",
    }
    for name, data in written.items():
        (tmp_path / name).write_bytes(data)
    assert set(remains([word], [tmp_path]).left) == {
        str(tmp_path / name) for name in written if name != "nothing"
    }
    database = Database(tmp_path / "db", create=True)
    batch = database.batch()
    batch.write("meta", {b"key": word.encode() * 4000})
    database.commit(batch)
    log = next((tmp_path / "db").glob("*.log")).read_bytes()
    assert log.count(word.encode()) < 4000
    assert log_text(log).count(word.encode()) == 4000
    database.scrub()
    database.close()
    (table,) = (tmp_path / "db").glob("*.sst")
    assert sorted(table_rows(table)) == sorted(sst_dump.rows(table))
