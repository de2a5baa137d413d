"""Backups: whole or refused, restored or not begun, and never a second history."""

import hashlib
import io
import json
import os
import shutil
import stat
import subprocess
import sys

import pytest

from ktsafe.connectors.base import WITHDRAWN
from ktsafe.state.folder import hold
from ktsafe.state.inspection import examine
from ktsafe.state.store_base import StateCorrupted, StateUnusable
from ktsafe.stream.cli import run_command
from ktsafe.stream.config.places import RESTORING, STORE, check_finished
from ktsafe.stream.errors import Exit
from ktsafe.stream.files.private_audits import marker, note, noted
from ktsafe.stream.maintenance import backup
from ktsafe.stream.maintenance.erasure import noted_since
from ktsafe.stream.service.housekeeping import check_parts
from tests import running, services
from tests.memory_connectors import Crash
from tests.stream.service.simulation import SCHEMA, World, disk_store, event

EVENTS = [
    event("vertex.upsert", 1, "ann", gender="f"),
    event("vertex.upsert", 2, "bob", gender="m"),
    event("edge.add", 3, "ann", "bob"),
    event("vertex.upsert", 12, "cyd", gender="f"),
]


@pytest.fixture
def made(tmp_path):
    """Return a private folder with two releases, and a backup of it."""
    world = World(
        tmp_path / "private", [EVENTS], store=disk_store(tmp_path / "private" / STORE, SCHEMA)
    )
    world.run()
    store = world.open_store()
    frozen = backup.freeze(store, lambda name: world.folder / "staging" / name)
    store.close()
    to = tmp_path / "backup"
    backup.copy(backup.parts_of(frozen, world.folder, frozen=True), to, now_us=7)
    return world, to


def restored(to, private):
    return backup.restore(to, private, lambda store: examine(store, SCHEMA))


def test_a_backup_holds_all_and_only_what_belongs_to_it(made, tmp_path):
    """Store, audits of its releases, a listing; files for their owner only."""
    world, to = made
    listing = restored(to, tmp_path / "other")
    last = max(world.releases.releases)
    assert (listing.last_release, listing.made_us) == (last, 7)
    names = {name.partition("/")[0] for name in listing.files}
    assert names == {"store", "audit"}
    found = {str(path.relative_to(to)) for path in to.rglob("*") if path.is_file()}
    assert found == {*listing.files, backup.LISTING}
    assert {path.stat().st_mode & 0o077 for path in to.rglob("*")} == {0}
    audits = {path.parent.name for path in (tmp_path / "other").glob("audit/*/mapping.csv")}
    assert audits == set(world.releases.releases)
    assert examine(tmp_path / "other" / STORE, SCHEMA).counts["vertices"] == 3


def test_a_store_at_rest_is_copied_without_being_opened(made, tmp_path):
    """The same content as of a frozen one; nobody may hold the store meanwhile."""
    world, _ = made
    store = world.folder / STORE
    with hold(store):
        parts = backup.parts_of(store, world.folder, frozen=False)
        backup.copy(parts, tmp_path / "b", now_us=1)
        assert is_held_for_others(store)
    listing = restored(tmp_path / "b", tmp_path / "other")
    assert listing.last_release == max(world.releases.releases)
    with hold(tmp_path / "other" / STORE):  # a restored store, never opened
        assert examine(tmp_path / "other" / STORE, SCHEMA) == examine(store, SCHEMA)
    opened = world.open_store()
    try:
        assert is_held_for_others(store)
    finally:
        opened.close()
    assert not is_held_for_others(store)


def test_a_damaged_note_of_a_withdrawal_is_not_backed_up(made):
    """The sink is not asked. A note without its sum is damaged, too."""
    world, _ = made
    release_id = min(world.releases.releases)
    audit, why = world.folder / "audit" / release_id, marker(release_id, "now", "It names people.")
    note(audit, why)
    path = audit / WITHDRAWN
    told = path.read_bytes()
    parts = backup.parts_of(world.folder / STORE, world.folder, frozen=False)
    check_parts(parts, SCHEMA)
    for place in range(len(told)):
        path.write_bytes(told[:place] + bytes([told[place] ^ 1 << place % 8]) + told[place + 1 :])
        with pytest.raises(StateCorrupted, match="Withdraw the release again"):
            noted(audit)
        path.write_bytes(told[:place])
        with pytest.raises(StateCorrupted, match="Withdraw the release again"):
            noted(audit)
    with pytest.raises(StateCorrupted, match="Withdraw the release again"):
        check_parts(parts, SCHEMA)


