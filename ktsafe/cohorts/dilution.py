"""Inserted vertices that dilute what is too sensitive: the other way beside moving people."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ktsafe.cohorts.grouping import HOPELESS_SHARE
from ktsafe.index import _table_core
from ktsafe.index.table import LocationTable
from ktsafe.working.graph import WorkingGraph


def dilute(working: WorkingGraph, table: LocationTable, *, everywhere: bool) -> NDArray[np.int32]:
    """Insert harmless vertices where protection sets are large enough but too sensitive.

    Unless `everywhere`, only in classes that are so sensitive as a whole that moving sensitive
    vertices to other cohorts is of no use.

    They are counted at the location at once; they still have to get there.
    """
    t, limits = table.arrays, table.rule.limits
    num, den = limits[_table_core.ALPHA_NUM], limits[_table_core.ALPHA_DEN]
    crowded = (t.population > 0) & (t.ps_size >= limits[_table_core.K])
    crowded &= t.ps_sensitive * den > t.ps_size * num
    if not everywhere:
        g, n_classes = working.arrays, working.space.n_classes
        n = np.bincount(g.cls, minlength=n_classes)
        sensitive = np.bincount(g.cls, g.is_sensitive, minlength=n_classes)
        crowded &= (sensitive > HOPELESS_SHARE * (num / den) * n)[t.cls]
    places: list[int] = []
    for at in np.flatnonzero(crowded):
        missing = int(_table_core.missing_harmless(t, table.rule, at))
        if missing:
            _table_core.shift(t, table.rule, at, missing, 0, 0)
            places += [int(at)] * missing
    at_places = np.array(places, dtype=np.int32)
    new = working.add_vertices(t.cls[at_places])
    table.extend(len(new))
    table.arrays.of_vertex[new] = at_places
    return new
