"""What changed in the true graph between two snapshots, as the mechanism wants it.

Two snapshots of one running store number vertices, codes and edge rows alike, so they are
compared position by position: one pass over arrays, and work for what differs. After a restart the
mechanism's own memory of the truth stands in for the former snapshot.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ktsafe.edges import edge_ends, edge_keys, renumbered
from ktsafe.sequence import Changes
from ktsafe.state.snapshot import FrozenArrays

Numbers: TypeAlias = NDArray[np.int64]


def changes_since(old: FrozenArrays, new: FrozenArrays) -> Changes:
    """Return what turns the graph of `old` into that of `new`, both of one lineage.

    Keys are lives; they and ties come in ascending order, so equal changes are equal arrays.
    """
    assert old.lineage is new.lineage
    before = _padded(old.lives, len(new.lives))
    now = new.lives
    moved = before != now
    joined = np.flatnonzero(moved & (now >= 0))
    changed = np.flatnonzero(~moved & (now >= 0) & _recoded(old, new))
    joined, changed = (numbers[np.argsort(now[numbers])] for numbers in (joined, changed))
    removed, added = _ties(old, new, before, moved)
    return Changes(
        joined=now[joined],
        joined_values=_texts(new, joined),
        left=np.sort(before[moved & (before >= 0)]),
        changed=now[changed],
        changed_values=_texts(new, changed),
        ties_added=_without(added, removed),
        ties_removed=_without(removed, added),
    )


def _padded(values: Numbers, size: int) -> Numbers:
    # Numbers of vertices and rows are never given back to the arrays' end.
    return np.concatenate((values, np.full(size - len(values), -1, dtype=np.int64)))


def _recoded(old: FrozenArrays, new: FrozenArrays) -> NDArray[np.bool_]:
    differs = np.ones(len(new.lives), dtype=np.bool_)
    differs[: len(old.lives)] = (old.codes != new.codes[: len(old.lives)]).any(axis=1)
    return differs


def _texts(arrays: FrozenArrays, numbers: NDArray[np.intp]) -> list[tuple[str, ...]]:
    return [
        tuple(texts[code] for texts, code in zip(arrays.categories, codes, strict=True))
        for codes in arrays.codes[numbers].tolist()
    ]


def _ties(
    old: FrozenArrays, new: FrozenArrays, before: Numbers, moved: NDArray[np.bool_]
) -> tuple[Numbers, Numbers]:
    """Return the ties, as pairs of lives, of all rows that differ: as they were, and as they are.

    A tie may be among both, where its row changed for nothing or another row took it over.
    """
    known = len(old.low)
    touched = np.ones(len(new.low), dtype=np.bool_)
    # A free row has ends -1: the last vertex stands in, at worst for nothing.
    touched[:known] = (
        (old.low != new.low[:known])
        | (old.high != new.high[:known])
        | (old.present != new.present[:known])
        | (moved[new.low[:known]] | moved[new.high[:known]] if len(moved) else False)
    )
    rows = np.flatnonzero(touched)
    return _pairs(old, rows[rows < known], before), _pairs(new, rows, new.lives)


def _pairs(arrays: FrozenArrays, rows: NDArray[np.intp], lives: Numbers) -> Numbers:
    rows = rows[arrays.present[rows]]
    ends = np.column_stack((arrays.low[rows], arrays.high[rows]))
    return edge_ends(np.sort(edge_keys(renumbered(lives, ends))))


def _without(ties: Numbers, others: Numbers) -> Numbers:
    gone = set(map(tuple, others.tolist()))
    kept = [tie for tie in ties.tolist() if tuple(tie) not in gone]
    return np.array(kept, dtype=np.int64).reshape(-1, 2)
