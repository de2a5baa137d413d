"""What changed in the true graph between two snapshots, as the mechanism wants it.

Two snapshots of one running store number vertices and codes alike, so they are compared position by
position: one pass over arrays, and work for what differs. After a restart the
mechanism's own memory of the truth stands in for the former snapshot.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ktsafe.graph.edges import edge_ends, edge_keys, renumbered
from ktsafe.sequence import Changes
from ktsafe.state.snapshot import GraphArrays, lower, upper

Numbers: TypeAlias = NDArray[np.int64]


def changes_since(old: GraphArrays, new: GraphArrays) -> Changes:
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
    # Numbers are never given back to the arrays' end.
    return np.concatenate((values, np.full(size - len(values), -1, dtype=np.int64)))


def _recoded(old: GraphArrays, new: GraphArrays) -> NDArray[np.bool_]:
    differs = np.ones(len(new.lives), dtype=np.bool_)
    differs[: len(old.lives)] = (old.codes != new.codes[: len(old.lives)]).any(axis=1)
    return differs


def _texts(arrays: GraphArrays, numbers: NDArray[np.intp]) -> list[tuple[str, ...]]:
    return [
        tuple(texts[code] for texts, code in zip(arrays.categories, codes, strict=True))
        for codes in arrays.codes[numbers].tolist()
    ]


def _ties(
    old: GraphArrays, new: GraphArrays, before: Numbers, moved: NDArray[np.bool_]
) -> tuple[Numbers, Numbers]:
    """Return the ties, as pairs of lives, that are gone, and those that came.

    A tie of somebody who moved may be among both.
    """
    either = np.concatenate((old.edges, new.edges))
    either.sort(kind="stable")  # Two ascending runs are merged.
    is_one = np.ones(len(either), dtype=np.bool_)
    differs = either[1:] != either[:-1]
    is_one[1:] &= differs
    is_one[:-1] &= differs
    ones = either[is_one]
    return _pairs(old, ones, moved, before), _pairs(new, ones, moved, new.lives)


def _pairs(arrays: GraphArrays, ones: Numbers, moved: NDArray[np.bool_], lives: Numbers) -> Numbers:
    """Return the ties of a graph that are among some, or of somebody who moved."""
    edges = arrays.edges
    at = edges.searchsorted(ones)
    chosen = np.zeros(len(edges), dtype=np.bool_)
    if len(edges):
        chosen[at[edges.take(at, mode="clip") == ones]] = True
    if moved.any():
        chosen |= moved[lower(edges)] | moved[upper(edges)]
    ends = np.column_stack((lower(edges[chosen]), upper(edges[chosen])))
    return edge_ends(np.sort(edge_keys(renumbered(lives, ends))))


def _without(ties: Numbers, others: Numbers) -> Numbers:
    gone = set(map(tuple, others.tolist()))
    kept = [tie for tie in ties.tolist() if tuple(tie) not in gone]
    return np.array(kept, dtype=np.int64).reshape(-1, 2)
