"""The auditor of the gate is durable with each release: a restart reads no former one."""

from __future__ import annotations

import json

import pytest

from ktsafe.audit.sequence import saved_state
from ktsafe.connectors.base import WITHDRAWN
from ktsafe.state.rocksdb import RocksDBStore
from ktsafe.state.store_base import StateCorrupted
from ktsafe.stream.files.private_audits import note, noted
from ktsafe.stream.maintenance.backup import parts_of
from ktsafe.stream.release import linked
from ktsafe.stream.release.linked import LinkedReleases
from ktsafe.stream.release.sequence_inputs import PREFIX, is_saved, pages_of
from ktsafe.stream.service.housekeeping import check_parts
from tests import feeds
from tests.stream.release.test_linked import EVENTS, contents, on_disk, world_of
from tests.stream.service.simulation import SCHEMA

N_SLOTS = 5


def slot_of(one):
    return int(feeds.time_us(one) / 1e7)


def judgements(world):
    """Return what each release costs and what the auditor found at it, but for figures."""
    audits = sorted((world.folder / "audit").glob("*/audit.json"))
    found = [json.loads(path.read_text()) for path in audits]
    costs = [[each[part] for part in ("sequence", "declared", "cost")] for each in found]
    told = [
        [each["audit"][part] for part in ("releases", "violations", "checked")] for each in found
    ]
    return list(zip(costs, told, strict=True))


def saved_pages(folder):
    store = RocksDBStore.open(folder / "store", SCHEMA)
    pages = dict(store.ledger.pages())
    store.close()
    mine = {name: page for name, page in pages.items() if name.startswith(PREFIX)}
    # The ids of sequences are drawn anew in every world.
    return {name: page for name, page in mine.items() if not name.endswith("/sequence_ids")}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Return a world whose service ran through."""
    folder = tmp_path_factory.mktemp("undisturbed")
    world = world_of(folder, **on_disk(folder))
    assert len(world.run().published) == N_SLOTS
    return world


def audit_folders(folder):
    return list((folder / "audit").iterdir())


def run_by_slots(folder, between, **loop):
    """Run a service that stops after every slot; `between` is called with the number of runs."""
    world = world_of(folder, events=[], **on_disk(folder))
    for slot in range(N_SLOTS):
        world.extend(0, [one for one in EVENTS if slot_of(one) == slot])
        world.run(loop={"drain": True, **loop})
        between(slot + 1)
    return world


def test_a_restart_reads_no_former_release(undisturbed, tmp_path, monkeypatch):
    """Every judgement is that of a service that ran through, and no release is looked at again."""
    led = []
    lead = LinkedReleases._led_through_history
    monkeypatch.setattr(
        LinkedReleases, "_led_through_history", lambda *args: led.append(1) or lead(*args)
    )
    world = run_by_slots(tmp_path, lambda _runs: None)
    assert len(led) == 1  # Before the first release, when there is nothing to read.
    assert contents(world) == contents(undisturbed)
    assert judgements(world) == judgements(undisturbed)
    assert saved_pages(tmp_path) == saved_pages(undisturbed.folder)


@pytest.mark.parametrize("why", ["an older version", "another version"])
def test_where_none_was_saved_it_is_led_through_all_releases(
    undisturbed, tmp_path, monkeypatch, why
):
    """What it then saves of candidates and changes is what one knows that was never lost."""

    def lose(runs):
        if why == "another version":
            monkeypatch.setattr(saved_state, "FORMAT", runs + 1)
            return
        store = RocksDBStore.open(tmp_path / "store", SCHEMA)
        assert is_saved(store.ledger.pages()) == (runs != N_SLOTS - 1)
        store.close()
        saves = (lambda *_: ()) if runs == N_SLOTS - 2 else pages_of
        monkeypatch.setattr(linked, "pages_of", saves)

    world = run_by_slots(tmp_path, lose)
    assert contents(world) == contents(undisturbed)
    assert judgements(world) == judgements(undisturbed)
    found, expected = saved_pages(tmp_path), saved_pages(undisturbed.folder)
    for part in ("_published", "_history", "_reader/_profiler"):
        names = [name for name in expected if name.startswith(f"{PREFIX}{part}/")]
        assert names
        assert {name: found[name] for name in names} == {name: expected[name] for name in names}


def test_audits_that_are_not_kept_go_and_the_sequence_goes_on(undisturbed, tmp_path):
    """With restarts, erasures, and a crash between ledger and disk; the check finds all sound.

    A release whose audit went can be withdrawn, and that is remembered.
    """

    def between(runs):
        parts = parts_of(tmp_path / "store", tmp_path, frozen=False)
        found = check_parts(parts, SCHEMA)
        kept = [record.has_audit for record in found.releases]
        assert kept == [False] * (runs - 2) + [True] * min(runs, 2)
        there = sorted(path.parent.name for path in (tmp_path / "audit").glob("*/mapping.csv"))
        assert there == [record.release_id for record in found.releases[-2:]]
        if runs == N_SLOTS - 1:
            # What a crash left of an audit that was let go: it goes with the next ones.
            left = tmp_path / "audit" / found.releases[0].release_id
            assert not left.exists()
            note(left, b"why")
            (left / "mapping.csv").write_text("released_id,original_id\n")

    world = run_by_slots(tmp_path, between, audits_kept=2)
    assert contents(world) == contents(undisturbed)
    assert judgements(world) == judgements(undisturbed)[-2:]
    first, *kept = sorted(audit_folders(tmp_path))
    assert {path.name for path in first.iterdir()} == {WITHDRAWN}
    assert [noted(each) for each in (first, *kept)] == [b"why", None, None]


def test_neither_a_saved_auditor_nor_audits_is_refused(tmp_path, monkeypatch):
    """Where audits were not kept and another version saved the auditor, it says what to do."""

    def another_version(runs):
        if runs == N_SLOTS - 1:
            monkeypatch.setattr(saved_state, "FORMAT", 2)

    with pytest.raises(StateCorrupted, match=r"audits_kept.*ktsafe rebase"):
        run_by_slots(tmp_path, another_version, audits_kept=2)


def test_what_is_saved_names_nobody(undisturbed):
    """No published id is in it, and no value but those that the schema lists."""
    data = b"".join(saved_pages(undisturbed.folder).values())
    for vertices, _ in contents(undisturbed).values():
        for line in vertices.splitlines()[1:]:
            published, _, health = line.split(b",")
            assert published not in data
            assert health in {b"-", b"ill"} or health not in data
