"""The location table: who is similar to whom, counted once per distinct neighbourhood.

A location is a distinct (class, degree, closed histogram). All vertices at one location have the
same protection set, so the table stores counts, not pairs; a vertex that moves touches only the
locations of its class within reach of its degree. This is the index that decides, inside the
mechanism, which vertices are safe. The release is judged by `ktsafe.verify`, which shares nothing
with this module.

It plays the part of the paper's kt-tree (Section on the kt-tree index and pivots) for n = 1. The
paper's tree sorts vertices by quasi-identifier, then keeps in each node the range of distances to
pivots. A leaf of it holds all vertices of one quasi-identifier, so it prunes by that alone, as the
class of a location does here. Below the class this index is flat: degrees, which for stars decide
the graph edit distance, then blocks of at most `LANES` locations with boxes over the histograms,
made by median splits as in a kd-tree. Counts stand at locations, so a protection set is a number
that every move keeps up to date, and asking for it needs no search at all.

Pivots that accept or reject a pair of locations by the triangle inequality are not here: nearly
every location of a true graph would have to be one (ADR 5), so that distances to pivots cost what
comparing the pairs does, sixteen at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.index import _similar_core as index_core
from ktsafe.index import _table_core as core
from ktsafe.neighborhoods import QuasiIdentifierSpace
from ktsafe.params import PrivacyParams
from ktsafe.working.graph import WorkingGraph


def similarity_rule(space: QuasiIdentifierSpace, params: PrivacyParams) -> core.Rule:
    """Return the similarity and safety conditions in whole numbers.

    For stars the graph edit distance is 2 |deg(v) - deg(u)|, hence the width epsilon // 2.
    """
    limits = np.array(
        [
            params.epsilon // 2,
            params.t.numerator,
            params.t.denominator,
            params.k,
            params.alpha.numerator,
            params.alpha.denominator,
            0,
            0,
        ],
        dtype=np.int64,
    )
    return core.Rule(space.offsets, limits)


def real_floors(working: WorkingGraph, rule: core.Rule) -> NDArray[np.int64]:
    """Return how many real vertices the real ones of each class should see: k, where there are k.

    The definition lets inserted vertices count towards k; an attacker who can tell them apart does
    not.
    """
    real = working.arrays.cls[: working.n_original]
    counts = np.bincount(real, minlength=working.space.n_classes)
    k = rule.limits[core.K]
    return np.where(counts >= k, k, 0).astype(np.int64)


class LocationTable:
    """Counts of all locations of a working graph, exact under single moves.

    Parameters
    ----------
    working:
        The graph; its vertices are all placed at the start.
    rule:
        From `similarity_rule`.
    degree_caps:
        int64, shape (classes,): greatest degree that a vertex of each class may take later.
    floors:
        From `real_floors`. None: inserted vertices count like real ones everywhere.
    """

    def __init__(
        self,
        working: WorkingGraph,
        rule: core.Rule,
        degree_caps: NDArray[np.int64],
        floors: NDArray[np.int64] | None = None,
    ) -> None:
        n, g = working.n, working.arrays
        caps = np.maximum(degree_caps, 0)
        np.maximum.at(caps, g.cls[:n], g.degree[:n].astype(np.int64))
        start = np.zeros(len(caps) + 1, dtype=np.int64)
        np.cumsum(caps + 1, out=start[1:])
        self.rule = rule
        self.n = n
        # A mover may open a new location before it leaves its old one.
        arrays = empty_arrays(n, n + 2, g.hist.shape[1], int(rule.offsets[-1]), start)
        self.arrays = arrays._replace(
            floor=np.zeros(len(caps), dtype=np.int64) if floors is None else floors,
            is_real=np.arange(n) < working.n_original,
        )
        core.fill(self.arrays, rule, g.cls[:n], g.degree[:n], g.hist[:n], g.is_sensitive[:n])

    def unsafe_vertices(self) -> NDArray[np.int32]:
        """Return the placed vertices that are not kt-safe, ascending."""
        found: NDArray[np.int32] = core.unsafe_vertices(self.arrays, self.rule, self.n)
        return found

    def short_of_real(self) -> NDArray[np.int32]:
        """Return the placed real vertices that see fewer real ones than they should, ascending."""
        found: NDArray[np.int32] = core.short_of_real(self.arrays, self.n)
        return found

    def safe_locations(self) -> NDArray[np.int32]:
        """Return the populated locations whose vertices are kt-safe."""
        t, limits = self.arrays, self.rule.limits
        safe = (t.population > 0) & (t.ps_size >= limits[core.K])
        safe &= t.ps_sensitive * limits[core.ALPHA_DEN] <= limits[core.ALPHA_NUM] * t.ps_size
        return np.flatnonzero(safe).astype(np.int32)

    def peel(
        self, working: WorkingGraph, order: NDArray[np.int32]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Lift vertices until the rest is safe, and sees enough real vertices, among itself.

        Returns
        -------
        too_few, too_sensitive: int32, ascending
            The vertices whose protection set was too small, and the sensitive ones that were too
            many where they are.
        """
        why = core.peel(self.arrays, self.rule, order, working.arrays.is_sensitive[: self.n])
        too_few = np.flatnonzero(why == core.TOO_FEW)
        return too_few.astype(np.int32), np.flatnonzero(why == core.TOO_SENSITIVE).astype(np.int32)

    def extend(self, more: int) -> None:
        """Make room for `more` further vertices, lifted for now."""
        t = self.arrays
        rows = len(t.cls)
        top = int(t.tops[index_core.FREE_ROWS])
        lacking = max(0, _blocks_max(rows + more, len(t.bucket_head)) - len(t.block_next))
        if lacking:
            lacking += len(t.block_next) // 2
            blocks = ("block_next", "block_count", "block_rows", "block_hist")
            boxes = ("block_low", "block_high")
            grown = {name: _grown(getattr(t, name), lacking) for name in blocks + boxes}
            t = t._replace(**grown)
        free = np.zeros(rows + more, dtype=np.int32)
        free[:more] = np.arange(rows, rows + more)
        free[more : more + top] = t.free[:top]
        t.tops[index_core.FREE_ROWS] += more
        self.n += more
        seen = ("ps_size", "ps_sensitive", "ps_real")
        counts = ("cls", "degree", "hist", "population", "sensitive", "real", *seen)
        self.arrays = t._replace(
            **{name: _grown(getattr(t, name), more) for name in counts},
            **{
                name: _grown(getattr(t, name), more, core.NONE)
                for name in ("hash_next", "cell", "of_vertex")
            },
            is_real=_grown(t.is_real, more),
            free=free,
            found=np.zeros((2, rows + more), dtype=np.int32),
            flags=np.zeros(rows + more, dtype=np.int8),
        )


