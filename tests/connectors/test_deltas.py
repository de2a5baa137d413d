"""Releases that are told as changes of the one before, in a topic without a broker."""

from __future__ import annotations

import dataclasses
import os
import random
import shutil
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.connectors.base import MANIFEST, ReleaseBundle
from ktsafe.connectors.errors import SinkConflict
from ktsafe.connectors.kafka_settings import KafkaSettings
from ktsafe.connectors.kafka_topics import chunks, deltas
from ktsafe.connectors.kafka_topics import release_sink as sink_module
from ktsafe.connectors.kafka_topics.chunks import Marker, ReleasePart
from ktsafe.connectors.kafka_topics.release_sink import KafkaReleaseSink
from ktsafe.testing.release_contract import content, stage
from tests.connectors.test_chunks import memory_bounded, reader_of


def tables(rng: random.Random, n_vertices: int = 300, n_edges: int = 2_000) -> dict[str, bytes]:
    """Return a vertex and an edge table as releases have them."""
    ids = sorted(f"{rng.getrandbits(64):016x}" for _ in range(n_vertices))
    pairs = sorted({tuple(sorted(rng.sample(ids, 2))) for _ in range(n_edges)})
    vertices = [f"{name},{rng.choice('fm')}\n" for name in ids]
    return {
        "vertices.csv": "".join(["id,gender\n", *vertices]).encode(),
        "edges.csv": "".join(["source,target\n", *(f"{a},{b}\n" for a, b in pairs)]).encode(),
    }


def changed(rng: random.Random, files: dict[str, bytes], share: float) -> dict[str, bytes]:
    """Return the tables with this share of the edges gone, and about as many others."""
    header, *edges = files["edges.csv"].decode().splitlines()
    ids = [line.partition(",")[0] for line in files["vertices.csv"].decode().splitlines()[1:]]
    kept = {edge for edge in edges if rng.random() >= share}
    kept |= {",".join(sorted(rng.sample(ids, 2))) for _ in range(int(share * len(edges)))}
    return files | {"edges.csv": "\n".join([header, *sorted(kept), ""]).encode()}


def sequence(folder: Path, releases: list[dict[str, bytes]]) -> list[ReleaseBundle]:
    """Stage releases, each with the folder of the one before."""
    staged: list[ReleaseBundle] = []
    for index, files in enumerate(releases, 1):
        bundle = stage(folder, f"s-{index:04}", files)
        former = staged[-1].folder if staged else None
        staged.append(dataclasses.replace(bundle, former=former))
    return staged


class Topic:
    """What a sink would have written, release by release."""

    def __init__(self, full_every: int, chunk_bytes: int = 4096) -> None:
        settings = KafkaSettings(bootstrap_servers=("nowhere:1",))
        self.sink = KafkaReleaseSink(
            settings, "t", transactional_id="t", full_every=full_every, chunk_bytes=chunk_bytes
        )
        self.releases: list[list[ReleasePart]] = []

    def publish(self, bundle: ReleaseBundle) -> Marker:
        """Append the records of a release; return its marker."""
        last = self.markers()[-1] if self.releases else None
        release = sink_module.bundles.check_bundle(bundle)
        self.releases.append(list(self.sink._parts(bundle, release, last)))
        return self.markers()[-1]

    def markers(self) -> list[Marker]:
        found = [chunks.decode_marker(parts[-1]) for parts in self.releases]
        return [marker for marker in found if marker is not None]

    def parts(self, begin: int = 0) -> list[ReleasePart]:
        return [part for parts in self.releases[begin:] for part in parts]

    def read(self, into: Path, begin: int = 0) -> list[ReleaseBundle]:
        return list(reader_of(self.parts(begin)).read(into))


@pytest.fixture
def releases() -> list[dict[str, bytes]]:
    """Seven releases, each of which changes a tenth of the edges."""
    rng = random.Random(5)
    found = [tables(rng)]
    for _ in range(6):
        found.append(changed(rng, found[-1], 0.1))
    return found


