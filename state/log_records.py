"""RocksDB's logs, read record by record: the write-ahead log and the manifest.

Blocks of 32 KiB; in each, records of checksum (4 bytes), length (2), type (1) and text. Types 1 to
4 are a whole record, or the first, a middle and the last piece of one; 0 is space not yet written.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

BLOCK_BYTES: Final = 32_768
HEADER_BYTES: Final = 7
RECYCLED: Final = frozenset({5, 6, 7, 8, 11})
"""Types of records in files that are used again, which is never asked for here."""


def log_text(data: bytes) -> bytes:
    """Return a log's content, without the headers between its pieces."""
    return b"".join(data[begin:end] for _, begin, end in _records(data))


def has_recycled(path: Path) -> bool:
    """Whether a log has a record of an impossible type.

    The RocksDB of rocksdict 0.3.29 reads on from such a record without end: one changed bit of a
    type, and opening the database never returns.
    """
    if not path.stat().st_size:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return any(kind in RECYCLED for kind, _, _ in _records(data))


def has_false_end(path: Path) -> bool:
    """Whether the last record claims missing bytes, against its checksum.

    RocksDB takes such a record for one that a crash cut off, and opens the database without it:
    one changed bit of a length, and what the manifest said last of one column family is forgotten.
    Of a record that was cut off the checksum fits no part.
    """
    with path.open("rb") as file:
        # In other blocks the database takes such a record for damage.
        file.seek(max(path.stat().st_size - 1, 0) // BLOCK_BYTES * BLOCK_BYTES)
        data = file.read()
    for _, begin, end in _records(data):
        at = begin - HEADER_BYTES
        if begin + int.from_bytes(data[at + 4 : at + 6], "little") > len(data):
            expected = _unmasked(int.from_bytes(data[at : at + 4], "little"))
            return expected in _checksums(data[at + 6 : end])
    return False


def _unmasked(checksum: int) -> int:
    """Return the CRC-32C that RocksDB writes rotated, with a constant added."""
    rotated = (checksum - 0xA282EAD8) & 0xFFFFFFFF
    return ((rotated >> 17) | (rotated << 15)) & 0xFFFFFFFF


def _checksums(data: bytes) -> Iterator[int]:
    """Yield the CRC-32C of each beginning of some bytes."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
        yield crc ^ 0xFFFFFFFF


def _records(data: bytes | mmap.mmap) -> Iterator[tuple[int, int, int]]:
    """Yield each piece's type, begin and end, up to unwritten space."""
    for start in range(0, len(data), BLOCK_BYTES):
        at, stop = start, min(start + BLOCK_BYTES, len(data))
        while at + HEADER_BYTES <= stop and (kind := data[at + 6]):
            begin = at + HEADER_BYTES
            at = min(begin + int.from_bytes(data[at + 4 : at + 6], "little"), stop)
            yield kind, begin, at