def is_held_for_others(store):
    """Ask another process, since a lock is its process's own."""
    code = """
import pathlib, sys
from ktsafe.state.store_base import StateLocked
from ktsafe.state.folder import hold
try:
    with hold(pathlib.Path(sys.argv[1])):
        pass
except StateLocked:
    sys.exit(10)
"""
    return subprocess.run([sys.executable, "-c", code, str(store)], check=False).returncode == 10


def test_every_touched_byte_is_noticed(made, tmp_path):
    """A changed, shortened or missing file is named, and nothing is restored."""
    _, to = made
    for path in sorted(path for path in to.rglob("*") if path.is_file()):
        data = path.read_bytes()
        for damaged in (data[:-1], bytes([data[0] ^ 1]) + data[1:] if data else b"x", None):
            if damaged == data:
                continue  # nothing to take from an empty file
            if damaged is None:
                path.unlink()
            else:
                path.write_bytes(damaged)
            with pytest.raises((StateCorrupted, StateUnusable)):
                restored(to, tmp_path / "other")
            assert not (tmp_path / "other").exists()
            path.write_bytes(data)
    restored(to, tmp_path / "other")


@pytest.mark.parametrize(
    "place",
    [
        "store/{outside}/planted.txt",
        "store/../../planted.txt",
        "audit/../../planted.txt",
        "{outside}/planted.txt",
        "../planted.txt",
        "store.restoring/x/../../../planted.txt",
        "control.sock/planted.txt",
        "store//planted.txt",
        "store",
        "store/a\0b",
        "store\\..\\planted.txt",
    ],
)
def test_a_listing_names_nothing_outside_of_the_backup(made, tmp_path, place):
    """A name that leads elsewhere ends the restoration before a byte is read or written."""
    _, to = made
    name = place.format(outside=tmp_path / "elsewhere")
    data = b"* * * * * root id\n"
    if "\0" not in name:
        # Where the reader looks for it, so that its sum is right.
        source = to / name
        if not source.is_dir():
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_bytes(data)
    planted_before = sorted(tmp_path.rglob("planted.txt"))
    listing = json.loads((to / backup.LISTING).read_text())
    listing["files"][name] = hashlib.sha256(data).hexdigest()
    (to / backup.LISTING).write_text(json.dumps(listing))
    with pytest.raises(StateCorrupted):
        restored(to, tmp_path / "other")
    assert not (tmp_path / "other").exists()
    assert sorted(tmp_path.rglob("planted.txt")) == planted_before


@pytest.mark.parametrize("name", [b".", b"", b"store/\xff", b"\xc3\x28"])
def test_a_name_that_is_none_is_refused(made, tmp_path, name):
    """No path at all, or no text: what the fuzzer found."""
    _, to = made
    text = (to / backup.LISTING).read_bytes().replace(b'"store/STORE"', b'"' + name + b'"')
    (to / backup.LISTING).write_bytes(text)
    with pytest.raises(StateCorrupted):
        restored(to, tmp_path / "other")


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_backup_holds_regular_files_only(made, tmp_path, kind):
    """A pipe or a device in a file's place is damage; nobody waits for it."""
    _, to = made
    for path in (to / backup.LISTING, next(to.glob("audit/*/mapping.csv"))):
        data = path.read_bytes()
        path.unlink()
        if kind == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to("/dev/zero")
        with pytest.raises((StateCorrupted, StateUnusable)):
            restored(to, tmp_path / "other")
        path.unlink()
        path.write_bytes(data)
    restored(to, tmp_path / "other")


def test_nothing_is_restored_over_something(made, tmp_path):
    """The folder must be absent or empty."""
    world, to = made
    with pytest.raises(StateUnusable, match="not empty"):
        restored(to, world.folder)
    empty = tmp_path / "empty"
    empty.mkdir()
    restored(to, empty)
    with pytest.raises(StateUnusable, match="not empty"):
        restored(to, empty)


