"""The location table of annealing: built from a working graph, and packed anew when it is full.

It counts what `ktsafe.index.table` counts, in a layout that is compared a whole degree at a time
(`_bands_core`). That pays where every vertex is tried thousands of times; it costs more to keep.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.index import _columns_core as core
from ktsafe.index._columns_core import Bands
from ktsafe.index._table_core import NONE, Rule
from ktsafe.index.table import real_floors
from ktsafe.working.graph import WorkingGraph

# How many neighbours more than anybody of its class has now a vertex may get.
GROWTH_MAX = 8


def bands_of(working: WorkingGraph, rule: Rule) -> Bands | None:
    """Return the table of all vertices; None where a neighbourhood is too large to compare.

    Parameters
    ----------
    working:
        The graph.
    rule:
        From `ktsafe.index.table.similarity_rule`.
    """
    n, g, n_classes = working.n, working.arrays, working.space.n_classes
    sizes = g.degree[:n] + 1
    caps = np.zeros(n_classes, dtype=np.int64)
    np.maximum.at(caps, g.cls[:n], sizes.astype(np.int64) + GROWTH_MAX)
    if caps.max(initial=0) > core.SIZE_MAX:
        return None
    first = np.zeros(n_classes + 1, dtype=np.int64)
    np.cumsum(caps + 1, out=first[1:])
    hist = np.ascontiguousarray(g.hist[:n, : working.space.n_columns])
    # One location per vertex at most, and one more while a vertex is under way.
    rows, zeros = n + 1, np.zeros(n + 1, dtype=np.int32)
    keyed = np.unique(np.column_stack((first[g.cls[:n]] + sizes, hist)), axis=0)[:, 0]
    room = _room(np.bincount(keyed, minlength=int(first[-1])))
    start, arena = _segments(room)
    bands = Bands(
        limits=rule.limits,
        offsets=rule.offsets,
        first=first,
        start=start,
        length=np.zeros_like(start),
        room=room,
        columns=np.zeros((hist.shape[1], arena), dtype=np.int32),
        holder=np.zeros(arena, dtype=np.int32),
        cls=zeros.copy(),
        size=zeros.copy(),
        hist=np.zeros((rows, hist.shape[1]), dtype=np.int32),
        population=zeros.copy(),
        sensitive=zeros.copy(),
        real=zeros.copy(),
        ps_size=zeros.copy(),
        ps_sensitive=zeros.copy(),
        ps_real=zeros.copy(),
        floor=real_floors(working, rule),
        is_real=np.arange(n) < working.n_original,
        cell=np.zeros(rows, dtype=np.int64),
        hash_head=np.full(1 << (2 * rows).bit_length(), NONE, dtype=np.int32),
        hash_next=np.full(rows, NONE, dtype=np.int32),
        free=np.arange(rows - 1, -1, -1, dtype=np.int32),
        tops=np.array([rows, room.sum(), room.max(initial=0)], dtype=np.int64),
        of_vertex=np.full(n, NONE, dtype=np.int32),
        was=zeros.copy(),
        will=zeros.copy(),
        total=zeros.copy(),
    )
    core.fill(bands, g.cls[:n], sizes, hist, g.is_sensitive[:n])
    return bands


def packed(bands: Bands) -> Bands:
    """Return the same table with its segments side by side again and room to grow."""
    at = np.flatnonzero(bands.population > 0)
    bucket = bands.first[bands.cls[at]] + bands.size[at]
    room = _room(bands.length)
    start, arena = _segments(room)
    old = bands.cell[at]
    new = start[bucket] + old - bands.start[bucket]
    columns = np.zeros((bands.columns.shape[0], arena), dtype=np.int32)
    columns[:, new] = bands.columns[:, old]
    holder = np.zeros(arena, dtype=np.int32)
    holder[new] = at
    bands.cell[at] = new
    bands.tops[core.USED] = room.sum()
    bands.tops[core.LONGEST] = room.max(initial=0)
    return bands._replace(start=start, room=room, columns=columns, holder=holder)


def _room(length: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the cells that a segment of some length gets."""
    return np.where(length > 0, length + length // 2 + 2, 0)


def _segments(room: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Return where each segment starts, and the cells of an arena in which they may grow."""
    start = np.cumsum(room) - room
    return start, int(room.sum() + room.sum() // 2 + 16 * room.max(initial=0)) + 4096
