"""How a release lies in a topic, without one."""

from __future__ import annotations

import hashlib
import io
import itertools
import resource
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.connectors import bundles
from ktsafe.connectors.base import MANIFEST, SinkConflict
from ktsafe.connectors.kafka_settings import KafkaSettings
from ktsafe.connectors.kafka_topics import chunks
from ktsafe.connectors.kafka_topics.chunks import Marker, ReleasePart
from ktsafe.connectors.kafka_topics.release_reader import (
    SETS_MAX,
    KafkaReleaseReader,
    PartSet,
    split,
)


@settings(deadline=None)
@given(st.lists(st.binary(max_size=50), max_size=5), st.integers(1, 20))
def test_cut_and_split(files: list[bytes], chunk_bytes: int) -> None:
    """Chunks have one size, and the files come out of them as they went in."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        names = [f"{i}.csv" for i in range(len(files))]
        for one, data in zip(names, files, strict=True):
            (folder / one).write_bytes(data)
        parts = list(chunks.cut(folder, names, chunk_bytes))
        total = sum(map(len, files))
        assert {len(part) for part in parts} <= {chunk_bytes}
        assert len(parts) == -(-total // chunk_bytes)
        out = folder / "out"
        out.mkdir()
        split(
            io.BytesIO(b"".join(parts)),
            out,
            [(one, len(data)) for one, data in zip(names, files, strict=True)],
        )
        assert [(out / one).read_bytes() for one in names] == files


def test_what_is_no_text_is_damaged() -> None:
    """Bytes that are no UTF-8 in a marker or a manifest are named: what the fuzzer found."""
    value = msgspec.json.encode(marker()).replace(b"s-0001", b"s-\xff")
    assert chunks.decode_marker(chunks.part("s-0001", 2, chunks.MARKER, value)) is None
    with pytest.raises(SinkConflict):
        bundles.manifest_sums(b'{"sha256": {"a.csv": "\xff"}}', "s-0001")


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("release_id", b"s")],
        [("release_id", b"\xff"), ("seq", b"0"), ("kind", b"chunk"), ("sha256", b"x")],
        [("release_id", b"s"), ("seq", b"x"), ("kind", b"chunk"), ("sha256", b"x")],
        [("release_id", b"s"), ("seq", b"-1"), ("kind", b"chunk"), ("sha256", b"x")],
        [("release_id", b"s"), ("seq", None), ("kind", b"chunk"), ("sha256", b"x")],
        [("release_id", b"s"), ("seq", b"0"), ("kind", None), ("sha256", b"x")],
    ],
)
def test_other_records_are_no_parts(headers: list[tuple[str, bytes]]) -> None:
    """A record without the four headers is somebody else's."""
    assert chunks.decode(SimpleNamespace(headers=headers, value=b"x")) is None


def marker(**fields: object) -> Marker:
    base = Marker(1, "s-0001", "ab", chunks=2, chunk_bytes=4, files=[("a.csv", 7)])
    return msgspec.structs.replace(base, **fields)


def test_markers_are_checked() -> None:
    """A marker of another release or format, a damaged one or another kind is none."""
    value = msgspec.json.encode(marker())
    good = chunks.part("s-0001", 3, chunks.MARKER, value)
    assert chunks.decode_marker(good) == marker()
    assert chunks.decode_marker(good._replace(kind=chunks.CHUNK)) is None
    assert chunks.decode_marker(good._replace(value=value + b" ")) is None
    assert chunks.decode_marker(chunks.part("s-0002", 3, chunks.MARKER, value)) is None
    later = msgspec.json.encode(marker(format=2))
    assert chunks.decode_marker(chunks.part("s-0001", 3, chunks.MARKER, later)) is None
    assert chunks.decode_marker(chunks.part("s-0001", 3, chunks.MARKER, b"[]")) is None


def spooled(found: PartSet) -> bytes:
    """Return the chunks that were kept, and forget them."""
    assert found.file is not None
    found.file.seek(0)
    content = found.file.read()
    found.drop()
    return content


def test_parts_in_any_order_and_repeated(tmp_path: Path) -> None:
    """Repeats and another order do not matter; a missing chunk or manifest does."""
    found = PartSet(tmp_path / "spool")
    first = chunks.part("s-0001", 0, chunks.CHUNK, b"abcd")
    second = chunks.part("s-0001", 1, chunks.CHUNK, b"efg\0")
    manifest = chunks.part("s-0001", 2, chunks.MANIFEST, b"{}")
    for part in (second, manifest, second):
        found.take(part)
        assert not found.complete(marker())
    found.take(first)
    assert found.complete(marker())
    assert spooled(found) == b"abcdefg\0"


def test_another_attempt_with_other_chunks(tmp_path: Path) -> None:
    """Chunks of an earlier attempt with another chunk size are forgotten."""
    found = PartSet(tmp_path / "spool")
    for seq, value in enumerate((b"ab", b"cd", b"ef")):
        found.take(chunks.part("s-0001", seq, chunks.CHUNK, value))
    found.take(chunks.part("s-0001", 2, chunks.MANIFEST, b"{}"))
    for seq, value in enumerate((b"abcd", b"efg\0")):
        assert not found.complete(marker())
        found.take(chunks.part("s-0001", seq, chunks.CHUNK, value))
    assert found.complete(marker())
    assert spooled(found) == b"abcdefg\0"


def reader_of(parts: list[ReleasePart]) -> KafkaReleaseReader:
    """Return a reader of a topic that holds these parts."""
    records = [SimpleNamespace(headers=p.headers(), value=p.value, timestamp=7) for p in parts]
    reader = KafkaReleaseReader(KafkaSettings(bootstrap_servers=("nowhere:1",)), "releases")
    reader._records = lambda *, follow: iter(records)  # type: ignore[method-assign]
    return reader


