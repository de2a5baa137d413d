"""Sizes of the units of a wave, such that both sides have equally many members."""

from __future__ import annotations

from ktsafe.sequence.blocks import Frame
from ktsafe.sequence.state import State
from ktsafe.sequence.units import Unit, allowed_sizes

FILLERS_TRIED_MAX = 200
"""Cohorts that are looked at, for each class, as fillers."""

NEW = -1
"""Label of a filler that consists of vertices yet to be inserted."""

Choice = list[tuple[Unit, int]]


def balanced(
    state: State, frame: Frame, classes: tuple[int, int], sides: list[dict[int, Unit]]
) -> list[Choice]:
    """Return the units of each side with their sizes, fillers included, cheapest first.

    Two sides (of classes a and b) get equal totals; a single side (a = b) an even one.
    """
    totals = [_totals(state, frame, list(side.values())) for side in sides]
    none: dict[int, Unit | None] = {0: None}
    found = _least(totals, [none] * len(sides))
    fillers = [none] * len(sides)
    if found is None:
        taken = {label for side in sides for label in side}
        fillers = [none | _fillers(state, frame, cls, taken) for cls in classes[: len(sides)]]
        found = _least(totals, fillers)
    if found is None:
        m = frame.params.group_size_min
        top = max(max(part) for part in totals) + 2 * m
        fillers = [none | dict.fromkeys(range(m, top + 2), Unit(NEW, set()))] * len(sides)
        found = _least(totals, fillers)
    assert found is not None, "inserted vertices fill any gap"
    choices = []
    for part, options, (total, filler) in zip(totals, fillers, found, strict=True):
        choice = list(part[total])
        unit = options[filler]
        if unit is not None:
            choice.append((unit, filler))
        choices.append(choice)
    return choices


def _totals(state: State, frame: Frame, units: list[Unit]) -> dict[int, Choice]:
    """Return totals that the units can have, each with the sizes that make it."""
    fixed: Choice = []
    flexible: list[Unit] = []
    for unit in units:
        unit.sizes = allowed_sizes(state, frame, unit)
        fixed.append((unit, unit.sizes[0]))
        if len(unit.sizes) > 1:
            flexible.append(unit)
    least = sum(size for _, size in fixed)
    totals = {least: fixed}
    # Growing one unit, the most flexible, closes almost every gap.
    for unit in sorted(flexible, key=lambda unit: -len(unit.sizes))[:1]:
        for size in unit.sizes[1:]:
            grown = [(u, size if u is unit else s) for u, s in fixed]
            totals.setdefault(least + size - unit.sizes[0], grown)
    return totals


def _fillers(state: State, frame: Frame, cls: int, taken: set[int]) -> dict[int, Unit | None]:
    """Return cohorts of a class that may join a wave, by the size with which they do."""
    options: dict[int, Unit | None] = {}
    for label in sorted(state.cohorts_of[cls] - taken)[:FILLERS_TRIED_MAX]:
        unit = Unit(label, set())
        for size in allowed_sizes(state, frame, unit):
            options.setdefault(size, unit)
    return options


def _least(
    totals: list[dict[int, Choice]], fillers: list[dict[int, Unit | None]]
) -> list[tuple[int, int]] | None:
    """Return for each side a total and the size of its filler, of the least sum that fits."""
    sums = [
        {total + filler: (total, filler) for total in sorted(part) for filler in sorted(options)}
        for part, options in zip(totals, fillers, strict=True)
    ]
    if len(sums) == 1:
        fitting = [total for total in sums[0] if total % 2 == 0]
    else:
        fitting = [total for total in sums[0] if total in sums[1]]
    if not fitting:
        return None
    return [part[min(fitting)] for part in sums]
