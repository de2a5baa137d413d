"""The location table: who is similar to whom, counted once per distinct neighbourhood.

A location is a distinct (class, degree, closed histogram). All vertices at one location have the
same protection set, so the table stores counts, not pairs; a vertex that moves touches only the
locations of its class within reach of its degree. This is the index that decides, inside the
mechanism, which vertices are safe. The release is judged by `ktsafe.verify`, which shares nothing
with this module.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe import _locations_core as core
from ktsafe.neighborhoods import QuasiIdentifierSpace
from ktsafe.params import PrivacyParams
from ktsafe.working import WorkingGraph


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
        ],
        dtype=np.int64,
    )
    return core.Rule(space.offsets, limits)


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
    """

    def __init__(
        self, working: WorkingGraph, rule: core.Rule, degree_caps: NDArray[np.int64]
    ) -> None:
        n, g = working.n, working.arrays
        caps = np.maximum(degree_caps, 0)
        np.maximum.at(caps, g.cls[:n], g.degree[:n].astype(np.int64))
        start = np.zeros(len(caps) + 1, dtype=np.int64)
        np.cumsum(caps + 1, out=start[1:])
        rows = n + 2  # a mover may open a new location before it leaves its old one
        zeros = np.zeros(rows, dtype=np.int32)
        self.rule = rule
        self.n = n
        self.arrays = core.Table(
            cls=zeros.copy(),
            degree=zeros.copy(),
            hist=np.zeros((rows, g.hist.shape[1]), dtype=np.int32),
            population=zeros.copy(),
            sensitive=zeros.copy(),
            ps_size=zeros.copy(),
            ps_sensitive=zeros.copy(),
            hash_head=np.full(1 << (2 * rows).bit_length(), core.NONE, dtype=np.int32),
            hash_next=np.full(rows, core.NONE, dtype=np.int32),
            bucket_start=start,
            bucket_head=np.full(int(start[-1]), core.NONE, dtype=np.int32),
            bucket_next=np.full(rows, core.NONE, dtype=np.int32),
            bucket_prev=np.full(rows, core.NONE, dtype=np.int32),
            free=np.arange(rows - 1, -1, -1, dtype=np.int32),
            free_top=np.array([rows], dtype=np.int64),
            of_vertex=np.full(n, core.NONE, dtype=np.int32),
        )
        core.fill(self.arrays, rule, g.cls[:n], g.degree[:n], g.hist[:n], g.is_sensitive[:n])

    def unsafe_vertices(self) -> NDArray[np.int32]:
        """Return the placed vertices that are not kt-safe, ascending."""
        found: NDArray[np.int32] = core.unsafe_vertices(self.arrays, self.rule, self.n)
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
        """Lift vertices until the rest is safe among itself.

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

        def grown(array: NDArray[np.int32], fill: int = 0) -> NDArray[np.int32]:
            tail = np.full((more, *array.shape[1:]), fill, dtype=array.dtype)
            return np.concatenate((array, tail))

        free = np.zeros(rows + more, dtype=np.int32)
        free[:more] = np.arange(rows, rows + more)
        free[more : more + int(t.free_top[0])] = t.free[: int(t.free_top[0])]
        t.free_top[0] += more
        self.n += more
        self.arrays = t._replace(
            cls=grown(t.cls),
            degree=grown(t.degree),
            hist=grown(t.hist),
            population=grown(t.population),
            sensitive=grown(t.sensitive),
            ps_size=grown(t.ps_size),
            ps_sensitive=grown(t.ps_sensitive),
            hash_next=grown(t.hash_next, core.NONE),
            bucket_next=grown(t.bucket_next, core.NONE),
            bucket_prev=grown(t.bucket_prev, core.NONE),
            free=free,
            of_vertex=grown(t.of_vertex, core.NONE),
        )