@pytest.fixture
def topic(tmp_path: Path, releases: list[dict[str, bytes]]) -> Topic:
    """A topic with these releases, every third in full."""
    topic = Topic(3)
    for bundle in sequence(tmp_path / "staging", releases):
        topic.publish(bundle)
    return topic


small = st.binary(max_size=300)


@settings(deadline=None)
@given(content=small, base=small, padding=st.integers(0, 50))
def test_what_is_packed_is_unpacked(content: bytes, base: bytes, padding: int) -> None:
    """Whatever bytes, beside whatever others, and whatever fills the last chunk."""
    frame = deltas.pack(content, base)
    assert deltas.unpack(frame + bytes(padding), base, len(content)) == content
    assert len(frame) <= deltas.frame_bytes_max(len(content))


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**32), share=st.sampled_from([0, 0.01, 0.1, 0.5, 1]))
def test_any_two_releases_come_back_whole_either_way(seed: int, share: float) -> None:
    """Forward and backward, byte for byte; what does not change costs nothing."""
    rng = random.Random(seed)
    one = tables(rng, n_vertices=rng.randrange(2, 90), n_edges=rng.randrange(400))
    two = changed(rng, one, share)
    for new, old in ((two, one), (one, two)):
        with tempfile.TemporaryDirectory() as folder:
            topic = Topic(2)
            for bundle in sequence(Path(folder) / "staging", [old, new]):
                topic.publish(bundle)
            found = topic.read(Path(folder) / "out")
            assert [content(b) | {MANIFEST: b""} for b in found] == [
                files | {MANIFEST: b""} for files in (old, new)
            ]
            assert topic.markers()[1].base == found[0].digest()
    frame = deltas.pack(*(b"".join(one.values()),) * 2)
    assert len(frame) < 40


def test_every_third_is_full_and_all_come_back(
    tmp_path: Path, topic: Topic, releases: list[dict[str, bytes]]
) -> None:
    """Readers get the files that they would get without; and fewer bytes, on the way to them."""
    markers = topic.markers()
    assert [marker.since_full for marker in markers] == [0, 1, 2, 0, 1, 2, 0]
    assert [bool(marker.base) for marker in markers] == [0, 1, 1, 0, 1, 1, 0]
    assert {marker.format for marker in markers} == {chunks.PACKED}
    found = topic.read(tmp_path / "out")
    assert [
        {name: data for name, data in content(bundle).items() if name != MANIFEST}
        for bundle in found
    ] == releases
    sizes = [sum(len(p.value) for p in parts if p.kind == chunks.CHUNK) for parts in topic.releases]
    plain = sum(map(len, releases[0].values()))
    assert sizes[0] < plain / 2
    assert sizes[1] < sizes[0] / 2
    assert not (tmp_path / "out" / ".parts").exists()


def test_by_default_releases_are_what_they_were(
    tmp_path: Path, releases: list[dict[str, bytes]]
) -> None:
    """Whoever does not ask for changes gets whole files, in the format that every reader knows."""
    topic = Topic(1)
    for bundle in sequence(tmp_path / "staging", releases[:2]):
        topic.publish(bundle)
    files = b"".join(releases[1].values())
    values = [part.value for part in topic.releases[1] if part.kind == chunks.CHUNK]
    assert b"".join(values).rstrip(b"\0") == files
    assert topic.releases[1][-1].value.startswith(b'{"format":1,')
    assert b"base" not in topic.releases[1][-1].value
    assert b"since_full" not in topic.releases[1][-1].value


def test_two_releases_have_one_delta_whatever_else_differs(
    tmp_path: Path, releases: list[dict[str, bytes]]
) -> None:
    """The records follow from the bytes of the two releases alone.

    Here other true networks lie beside, files were written at other times and in another order, and
    the service came another way: in one it was restarted, in the other it published before.
    """
    rng = random.Random(1)
    found = []
    for history in ("one", "other"):
        staged = sequence(tmp_path / history, releases[:2])
        for bundle in staged:
            truth = ",".join(map(str, rng.sample(range(1000), 50))).encode()
            (bundle.folder / "mapping.csv").write_bytes(truth)
            (bundle.folder.parent / f"audit-{rng.random()}.json").write_bytes(truth)
            time = rng.randrange(2**31)
            os.utime(bundle.folder / "edges.csv", (time, time))
        topic = Topic(3)
        topic.publish(staged[0])
        if history == "other":
            topic.sink = Topic(3).sink
            Topic(3).publish(staged[1])
        topic.publish(staged[1])
        found.append(topic.releases)
    assert found[0] == found[1]
    assert topic.markers()[1].base