def test_an_interrupted_restoration_does_not_count(made, tmp_path):
    """A service does not start beside it, and it is not taken for a state."""
    _, to = made

    def killed(_):
        raise KeyboardInterrupt

    private = tmp_path / "other"
    with pytest.raises(KeyboardInterrupt):
        backup.restore(to, private, killed)
    assert (private / RESTORING).is_dir()
    assert not (private / STORE).exists()
    with pytest.raises(StateUnusable, match="restoration is under way or was interrupted"):
        check_finished(private)
    shutil.rmtree(private)
    restored(to, private)
    check_finished(private)


def test_a_copy_that_fails_leaves_nothing(made, tmp_path, monkeypatch):
    """A full disk ends the backup; half of one is not left behind."""
    world, _ = made

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup, "_copied", full)
    parts = backup.parts_of(world.folder / STORE, world.folder, frozen=False)
    with pytest.raises(StateUnusable, match="No space left"):
        backup.copy(parts, tmp_path / "b", now_us=1)
    assert not (tmp_path / "b").exists()


def test_staged_bytes_belong_to_the_backup(tmp_path):
    """A release that the sink has not confirmed is in it, and what is restored publishes it."""
    folder = tmp_path / "private"
    world = World(folder, [EVENTS], store=disk_store(folder / STORE, SCHEMA))
    world.faults.before["publish"] = [Crash("before publishing")]
    with pytest.raises(Crash):
        world.run()
    store = world.open_store()
    frozen = backup.freeze(store, lambda name: folder / "staging" / name)
    store.close()
    to = tmp_path / "backup"
    parts = backup.parts_of(frozen, folder, frozen=True)
    last = parts.last_release
    backup.copy(parts, to, now_us=7)
    shutil.rmtree(folder)
    restored(to, folder)
    world.run()
    assert min(world.releases.releases) == last
    staged = [name for name in backup.read_listing(to).files if name.startswith("staging/")]
    assert len(staged) == 4
    (to / staged[0]).write_bytes(b"")
    with pytest.raises(StateCorrupted):
        check_parts(backup.parts_of(to / STORE, to, frozen=False), SCHEMA)


