"""Key and value layouts, one column family each. Integers are big-endian.

    vertices   <number:u32>          -> msgpack [id, alias, up, down, {attribute: [mark, value]},
                                                 life]
    edges      <low:u32><high:u32>   -> <present:u8><origin:u32><time_us:i64><offset:i64>
    meta       format | schema | secret | origins | attributes | identity | progress
               position/<origin:u32> -> msgpack [next_offset, time_us_max] or [..., passed]
    ledger     cut | count | erased | sequence/<n:u64> | release/<index:u64> -> JSON
               past/<n:u64>          -> zlib of msgpack [index of the first, [releases]]
               pages                 -> msgpack {name: <digest><index:u64>}
               coming                -> JSON
    pages      @<index:u64><name>    -> bytes, the mechanism's own
    rows       drawn in `ktsafe.state.rows`; there once a row of a table came

While a vertex exists its record holds the person's id; else only the alias, a keyed hash of it. So
no key ever holds an id, and no value does once the person is deleted. Numbers are dense and given
anew after they are freed; a life is a number that is never given again, one per person and
existence: a person that is deleted and comes back has another one.
A mark is [time_us, origin, offset], the origin a position in `origins`.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Final

FORMAT: Final = 4
"""Version of everything drawn above; a store of another one is refused, but for `OLDEST`."""
OLDEST: Final = 2
"""Format 2 has no `past/`: its releases move there with the first one that follows. Before format
4 the key of a page is its name."""

META: Final = "meta"
VERTICES: Final = "vertices"
EDGES: Final = "edges"
LEDGER: Final = "ledger"
PAGES: Final = "pages"
ROWS: Final = "rows"
FAMILIES: Final = (META, VERTICES, EDGES, LEDGER, PAGES)

META_FORMAT: Final = b"format"
META_SCHEMA: Final = b"schema"
META_SECRET: Final = b"secret"
META_ORIGINS: Final = b"origins"
META_ATTRIBUTES: Final = b"attributes"
META_IDENTITY: Final = b"identity"
META_PROGRESS: Final = b"progress"
META_POSITION: Final = b"position/"

VERTEX_KEY: Final = struct.Struct(">I")
EDGE_KEY: Final = struct.Struct(">Q")
EDGE_VALUE: Final = struct.Struct(">BIqq")
EDGE_VALUE_DTYPE: Final = [("present", "u1"), ("origin", ">u4"), ("time", ">i8"), ("offset", ">i8")]
"""The same layout as `EDGE_VALUE`, for reading many at once."""

NUMBER_MAX: Final = 2**31 - 1
"""Greatest vertex number: they are int32 wherever they are used."""

SECRET_BYTES: Final = 32
HASH_BYTES: Final = 16


def keyed_hash(secret: bytes, vertex_id: str) -> bytes:
    """Return the keyed hash under which an absent person is remembered."""
    return hashlib.blake2b(vertex_id.encode(), key=secret, digest_size=HASH_BYTES).digest()


def edge_key(a: int, b: int) -> int:
    """Return the key of the undirected edge {a, b} as an integer, the smaller number above."""
    return a << 32 | b if a < b else b << 32 | a


def position_key(origin: int) -> bytes:
    """Return the key of an origin's position."""
    return META_POSITION + VERTEX_KEY.pack(origin)
