"""What every dead-letter sink must do."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import NamedTuple, Protocol

import msgspec
import pytest

from ktsafe.connectors.base import DeadLetter, DeadLetterSink, Record
from ktsafe.connectors.letters import TRUNCATED, TRUNCATED_SHA256

BYTES_MAX = 1000


class Found(NamedTuple):
    """A letter as it lies at the sink."""

    topic: str
    partition: int
    offset: int
    reason: str
    detail: str
    key: bytes | None
    value: bytes | None
    length: int | None
    sha256: str | None
    headers: tuple[tuple[str, bytes], ...]


class LetterWorld(Protocol):
    """A place for dead letters, keeping `BYTES_MAX` bytes per value."""

    def sink(self) -> DeadLetterSink:
        """Return a new sink."""

    def letters(self) -> list[Found]:
        """Return what lies at the sink now, as another process sees it."""


def letter(offset: int, value: bytes | None, **fields: object) -> DeadLetter:
    record = Record("feed", 1, offset, 1_600_000_000_000, b"k", value, (("trace", b"t-1"),))
    return DeadLetter(msgspec.structs.replace(record, **fields), "malformed", "byte 7")


class LetterContract:
    """Subclasses give a `world` fixture."""

    @pytest.fixture
    def sink(self, world: LetterWorld) -> Iterator[DeadLetterSink]:
        sink = world.sink()
        yield sink
        sink.close()

    def test_letters_are_there_when_write_returns(
        self, world: LetterWorld, sink: DeadLetterSink
    ) -> None:
        """Record, reason and detail are readable once `write` returned; repeated headers, too."""
        repeated = (("trace", b"t-1"), ("b", b""), ("trace", b"t-2"), ("trace", b"t-1"))
        sink.write([letter(4, b"{bad", headers=repeated), letter(5, b"\xff\x00")])
        first, second = world.letters()
        assert (first.topic, first.partition, first.offset) == ("feed", 1, 4)
        assert (first.reason, first.detail) == ("malformed", "byte 7")
        assert (first.key, first.value) == (b"k", b"{bad")
        assert tuple(each for each in first.headers if each in repeated) == repeated
        assert (second.offset, second.value) == (5, b"\xff\x00")
        sink.write([letter(6, b"z")])
        assert [found.offset for found in world.letters()] == [4, 5, 6]

    def test_a_new_instance_appends(self, world: LetterWorld, sink: DeadLetterSink) -> None:
        """A restart keeps what was written."""
        sink.write([letter(1, b"a")])
        sink.close()
        again = world.sink()
        again.write([letter(2, b"b")])
        again.close()
        assert [found.offset for found in world.letters()] == [1, 2]

    def test_large_values_are_cut(self, world: LetterWorld, sink: DeadLetterSink) -> None:
        """Up to the bound a value is whole.

        Beyond it prefix, length and sha256 stay.
        """
        large = b"ab" * 5_000_000
        sink.write([letter(1, b"x" * BYTES_MAX), letter(2, large)])
        whole, cut = world.letters()
        assert whole.value == b"x" * BYTES_MAX
        assert whole.sha256 is None
        assert cut.value == large[:BYTES_MAX]
        assert (cut.length, cut.sha256) == (len(large), hashlib.sha256(large).hexdigest())

    def test_what_the_source_cut_keeps_its_true_length(
        self, world: LetterWorld, sink: DeadLetterSink
    ) -> None:
        """Length and sha256 are the record's, not a prefix's."""
        headers = ((TRUNCATED, b"12345678"), (TRUNCATED_SHA256, b"ab" * 32))
        sink.write([letter(1, b"p" * (BYTES_MAX * 2), headers=headers)])
        (found,) = world.letters()
        assert (found.length, found.sha256) == (12_345_678, "ab" * 32)
        assert found.value == b"p" * BYTES_MAX

    @pytest.mark.parametrize(
        "headers",
        [
            ((TRUNCATED, b"many"), (TRUNCATED_SHA256, b"ab" * 32)),
            ((TRUNCATED, b"12"),),
            ((TRUNCATED, b"12"), (TRUNCATED_SHA256, b"\xff")),
            ((TRUNCATED, b"9" * 5_000), (TRUNCATED_SHA256, b"ab" * 32)),
            ((TRUNCATED, b""), (TRUNCATED_SHA256, b"")),
        ],
    )
    def test_headers_that_only_look_like_those_of_a_cut_record(
        self, world: LetterWorld, sink: DeadLetterSink, headers: tuple[tuple[str, bytes], ...]
    ) -> None:
        """Any producer of the feed may send them.

        The letter is that of a whole record.
        """
        sink.write([letter(1, b"short", headers=headers)])
        (found,) = world.letters()
        assert found.value == b"short"
        assert found.sha256 is None
        assert headers[0] in found.headers

    def test_odd_records(self, world: LetterWorld, sink: DeadLetterSink) -> None:
        """Null values, absurd timestamps and large keys stop nothing."""
        sink.write(
            [
                letter(1, None),
                letter(2, None, key=None, headers=()),
                letter(3, b"", key=b"", timestamp_ms=None),
                letter(4, b"v", timestamp_ms=2**62),
                letter(5, b"v", timestamp_ms=0, key=b"k" * 3_000_000),
            ]
        )
        assert [found.offset for found in world.letters()] == [1, 2, 3, 4, 5]

    def test_nothing_to_write(self, world: LetterWorld, sink: DeadLetterSink) -> None:
        """No letters, no effect."""
        sink.write([])
        assert world.letters() == []

    def test_close_twice(self, world: LetterWorld, sink: DeadLetterSink) -> None:
        """Closing twice, and closing what was never used, does nothing."""
        sink.write([letter(1, b"a")])
        sink.close()
        sink.close()
        world.sink().close()
