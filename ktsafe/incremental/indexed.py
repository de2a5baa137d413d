"""A working graph and the location index of its vertices, kept in step."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.cohorts.search import degree_caps
from ktsafe.index import _table_core as core
from ktsafe.index import upkeep as location_index
from ktsafe.index.table import LocationTable, real_floors
from ktsafe.index.upkeep import Upkeep
from ktsafe.working.graph import WorkingGraph

# An index mostly made of rows that nobody needs any more is made anew.
ROWS_PER_VERTEX_MAX = 4


class IndexedGraph:
    """Both, with what it took to keep them in step.

    Parameters
    ----------
    working:
        The graph.
    rule:
        From `ktsafe.index.table.similarity_rule`.
    table:
        The index as of an earlier state of the graph, its vertices numbered alike; None: it is
        made anew.
    """

    def __init__(
        self, working: WorkingGraph, rule: core.Rule, table: LocationTable | None = None
    ) -> None:
        self.working = working
        self.rule = rule
        self.upkeep = Upkeep(0, 0)
        self.is_moved = np.zeros(0, dtype=np.bool_)
        if table is not None and self._fits(table):
            table.arrays = table.arrays._replace(floor=real_floors(working, rule))
            self.table = table
            self.upkeep, self.is_moved = location_index.refresh(table, working)
        else:
            self._make()

    def refresh(self) -> None:
        """Bring the index up to date with the graph; made anew where degrees outgrow it."""
        if not self._fits(self.table):
            self._make()
            return
        upkeep, is_moved = location_index.refresh(self.table, self.working)
        self.upkeep += upkeep
        is_moved[: len(self.is_moved)] |= self.is_moved
        self.is_moved = is_moved

    def drop(self, is_dropped: NDArray[np.bool_]) -> None:
        """Take isolated inserted vertices away that are lifted already; later ones move up."""
        if is_dropped.any():
            self.working.remove_vertices(is_dropped)
            self.is_moved = self.is_moved[~is_dropped]
            kept = np.flatnonzero(~is_dropped).astype(np.int32)
            location_index.renumber(self.table, kept, self.working.n_original)

    def _fits(self, table: LocationTable) -> bool:
        has_room = np.diff(table.arrays.bucket_start) > degree_caps(self.working)
        return bool(has_room.all()) and len(table.arrays.cls) <= ROWS_PER_VERTEX_MAX * (
            self.working.n + 2
        )

    def _make(self) -> None:
        caps = degree_caps(self.working)
        self.table = LocationTable(
            self.working, self.rule, caps + caps // 2, real_floors(self.working, self.rule)
        )
        self.upkeep += Upkeep(0, location_index.n_locations(self.table))
        self.is_moved = np.ones(self.working.n, dtype=np.bool_)
