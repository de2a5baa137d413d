"""Batches of records read by us, against kafka-python's own reading of them."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktsafe.connectors.base import Record
from ktsafe.connectors.kafka_topics.consumer import FetchedRecords

# After the connectors, which import kafka-python without its warnings.
from kafka.consumer.fetcher import Fetcher  # isort: skip
from kafka.errors import CorruptRecordError  # isort: skip
from kafka.record.default_records import DefaultRecordBatchBuilder  # isort: skip
from kafka.record.memory_records import MemoryRecords, MemoryRecordsBuilder  # isort: skip
from kafka.record.util import calc_crc32c  # isort: skip
from kafka.structs import TopicPartition  # isort: skip

AT = TopicPartition("feed", 3)
BYTES = st.none() | st.binary(max_size=3) | st.integers(60, 9000).map(bytes)
RECORDS = st.lists(
    st.tuples(
        st.integers(1, 300),  # how far its offset lies behind the one before: topics are compacted
        st.integers(0, 1 << 41),
        BYTES,
        BYTES,
        st.lists(st.tuples(st.text(max_size=3), BYTES), max_size=2),
    ),
    min_size=1,
    max_size=5,
)
KINDS = st.sampled_from(["plain", "transaction", "abort", "commit", "other transaction"])
BATCHES = st.lists(st.tuples(KINDS, RECORDS, st.sampled_from([0, 1, 3]), st.booleans()), max_size=4)


def batch(kind: str, records: list[Any], codec: int, appended: bool, offset: int) -> bytes:
    """Return the bytes of one batch whose first record lies behind an offset."""
    is_mark, producer = kind in {"abort", "commit"}, 8 if kind.startswith("other") else 7
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0 if is_mark else codec,  # Marks never are compressed.
        is_transactional=kind != "plain",
        producer_id=-1 if kind == "plain" else producer,
        producer_epoch=-1 if kind == "plain" else 0,
        base_sequence=-1 if kind == "plain" else 0,
        batch_size=1 << 30,
    )
    for step, time_ms, key, value, headers in records[: 1 if is_mark else None]:
        offset += step
        mark = struct.pack(">hh", 0, int(kind == "commit"))
        builder.append(offset, time_ms, mark if is_mark else key, value, headers)
    data = bytearray(builder.build())
    data[22] |= (0x20 if is_mark else 0) | (0x08 if appended else 0)  # attributes
    data[17:21] = struct.pack(">I", calc_crc32c(memoryview(bytes(data))[21:]))
    return bytes(data)


def fetched(kind: type[Any], data: bytes, start: int, aborted: list[Any]) -> Any:
    """Return what reads a fetch of one partition."""
    records = MemoryRecords(data)
    return kind(start, AT, records, isolation_level=1, aborted_transactions=aborted)


def theirs(found: Any) -> Record:
    """Return one of kafka-python's records as ours; in Kafka a header's value may be null."""
    time_ms = found.timestamp if found.timestamp >= 0 else None
    headers = tuple((name, value or b"") for name, value in found.headers)
    return Record(*AT, found.offset, time_ms, found.key, found.value, headers)


@given(batches=BATCHES, start=st.integers(0, 900), n=st.integers(1, 6), is_aborted=st.booleans())
def test_records_are_those_that_the_client_reads(
    batches: list[Any], start: int, n: int, is_aborted: bool
) -> None:
    """Whatever is fetched from wherever, records and positions after every take are the client's.

    Batches are compressed or not, stamped by the producer or the broker, of transactions that were
    committed or aborted, or the marks of their ends.
    """
    data, offset = b"", -1
    for kind, records, codec, appended in batches:
        data += batch(kind, records, codec, appended, offset)
        offset += sum(step for step, *_ in records)
    aborted = [SimpleNamespace(first_offset=0, producer_id=7)] if is_aborted else []
    own, other = (
        fetched(kind, data, start, aborted) for kind in (FetchedRecords, Fetcher.PartitionRecords)
    )
    while own and other:
        assert own.take(n) == [theirs(found) for found in other.take(n)]
        assert own.next_fetch_offset == other.next_fetch_offset
        assert own.leader_epoch == other.leader_epoch
    assert bool(own) == bool(other)


def test_records_of_the_first_formats_are_read() -> None:
    """Old topics hold batches of format 1, whose records have their own offsets."""
    builder = MemoryRecordsBuilder(1, 0, 1 << 20)
    for i in range(3):
        builder.append(1000 + i, None, b"%d" % i)
    builder.close()
    own = fetched(FetchedRecords, bytes(builder.buffer()), 1, [])
    assert own.take(5) == [Record(*AT, i, 1000 + i, None, b"%d" % i) for i in (1, 2)]
    assert own.next_fetch_offset == 3


@pytest.mark.parametrize("place", [21, 61, -1])
def test_a_damaged_batch_is_refused(place: int) -> None:
    """A byte that is not as it was sent fails the checksum."""
    data = bytearray(batch("plain", [(1, 5, None, b"value", [])], 0, False, -1))
    data[place] ^= 1
    with pytest.raises(CorruptRecordError):
        fetched(FetchedRecords, bytes(data), 0, []).take(1)


@pytest.mark.parametrize("value", [b"\xff" * 12, b"\x00" * 5 + b"\x02\x03\xff\x7f", b"", None])
def test_a_batch_that_does_not_read_back_is_refused(value: bytes | None) -> None:
    """A checksum that is right does not make records of any bytes, or of more than them (None)."""
    data = bytearray(batch("plain", [(1, 5, None, b"x" * 40, [])], 0, False, -1))
    data[61:] = data[61:] + b"\0" if value is None else value
    data[8:12] = struct.pack(">i", len(data) - 12)
    data[17:21] = struct.pack(">I", calc_crc32c(memoryview(bytes(data))[21:]))
    with pytest.raises(CorruptRecordError):
        fetched(FetchedRecords, bytes(data), 0, []).take(1)
