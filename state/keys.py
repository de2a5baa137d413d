"""Layouts of keys and values, one column family each.

Keys are big-endian, columns little-endian.

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
import struct
from collections.abc import Iterable
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
