"""A state that was lost and restored from an old backup goes on in the same sequence."""

from __future__ import annotations

import json
import shutil

import pytest

from ktsafe.connectors.base import SinkConflict
from ktsafe.sequence import SequenceOptions
from ktsafe.stream.files.private_audits import marker, noted
from ktsafe.stream.maintenance.erasure import erase_everywhere
from tests.stream.service.simulation import World, event

OPTIONS = SequenceOptions(sybil_margin=0, margin=0, effort="fast")
PEOPLE = 9


def feed(n_slots):
    """Return two partitions in which people come, make ties, and leave, slot after slot."""
    partitions = [[], []]
    for slot in range(n_slots):
        for i in range(PEOPLE):
            at = slot * 10 + 0.5 * i + 0.1
            one = partitions[i % 2]
            one.append(event("vertex.upsert", at, f"p{slot}-{i}", gender="fm"[i % 2]))
            if i:
                one.append(event("edge.add", at + 0.2, f"p{slot}-{i - 1}", f"p{slot}-{i}"))
        if slot:
            partitions[0].append(event("vertex.delete", slot * 10 + 7, f"p{slot - 1}-0"))
    return partitions


class Backup:
    """A service whose store and audits are copied when so many releases are out."""

    def __init__(self, folder):
        self.world = World(folder, feed(6), sequence=OPTIONS)
        self.disk = None

    def run(self, until=99):
        """Run until so many releases are out."""
        self.world.run(stopping=lambda: len(self.world.releases.releases) >= until)

    def take(self):
        """Copy store and audits as they are now."""
        self.disk = self.world.disk.copy()
        shutil.copytree(self.world.folder / "audit", self.world.folder / "audit-then")

    def restored(self, folder, n_releases):
        """Return a world whose sink has the first releases, and whose store is the backup."""
        world = World(folder, feed(6), sequence=OPTIONS)
        world.disk = self.disk.copy()
        whole = sorted(self.world.releases.releases.items())
        world.releases.releases.update(whole[:n_releases])
        shutil.copytree(self.world.folder / "audit-then", folder / "audit")
        return world


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return a service that ran to the end, and its store as of its second release."""
    made = Backup(tmp_path_factory.mktemp("whole"))
    made.run(until=2)
    made.take()
    # Somebody is erased by command between the third release and the fourth.
    made.run(until=3)
    store, audits = made.world.open_store(), made.world.folder / "audit"
    erase_everywhere(store, ["p1-3", "p2-4"], audits, lambda _: None, lambda _: True)
    made.run()
    return made


def test_a_lost_state_goes_on_with_the_same_bytes(whole, tmp_path):
    """From a backup after release 2, lost after 4 and after 6, read in batches of other sizes."""
    wanted = whole.world.releases.releases
    assert len(wanted) == 6
    for n, batch in ((4, 1), (6, 50)):
        world = whole.restored(tmp_path / str(n), n)
        world.run(ingest={"batch_records_max": batch})
        assert world.releases.releases == wanted
        snapshot = world.open_store().snapshot()
        assert not {"p1-3", "p2-4"} & set(snapshot.ids)


def test_whom_a_command_erased_stays_erased(whole, tmp_path):
    """The encrypted cut of the next release repeats it; to readers that is noise."""
    world = whole.restored(tmp_path / "w", 4)
    assert {"p1-3"} <= set(world.open_store().snapshot().ids)
    world.run()
    assert world.open_store().ledger.erased() == []
    manifests = [json.loads(text) for text in world.digests().values()]
    assert len({len(manifest["cut"]) for manifest in manifests}) == 1


def test_a_withdrawal_newer_than_the_backup_is_noted(whole, tmp_path):
    """Also that of a release which the backup lacks; once deleted, none of them is sent again."""
    world = whole.restored(tmp_path, 4)
    there = world.releases
    ids = sorted(there.releases)
    why = marker(ids[3], "2026-01-01T00:00:00Z", "It names people.")
    there.withdrawn |= {ids[1]: b"damaged", ids[3]: why}
    world.run(stopping=lambda: world.open_store().ledger.last().index >= 4)
    found = {release_id: noted(tmp_path / "audit" / release_id) for release_id in ids}
    assert [found[release_id] for release_id in ids] == [None, b"damaged", None, why]
    del there.releases[ids[3]]
    world.run()
    assert sorted(there.releases) == sorted(set(whole.world.releases.releases) - {ids[3]})


@pytest.mark.parametrize("name", ["manifest.json", "vertices.csv"])
def test_a_changed_byte_at_the_sink_is_refused_by_name(whole, tmp_path, name):
    """Whether the file or the list of its sums was changed; the ledger stays as it was."""
    world = whole.restored(tmp_path, 5)
    there = world.releases.releases
    release_id = sorted(there)[3]
    time_ms, files = there[release_id]
    files = dict(files)
    text = files[name]
    at = text.index(b"p") if name == "manifest.json" else len(text) // 2
    files[name] = text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :]
    there[release_id] = (time_ms, files)
    before = dict(there)
    with pytest.raises(SinkConflict, match=release_id):
        world.run()
    assert there == before
    assert world.open_store().ledger.last().index <= 3


def test_a_gap_at_the_sink_is_named(whole, tmp_path):
    """A release that is gone from among those to be made again ends the service."""
    world = whole.restored(tmp_path, 5)
    there = world.releases.releases
    del there[sorted(there)[3]]
    with pytest.raises(SinkConflict, match="release 4"):
        world.run()


def test_a_feed_that_lost_its_end_is_named(whole, tmp_path):
    """Events that the releases were made of are gone: nothing is waited for."""
    world = whole.restored(tmp_path, 6)
    shorter = World(tmp_path / "x", feed(3), sequence=OPTIONS)
    world.log = shorter.log
    with pytest.raises(SinkConflict, match="the feed ends"):
        world.run()


def test_a_partition_without_a_record_then_is_read_afterwards(tmp_path):
    """It is stopped at its beginning for each release that is made again, and then goes on."""
    first, later = feed(3)[0], [event("vertex.upsert", 31, "late", gender="f")]
    made = World(tmp_path / "whole", [first, []])
    made.run(stopping=lambda: bool(made.releases.releases))
    kept = made.disk.copy()
    shutil.copytree(made.folder / "audit", tmp_path / "w" / "audit")
    made.run()
    world = World(tmp_path / "w", [first, later])
    world.disk = kept
    world.releases.releases.update(made.releases.releases)
    rounds = iter(range(500))
    world.run(stopping=lambda: next(rounds, None) is None)
    assert "late" in world.open_store().snapshot().ids
