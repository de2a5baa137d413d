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

from ktsafe import _knowledge_core as core
from ktsafe import _locations_core as locations
from ktsafe.locations import LocationTable
from ktsafe.working import WorkingGraph

WORK_MAX = 1_000_000_000
"""Comparisons of two vertices that one pass of trimming may take."""


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

    def short(self, working: WorkingGraph, table: LocationTable) -> NDArray[np.int32]:
        """Return the placed originals with fewer than k candidates among the placed vertices."""
        return self._short(working, table, self._runs(working))

    def lift_short(self, working: WorkingGraph, table: LocationTable) -> NDArray[np.int32]:
        """Lift vertices until the placed ones have enough candidates and are safe; return them."""
        runs = self._runs(working)
        lifted: list[NDArray[np.int32]] = []
        while True:
            short = self._short(working, table, runs)
            bad = np.union1d(short, table.unsafe_vertices()).astype(np.int32)
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
        """Withdraw insertions like `trimming.trim`, while everybody keeps k candidates."""
        truth, g, n = self._truth(working), working.arrays, working.n
        everybody = np.ones(n, dtype=np.bool_)
        runs = self._runs(working)
        known = core.known_by_runs(g, table.rule, truth, runs, everybody, n + 1)
        for _ in range(passes_max):
            order = rng.permutation(working.n_inserted_edges)
            taken = core.trim_known(g, table.arrays, table.rule, truth, known, order, WORK_MAX)
            if taken * 200 < len(order):
                break
        is_dropped = np.zeros(n, dtype=np.bool_)
        core.drop_isolated(g, table.arrays, table.rule, truth, known, is_dropped)
        working.remove_vertices(is_dropped)

    def _short(
        self, working: WorkingGraph, table: LocationTable, runs: core.Runs
    ) -> NDArray[np.int32]:
        rule, truth = table.rule, self._truth(working)
        is_placed = table.arrays.of_vertex[: working.n] != locations.NONE
        k = int(rule.limits[locations.K])
        known = core.known_by_runs(working.arrays, rule, truth, runs, is_placed, k)
        return np.flatnonzero((known >= 0) & (known < k)).astype(np.int32)

    def _runs(self, working: WorkingGraph) -> core.Runs:
        g, n = working.arrays, working.n
        order = np.lexsort((core.hashes(g, n), g.degree[:n], g.cls[:n]))
        runs: core.Runs = core.runs_of(g, order, working.space.n_classes)
        return runs

    def _truth(self, working: WorkingGraph) -> core.Truth:
        n, classes = working.n, working.arrays.cls[: working.n]
        n_classes = working.space.n_classes
        start = np.zeros(n_classes + 1, dtype=np.int64)
        np.cumsum(np.bincount(classes, minlength=n_classes), out=start[1:])
        return core.Truth(
            self._counts,
            self._first,
            start,
            np.argsort(classes[:n], kind="stable"),
            np.bincount(classes[: working.n_original], minlength=n_classes),
        )
