"""Files as event source."""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ktsafe.connectors.base import Misconfigured, OffsetLost, Record, SourceMismatch, TopicPartition
from ktsafe.connectors.files import (
    FileSource,
)
from ktsafe.connectors.letters import TRUNCATED, TRUNCATED_SHA256
from ktsafe_lab.contracts.source_contract import N_PARTITIONS, SourceContract, read_all, values_of


class FileWorld:
    """Files that tests append to; a newline ends a record, so that no value may hold one."""

    def __init__(self, folder: Path, *, follow: bool) -> None:
        self.topic = "feed"
        self._follow = follow
        self._paths = [folder / f"part-{i}.jsonl" for i in range(N_PARTITIONS)]
        for path in self._paths:
            path.touch()

    def write(self, partition: int, values: list[bytes]) -> None:
        with self._paths[partition].open("ab") as file:
            file.writelines(value + b"\n" for value in values)

    def source(self) -> FileSource:
        paths = [str(path) for path in self._paths]
        return FileSource(paths, topic=self.topic, follow=self._follow)

    def replace(self) -> None:
        for path in self._paths:
            path.write_bytes(b"another feed\n")


class CompressedWorld(FileWorld):
    """The same with gzip files, which grow by whole members."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, follow=False)
        self._paths = [folder / f"part-{i}.jsonl.gz" for i in range(N_PARTITIONS)]
        for path in self._paths:
            path.touch()

    def write(self, partition: int, values: list[bytes]) -> None:
        with gzip.open(self._paths[partition], "ab") as file:
            file.writelines(value + b"\n" for value in values)

    def replace(self) -> None:
        for path in self._paths:
            path.write_bytes(gzip.compress(b"another feed\n"))


class TestFileSource(SourceContract):
    """Plain files, final and followed."""

    @pytest.fixture(params=["final", "followed"])
    def world(self, request: pytest.FixtureRequest, tmp_path: Path) -> FileWorld:
        return FileWorld(tmp_path, follow=request.param == "followed")


class TestCompressedFileSource(SourceContract):
    """Compressed files."""

    @pytest.fixture
    def world(self, tmp_path: Path) -> CompressedWorld:
        return CompressedWorld(tmp_path)


AT = TopicPartition("feed", 0)


def opened(
    path: Path | str, offset: int = 0, identity: dict[str, str] | None = None, **options: object
) -> FileSource:
    source = FileSource([str(path)], **options)
    source.open({AT: offset} if offset else {}, identity or {})
    return source


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where a feed is to lie."""
    return tmp_path / "feed.jsonl"


def values(records: list[Record]) -> list[bytes | None]:
    return [record.value for record in records]


def test_last_line_of_a_final_file_needs_no_newline(path: Path) -> None:
    """A final file's last line counts without its newline, also when resuming behind it."""
    path.write_bytes(b"a\nb")
    source = opened(path)
    assert values(read_all(source)) == [b"a", b"b"]
    again = opened(path, 2, source.identity())
    assert values(read_all(again)) == []
    for one in (source, again):
        one.close()


def test_a_final_file_stays_at_its_end(path: Path) -> None:
    """What is appended after the end of a final file was reached is not read in this run."""
    path.write_bytes(b"a\n")
    source = opened(path)
    assert values(source.poll(0.0, 10)) == [b"a"]
    assert source.poll(0.0, 10) == []
    with path.open("ab") as file:
        file.write(b"b\n")
    assert source.at_end(AT)
    assert source.poll(0.0, 10) == []
    source.close()


def test_followed_file_waits_for_the_newline(path: Path) -> None:
    """A half-written line of a followed file is not returned before it is whole."""
    path.write_bytes(b"a\nhal")
    source = opened(path, follow=True)
    identity = source.identity()
    assert values(source.poll(0.0, 10)) == [b"a"]
    assert source.poll(0.0, 10) == []
    assert source.at_end(AT)
    with path.open("ab") as file:
        file.write(b"f\nnext\n")
    assert not source.at_end(AT)
    assert values(source.poll(0.0, 10)) == [b"half", b"next"]
    assert source.identity() == identity
    source.close()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda data: data[:4000] + b"!" + data[4001:], SourceMismatch),
        (lambda data: data[: 900 * len(b"line 0000\n")], OffsetLost),
    ],
)
def test_a_changed_or_shorter_file_is_refused(
    path: Path, change: Callable[[bytes], bytes], error: type[Exception]
) -> None:
    """One changed byte in the first 4 KiB is another file; one with fewer lines has lost some."""
    data = b"".join(b"line %04d\n" % i for i in range(1000))
    path.write_bytes(data)
    source = opened(path)
    identity = source.identity()
    source.close()
    path.write_bytes(change(data))
    with pytest.raises(error):
        opened(path, 950, identity)


def test_a_file_cut_while_followed_is_refused(path: Path) -> None:
    """Truncation under a running reader does not pass for silence."""
    path.write_bytes(b"a\nb\n")
    source = opened(path, follow=True)
    source.poll(0.0, 10)
    path.write_bytes(b"a\n")
    with pytest.raises(SourceMismatch):
        source.poll(0.0, 10)
    source.close()


