"""What one release is asked for with: graph, guarantee, randomness, options."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Final, Literal, get_args

import numpy as np

from ktsafe.errors import InvalidParams
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams

MIN_F1: Final = 0.1
"""F1 of ties below which nobody should publish: the graph says next to nothing of its people."""

Effort = Literal["fast", "balanced", "thorough"]
Aim = Literal["balanced", "f1", "cost"]
Generalize = Literal["none", "auto"]
RareQi = Literal["withhold", "suppress"]
Values = Literal["exchanged", "in place"]
"""Of sensitive values: whether members of a cohort exchange them, or each shows its own."""


@dataclasses.dataclass(frozen=True)
class AnonymizeOptions:
    """How to search; no option weakens the guarantee.

    Attributes
    ----------
    effort:
        How much search a better release is worth. The two greater ones are the same.
    aim:
        What is sought among safe releases. "balanced": between the people of any two values of an
        attribute there are about as many edges as ties. "f1": the greatest F1 of ties. "cost": the
        fewest ties hidden and edges inserted. None costs more than to show no tie.
    rare_qi:
        What is done to the members of quasi-identifier classes of fewer than k: they are not
        published, or as many of their quasi-identifiers become missing as they need to share a
        class with k.
    values:
        Of the sensitive attribute: "exchanged": the members of each cohort exchange values, so a
        vertex shows that of a member drawn at random. "in place": each shows its own, and whoever
        knows the values of people's friends finds many people by them.
    """

    effort: Effort = "balanced"
    rare_qi: RareQi = "withhold"
    aim: Aim = "balanced"
    values: Values = "exchanged"

    def __post_init__(self) -> None:
        if self.aim not in get_args(Aim):
            msg = f"There is no aim {self.aim!r}."
            raise InvalidParams(msg, hint=f"There are {', '.join(get_args(Aim))}.")
        if self.values not in get_args(Values):
            msg = f"Values cannot be {self.values!r}."
            raise InvalidParams(msg, hint=f"They are {' or '.join(get_args(Values))}.")


DEFAULTS = AnonymizeOptions()

Progress = Callable[[str, float], None]


@dataclasses.dataclass(frozen=True, eq=False)
class Request:
    """What one release is asked for with.

    Attributes
    ----------
    graph:
        The true graph; for the search, as it is once rare people have been treated.
    params:
        The guarantee.
    rng:
        The only randomness.
    options:
        How to search.
    executor:
        Runs parts of the work side by side, if given; the release is the same without.
    report:
        Takes the name of a phase and the fraction that is done.
    """

    graph: AttributedGraph
    params: PrivacyParams
    rng: np.random.Generator
    options: AnonymizeOptions = DEFAULTS
    executor: Executor | None = None
    report: Progress = lambda _phase, _fraction: None
