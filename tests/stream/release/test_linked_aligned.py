"""The service beyond one hop: permanent groups, crashes and restarts."""

import dataclasses
import itertools
import json

import pytest

from ktsafe.sequence import SequenceOptions
from ktsafe.sequence_audit import Promise, SequenceAuditor
from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from ktsafe.stream.files.certificates import CERTIFICATE
from ktsafe.stream.files.private_audits import read_owners, read_shift
from ktsafe.stream.files.releases_read import ReleaseUnreadable, read_release
from ktsafe.stream.release.audits import audited
from ktsafe.verify import verify
from tests import feeds
from tests.memory_connectors import Crash
from tests.stream.release.test_linked import PARAMS, contents, feed
from tests.stream.service.simulation import SCHEMA, Tripwire, World, disk_store

TWO_HOPS = dataclasses.replace(PARAMS, n_hops=2)
INDUCED = dataclasses.replace(PARAMS, reading="induced")
OPTIONS = SequenceOptions(effort="fast", sybil_margin=0, margin=0)
EVENTS = feed()


def world_of(folder, events=EVENTS, params=TWO_HOPS, options=OPTIONS, **settings):
    return World(folder, [events], params=params, sequence=options, seed=7, **settings)


def unpacked(world, folder):
    """Write every release of a world as a folder, in order; return their paths."""
    paths = []
    for release_id, (_, files) in sorted(world.releases.releases.items()):
        path = folder / release_id
        path.mkdir(parents=True)
        for name, data in files.items():
            (path / name).write_bytes(data)
        paths.append(path)
    return paths


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """Return a world whose service ran through."""
    world = world_of(tmp_path_factory.mktemp("undisturbed"))
    counts = world.run()
    assert len(counts.published) == 5
    assert not counts.withheld
    return world


@pytest.mark.parametrize("params", [TWO_HOPS, INDUCED, dataclasses.replace(PARAMS, n_hops=0)])
def test_releases_are_safe_together_at_any_radius(tmp_path, params):
    """The auditor passes all bytes as one sequence, by the certificates beside the mappings."""
    world = world_of(tmp_path / "world", params=params)
    assert not world.run().withheld
    auditor, ids = SequenceAuditor(Promise("all", cover=True)), []
    for path in unpacked(world, tmp_path / "releases"):
        release = read_release(path)
        shift = read_shift(world.folder / "audit", release)
        owners = read_owners(world.folder / "audit", path.name)
        findings = auditor.extend(audited(release, owners, shift))
        assert findings.is_safe, findings.violations
        ids.append(set(release.ids))
        assert json.loads((path / "manifest.json").read_text())["guarantee"]["w"] == "all"
    assert all(len(a & b) > len(a) / 2 for a, b in itertools.pairwise(ids))


def test_small_releases_are_safe_by_definition(undisturbed, tmp_path):
    """The strict verifier needs no certificate to agree."""
    for path in unpacked(undisturbed, tmp_path):
        release = read_release(path)
        codes, flags = release.quasi_identifiers(), release.is_sensitive()
        assert verify(codes, flags, release.edges, release.params).is_safe


@pytest.mark.parametrize(("first", "stride"), [(0, 97), (40, 97)])
def test_a_crash_changes_no_byte(undisturbed, tmp_path, first, stride):
    """Whenever it crashes, every release comes out as if it had not."""
    for step in itertools.count(first, stride):
        world = world_of(tmp_path / str(step))
        wire = Tripwire(step)
        try:
            world.run(wire=wire)
        except Crash:
            world.run()
            assert contents(world) == contents(undisturbed), wire.crashed_in
        else:
            break
    assert step > first + stride


def test_a_restart_after_every_release_changes_no_byte(undisturbed, tmp_path):
    """Groups that were read back, and the auditor led through history, go on as if never lost."""
    store = disk_store(tmp_path / "store", SCHEMA)
    world = world_of(tmp_path, events=[], store=store)
    for slot in range(5):
        at = [feeds.time_us(e) / 1e7 for e in EVENTS]
        world.extend(0, [e for e, when in zip(EVENTS, at, strict=True) if slot <= when < slot + 1])
        world.run(loop={"drain": True})
    assert contents(world) == contents(undisturbed)
    last = json.loads((max((tmp_path / "audit").iterdir()) / "audit.json").read_text())
    assert last["audit"]["releases"] == 5
    assert last["audit"]["checked"]["certificate"]


def test_the_audit_command_reads_the_certificates(undisturbed, tmp_path, capsys):
    """`ktsafe audit --map` passes the sequence, and says what it lacks without."""
    unpacked(undisturbed, tmp_path / "releases")
    mapping = str(undisturbed.folder / "audit")
    folders = str(tmp_path / "releases")
    assert run_command(["audit", folders, "--map", mapping, "--json"]) == Exit.OK
    report = json.loads(capsys.readouterr().out)
    assert report["sequences"][0]["published"]["candidates"]["min"] >= PARAMS.k
    assert run_command(["audit", folders]) == Exit.USAGE
    assert "private certificates" in capsys.readouterr().err


def test_a_touched_release_is_found(undisturbed, tmp_path, capsys):
    """A tie that is missing in a copy breaks the symmetry, and the audit says so."""
    path = unpacked(undisturbed, tmp_path / "releases")[-1]
    release = read_release(path)
    object.__setattr__(release, "edges", release.edges[1:])
    shift = read_shift(undisturbed.folder / "audit", release)
    kinds = {v.kind for v in SequenceAuditor().extend(audited(release, None, shift)).violations}
    assert {"certificate_broken", "not_kt_safe"} <= kinds
    (tmp_path / "nothing").mkdir()
    with pytest.raises(ReleaseUnreadable, match=CERTIFICATE):
        read_shift(tmp_path / "nothing", release)
