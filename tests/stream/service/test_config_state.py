"""`config --state` and `run` agree: what one finds sound, the other goes on with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ktsafe.connectors.base import SinkConflict
from ktsafe.sequence import SequenceOptions
from ktsafe.state.inspection import Examined
from ktsafe.state.ledger import Ledger, SequenceRecord
from ktsafe.state.store_base import StateCorrupted
from ktsafe.stream.config.places import STORE
from ktsafe.stream.files.private_audits import note
from ktsafe.stream.maintenance import erasure
from ktsafe.stream.maintenance.backup import parts_of
from ktsafe.stream.service.housekeeping import check_parts, check_sink
from tests.memory_connectors import MemoryReleaseReader
from tests.stream.service.simulation import SCHEMA, World, disk_store, event

PEOPLE = [
    event("vertex.upsert", 1, f"person-{i}", gender="fm"[i % 2], health="well") for i in range(8)
]
TIES = [event("edge.add", 9, f"person-{i}", f"person-{(i + 2) % 8}") for i in range(8)]
LATER = [event("vertex.upsert", 12, "cyd", gender="f"), event("vertex.upsert", 23, "dan")]


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Return a sequence of three releases."""
    made = World(
        tmp_path,
        [[*PEOPLE, *TIES, *LATER]],
        store=disk_store(tmp_path / STORE, SCHEMA),
        sequence=SequenceOptions(),
    )
    made.run()
    assert len(made.releases.releases) == 3
    return made


def checked(world: World) -> Examined:
    """Return what a check finds, the sink compared."""
    parts = parts_of(world.folder / STORE, world.folder, frozen=False)
    found = check_parts(parts, SCHEMA)
    check_sink(lambda: MemoryReleaseReader(world.releases), found, parts)
    return found


def swap(data: bytes) -> bytes:
    """Give two people each other's place."""
    header, *rows = [line.split(b",") for line in data.splitlines()]
    rows[0][1], rows[1][1] = rows[1][1], rows[0][1]
    return b"\n".join(b",".join(row) for row in (header, *rows)) + b"\n"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("mapping.csv", swap),
        ("mapping.csv", lambda data: data.replace(b"person-1", b"person-9")),
        ("audit.json", lambda data: data.replace(b"1", b"2", 1)),
        ("audit.json", lambda _: None),
    ],
)
def test_a_changed_audit_is_named_and_no_release_is_judged_by_it(
    world: World, name: str, change: Callable[[bytes], bytes | None]
) -> None:
    """Of any release of the sequence: check and service name release and file."""
    release = sorted(world.releases.releases)[1]
    path = world.folder / "audit" / release / name
    changed = change(path.read_bytes())
    assert changed != path.read_bytes()
    if changed is None:
        path.unlink()
    else:
        path.write_bytes(changed)
    world.extend(0, [event("vertex.upsert", 33, "eve")])
    for refuses in (lambda: checked(world), world.run):
        with pytest.raises(StateCorrupted) as refused:
            refuses()
        assert f"{release} ({name})" in str(refused.value)
    assert len(world.releases.releases) == 3


@pytest.mark.parametrize("step", ["before it", "recorded", "the second rename"])
def test_mappings_and_their_digests_change_together(
    world: World, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """An erasure that ends at any step leaves a sound state, and the next start completes it."""
    world.extend(0, [event("vertex.delete", 24, "person-1")])
    with monkeypatch.context() as patch:
        match step:
            case "before it":
                patch.setattr(Ledger, "record_audits", ends)
            case "recorded":
                patch.setattr(Path, "replace", ends)
            case _:
                patch.setattr(erasure, "sync_folder", ends)
        with pytest.raises(KeyboardInterrupt):
            world.run()
    checked(world)
    world.run()
    checked(world)
    former = [name for name in world.releases.releases if name < "000004"]
    left = [(world.folder / "audit" / name / "mapping.csv").read_text() for name in former]
    assert len(left) == 3
    assert not any("person-1" in text for text in left)
    assert not list(world.folder.glob("audit/*/*.partial"))


def ends(*_: Any) -> None:
    """End as a kill would."""
    raise KeyboardInterrupt


def test_an_erasure_does_not_make_rot_pass_for_what_was_written(world: World) -> None:
    """A mapping is compared with its digest before it is blanked and recorded anew."""
    release = min(world.releases.releases)
    path = world.folder / "audit" / release / "mapping.csv"
    path.write_bytes(path.read_bytes().replace(b"person-2", b"person-9"))
    store = world.open_store()
    try:
        with pytest.raises(StateCorrupted):
            erasure.erase_persons(store, ["person-1"], world.folder / "audit")
    finally:
        store.close()
    with pytest.raises(StateCorrupted):
        checked(world)


def test_the_sink_is_compared(world: World) -> None:
    """A changed release is named by check and service, one that is gone is told of."""
    first, second, _ = sorted(world.releases.releases)
    former = world.releases.releases.pop(second)
    parts = parts_of(world.folder / STORE, world.folder, frozen=False)
    found = check_parts(parts, SCHEMA)
    assert check_sink(lambda: MemoryReleaseReader(world.releases), found, parts) == [second]
    time, files = world.releases.releases[first]
    world.releases.releases[second] = former
    world.releases.releases[first] = time, {**files, "edges.csv": files["edges.csv"] + b"\n"}
    world.extend(0, [event("vertex.upsert", 33, "eve")])
    for refuses in (lambda: checked(world), world.run):
        with pytest.raises(SinkConflict, match=first):
            refuses()


def test_every_changed_bit_of_a_marker_is_noticed(world: World) -> None:
    """At the sink, and of the copy in the private audit; as they were written they pass."""
    first = min(world.releases.releases)
    marker = b'{"why": "it names people"}'
    audit = world.folder / "audit" / first
    note(audit, marker)
    parts = parts_of(world.folder / STORE, world.folder, frozen=False)
    found = check_parts(parts, SCHEMA)

    def check() -> None:
        check_sink(lambda: MemoryReleaseReader(world.releases), found, parts)

    with pytest.raises(SinkConflict, match=first):
        check()
    world.releases.withdrawn[first] = marker
    check()
    for at in range(len(marker)):
        for bit in range(8):
            flipped = bytearray(marker)
            flipped[at] ^= 1 << bit
            for here, there in ((marker, bytes(flipped)), (bytes(flipped), marker)):
                note(audit, here)
                world.releases.withdrawn[first] = there
                with pytest.raises(SinkConflict, match=first):
                    check()


def test_audits_of_former_sequences_may_go(world: World, tmp_path: Path) -> None:
    """Nothing is judged by them any more; one that is put back is compared all the same."""
    store = world.open_store()
    store.ledger.start_sequence(SequenceRecord("another", "digest", 1, "00"))
    store.close()
    release = min(world.releases.releases)
    folder = world.folder / "audit" / release
    folder.rename(tmp_path / "archive")
    checked(world)
    (tmp_path / "archive").rename(folder)
    checked(world)
    (folder / "mapping.csv").write_bytes(swap((folder / "mapping.csv").read_bytes()))
    with pytest.raises(StateCorrupted, match=release):
        checked(world)
