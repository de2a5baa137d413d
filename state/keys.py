"""Layouts of keys and values, one column family each, and of logs.

Nothing drawn here may change without another `FORMAT` and a conversion in lab/convert. Keys are
big-endian, columns little-endian.

    people    <hash:16>     -> msgpack [id, up, down, {attribute: [mark, value]}, life]
    downs     <hash:16>     -> mark: of everybody who is remembered as deleted
    changes   <commit:u64>  -> msgpack: what a commit said of people and ties, in columns
    places    <page:u32>    -> msgpack: whose the numbers of a page are, and what people show
    ties      <first:u64>   -> the codes of a page of ties, ascending
    stamps    <first:u64>   -> the stamps of the same ties, in columns
              <mark:u32><first:u64> of ties with a kind or direction (`ktsafe.state.change_log`)
    meta      format | schema | counted | secret | progress
              origins | kinds | attributes | identity
              position/<origin:u32> -> msgpack [next_offset, time_us_max] or [..., passed]
    ledger    cut | count | erased | sequence/<n:u64> | release/<index:u64> -> JSON
              past/<n:u64>          -> zlib of msgpack [index of the first, [releases]]
              pages                 -> msgpack {name: <digest><index:u64>}
              coming                -> JSON
    pages     @<index:u64><name>    -> bytes, the mechanism's own
    rows      drawn in `ktsafe.state.rows`

A commit reads and writes the registers of the people it tells of, and puts what it says of ties
into `changes` without reading anything. A fold (`ktsafe.state.fold`) resolves `changes` into
`places`, `ties` and `stamps`.

Everybody is found by a keyed hash of the id. The id itself is in `people` and `places` while the
person exists: no key ever holds an id, and no value does once the person is deleted and folded.
A number is a place in the pages of `places`; numbers are dense and given anew after they are freed.
A life is a number that is never given again, one per person and existence: a person that is deleted
and comes back has another one.
The code of a tie is its lower number, its upper number and whether it is there, 31, 31 and 1 bits.
A mark is [time_us, origin, offset], the origin a position in `origins`.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

FORMAT: Final = 1
"""Version of everything drawn above; a store of another one is refused."""

META: Final = "meta"
PEOPLE: Final = "people"
DOWNS: Final = "downs"
CHANGES: Final = "changes"
PLACES: Final = "places"
TIES: Final = "ties"
STAMPS: Final = "stamps"
LEDGER: Final = "ledger"
PAGES: Final = "pages"
ROWS: Final = "rows"
FAMILIES: Final = (META, PEOPLE, DOWNS, CHANGES, PLACES, TIES, STAMPS, LEDGER, PAGES, ROWS)

META_FORMAT: Final = b"format"
META_SCHEMA: Final = b"schema"
META_SECRET: Final = b"secret"
META_ORIGINS: Final = b"origins"
META_ATTRIBUTES: Final = b"attributes"
META_IDENTITY: Final = b"identity"
META_PROGRESS: Final = b"progress"
META_KINDS: Final = b"kinds"
META_COUNTED: Final = b"counted"
META_POSITION: Final = b"position/"

PAGE_KEY: Final = struct.Struct(">I")
LONG_KEY: Final = struct.Struct(">Q")
"""Of a commit, and of the first tie of a page."""

NUMBER_MAX: Final = 2**31 - 1
"""Greatest vertex number: they are int32 wherever they are used."""

SECRET_BYTES: Final = 32
HASH_BYTES: Final = 16


class Hashes:
    """Keyed hashes of ids: they stand for people in the store.

    They have 16 bytes, so that no two people ever have the same.
    """

    def __init__(self, secret: bytes) -> None:
        # Copying is quicker than taking in the key again.
        self._begun = hashlib.blake2b(key=secret, digest_size=HASH_BYTES).copy

    def of(self, vertex_id: str) -> bytes:
        """Return the hash of an id."""
        return self.of_bytes(vertex_id.encode())

    def of_bytes(self, key: bytes) -> bytes:
        """Return the hash of a key."""
        hashed = self._begun()
        hashed.update(key)
        return hashed.digest()

    def of_many(self, ids: Iterable[str]) -> dict[str, bytes]:
        """Return the hash of each id; frequent ids cost little."""
        found = dict.fromkeys(ids, b"")
        begun = self._begun
        for vertex_id in found:
            hashed = begun()
            hashed.update(vertex_id.encode())
            found[vertex_id] = hashed.digest()
        return found


def position_key(origin: int) -> bytes:
    """Return the key of an origin's position."""
    return META_POSITION + PAGE_KEY.pack(origin)


# RocksDB's logs, read record by record: the write-ahead log and the manifest.
#
# Blocks of 32 KiB; in each, records of checksum (4 bytes), length (2), type (1) and text. Types 1
# to 4 are a whole record, or the first, a middle and the last piece of one; 0 is unwritten space.

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
