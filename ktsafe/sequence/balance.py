"""Sizes of the units of a wave, such that both sides have equally many members."""

from __future__ import annotations

from ktsafe.sequence.blocks import Frame
from ktsafe.sequence.state import State
from ktsafe.sequence.units import Unit, allowed_sizes

FILLERS_MAX = 64
"""Cohorts of a class that are looked at as fillers."""

EXTRA_MAX = 3
"""Greatest multiple of m by which the heavier side may grow so that a filling is found."""

NEW = -1
"""Label of a filler that consists of vertices yet to be inserted."""

Choice = list[tuple[Unit, int]]
Reach = dict[int, Choice]
"""Sums of sizes, each with units that make it."""


def balanced(
    state: State, frame: Frame, classes: tuple[int, int], sides: list[dict[int, Unit]]
) -> list[Choice]:
    """Return the units of each side with their sizes, fillers included, of about the least sum.

    Two sides (of classes a and b) get equal totals; a single side (a = b) an even one.
    """
    totals = [_totals(state, frame, list(side.values())) for side in sides]
    found = _fitting(totals)
    if found is not None:
        return found
    taken = {label for side in sides for label in side}
    m = frame.params.group_size_min
    lightest = min(min(part) for part in totals)
    top = max(min(part) for part in totals) - lightest + EXTRA_MAX * m
    options = [_fillers(state, frame, cls, taken) for cls in classes[: len(sides)]]
    filled = [_plus(part, _reach(units, top)) for part, units in zip(totals, options, strict=True)]
    found = _fitting(filled)
    if found is not None:
        return found
    new = Unit(NEW, set())
    inserted: Reach = {0: [], **{size: [(new, size)] for size in range(m, top + 2 * m)}}
    found = _fitting([_plus(part, inserted) for part in totals])
    assert found is not None, "inserted vertices fill any gap"
    return found


def _totals(state: State, frame: Frame, units: list[Unit]) -> Reach:
    """Return totals that the units can have."""
    fixed: Choice = []
    for unit in units:
        unit.sizes = allowed_sizes(state, frame, unit)
        fixed.append((unit, unit.sizes[0]))
    least = sum(size for _, size in fixed)
    totals = {least: fixed}
    # Growing the most flexible unit closes almost every gap.
    flexible = max(units, key=lambda unit: len(unit.sizes))
    for size in flexible.sizes[1:]:
        grown = [(unit, size if unit is flexible else s) for unit, s in fixed]
        totals[least + size - flexible.sizes[0]] = grown
    return totals


def _fillers(state: State, frame: Frame, cls: int, taken: set[int]) -> list[Unit]:
    """Return cohorts of a class that may join a wave."""
    units = []
    for label in sorted(state.cohorts_of[cls] - taken)[:FILLERS_MAX]:
        unit = Unit(label, set())
        unit.sizes = allowed_sizes(state, frame, unit)
        units.append(unit)
    return units


def _reach(units: list[Unit], top: int) -> Reach:
    """Return the sums up to `top` that some of the units make, each unit at most once."""
    reach: Reach = {0: []}
    for unit in units:
        for total, choice in list(reach.items()):
            for size in unit.sizes:
                if total + size > top:
                    break
                if total + size not in reach:
                    reach[total + size] = [*choice, (unit, size)]
        if len(reach) == top + 1:
            break
    return reach


def _plus(totals: Reach, fillers: Reach) -> Reach:
    """Return the sums of one of each; of equal ones that with the least growth."""
    sums: Reach = {}
    for filler, choice in sorted(fillers.items()):
        for total, fixed in sorted(totals.items()):
            sums.setdefault(total + filler, fixed + choice)
    return sums


def _fitting(sums: list[Reach]) -> list[Choice] | None:
    """Return the least choice that fits: equal sums of two sides, an even one of a single side."""
    if len(sums) == 1:
        fitting = [total for total in sums[0] if total % 2 == 0]
    else:
        fitting = [total for total in sums[0] if total in sums[1]]
    return [part[min(fitting)] for part in sums] if fitting else None