def test_files_may_be_added_at_the_end(tmp_path: Path) -> None:
    """A longer list keeps the partitions before; a reordered or shorter one is refused."""
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    first.write_bytes(b"a\n")
    second.write_bytes(b"b\n")
    source = opened(first)
    read_all(source)
    identity = source.identity()
    source.close()
    longer = FileSource([str(first), str(second)])
    longer.open({AT: 1}, identity)
    assert [(r.partition, r.value) for r in read_all(longer)] == [(1, b"b")]
    both = longer.identity()
    longer.close()
    reordered = FileSource([str(second), str(first)])
    with pytest.raises(SourceMismatch):
        reordered.open({AT: 1, TopicPartition("feed", 1): 1}, both)
    reordered.close()
    with pytest.raises(SourceMismatch):
        FileSource([str(first)]).open({AT: 1, TopicPartition("feed", 1): 1}, both)


def test_pausing_far_back(tmp_path: Path) -> None:
    """A pause further back than the last poll reads the file again from its beginning."""
    path = tmp_path / "feed.jsonl.gz"
    path.write_bytes(gzip.compress(b"".join(b"%d\n" % i for i in range(100))))
    source = opened(path)
    for _ in range(5):
        source.poll(0.0, 10)
    source.pause(AT, 3)
    source.resume(AT)
    assert values(read_all(source)) == [b"%d" % i for i in range(3, 100)]
    source.close()


@pytest.mark.parametrize("length", [1024, 1025, 10_000_000])
def test_long_lines_are_cut(path: Path, length: int) -> None:
    """A line beyond the bound comes as a longer-than-bound prefix, with length and sha256."""
    line = (b"0123456789" * (length // 10 + 1))[:length]
    path.write_bytes(b"before\n" + line + b"\nafter\n")
    source = opened(path, record_bytes_max=1024)
    before, long, after = read_all(source)
    assert (before.value, after.value, after.offset) == (b"before", b"after", 2)
    if length <= 1024:
        assert (long.value, long.headers) == (line, ())
    else:
        assert long.value == line[:1025]
        assert dict(long.headers) == {
            TRUNCATED: str(length).encode(),
            TRUNCATED_SHA256: hashlib.sha256(line).hexdigest().encode(),
        }
    source.close()


def test_pipe_is_read_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A pipe says that it is at most once, has no identity and numbers on from the offset."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    source = opened(path, 7)
    assert "at most once" in caplog.text
    assert source.poll(0.05, 10) == []
    assert not source.at_end(AT)
    writer = os.open(path, os.O_WRONLY)
    os.write(writer, b"a\nb\nhal")
    records = source.poll(5.0, 10)
    assert [(r.offset, r.value) for r in records] == [(7, b"a"), (8, b"b")]
    source.pause(AT, 8)
    os.write(writer, b"f")
    os.close(writer)
    source.resume(AT)
    records = read_all(source)
    assert [(r.offset, r.value) for r in records] == [(8, b"b"), (9, b"half")]
    assert source.identity() == {}
    with pytest.raises(OffsetLost):
        source.pause(AT, 7)
    source.close()


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: [str(folder / "missing.jsonl")],
        lambda folder: [str(folder)],
        lambda folder: ["-", "-"],
    ],
)
def test_impossible_paths(tmp_path: Path, make: Callable[[Path], list[str]]) -> None:
    """A missing file, a folder and standard input twice are refused with a hint."""
    with pytest.raises(Misconfigured) as caught:
        FileSource(make(tmp_path)).open({}, {})
    assert caught.value.hint


def test_damaged_gzip(tmp_path: Path) -> None:
    """A cut or damaged compressed file is an error, not an early end."""
    path = tmp_path / "feed.jsonl.gz"
    packed = gzip.compress(b"".join(b"%d\n" % i for i in range(10_000)))
    path.write_bytes(packed[:-100])
    source = opened(path)
    with pytest.raises(Misconfigured):
        read_all(source)
    source.close()


def test_a_large_compressed_file_keeps_its_lines(tmp_path: Path) -> None:
    """Polls that end within a line, at the bound of what is read at once, do not cut it."""
    lines = [bytes([65 + i]) * 3_000_000 for i in range(20)]
    path = tmp_path / "feed.jsonl.gz"
    path.write_bytes(gzip.compress(b"\n".join(lines), 1))
    source = opened(path, record_bytes_max=4_000_000)
    records: list[Record] = []
    while not source.at_end(AT):
        records += source.poll(0.0, 10_000)
    source.close()
    assert values(records) == lines
    assert [record.offset for record in records] == list(range(20))


def test_read_order_is_fair(tmp_path: Path) -> None:
    """A long file does not starve the others."""
    paths = [tmp_path / f"{i}.jsonl" for i in range(3)]
    for path, count in zip(paths, (1000, 10, 10), strict=True):
        path.write_bytes(b"x\n" * count)
    source = FileSource([str(path) for path in paths])
    source.open({}, {})
    records = source.poll(0.0, 30)
    assert [len(values_of(records, p)) for p in range(3)] == [10, 10, 10]
    source.close()
