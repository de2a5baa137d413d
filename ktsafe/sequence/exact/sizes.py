"""Sizes that parts of cohorts may have, and sums of such sizes."""

from __future__ import annotations

import dataclasses

SIZES_TRIED_MAX = 32
"""Sizes that a part of a large cohort may have, beginning with the least."""

EXTRA_MAX = 3
"""Greatest multiple of m by which the heavier side may grow so that a filling is found."""

NEW = -1
"""Label of a filler that consists of vertices yet to be inserted."""


@dataclasses.dataclass(slots=True)
class Unit:
    """Members of one cohort that move together.

    Attributes
    ----------
    label:
        Their cohort.
    wanted:
        Places that must be in the unit.
    sizes:
        Sizes the unit may have, ascending; the greatest may be the whole cohort.
    """

    label: int
    wanted: set[int]
    sizes: list[int] = dataclasses.field(default_factory=list)


Choice = list[tuple[Unit, int]]
Reach = dict[int, Choice]
"""Sums of sizes, each with units that make it."""


def reach(units: list[Unit], top: int) -> Reach:
    """Return the sums up to `top` that some of the units make, each unit at most once."""
    sums: Reach = {0: []}
    for unit in units:
        for total, choice in list(sums.items()):
            for size in unit.sizes:
                if total + size > top:
                    break
                if total + size not in sums:
                    sums[total + size] = [*choice, (unit, size)]
        if len(sums) == top + 1:
            break
    return sums


def plus(totals: Reach, fillers: Reach) -> Reach:
    """Return the sums of one of each; of equal ones that with the least growth."""
    sums: Reach = {}
    for filler, choice in sorted(fillers.items()):
        for total, fixed in sorted(totals.items()):
            sums.setdefault(total + filler, fixed + choice)
    return sums


def fitting(sums: list[Reach]) -> list[Choice] | None:
    """Return the least choice that fits: equal sums of two sides, an even one of a single side."""
    if len(sums) == 1:
        totals = [total for total in sums[0] if total % 2 == 0]
    else:
        totals = [total for total in sums[0] if total in sums[1]]
    return [part[min(totals)] for part in sums] if totals else None
