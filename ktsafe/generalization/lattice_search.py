"""A search in a lattice of levels: upwards from the coarsest settings, by neighbours."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

Levels = tuple[int, ...]
Merit = tuple[int, float]

STARTS_MAX = 64
"""Sets of attributes that are tried; of more, those with most and with fewest attributes."""


def starts(shape: Sequence[int], keep: Sequence[bool]) -> list[Levels]:
    """Return the coarsest setting of each set of attributes that is told, the largest set first.

    Parameters
    ----------
    shape:
        Levels of each attribute; it is left out where its level is that number.
    keep:
        Which attributes are told in any case.
    """
    free = [j for j, is_kept in enumerate(keep) if not is_kept]
    sizes: Iterator[int] = iter(range(len(free) + 1))
    if 2 ** len(free) > STARTS_MAX:
        sizes = iter((0, 1, len(free) - 1, len(free)))
    return [
        tuple(n if j in left_out else n - 1 for j, n in enumerate(shape))
        for size in sizes
        for left_out in itertools.combinations(free, size)
    ]


def climbed(
    shape: Sequence[int],
    begin: Sequence[Levels],
    keep: Sequence[bool],
    merit: Callable[[Levels], Merit],
) -> Levels:
    """Return a setting that no neighbour beats; a neighbour differs by one level of one attribute.

    The best of each number of attributes is climbed from, so that a set of attributes that begins
    badly is not lost for good.
    """
    best_of: dict[int, Levels] = {}
    for levels in begin:
        n = sum(level < size for level, size in zip(levels, shape, strict=True))
        if n not in best_of or merit(levels) > merit(best_of[n]):
            best_of[n] = levels
    tops = [_climbed(shape, levels, keep, merit) for levels in best_of.values()]
    return max(tops, key=merit)


def _climbed(
    shape: Sequence[int],
    levels: Levels,
    keep: Sequence[bool],
    merit: Callable[[Levels], Merit],
) -> Levels:
    while True:
        best = max((levels, *_neighbours(shape, levels, keep)), key=merit)
        if best == levels:
            return levels
        levels = best


def _neighbours(shape: Sequence[int], levels: Levels, keep: Sequence[bool]) -> Iterator[Levels]:
    for j, level in enumerate(levels):
        for near in (level - 1, level + 1):
            if 0 <= near <= shape[j] - keep[j]:
                yield (*levels[:j], near, *levels[j + 1 :])
