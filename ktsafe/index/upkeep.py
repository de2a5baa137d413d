"""The location table follows its graph: vertices that are not where the table has them move."""

from __future__ import annotations

import numpy as np

from ktsafe.index import _upkeep_core as core
from ktsafe.index.table import LocationTable
from ktsafe.working.graph import WorkingGraph


def refresh(table: LocationTable, working: WorkingGraph) -> None:
    """Move every vertex that is not where the table has it; all counts become exact.

    Parameters
    ----------
    working:
        The graph of the table, with other edges and more inserted vertices than when it was made.
        Nobody is sensitive who was not.

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
    core.refresh(g, table.arrays, table.rule)
