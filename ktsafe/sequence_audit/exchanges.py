"""Ties that were exchanged because a place was removed, told by the releases alone.

A removed place o that lost u and gained z, both of one class, exchanged a tie if some y of o's
class lost z and gained u: four vertices, each of which gained what it lost. Whoever visibly changes
by exchanges alone needs no cover. Four vertices that rotate under cover may look the same, which
does no harm: they are covered, and excused from nothing.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from ktsafe.sequence_audit.profiles import Structure


@dataclasses.dataclass(frozen=True, eq=False)
class Exchanges:
    """The exchanges of one release.

    Attributes
    ----------
    excused:
        int64: the vertices all of whose changed edges were exchanged, ascending.
    ties:
        How many edges of removed places were exchanged.
    """

    excused: NDArray[np.int64]
    ties: int


def exchanges_of(structure: Structure, removed: NDArray[np.int64]) -> Exchanges:
    """Find all exchanges at the removed places.

    Parameters
    ----------
    removed:
        int64: vertex numbers.
    """
    if not len(removed):
        return Exchanges(removed, 0)
    now, before = structure.tuple_now, structure.tuple_before
    gained, lost = _rows(structure.gained), _rows(structure.lost)
    used: tuple[set[int], set[int]] = (set(), set())
    ties = 0
    for o in removed.tolist():
        for u, lost_tie in lost[o].items():
            partners = 0
            for z, gained_tie in gained[o].items():
                if before[u] != now[z] or before[z] != now[u]:
                    continue
                for y in gained[u].keys() & lost[z].keys() - {o}:
                    if before[o] == now[y] and before[y] == now[o]:
                        used[0].update((gained_tie, gained[u][y]))
                        used[1].update((lost_tie, lost[z][y]))
                        partners += 1
            ties += partners > 0
    ends: tuple[set[int], set[int]] = (set(), set())
    for edges, rows in zip((structure.gained, structure.lost), used, strict=True):
        is_exchanged = np.isin(np.arange(len(edges)), sorted(rows))
        for flag in (False, True):
            ends[flag].update(edges[is_exchanged == flag].ravel().tolist())
    return Exchanges(np.array(sorted(ends[True] - ends[False]), dtype=np.int64), ties)


def _rows(edges: NDArray[np.int64]) -> defaultdict[int, dict[int, int]]:
    """Return for each vertex its neighbours among some edges, and the row of each edge."""
    rows: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for row, (u, v) in enumerate(edges.tolist()):
        rows[u][v] = row
        rows[v][u] = row
    return rows
