"""What is taken out of the mechanism of sequences, to see what it brings.

A constant, a part, or an option at another value. Names of constants and parts are those of
`ktsafe.sequence`, such as `memory.turns.EARLY`; names without a dot are options of a sequence.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final
from unittest import mock

from ktsafe.anonymization.pair_program import solve
from ktsafe.sequence.memory.current_release import Current
from ktsafe.sequence.memory.sequence_tables import FALSE

Changed = Mapping[str, Any]


def _nothing(*_: object) -> None:
    """Do nothing."""


TIES: Final[dict[str, Changed]] = {
    "turns within .8 of the greatest age": {"memory.turns.EARLY": 1.0},
    "turns follow what changes": {"memory.turns.PACE": 0.0},
    "turns spread over cells": {"ties.planning._spread": lambda _, shown, *__: iter(shown)},
    "stale pairs first": {"ties.planning._staleness": lambda *_: 0.0},
    "bounds of totals": {"ties.pairs.LEAST": 0.0, "ties.pairs.MOST": 1e9},
    "as many edges more as are dark": {"ties.pairs.TURN": math.inf},
    "young ties gain more": {"ties.pairs.YOUNG": 0.0},
    "closeness counts twice": {"ties.pairs.CLOSENESS": 1.0},
    "part of a gain is drawn": {"ties.pairs.CHANCE": 0.0},
    "inserted edges always gain": {"ties.pairs.GAIN_MIN": -9.0},
    "least change before a pair is looked at": {"ties.planning.STALE_MIN": 0.0},
    "raises": {"ties.planning.STALE_MIN": 9.0},
    "raises where newcomers come": {
        "memory.current_release.Current.note_opened": Current.note_change
    },
    "longer search for raises": {
        "ties.pairs.solve": lambda program, rng, effort="": solve(program, rng=rng, effort="fast")
    },
    "exchanged ends": {"ties.planning.rewire_new_edges": _nothing},
    "cost at most 1": {"ties.planning._clear_least_true": _nothing},
    "edges that return": {"memory.state.State.remember_cleared": _nothing},
    "ended ties do not return": {"step.ENDED": FALSE},
}
"""By what it does: what plans ties."""

PEOPLE: Final[dict[str, Changed]] = {
    "two cohorts of newcomers": {"people.cohorts.COHORTS_MIN": 1},
    "one cohort in large classes": {"people.cohorts.SMALL_PART": 10**9},
    "new classes wait for likeness": {"people.cohorts._are_alike": lambda *_: True},
    "leaves of waiting people": {"people.cohorts._nodes": _nothing},
    "neither likeness nor leaves": {
        "people.cohorts._are_alike": lambda *_: True,
        "people.cohorts._nodes": _nothing,
        "people.cohorts._grow_tree": _nothing,
    },
    "greater margins for few ties": {"people.cohorts._halves": lambda *_: (None, None)},
    "newcomers of two slots": {"people.cohorts.SLOTS_MIN": 1},
    "groups move": {"step.move_groups": lambda _: set()},
    "sybil_margin = 0": {"sybil_margin": 0},
    "birth_wait_max = 2": {"birth_wait_max": 2},
    "birth_wait_max = 999": {"birth_wait_max": 999},
}
"""By what it does, or by option: what publishes people."""


@contextmanager
def changed(parts: Changed) -> Iterator[None]:
    """Change constants and parts of the mechanism for a while; options are left alone."""
    with ExitStack() as stack:
        for name, value in parts.items():
            if "." in name:
                stack.enter_context(mock.patch.object(*_owner(name), value))
        yield


def options_of(parts: Changed) -> dict[str, Any]:
    """Return the options among them."""
    return {name: value for name, value in parts.items() if "." not in name}


def _owner(name: str) -> tuple[Any, str]:
    """Return the module or class that has an attribute, and the attribute."""
    path, _, last = name.rpartition(".")
    module, _, inner = path.rpartition(".")
    if inner[:1].isupper():
        return getattr(importlib.import_module(f"ktsafe.sequence.{module}"), inner), last
    return importlib.import_module(f"ktsafe.sequence.{path}"), last
