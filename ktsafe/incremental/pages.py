"""What the next release depends on as named pages of bytes, and back.

`meta` is JSON: format, categories and counters. Every other page is a stretch of one array,
little-endian, so that what did not change need not be written again. The index is written too: it
could be made anew from the rest, but ties of the search are decided by the order in it.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping

import numpy as np

from ktsafe.errors import KtsafeError
from ktsafe.graph import AttributedGraph, Schema
from ktsafe.incremental.carrying import Release
from ktsafe.index.table import LocationTable, similarity_rule
from ktsafe.index.upkeep import from_bytes, to_bytes
from ktsafe.params import PrivacyParams

META = "meta"
VERSION = 1
BYTES_PER_PAGE = 1 << 16
ARRAYS = {"codes": "<i4", "keys": "<i8", "ties": "<i4", "inserted": "<i4"}
INDEX = "index"


class ReleaseCorrupted(KtsafeError):
    """The pages of the last release are not what was saved."""


@dataclasses.dataclass(frozen=True, eq=False)
class Memory:
    """The last release, its index if there is one, and cost and size when made afresh last."""

    last: Release
    table: LocationTable | None
    baseline: tuple[int, int]


def to_pages(memory: Memory) -> dict[str, bytes]:
    """Return all pages."""
    last = memory.last
    arrays = (last.graph.codes, last.keys, last.ties, last.inserted)
    streams = {
        name: np.ascontiguousarray(array, dtype=kind).tobytes()
        for (name, kind), array in zip(ARRAYS.items(), arrays, strict=True)
    }
    streams[INDEX] = b"" if memory.table is None else to_bytes(memory.table)
    meta = {
        "version": VERSION,
        "categories": last.graph.categories,
        "baseline": memory.baseline,
        "bytes": {name: len(stream) for name, stream in streams.items()},
    }
    pages = {META: json.dumps(meta, sort_keys=True).encode()}
    for name, stream in streams.items():
        for page, start in enumerate(range(0, len(stream), BYTES_PER_PAGE)):
            pages[f"{name}/{page:06}"] = stream[start : start + BYTES_PER_PAGE]
    return pages


def from_pages(pages: Mapping[str, bytes], schema: Schema, params: PrivacyParams) -> Memory:
    """Return what was saved.

    Raises
    ------
    ReleaseCorrupted
        If pages are missing or do not fit each other.
    """
    try:
        meta = json.loads(pages[META])
        if meta["version"] != VERSION:
            raise ValueError
        streams = {name: _stream(pages, name, size) for name, size in meta["bytes"].items()}
        codes, keys, ties, inserted = (
            np.frombuffer(streams[name], dtype=kind).astype(kind[1:])
            for name, kind in ARRAYS.items()
        )
        ties, inserted = ties.reshape(-1, 2), inserted.reshape(-1, 2)
        graph = AttributedGraph.from_codes(
            schema, meta["categories"], codes, np.concatenate((ties, inserted))
        )
        cost, size = meta["baseline"]
        last = Release(graph, keys, ties, inserted)
        return Memory(last, _table(last, params, streams[INDEX]), (cost, size))
    except (KeyError, ValueError, TypeError, IndexError, KtsafeError) as error:
        raise ReleaseCorrupted(
            "The saved state of the last release is damaged.",
            hint="Restore it from a backup, or begin a new sequence.",
        ) from error


def _stream(pages: Mapping[str, bytes], name: str, size: int) -> bytes:
    stream = b"".join(pages[f"{name}/{page:06}"] for page in range(-(-size // BYTES_PER_PAGE)))
    if len(stream) != size:
        raise ValueError
    return stream


def _table(last: Release, params: PrivacyParams, saved: bytes) -> LocationTable | None:
    if not saved:
        return None
    working = last.working()
    return from_bytes(saved, working, similarity_rule(working.space, params))