@pytest.mark.parametrize("begin", range(7))
def test_a_reader_begins_in_the_middle(
    tmp_path: Path, topic: Topic, begin: int, caplog: pytest.LogCaptureFixture
) -> None:
    """What retention left begins with the next full release; what comes before it is said."""
    found = [bundle.release_id for bundle in topic.read(tmp_path / "out", begin)]
    first = -(-begin // 3) * 3
    assert found == [f"s-{i + 1:04}" for i in range(first, 7)]
    assert len(caplog.messages) == first - begin
    assert all("retention has removed" in message for message in caplog.messages)


def test_a_release_that_is_missing_in_the_middle_is_an_error(tmp_path: Path, topic: Topic) -> None:
    """Once a release was read, nothing before a change may be missing."""
    del topic.releases[1]
    with pytest.raises(SinkConflict, match="s-0003"):
        topic.read(tmp_path / "out")


def test_whoever_removes_or_changes_what_was_read_spoils_nothing(
    tmp_path: Path, topic: Topic
) -> None:
    """A reader builds on its own copy, not on the folders that it gave out."""
    seen = []
    for bundle in reader_of(topic.parts()).read(tmp_path / "out"):
        seen.append(bundle.release_id)
        if len(seen) % 2:
            shutil.rmtree(bundle.folder)
        else:
            (bundle.folder / "edges.csv").write_bytes(b"somebody's own")
    assert len(seen) == 7


def test_a_withdrawn_release_is_built_upon(tmp_path: Path, topic: Topic) -> None:
    """Its bytes stay in the topic, so that later ones are read; it keeps its marker."""
    withdrawal = chunks.part("s-0002", 0, chunks.WITHDRAWN, b"why")
    found = list(reader_of([*topic.parts(), withdrawal]).read(tmp_path / "out"))
    assert [bundle.release_id for bundle in found] == [
        *(f"s-000{i}" for i in range(1, 8)),
        "s-0002",
    ]
    assert found[-1].is_withdrawn()


def test_what_was_sent_twice_is_read_once(tmp_path: Path, topic: Topic) -> None:
    """A release that comes again, in full or in part, is no other base for the next one."""
    second = topic.releases[1]
    topic.releases[2:2] = [second[:-1], second]
    assert len(topic.read(tmp_path / "out")) == 7


def test_an_attempt_in_full_after_one_of_changes(
    tmp_path: Path, releases: list[dict[str, bytes]]
) -> None:
    """A service that lost the staged release before sends the next one in full over what it began.

    Chunks of both attempts lie in the topic, some with the same numbers and lengths.
    """
    topic = Topic(3)
    staged = sequence(tmp_path / "staging", releases[:3])
    for bundle in staged[:2]:
        topic.publish(bundle)
    begun = topic.releases.pop()
    topic.publish(dataclasses.replace(staged[1], former=None))
    assert not topic.markers()[1].base
    topic.releases.insert(1, begun[:-1])
    markers = topic.releases.pop(1)
    topic.publish(staged[2])
    topic.releases.insert(1, markers)
    assert [content(b) for b in topic.read(tmp_path / "out")] == [content(b) for b in staged]


def gone(bundle: ReleaseBundle) -> None:
    assert bundle.former is not None
    shutil.rmtree(bundle.former)


def edited(bundle: ReleaseBundle) -> None:
    assert bundle.former is not None
    (bundle.former / "edges.csv").write_bytes(b"other")


def forged(bundle: ReleaseBundle) -> None:
    assert bundle.former is not None
    files = {name: data[::-1] for name, data in content(bundle).items() if name != MANIFEST}
    lengths = {name: (bundle.former / name).stat().st_size for name in files}
    gone(bundle)
    same = {name: data.ljust(lengths[name])[: lengths[name]] for name, data in files.items()}
    stage(bundle.former.parent, bundle.former.name, same)


@pytest.mark.parametrize("harm", [gone, edited, forged])
def test_without_the_release_before_the_next_is_full(
    tmp_path: Path, releases: list[dict[str, bytes]], harm: Callable[[ReleaseBundle], None]
) -> None:
    """The staged release before is of use only while it is the one that readers have."""
    topic = Topic(3)
    first, second = sequence(tmp_path / "staging", releases[:2])
    topic.publish(first)
    want = [content(first), content(second)]
    harm(second)
    marker = topic.publish(second)
    assert (marker.base, marker.since_full) == ("", 0)
    assert [content(b) for b in topic.read(tmp_path / "out")] == want


@pytest.mark.parametrize(
    "names",
    [
        ["vertices.csv", "edges.csv", "mapping.csv"],
        ["vertices.csv", "../../secret"],
        ["vertices.csv", "vertices.csv"],
        ["vertices.csv"],
        [],
    ],
)
@pytest.mark.parametrize("more", [0, 1, 1 << 60])
def test_a_forged_marker_makes_the_sink_read_nothing_private(
    tmp_path: Path, releases: list[dict[str, bytes]], names: list[str], more: int
) -> None:
    """Names of files come from the topic: none is packed but those of the published release.

    Their lengths come from there as well, true ones among them.
    """
    topic = Topic(3)
    first, second = sequence(tmp_path / "staging", releases[:2])
    topic.publish(first)
    (first.folder / "mapping.csv").write_bytes(b"alice")
    (tmp_path / "secret").write_bytes(b"a secret!")
    files = [(name, (first.folder / name).stat().st_size + more) for name in names]
    lie = msgspec.structs.replace(topic.markers()[0], files=files)
    topic.releases[0][-1] = chunks.part(
        "s-0001", topic.releases[0][-1].seq, chunks.MARKER, msgspec.json.encode(lie)
    )
    assert topic.publish(second).base == ""


def test_what_would_not_come_back_is_sent_as_it_is(
    tmp_path: Path, releases: list[dict[str, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frame is unpacked before it is sent: a topic keeps a bad one for ever."""
    topic = Topic(3)
    staged = sequence(tmp_path / "staging", releases[:2])
    topic.publish(staged[0])
    real = deltas.pack
    with monkeypatch.context() as patch:
        patch.setattr(deltas, "pack", lambda content, base: real(content[::-1], base))
        assert topic.publish(staged[1]).format == chunks.PLAIN
    assert [content(b) for b in topic.read(tmp_path / "out")] == [content(b) for b in staged]


def test_a_large_release_is_sent_as_it_is(
    tmp_path: Path, releases: list[dict[str, bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory of sinks and readers is bounded; after it the next small one is full."""
    topic = Topic(3)
    staged = sequence(tmp_path / "staging", [releases[0], releases[1] | {"x.bin": bytes(200_000)}])
    third = stage(tmp_path / "staging", "s-0003", releases[2])
    with monkeypatch.context() as patch:
        patch.setattr(deltas, "BYTES_MAX", 200_000)
        topic.publish(staged[0])
        assert topic.publish(staged[1]).format == chunks.PLAIN
        after = topic.publish(dataclasses.replace(third, former=staged[1].folder))
        assert (after.format, after.base) == (chunks.PACKED, "")
        assert len(topic.read(tmp_path / "out")) == 3


def test_changes_of_a_release_that_was_sent_as_it_is(
    tmp_path: Path, releases: list[dict[str, bytes]]
) -> None:
    """Whoever turns the option on need not begin with a full release; nor whoever turns it off."""
    staged = sequence(tmp_path / "staging", releases[:4])
    topic = Topic(1)
    topic.publish(staged[0])
    for full_every, bundle in zip((4, 4, 1), staged[1:], strict=True):
        topic.sink = Topic(full_every).sink
        topic.publish(bundle)
    assert [marker.since_full for marker in topic.markers()] == [0, 1, 2, 0]
    assert [content(b) for b in topic.read(tmp_path / "out")] == [content(b) for b in staged]


def lying(topic: Topic, frame: bytes | None = None, **told: object) -> list[ReleasePart]:
    """Return the records of a topic whose second release lies, with true sums."""
    first, second = topic.releases[:2]
    marker = topic.markers()[1]
    *parts, manifest, _ = second
    if frame is not None:
        size = marker.chunk_bytes
        values = chunks.cut_bytes(frame, size)
        parts = [chunks.part("s-0002", i, chunks.CHUNK, v) for i, v in enumerate(values)]
        told = {"chunks": len(parts)} | told
    manifest = chunks.part("s-0002", len(parts), chunks.MANIFEST, manifest.value)
    lie = msgspec.json.encode(msgspec.structs.replace(marker, **told))
    return [*first, *parts, manifest, chunks.part("s-0002", len(parts) + 1, chunks.MARKER, lie)]


def frame_of(topic: Topic) -> bytes:
    return b"".join(part.value for part in topic.releases[1] if part.kind == chunks.CHUNK)


MANY = 300 << 20
HOSTILE: dict[str, Callable[[Topic], list[ReleasePart]]] = {
    "truncated": lambda t: lying(t, frame_of(t)[:100]),
    "no frame": lambda t: lying(t, b"no frame"),
    "empty": lambda t: lying(t, b""),
    "no chunk counted": lambda t: lying(t, chunks=0),
    "more chunks than came": lambda t: lying(t, chunks=10**12),
    "another base": lambda t: lying(t, base="0" * 64),
    "no base": lambda t: lying(t, base=""),
    "its own base": lambda t: lying(t, base=t.markers()[1].manifest_sha256),
    "longer": lambda t: lying(t, files=[("vertices.csv", 1), ("edges.csv", MANY)]),
    "longer than admitted": lambda t: lying(t, files=[("vertices.csv", 1), ("edges.csv", 1 << 40)]),
    "shorter": lambda t: lying(t, files=[("vertices.csv", 1), ("edges.csv", 2)]),
    "negative": lambda t: lying(t, files=[("vertices.csv", -1), ("edges.csv", 9)]),
    "other names": lambda t: lying(t, files=[("vertices.csv", 1), ("../edges.csv", 9)]),
    "as it is": lambda t: lying(t, format=chunks.PLAIN),
    "a later format": lambda t: lying(t, format=3),
    "filled up without end": lambda t: lying(t, frame_of(t) + bytes(3 << 20)),
    # Zeros that unfold, with and without a marker that admits it.
    "unfolds": lambda t: lying(t, deltas.pack(bytes(MANY), b"")),
    "unfolds without saying": lambda t: lying(t, deltas.pack(bytes(MANY), b"")[4:]),
    # A header of a frame that asks for a window of gigabytes.
    "window": lambda t: lying(t, struct.pack("<IBB", 0xFD2FB528, 0x80, 0xA0) + bytes(64)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_changes_are_refused_in_bounded_memory(
    tmp_path: Path, topic: Topic, name: str
) -> None:
    """Truncated, of another base, with huge counts: refused by name, and little is taken."""
    records = HOSTILE[name](topic)
    reader = reader_of(records)
    seen = []
    with memory_bounded(64 << 20), pytest.raises(SinkConflict, match="s-0002"):
        seen.extend(bundle.release_id for bundle in reader.read(tmp_path / "out"))
    assert seen == ["s-0001"]
    assert sum(path.stat().st_size for path in (tmp_path / "out").rglob("*")) < 200_000


@settings(deadline=None, max_examples=200)
@given(data=st.data())
def test_damaged_frames_are_refused_or_of_the_length_that_was_told(data: st.DataObject) -> None:
    """Any byte of a frame may be another; nothing but a refusal or that many bytes comes of it."""
    rng = random.Random(3)
    one = b"".join(tables(rng, 30, 100).values())
    two = b"".join(changed(rng, tables(rng, 30, 100), 0.2).values())
    frame = bytearray(deltas.pack(two, one))
    for _ in range(data.draw(st.integers(1, 4))):
        frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = deltas.unpack(bytes(frame), one, len(two))
    except ValueError:
        return
    assert len(found) == len(two)
