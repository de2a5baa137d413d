"""The location table as an index that lasts: updated for changed vertices, kept as bytes.

It plays the part of the paper's kt-tree (Section on the kt-tree index and pivots) for n = 1. The
paper's tree sorts vertices by quasi-identifier, then keeps in each node the range of distances to
pivots. A leaf of it holds all vertices of one quasi-identifier, so it prunes by that alone, as the
class of a location does here. Below the class this index is flat: degrees, which for stars decide
the graph edit distance, then blocks of at most `LANES` locations with boxes over the histograms,
made by median splits as in a kd-tree. Counts stand at locations, so a protection set is a number
that every move keeps up to date, and asking for it needs no search at all.
"""

from __future__ import annotations

import io
import zipfile

import numpy as np
from numpy.typing import NDArray

from ktsafe import _location_index_core as index_core
from ktsafe import _locations_core as core
from ktsafe.locations import LocationTable

FORMAT = 2
"""Version of the bytes; others are refused."""

# What is used between two calls only.
SCRATCH = ("marks", "total", "found", "flags")
BLOCKS = ("block_next", "block_count", "block_rows", "block_hist", "block_low", "block_high")


def update(
    table: LocationTable,
    vertices: NDArray[np.int32],
    state: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]],
    was_sensitive: NDArray[np.bool_],
) -> None:
    """Move changed vertices to where they now are; all counts become exact.

    Parameters
    ----------
    table:
        The index.
    vertices:
        int32, shape (r,), distinct: whose class, neighbourhood or sensitivity changed, or who is
        not placed yet. Vertices beyond the table's are new.
    state:
        Class (r,), degree (r,), closed histogram (r, columns) and sensitivity (r,) of each, now.
    was_sensitive:
        bool, shape (r,): sensitivity of each when it was placed.

    Raises
    ------
    ValueError
        If a degree exceeds what the table was made for. Nothing has changed then; make a new one.

    Complexity
    ----------
    Per vertex two scans of the locations of its class within reach of its degree.
    """
    classes, degrees, hist, is_sensitive = state
    starts = table.arrays.bucket_start
    if (degrees >= np.diff(starts)[classes]).any():
        msg = "A degree exceeds the index's capacity."
        raise ValueError(msg)
    if len(vertices) and int(vertices.max()) >= table.n:
        table.extend(int(vertices.max()) + 1 - table.n)
    for v, was in zip(vertices, was_sensitive, strict=True):
        if table.arrays.of_vertex[v] != core.NONE:
            core.lift(table.arrays, table.rule, v, int(was))
    for i, v in enumerate(vertices):
        core.place(
            table.arrays, table.rule, v, classes[i], degrees[i], hist[i], int(is_sensitive[i])
        )


def to_bytes(table: LocationTable) -> bytes:
    """Return the index as bytes that `from_bytes` reads on any machine."""
    used = int(table.arrays.tops[index_core.BLOCKS_USED])
    arrays = {
        name: array[:used] if name in BLOCKS else array
        for name, array in table.arrays._asdict().items()
        if name not in SCRATCH
    }
    header = np.array([FORMAT, table.n, len(table.arrays.block_next)], dtype=np.int64)
    buffer = io.BytesIO()
    np.savez(buffer, header=header, offsets=table.rule.offsets, limits=table.rule.limits, **arrays)
    return buffer.getvalue()


def from_bytes(data: bytes) -> LocationTable:
    """Return the index that `to_bytes` wrote.

    Raises
    ------
    ValueError
        If the bytes are no index of this format.
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            stored = {name: file[name] for name in file.files}
        version, n, blocks = (int(x) for x in stored.pop("header"))
    except (KeyError, OSError, EOFError, ValueError, zipfile.BadZipFile) as error:
        msg = "These bytes are no location index."
        raise ValueError(msg) from error
    if version != FORMAT:
        msg = f"The location index has format {version}, and {FORMAT} is read here."
        raise ValueError(msg)
    rule = core.Rule(stored.pop("offsets"), stored.pop("limits"))
    rows = len(stored["cls"])
    for name in BLOCKS:
        room = np.zeros((blocks, *stored[name].shape[1:]), dtype=stored[name].dtype)
        room[: len(stored[name])] = stored[name]
        stored[name] = room
    table = LocationTable.__new__(LocationTable)
    table.rule, table.n = rule, n
    table.arrays = core.Table(
        **stored,
        marks=np.zeros(index_core.LANES, dtype=np.int32),
        total=np.zeros(index_core.LANES, dtype=np.int32),
        found=np.zeros((2, rows), dtype=np.int32),
        flags=np.zeros(rows, dtype=np.int8),
    )
    return table