def empty_arrays(
    n: int, rows: int, width: int, n_columns: int, bucket_start: NDArray[np.int64]
) -> core.Table:
    """Return a table of n lifted vertices.

    Parameters
    ----------
    n, rows:
        Vertices, and how many locations there may be.
    width, n_columns:
        Columns of a histogram row, and how many of them the definition judges.
    bucket_start:
        int64, shape (classes + 1,): first bucket of each class; one per degree.
    """
    zeros = np.zeros(rows, dtype=np.int32)
    buckets = int(bucket_start[-1])
    blocks = _blocks_max(rows, buckets)
    return core.Table(
        cls=zeros.copy(),
        degree=zeros.copy(),
        hist=np.zeros((rows, width), dtype=np.int32),
        population=zeros.copy(),
        sensitive=zeros.copy(),
        real=zeros.copy(),
        ps_size=zeros.copy(),
        ps_sensitive=zeros.copy(),
        ps_real=zeros.copy(),
        floor=np.zeros(len(bucket_start) - 1, dtype=np.int64),
        is_real=np.zeros(n, dtype=np.bool_),
        hash_head=np.full(1 << (2 * rows).bit_length(), core.NONE, dtype=np.int32),
        hash_next=np.full(rows, core.NONE, dtype=np.int32),
        cell=np.full(rows, core.NONE, dtype=np.int64),
        bucket_start=bucket_start,
        bucket_head=np.full(buckets, core.NONE, dtype=np.int32),
        block_next=np.full(blocks, core.NONE, dtype=np.int32),
        block_count=np.zeros(blocks, dtype=np.int32),
        block_rows=np.zeros((blocks, index_core.LANES), dtype=np.int32),
        block_hist=np.zeros((blocks, n_columns, index_core.LANES), dtype=np.int32),
        block_low=np.zeros((blocks, n_columns), dtype=np.int32),
        block_high=np.zeros((blocks, n_columns), dtype=np.int32),
        free=np.arange(rows - 1, -1, -1, dtype=np.int32),
        tops=np.array([rows, core.NONE, 0], dtype=np.int64),
        of_vertex=np.full(n, core.NONE, dtype=np.int32),
        marks=np.zeros(index_core.LANES, dtype=np.int32),
        total=np.zeros(index_core.LANES, dtype=np.int32),
        found=np.zeros((2, rows), dtype=np.int32),
        flags=np.zeros(rows, dtype=np.int8),
    )


def _grown(array: NDArray[Any], more: int, fill: int = 0) -> NDArray[Any]:
    """Return an array with `more` further rows."""
    tail = np.full((more, *array.shape[1:]), fill, dtype=array.dtype)
    return np.concatenate((array, tail))


def _blocks_max(rows: int, buckets: int) -> int:
    """Return how many blocks `rows` locations can take: all but the first of a bucket are full."""
    return rows // index_core.LANES + min(rows, buckets)
