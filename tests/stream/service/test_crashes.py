"""A crash or an error at any call that changes something: nothing is lost, repeated or changed.

One suite for store, ledger, sinks and files, with the real mechanism and a store on disk. Between
two of these calls nothing changes that outlives the process: a crash behind each of them does.
"""

import itertools
import json

import pytest

from ktsafe.stream.files import releases_write
from ktsafe.stream.files.release_tables import STATISTICS
from ktsafe.stream.maintenance import erasure
from ktsafe.stream.release import snapshotter
from ktsafe.stream.release.snapshotter import YEAR_US
from tests import sealed
from tests.faults import errors
from tests.stream.release.test_linked import OPTIONS, PARAMS, feed, seals
from tests.stream.service.simulation import SCHEMA, SLOT_US, Tripwire, World, disk_store

EVENTS = feed(slots=3)
PARTITIONS = [[*EVENTS[::2], b"not an event"], [*EVENTS[1:9:2], None, *EVENTS[9::2]]]
READS = {
    *("at_end", "counts", "cut_snapshot", "erased", "erasures_pending", "has_open_transaction"),
    *("identity", "lag", "last", "lives", "pages", "partitions", "passed", "pause", "pending_cut"),
    *("people", "poll", "positions", "present", "releases", "resume", "sequence", "size_bytes"),
    "source_identity",
}


WRITES = ((releases_write, "write_release"), (erasure, "write_synced"))
"""A release whose making meets a defect is withheld, so the first of them meets none here."""


class Changes(Tripwire):
    """Counts calls that change something."""

    def watches(self, method):
        return method not in READS


def counted(wire, function):
    """Return a function whose calls are steps, too."""

    def call(*args, **kwargs):
        wire.step(f"before {function.__name__}")
        result = function(*args, **kwargs)
        wire.step(f"after {function.__name__}")
        return result

    return call


def run(folder, step=None, kind="crash"):
    """Run a service that fails at a step, then another one; return all that must not vary."""
    store = disk_store(folder / "store", SCHEMA)
    world = World(folder, PARTITIONS, params=PARAMS, sequence=OPTIONS, seed=3, store=store)
    world.signer = sealed.signer(folder / "keys")
    world.epsilon_per_year_micro = 300_000 * (YEAR_US // SLOT_US)
    wire = Changes(step, errors.KINDS[kind])
    try:
        with pytest.MonkeyPatch.context() as patch:
            for module, name in WRITES[kind == "defect" :]:
                patch.setattr(module, name, counted(wire, getattr(module, name)))
            world.run(wire=wire, ingest={"batch_records_max": 15})
    except errors.ENDS:
        pass
    seen = world.digests()
    world.run()
    assert seen.items() <= world.digests().items(), wire.crashed_in
    files = {
        release_id: {name: data for name, data in files.items() if name != "manifest.json"}
        for release_id, (_, files) in world.releases.releases.items()
    }
    letters = {(each.record.partition, each.record.offset) for each in world.letters}
    audits = sorted(folder.glob("audit/*/audit.json"))
    fresh = [json.loads(path.read_text())["freshness"] for path in audits]
    return wire.crashed_in, (files, letters, world.graph(), seals(world), fresh)


@pytest.fixture(scope="module", autouse=True)
def every_slot():
    """Let each nominal time count as a month of its own, so each release has statistics."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshotter, "MONTH", len("2026-01-01T00:00:00Z"))
        yield


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return what an undisturbed service leaves: three releases with statistics, a dead letter."""
    _, found = run(tmp_path_factory.mktemp("whole"))
    assert [STATISTICS in files for files in found[0].values()] == [True] * 3
    assert found[1] == {(0, len(PARTITIONS[0]) - 1)}
    return found


@pytest.mark.parametrize(
    ("kind", "first", "every"),
    [("crash", 1, 2), ("refused", 0, 7), ("no space", 2, 7), ("defect", 4, 7)],
)
def test_a_failure_at_any_call_changes_no_byte(whole, tmp_path, kind, first, every):
    """Releases, seals, statistics, dead letters and the graph are those of an undisturbed run."""
    for step in itertools.count(first, every):
        call, found = run(tmp_path / str(step), step, kind)
        assert found == whole, call
        if not call:
            break
    assert step > 60
