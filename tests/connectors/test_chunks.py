"""How a release lies in a topic, without one."""

from __future__ import annotations

import tempfile
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from connectors.kafka_topics import chunks
from connectors.kafka_topics.chunks import Marker
from connectors.kafka_topics.release_reader import _Set, _split


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
        (folder / "spool").write_bytes(b"".join(parts))
        out = folder / "out"
        out.mkdir()
        _split(
            folder / "spool",
            out,
            [(one, len(data)) for one, data in zip(names, files, strict=True)],
        )
        assert [(out / one).read_bytes() for one in names] == files


def test_parts_survive_the_wire() -> None:
    """A part is read back from its record as it was sent."""
    part = chunks.part("s-0001", 3, chunks.CHUNK, b"payload")
    record = SimpleNamespace(headers=part.headers(), value=part.value)
    assert chunks.decode(record) == part
    assert chunks.intact(part)
    assert not chunks.intact(part._replace(value=b"other"))


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


def test_parts_in_any_order_and_repeated(tmp_path: Path) -> None:
    """Repeats and another order do not matter; a missing chunk or manifest does."""
    found = _Set(tmp_path / "spool")
    first = chunks.part("s-0001", 0, chunks.CHUNK, b"abcd")
    second = chunks.part("s-0001", 1, chunks.CHUNK, b"efg\0")
    manifest = chunks.part("s-0001", 2, chunks.MANIFEST, b"{}")
    for part in (second, manifest, second):
        found.take(part)
        assert not found.complete(marker())
    found.take(first)
    assert found.complete(marker())
    assert (tmp_path / "spool").read_bytes() == b"abcdefg\0"


def test_another_attempt_with_other_chunks(tmp_path: Path) -> None:
    """Chunks of an earlier attempt with another chunk size are forgotten."""
    found = _Set(tmp_path / "spool")
    for seq, value in enumerate((b"ab", b"cd", b"ef")):
        found.take(chunks.part("s-0001", seq, chunks.CHUNK, value))
    found.take(chunks.part("s-0001", 2, chunks.MANIFEST, b"{}"))
    for seq, value in enumerate((b"abcd", b"efg\0")):
        assert not found.complete(marker())
        found.take(chunks.part("s-0001", seq, chunks.CHUNK, value))
    assert found.complete(marker())
    assert (tmp_path / "spool").read_bytes() == b"abcdefg\0"
