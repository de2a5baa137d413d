"""Sizes of the units of a wave, such that both sides have equally many members."""

from __future__ import annotations

from ktsafe.sequence.exact.sizes import EXTRA_MAX, NEW, Choice, Reach, Unit, fitting, plus, reach
from ktsafe.sequence.memory.state import State
from ktsafe.sequence.people.blocks import Frame
from ktsafe.sequence.ties.units import allowed_sizes

FILLERS_MAX = 64
"""Cohorts of a class that are looked at as fillers."""


def balanced(
    state: State, frame: Frame, classes: tuple[int, int], sides: list[dict[int, Unit]]
) -> list[Choice]:
    """Return the units of each side with their sizes, fillers included, of about the least sum.

    Two sides (of classes a and b) get equal totals; a single side (a = b) an even one.
    """
    totals = [_totals(state, frame, list(side.values())) for side in sides]
    found = fitting(totals)
    if found is not None:
        return found
    taken = {label for side in sides for label in side}
    m = frame.params.group_size_min
    lightest = min(min(part) for part in totals)
    top = max(min(part) for part in totals) - lightest + EXTRA_MAX * m
    options = [_fillers(state, frame, cls, taken) for cls in classes[: len(sides)]]
    filled = [plus(part, reach(units, top)) for part, units in zip(totals, options, strict=True)]
    found = fitting(filled)
    if found is not None:
        return found
    new = Unit(NEW, set())
    inserted: Reach = {0: [], **{size: [(new, size)] for size in range(m, top + 2 * m)}}
    found = fitting([plus(part, inserted) for part in totals])
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