def release(content: bytes, *, release_id: str = "s-0001", **forged: object) -> list[ReleasePart]:
    """Return the parts of a release of one file in chunks of four bytes, its marker forged."""
    manifest = msgspec.json.encode(
        {"format": 1, "sha256": {"a.csv": hashlib.sha256(content).hexdigest()}}
    )
    n = -(-len(content) // 4)
    padded = content.ljust(4 * n, b"\0")
    found = [chunks.part(release_id, i, chunks.CHUNK, padded[4 * i : 4 * i + 4]) for i in range(n)]
    digest = hashlib.sha256(manifest).hexdigest()
    honest = Marker(1, release_id, digest, n, 4, [("a.csv", len(content))])
    told = msgspec.structs.replace(honest, **forged)
    found.append(chunks.part(release_id, n, chunks.MANIFEST, manifest))
    return [*found, chunks.part(release_id, n + 1, chunks.MARKER, msgspec.json.encode(told))]


@contextmanager
def memory_bounded(bytes_max: int) -> Iterator[None]:
    """Let this process take only so much more memory, so that a test that fails does no harm."""
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (taken + bytes_max, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize(
    "forged",
    [
        {"chunks": 10**12},
        {"chunks": 10**12, "files": [("a.csv", 4 * 10**12)]},
        {"chunks": -1},
        {"chunks": 0, "chunk_bytes": 0, "files": [("a.csv", 1 << 30)]},
        {"chunks": 0, "files": [("a.csv", 7)]},
        {"files": [("a.csv", -1)]},
        {"files": [("a.csv", 9)]},
        {"files": [("a.csv", 1 << 62)]},
        {"files": [("a.csv", 3), ("a.csv", 7)]},
        {"files": [("a.csv", 7), ("../a.csv", 0)]},
        {"files": [("a.csv", 7), ("b.csv", 0)]},
        {"files": []},
        {"chunk_bytes": -4},
        {"chunk_bytes": 1 << 40},
        {"format": 2},
    ],
)
def test_a_marker_that_lies_is_refused_before_anything_is_made_of_it(
    tmp_path: Path, forged: dict[str, object]
) -> None:
    """Counts and lengths of a topic are compared with what came before memory or disk is taken."""
    honest = release(b"earlier")
    topic = [*honest, *release(b"content", release_id="s-0002", **forged)]
    reader = reader_of(topic)
    with memory_bounded(64 << 20), pytest.raises(SinkConflict):
        list(reader.read(tmp_path / "out"))
    found = {path.name for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert found <= {MANIFEST, "a.csv"}
    assert sum(path.stat().st_size for path in (tmp_path / "out").rglob("*")) < 100_000


def test_one_chunk_with_a_great_number_asks_for_nothing(tmp_path: Path) -> None:
    """The case that was seen: a hole before one chunk became a file of its length."""
    far = chunks.part("s-0002", 6000, chunks.CHUNK, b"\0" * 65_536)
    length = 6001 * 65_536
    *_, manifest, marker = release(
        b"", release_id="s-0002", chunks=0, chunk_bytes=65_536, files=[("a.csv", length)]
    )
    seen = []
    reader = reader_of([*release(b"earlier"), far, manifest, marker])
    with pytest.raises(SinkConflict):
        seen.extend(bundle.release_id for bundle in reader.read(tmp_path / "out"))
    blocks = sum(path.stat().st_blocks for path in tmp_path.rglob("*"))
    assert seen == ["s-0001"]
    assert blocks * 512 < 1 << 20


def test_a_further_chunk_does_not_spoil_a_release(tmp_path: Path) -> None:
    """Somebody's chunk beyond the counted ones is passed over, as far as memory and disk go too."""
    parts = release(b"content")
    far = chunks.part("s-0001", chunks.SEQ_MAX - 1, chunks.CHUNK, b"more")
    (bundle,) = reader_of([far, *parts]).read(tmp_path / "out")
    assert (bundle.folder / "a.csv").read_bytes() == b"content"


def test_many_small_chunks_open_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The case that took 16 s: 200,000 chunks without a marker, a file opened for each."""
    opened = []
    real = Path.open

    def counted(path: Path, *arguments: Any, **named: Any) -> Any:
        opened.append(path.name)
        return real(path, *arguments, **named)

    monkeypatch.setattr(Path, "open", counted)
    parts = [chunks.part("s-0002", seq, chunks.CHUNK, b"part") for seq in range(5_000)]
    (bundle,) = reader_of([*parts, *release(b"content")]).read(tmp_path / "out")
    assert bundle.release_id == "s-0001"
    assert opened.count("s-0002") == 1


def test_releases_that_never_end_are_forgotten(tmp_path: Path) -> None:
    """Only the last of many unfinished releases are kept; the next one is read all the same."""
    begun = [chunks.part(f"x-{i:04}", 0, chunks.CHUNK, b"part") for i in range(10 * SETS_MAX)]
    most = 0

    def counted(*, follow: bool) -> Iterator[object]:
        del follow
        nonlocal most
        for part in itertools.chain(begun, release(b"content")):
            most = max(most, len(list(tmp_path.glob("out/.parts/*"))))
            yield SimpleNamespace(headers=part.headers(), value=part.value, timestamp=7)

    reader = reader_of([])
    reader._records = counted  # type: ignore[method-assign]
    (bundle,) = reader.read(tmp_path / "out")
    assert bundle.release_id == "s-0001"
    assert most <= SETS_MAX
