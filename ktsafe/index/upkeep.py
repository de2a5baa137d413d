"""The location table as an index that lasts: carried over from release to release, kept as bytes.

It plays the part of the paper's kt-tree (Section on the kt-tree index and pivots) for n = 1. The
paper's tree sorts vertices by quasi-identifier, then keeps in each node the range of distances to
pivots. A leaf of it holds all vertices of one quasi-identifier, so it prunes by that alone, as the
class of a location does here. Below the class this index is flat: degrees, which for stars decide
the graph edit distance, then blocks of at most `LANES` locations with boxes over the histograms,
made by median splits as in a kd-tree. Counts stand at locations, so a protection set is a number
that every move keeps up to date, and asking for it needs no search at all.

Pivots that accept or reject a pair of locations by the triangle inequality are not here: nearly
every location of a true graph would have to be one (decision 5), so that distances to pivots cost
what comparing the pairs does, sixteen at a time.

Between two releases only what changed is touched: vertices get new numbers (`renumber`), and those
that are not where the table has them move (`refresh`). Everything else is as it was.
"""

from __future__ import annotations

import dataclasses
import io
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.index import _similar_core as index_core
from ktsafe.index import _table_core as core
from ktsafe.index import _upkeep_core as upkeep
from ktsafe.index.table import LocationTable, empty_arrays
from ktsafe.working.graph import WorkingGraph

FORMAT = 2
"""Version of the bytes; others are refused."""


@dataclasses.dataclass(frozen=True, slots=True)
class Upkeep:
    """What it took to bring an index up to date, in locations.

    Attributes
    ----------
    kept:
        Locations that stayed, with counts that only moves past them changed.
    computed:
        Locations that were opened, each compared with all others within reach.
    """

    kept: int
    computed: int

    def __add__(self, other: Upkeep) -> Upkeep:
        """Return both, one after the other: what was opened first is kept by the second."""
        return Upkeep(self.kept, self.computed + other.computed)


def n_locations(table: LocationTable) -> int:
    """Return how many locations there are."""
    return len(table.arrays.cls) - int(table.arrays.tops[index_core.FREE_ROWS])


def lift(
    table: LocationTable, vertices: NDArray[np.int32], was_sensitive: NDArray[np.bool_]
) -> None:
    """Take vertices out, before their sensitivity changes or they are gone.

    Parameters
    ----------
    vertices:
        int32, shape (r,); those that are out already stay out.
    was_sensitive:
        bool, shape (r,): whether the table counts them as sensitive.
    """
    upkeep.lift_all(table.arrays, table.rule, vertices, was_sensitive)


def renumber(table: LocationTable, origin: NDArray[np.int32], n_real: int) -> None:
    """Give the vertices new numbers: v is the former `origin[v]`, or new where that is negative.

    The first `n_real` are real. Former vertices that `origin` does not name must have been lifted,
    and those that are real no longer.
    """
    n, at = len(origin), table.arrays.of_vertex
    # Vertices and one mover need a row each, at worst; `extend` counts on that.
    lacking = n + 2 - len(table.arrays.cls)
    if lacking > 0:
        table.extend(lacking)
    moved = np.where(origin >= 0, at[np.maximum(origin, 0)], core.NONE) if len(at) else origin
    table.n = n
    is_real = np.arange(n) < n_real
    table.arrays = table.arrays._replace(of_vertex=moved.astype(np.int32), is_real=is_real)


def refresh(table: LocationTable, working: WorkingGraph) -> tuple[Upkeep, NDArray[np.bool_]]:
    """Move every vertex that is not where the table has it; all counts become exact.

    Returns what it took, and which vertices moved: bool, shape (n,).

    Raises
    ------
    ValueError
        If a degree exceeds what the table was made for. Nothing has changed then; make a new one.

    Complexity
    ----------
    One comparison per vertex; for those that moved two scans of the locations of their class
    within reach of their degree.
    """
    g, n = working.arrays, working.n
    if (g.degree[:n] >= np.diff(table.arrays.bucket_start)[g.cls[:n]]).any():
        msg = "A degree exceeds the index's capacity."
        raise ValueError(msg)
    if n > table.n:
        table.extend(n - table.n)
    before = n_locations(table)
    is_moved = np.zeros(n, dtype=np.bool_)
    _, opened = upkeep.refresh(g, table.arrays, table.rule, is_moved)
    return Upkeep(min(before, n_locations(table) - opened), opened), is_moved


def copied(table: LocationTable) -> LocationTable:
    """Return a table that changes by itself.

    Of the blocks only those in use are copied: there is room for many more, which the system
    provides once it is written to.
    """
    t = table.arrays
    used = int(t.tops[index_core.BLOCKS_USED])
    arrays = core.Table._make(
        _with_room(array, used) if name.startswith("block_") else array.copy()
        for name, array in t._asdict().items()
    )
    return _table(table.rule, table.n, arrays)


def _with_room(array: NDArray[Any], used: int) -> NDArray[Any]:
    """Return a copy of the first rows, with zeros in place of the others."""
    room = np.zeros(array.shape, dtype=array.dtype)
    room[:used] = array[:used]
    return room


def to_bytes(table: LocationTable) -> bytes:
    """Return what of the index its graph does not tell, as bytes that `from_bytes` reads.

    That is where each vertex is and in which order locations stand, since ties are decided by it.
    All vertices must be placed where they are.
    """
    t = table.arrays
    order = np.zeros(n_locations(table), dtype=np.int32)
    upkeep.in_block_order(t, order)
    buffer = io.BytesIO()
    np.savez(
        buffer,
        header=np.array([FORMAT, len(t.cls)], dtype=np.int64),
        bucket_start=t.bucket_start,
        of_vertex=t.of_vertex[: table.n],
        order=order,
        free=t.free[: int(t.tops[index_core.FREE_ROWS])],
    )
    return buffer.getvalue()


def from_bytes(data: bytes, working: WorkingGraph, rule: core.Rule) -> LocationTable:
    """Return the index that `to_bytes` wrote, of the graph that it had then.

    It goes on exactly as the one that was saved.

    Raises
    ------
    ValueError
        If the bytes are no index of this format, or of another graph.
    """
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as file:
            stored = {name: file[name] for name in file.files}
        version, rows = (int(x) for x in stored.pop("header"))
    except (KeyError, OSError, EOFError, ValueError, zipfile.BadZipFile) as error:
        msg = "These bytes are no location index."
        raise ValueError(msg) from error
    if version != FORMAT:
        msg = f"The location index has format {version}, and {FORMAT} is read here."
        raise ValueError(msg)
    n, start = working.n, stored["bucket_start"]
    arrays = empty_arrays(n, rows, working.arrays.hist.shape[1], int(rule.offsets[-1]), start)
    arrays.is_real[: working.n_original] = True
    fits = len(stored["of_vertex"]) == n and len(start) == working.space.n_classes + 1
    if not fits or not upkeep.restore(
        working.arrays, arrays, rule, stored["of_vertex"], stored["order"], stored["free"]
    ):
        msg = "The location index is of another graph."
        raise ValueError(msg)
    return _table(rule, n, arrays)


def _table(rule: core.Rule, n: int, arrays: core.Table) -> LocationTable:
    table = LocationTable.__new__(LocationTable)
    table.rule, table.n, table.arrays = rule, n, arrays
    return table
