"""Ties that were exchanged because a place was removed, told by the releases alone.

A removed place o that lost u and gained z, both of one class, exchanged a tie if some y of o's
class lost z and gained u: four vertices, each of which gained what it lost. They visibly change by
themselves. Nothing else may: with these edges left aside every change must be covered.
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
    without:
        The structure as if exchanged edges had not changed.
    touched:
        int64: the vertices at their ends, ascending.
    ties:
        How many edges of removed places were exchanged.
    """

    without: Structure
    touched: NDArray[np.int64]
    ties: int


def exchanges_of(structure: Structure, removed: NDArray[np.int64]) -> Exchanges:
    """Find all exchanges at the removed places.

    Parameters
    ----------
    removed:
        int64: vertex numbers.
    """
    if not len(removed):
        return Exchanges(structure, removed, 0)
    now, before = structure.tuple_now, structure.tuple_before
    gained, lost = _rows(structure.gained), _rows(structure.lost)
    used: tuple[set[int], set[int]] = (set(), set())
    ties = 0
    for o in removed.tolist():
        for u, lost_tie in lost[o].items():
            is_exchanged = False
            for z, gained_tie in gained[o].items():
                if before[u] != now[z] or before[z] != now[u]:
                    continue
                for y in gained[u].keys() & lost[z].keys() - {o}:
                    if before[o] == now[y] and before[y] == now[o]:
                        used[0].update((gained_tie, gained[u][y]))
                        used[1].update((lost_tie, lost[z][y]))
                        is_exchanged = True
            ties += is_exchanged
    masks = [
        np.isin(np.arange(len(edges)), sorted(rows))
        for edges, rows in zip((structure.gained, structure.lost), used, strict=True)
    ]
    return Exchanges(
        dataclasses.replace(
            structure, gained=structure.gained[~masks[0]], lost=structure.lost[~masks[1]]
        ),
        np.unique(np.concatenate((structure.gained[masks[0]], structure.lost[masks[1]]))),
        ties,
    )


def _rows(edges: NDArray[np.int64]) -> defaultdict[int, dict[int, int]]:
    """Return for each vertex its neighbours among some edges, and the row of each edge."""
    rows: defaultdict[int, dict[int, int]] = defaultdict(dict)
    for row, (u, v) in enumerate(edges.tolist()):
        rows[u][v] = row
        rows[v][u] = row
    return rows
