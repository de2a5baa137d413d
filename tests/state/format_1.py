"""Writes a store in format 1, by its layout alone and with nothing of `state`.

    vertices   <number:u32>      -> msgpack [id, alias, up, down, {attribute: [mark, value]}]
    edges      <low:u32><high:u32> -> <present:u8><origin:u32><time_us:i64><offset:i64>
    meta       format | schema | secret | origins | attributes | identity | progress
               position/<origin:u32> -> msgpack [next_offset, time_us_max]
    ledger     cut | count | sequence/<n:u64> | release/<index:u64>       -> JSON

The progress was [commits, vertices, edges, commit of the cut], the count [sequences, releases].
"""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import msgspec
import rocksdict

SECRET = bytes(range(32))
RELEASE = {
    "index": 1,
    "release_id": "000001-19700101T000010Z",
    "sequence_id": "s1",
    "slot_us": 10,
    "offsets": {"t/0": 5},
    "files": {"manifest.json": "00"},
    "status": "published",
    "n_vertices": 2,
    "n_edges": 1,
}
PEOPLE = 25_000
"""Enough for several blocks of rows: the first and the third exist, the second left."""


def write(path: Path, schema_digest: str) -> None:
    """Write the store."""
    path.mkdir()
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.create_missing_column_families(True)
    families = dict.fromkeys(("meta", "vertices", "edges", "ledger"), options)
    database = rocksdict.Rdict(str(path / "db"), options, column_families=families)
    pack = msgspec.msgpack.encode
    vertices: dict[int, list[Any]] = {
        0: ["ann", None, [1, 0, 0], None, {0: [[1, 0, 0], "f"], 2: [[1, 0, 0], "flu"]}],
        1: [None, _alias("bob"), None, [4, 0, 3], {}],
        2: ["cyd", None, [3, 0, 2], [2, 0, 1], {1: [[3, 0, 2], "70"]}],
        **{n: [f"p{n}", None, [5, 0, n], None, {}] for n in range(3, PEOPLE)},
    }
    rows: dict[str, dict[bytes, bytes]] = {
        "vertices": {struct.pack(">I", n): pack(record) for n, record in vertices.items()},
        "edges": {
            struct.pack(">II", 0, 2): struct.pack(">BIqq", 1, 0, 6, 4),
            struct.pack(">II", 1, 2): struct.pack(">BIqq", 1, 0, 7, 5),
        },
        "meta": {
            b"format": b"1",
            b"schema": schema_digest.encode(),
            b"secret": SECRET,
            b"origins": json.dumps([["t", 0]]).encode(),
            b"attributes": json.dumps(["gender", "age", "illness"]).encode(),
            b"identity": b'{"t": "x"}',
            b"progress": pack([7, PEOPLE, 2, 7]),
            b"position/" + struct.pack(">I", 0): pack([5, 7]),
        },
        "ledger": {
            b"cut": json.dumps({"slot_us": 20, "offsets": {"t/0": 5}}).encode(),
            b"count": b"[1,1]",
            b"sequence/" + bytes(8): json.dumps(
                {"sequence_id": "s1", "inputs_digest": "d", "started_us": 1}
            ).encode(),
            b"release/" + (1).to_bytes(8, "big"): json.dumps(RELEASE).encode(),
        },
    }
    for name, entries in rows.items():
        family = database.get_column_family(name)
        for key, value in entries.items():
            family[key] = value
    del family
    database.close()
    (path / "STORE").write_text("1")


def _alias(name: str) -> bytes:
    return hashlib.blake2b(name.encode(), key=SECRET, digest_size=16).digest()
