"""Splitting bytes into lines."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.connectors.files.streams import CutLine, LineReader

BLOCKS = st.lists(
    st.lists(st.sampled_from([b"\n", b"a", b"bc", b"\r", b"x" * 9]), max_size=8).map(b"".join)
)


def reader_of(blocks: list[bytes], line_bytes_max: int) -> LineReader:
    waiting = [block for block in blocks if block]
    return LineReader(lambda _count: waiting.pop(0) if waiting else b"", line_bytes_max)


def whole(line: bytes, line_bytes_max: int) -> bytes | CutLine:
    if len(line) <= line_bytes_max:
        return line
    return CutLine(line[: line_bytes_max + 1], len(line), hashlib.sha256(line).hexdigest())


@settings(deadline=None)
@given(BLOCKS, st.integers(1, 12), st.integers(1, 5))
def test_lines_do_not_depend_on_blocks(blocks: list[bytes], longest: int, step: int) -> None:
    """However the bytes arrive, the lines are those of the whole, long ones cut."""
    reader = reader_of(blocks, longest)
    lines: list[bytes | CutLine] = []
    while taken := reader.take(step):
        lines += taken
    assert reader.ended
    expected = b"".join(blocks).split(b"\n")
    if not expected[-1]:
        expected.pop()
    assert lines == [whole(line, longest) for line in expected]


@settings(deadline=None)
@given(BLOCKS, st.integers(0, 20))
def test_skip_is_take(blocks: list[bytes], count: int) -> None:
    """Skipping passes over exactly the lines that would have been taken."""
    taker, skipper = reader_of(blocks, 100), reader_of(blocks, 100)
    taken = [line for _ in range(count) for line in taker.take(1)]
    assert skipper.skip(count) == len(taken)
    assert skipper.take(100) == taker.take(100)


def test_one_take_is_bounded() -> None:
    """However many lines are asked for, a bounded number of bytes is read for them."""
    block = b"x" * 1_000_000 + b"\n"
    reader = reader_of([block] * 100, 2_000_000)
    assert 0 < len(reader.take(100)) < 50


def test_a_bounded_take_leaves_the_line_whole_that_it_ends_in() -> None:
    """What a take stopped in is not the end: the rest of the line belongs to it."""
    blocks = [b"x" * 600_000 + b"\n" + b"y" * 600_000] * 60
    reader = reader_of(blocks, 2_000_000)
    lines = reader.take(1_000)
    assert reader.pending
    assert not reader.ended
    while taken := reader.take(1_000):
        lines += taken
    assert lines == b"".join(blocks).split(b"\n")


def test_a_pause_is_not_the_end() -> None:
    """Where nothing comes for now an unfinished line waits for its rest."""
    waiting = [b"a\nb", None, b"c\nd", None, b""]
    reader = LineReader(lambda _count: waiting.pop(0), 100)
    assert reader.take(9) == [b"a"]
    assert reader.take(9) == [b"bc"]
    assert not reader.ended
    assert reader.take(9) == [b"d"]
    assert reader.ended


@pytest.mark.parametrize("step", [1, 2, 100])
def test_a_byte_order_mark_is_no_part_of_the_first_line(step: int) -> None:
    """It is dropped at the beginning of a file, however it is read, and nowhere else."""
    data = b"\xef\xbb\xbf{}\n\xef\xbb\xbfb\nc"
    blocks = [data[i : i + step] for i in range(0, len(data), step)]
    reader = LineReader(lambda _: blocks.pop(0) if blocks else b"", 100)
    assert reader.take(9) == [b"{}", b"\xef\xbb\xbfb", b"c"]
    assert reader.bytes_read == len(data)
