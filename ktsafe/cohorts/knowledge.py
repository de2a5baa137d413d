"""`knowledge = true`: enough candidates for an attacker who knows the true neighbours exactly.

kt-safety compares released vertices with released ones. Whoever knows v's *true* neighbours looks
for released vertices whose neighbours include them, quasi-identifier tuple by tuple; under the
definition alone, members of a cohort may fall short of the largest true neighbourhood among them.
So with this knowledge the cohorts' targets contain, tuple by tuple, what each member truly has,
and everybody needs k such candidates inside the protection set, before and after trimming.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.cohorts import _knowledge_core as core
from ktsafe.index import _table_core as locations
from ktsafe.index.table import LocationTable
from ktsafe.polish.trimming import found_little
from ktsafe.working.graph import WorkingGraph


class KnownCandidates:
    """Judges a working graph by what its original vertices truly had at the start.

    Parameters
    ----------
    working:
        The graph before anything is inserted, with targets by tuple.
    """

    def __init__(self, working: WorkingGraph) -> None:
        columns = working.target_columns
        truth = working.arrays.hist[: working.n_original, columns]
        self._counts = np.ascontiguousarray(truth)
        self._first = np.array([columns.start], dtype=np.int64)

    def counts(self, table: LocationTable, limit: int | None = None) -> NDArray[np.int64]:
        """Count the candidates of every placed original; -1 for the others.

        From `limit` on, if given, counting may stop.
        """
        most = table.n + 1 if limit is None else limit
        counts: NDArray[np.int64]
        counts = core.known_of_all(table.arrays, table.rule, self._truth(table), most)
        return counts

    def short(self, table: LocationTable) -> NDArray[np.int32]:
        """Return the placed originals with fewer than k candidates among the placed vertices."""
        k = int(table.rule.limits[locations.K])
        known = self.counts(table, k)
        return np.flatnonzero((known >= 0) & (known < k)).astype(np.int32)

    def lift_short(self, working: WorkingGraph, table: LocationTable) -> NDArray[np.int32]:
        """Lift vertices until the placed ones have enough candidates and are safe; return them."""
        lifted: list[NDArray[np.int32]] = []
        while True:
            bad = np.union1d(self.short(table), table.unsafe_vertices()).astype(np.int32)
            if not len(bad):
                return np.concatenate([*lifted, bad])
            for v in bad:
                sensitive = int(working.arrays.is_sensitive[v])
                locations.lift(table.arrays, table.rule, v, sensitive)
            lifted.append(bad)

    def trim(
        self,
        working: WorkingGraph,
        table: LocationTable,
        rng: np.random.Generator,
        *,
        passes_max: int,
    ) -> None:
        """Withdraw insertions like `polish.trimming.trim`, while everybody keeps k candidates."""
        truth, g, n = self._truth(table), working.arrays, working.n
        known = core.known_of_all(table.arrays, table.rule, truth, n + 1)
        for _ in range(passes_max):
            order = rng.permutation(working.n_inserted_edges)
            taken = core.trim_known(g, table.arrays, table.rule, truth, known, order)
            if found_little(taken, len(order)):
                break
        is_dropped = np.zeros(n, dtype=np.bool_)
        core.drop_isolated(g, table.arrays, table.rule, truth, known, is_dropped)
        working.remove_vertices(is_dropped)

    def _truth(self, table: LocationTable) -> core.Truth:
        head = np.full(len(table.arrays.cls), locations.NONE, dtype=np.int32)
        after = np.full(len(self._counts), locations.NONE, dtype=np.int32)
        truth = core.Truth(self._counts, self._first, head, after)
        core.enter_all(table.arrays, truth)
        return truth
