"""Reads RocksDB's tables without RocksDB: an oracle for what is left on a disk.

Block-based tables of format 6, uncompressed or with LZ4. Every row of every data block is yielded.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

FOOTER_BYTES, TRAILER_BYTES = 53, 5
NONE, LZ4 = 0, 4
MAGIC = 0x88E241B785F4CFF7


def rows(path: Path) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys (sequence number and type cut off) and values of a table."""
    data = path.read_bytes()
    footer = data[-FOOTER_BYTES:]
    version, magic = struct.unpack("<IQ", footer[-12:])
    assert (version, magic) == (6, MAGIC), (version, hex(magic))
    (size,) = struct.unpack("<I", footer[13:17])
    meta = dict(_entries(_block(data, len(data) - FOOTER_BYTES - TRAILER_BYTES - size, size)))
    index = _block(data, *_handle(meta[b"rocksdb.index"])[:2])
    for handle in _index_handles(index):
        for key, value in _entries(_block(data, *handle)):
            yield key[:-8], value


def _block(data: bytes, offset: int, size: int) -> bytes:
    text, kind = data[offset : offset + size], data[offset + size]
    if kind == NONE:
        return text
    assert kind == LZ4, kind
    length, at = _varint(text, 0)
    return lz4(text[at:], length)


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    (n_restarts,) = struct.unpack("<I", block[-4:])
    end, at, key = len(block) - 4 - 4 * (n_restarts & 0x7FFFFFFF), 0, b""
    while at < end:
        shared, at = _varint(block, at)
        own, at = _varint(block, at)
        length, at = _varint(block, at)
        key = key[:shared] + block[at : at + own]
        yield key, block[at + own : at + own + length]
        at += own + length


def _index_handles(block: bytes) -> Iterator[tuple[int, int]]:
    """Yield offset and size of every data block; each entry of the index has both."""
    (n_restarts,) = struct.unpack("<I", block[-4:])
    end, at = len(block) - 4 - 4 * (n_restarts & 0x7FFFFFFF), 0
    while at < end:
        shared, at = _varint(block, at)
        own, at = _varint(block, at)
        assert shared == 0
        offset, size, at = _handle(block, at + own)
        yield offset, size


def _handle(data: bytes, at: int = 0) -> tuple[int, int, int]:
    offset, at = _varint(data, at)
    size, at = _varint(data, at)
    return offset, size, at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return value, at


def lz4(data: bytes, length: int) -> bytes:
    """Return what an LZ4 block holds."""
    out, at = bytearray(), 0
    while at < len(data):
        token, at = data[at], at + 1
        literals, at = _more(data, at, token >> 4)
        out += data[at : at + literals]
        at += literals
        if at >= len(data):
            break
        back = int.from_bytes(data[at : at + 2], "little")
        matched, at = _more(data, at + 2, token & 15)
        start = len(out) - back
        for i in range(matched + 4):  # What is copied may reach into its own copy.
            out.append(out[start + i])
    assert len(out) == length
    return bytes(out)


def _more(data: bytes, at: int, length: int) -> tuple[int, int]:
    if length == 15:
        while True:
            length += data[at]
            at += 1
            if data[at - 1] != 255:
                break
    return length, at