def test_a_state_that_is_behind_its_sink_catches_up(tmp_path, capsys):
    """Restored from before the last releases it makes them again, and changes none of them."""
    site = running.files_site(
        tmp_path / "site", [services.small_feed(people=40)], services.ATTRIBUTES, "month"
    )
    config, state = str(site.config), site.folder / "state"
    feed = tmp_path / "feed" / "feed-0.jsonl"
    lines = feed.read_text().splitlines(keepends=True)
    feed.write_text("".join(lines[: len(lines) // 2]))
    assert run_command(["run", config, "--drain"]) == Exit.OK
    handed_out = str(site.folder / "releases" / "backup")
    assert run_command(["state", "backup", config, handed_out]) == Exit.STATE
    assert run_command(["state", "backup", config, str(tmp_path / "backup")]) == Exit.OK
    feed.write_text("".join(lines))
    assert run_command(["run", config, "--drain"]) == Exit.OK
    releases = site.folder / "releases"
    published = {p: p.read_bytes() for p in sorted(releases.rglob("*")) if p.is_file()}
    shutil.rmtree(state)
    assert run_command(["state", "restore", config, str(tmp_path / "backup"), "--json"]) == Exit.OK
    assert run_command(["run", config, "--drain"]) == Exit.OK
    assert {p: p.read_bytes() for p in sorted(releases.rglob("*")) if p.is_file()} == published
    capsys.readouterr()
    assert run_command(["config", config, "--state", "--json"]) == Exit.OK
    report = json.loads(capsys.readouterr().out)
    assert report["sound"]
    assert report["releases"] == len([p for p in releases.iterdir() if p.is_dir()])


def test_a_restoration_names_who_was_erased_since(tmp_path, capsys, monkeypatch):
    """On the owner's terminal, with the command that erases them again; others are not named."""
    feed = services.small_feed(people=60)
    site = running.files_site(tmp_path / "site", [feed], services.ATTRIBUTES, "month")
    site.drain()
    first, second, third = sorted(site.graph()[0])[:3]
    config, private = str(site.config), site.folder / "state"

    def restored_from(to):
        shutil.rmtree(private)
        capsys.readouterr()
        assert run_command(["state", "restore", config, str(to)]) == Exit.OK
        return capsys.readouterr().out

    assert run_command(["state", "backup", config, str(tmp_path / "early")]) == Exit.OK
    assert "were not noted" in restored_from(tmp_path / "early")
    assert run_command(["erase", first, config, "--yes"]) == Exit.OK
    assert run_command(["state", "backup", config, str(tmp_path / "later")]) == Exit.OK
    notes = tmp_path / "site" / "state.erased"
    assert stat.S_IMODE(notes.stat().st_mode) == 0o600
    assert first not in notes.read_text()
    moment = json.loads(notes.read_text())["at_us"]
    assert [len(noted_since(private, moment + later) or []) for later in (0, 1)] == [1, 0]
    said = restored_from(tmp_path / "later")
    assert "back " not in said
    said = restored_from(tmp_path / "early")
    assert f"back      {first}: erased since then" in said
    assert f"ktsafe erase {first} {config}" in said
    assert first in site.graph()[0]
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{first}\n{second}\n"))
    assert run_command(["erase", "-", config, "--yes"]) == Exit.OK
    said = restored_from(tmp_path / "early")
    assert f"back      {first}, {second}: erased since then" in said
    assert "ktsafe erase - " in said
    assert third not in said


def test_a_state_of_another_sequence_than_its_sink_does_not_publish(tmp_path, capsys):
    """After a rebase a state that is behind its sink refuses (6), until it has another sink."""
    site = running.files_site(
        tmp_path / "site", [services.small_feed(people=40)], services.ATTRIBUTES, "month"
    )
    config = str(site.config)
    assert run_command(["run", config, "--drain"]) == Exit.OK
    shutil.rmtree(site.folder / "state")
    assert run_command(["run", config, "--drain"]) == Exit.MISMATCH
    said = capsys.readouterr().err
    assert "000001-" in said
    assert "another sequence" in said


def gone(audit):
    shutil.rmtree(audit)


def without_mapping(audit):
    (audit / "mapping.csv").unlink()


def shortened(audit):
    lines = (audit / "mapping.csv").read_text().splitlines(keepends=True)
    (audit / "mapping.csv").write_text("".join(lines[:-1]))


def rubbish(audit):
    (audit / "mapping.csv").write_bytes(b"\xff\x00")


@pytest.mark.parametrize("damage", [gone, without_mapping, shortened, rubbish])
@pytest.mark.parametrize("which", [0, -1])
def test_a_state_that_forgot_who_was_who_is_not_sound(tmp_path, capsys, damage, which):
    """`config --state` says so, nothing is backed up, and `run` refuses."""
    site = running.files_site(
        tmp_path / "site",
        [services.small_feed(people=30)],
        services.ATTRIBUTES,
        "month",
    )
    config = str(site.config)
    feed = tmp_path / "feed" / "feed-0.jsonl"
    lines = feed.read_text().splitlines(keepends=True)
    feed.write_text("".join(lines[: len(lines) // 2]))
    assert run_command(["run", config, "--drain"]) == Exit.OK
    assert run_command(["config", config, "--state"]) == Exit.OK
    audits = sorted((site.folder / "state" / "audit").iterdir())
    assert len(audits) > 1
    damage(audits[which])
    capsys.readouterr()
    assert run_command(["config", config, "--state"]) == Exit.STATE
    assert f"the mapping: the private audit of {audits[which].name}" in capsys.readouterr().err
    assert run_command(["state", "backup", config, str(tmp_path / "backup")]) == Exit.STATE
    assert not (tmp_path / "backup").exists()
    capsys.readouterr()
    feed.write_text("".join(lines))
    published = len(list((site.folder / "releases").glob("*/manifest.json")))
    code = run_command(["run", config, "--drain"])
    told = capsys.readouterr().err
    assert f"the private audit of {audits[which].name}" in told
    assert code == Exit.STATE
    assert len(list((site.folder / "releases").glob("*/manifest.json"))) == published
