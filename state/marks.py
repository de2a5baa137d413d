"""Kinds and directions of ties, and the pairs that count.

    mark = 3 * number of the kind + way

Kinds are numbered from 1 in the order in which they came, 0 is none. A way is 0 without direction,
1 from the smaller keyed hash to the greater, 2 back. Of a pair each mark comes and goes by itself.
What dumps differ in was counted before, and has the mark 0. Rows of tables have it, too, or their
way where both ways are asked for, and it is held how many of them say each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray


def way_of(source: bytes, target: bytes, *, is_directed: bool) -> int:
    """Return the way of a tie between two keyed hashes."""
    return 0 if not is_directed else 1 if source < target else 2


def mark_number(kind: str | None, way: int, kinds: dict[str, int]) -> int:
    """Return the number of a mark, also of a new kind."""
    return way if kind is None else 3 * kinds.setdefault(kind, len(kinds) + 1) + way


def mark_of_row(kind: str | None, way: int, ties: str | frozenset[str]) -> int | None:
    """Return the mark under which a row counts, if it does.

    Parameters
    ----------
    ties:
        As `Schema.ties`: any of them, both ways (or none), or one of some kinds.

    Examples
    --------
    >>> [mark_of_row("friend", 1, ties) for ties in ("any", "mutual", frozenset({"colleague"}))]
    [0, 1, None]
    """
    if isinstance(ties, frozenset):
        return 0 if kind in ties else None
    return way if ties == "mutual" else 0


def counting(
    present: Mapping[int, NDArray[np.int64]], kinds: Mapping[str, int], ties: str | frozenset[str]
) -> NDArray[np.int64]:
    """Return the codes of pairs that are ties, ascending.

    Parameters
    ----------
    present:
        By mark, the codes of the pairs that have it, ascending.

    Examples
    --------
    >>> present = {4: np.array([3, 5, 9]), 5: np.array([5, 7]), 6: np.array([11])}
    >>> kinds = {"follows": 1, "friend": 2}
    >>> counting(present, kinds, "mutual").tolist()
    [5, 11]
    >>> counting(present, kinds, frozenset({"follows"})).tolist()
    [3, 5, 7, 9]
    """
    if ties == "mutual":
        undirected, one, other = (
            _either([codes for mark, codes in present.items() if mark % 3 == way])
            for way in range(3)
        )
        both = np.sort(np.concatenate((one, other)), kind="stable")
        return _either([undirected, both[1:][both[1:] == both[:-1]]])
    asked = {number for kind, number in kinds.items() if kind in ties}
    counted = [m for m in present if not m or ties == "any" or m // 3 in asked]
    return _either([present[mark] for mark in counted])


def _either(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Return the codes that are in one of some ascending arrays."""
    some = [codes for codes in parts if len(codes)]
    if len(some) < 2:
        return some[0] if some else np.zeros(0, dtype=np.int64)
    codes = np.sort(np.concatenate(some), kind="stable")  # Runs that ascend are merged.
    is_first = np.ones(len(codes), dtype=np.bool_)
    is_first[1:] = codes[1:] != codes[:-1]
    return codes[is_first]
