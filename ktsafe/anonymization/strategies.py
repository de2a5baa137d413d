"""Options of a release, and the strategies that search for it."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, Final, Literal, Protocol, cast, get_args

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidParams
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams, found, offered

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
        How much search a better release is worth. For `exact` the two greater ones are the same.
    strategy:
        A name of `ktsafe.anonymization.strategies.strategy_names()`.
    aim:
        Of strategy `exact`: what is sought among safe releases. "balanced": between the people of
        any two values of an attribute there are about as many edges as ties. "f1": the greatest F1
        of ties. "cost": the fewest ties hidden and edges inserted. None costs more than to show no
        tie.
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
    strategy: str = "exact"
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


# The registry of strategies: functions that plan one release, by name.
#
# A strategy sees the graph that is to be released, with all its vertices, and plans which vertices
# and edges the release has. What is done to people beforehand and to inserted vertices afterwards
# is the same for all of them (`ktsafe.anonymization.anonymization`).
#
# Installed packages add strategies by entry points of the group `ktsafe.strategies`,
# each of which names an `Entry`. Such a strategy is never believed safe: `ktsafe.anonymize` returns
# its release only if the strict verifier passes it.

Progress = Callable[[str, float], None]


@dataclasses.dataclass(frozen=True, eq=False)
class Request:
    """What one release is asked for with.

    Attributes
    ----------
    graph:
        The true graph; for a strategy, as it is once rare people have been treated.
    params:
        The guarantee.
    rng:
        The only randomness.
    options:
        How to search.
    executor:
        Runs parts of the work side by side, if given; the plan is the same without.
    report:
        Takes the name of a phase and the fraction that is done.
    """

    graph: AttributedGraph
    params: PrivacyParams
    rng: np.random.Generator
    options: AnonymizeOptions = DEFAULTS
    executor: Executor | None = None
    report: Progress = lambda _phase, _fraction: None


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
    """What a strategy wants to release.

    All vertices of its graph, and inserted ones.

    Attributes
    ----------
    inserted:
        int32, shape (i,): quasi-identifier class of each inserted vertex, one that occurs in the
        graph. Inserted vertices are numbered from n on.
    edges:
        int32, shape (m, 2): all edges of the release, original and inserted ones.
    shift:
        int32, shape (n + i,): the image of every vertex under an automorphism of the release,
        which certifies it (`ktsafe_lab.verify_hops.certificate`). None: there is no certificate.
    copied_from:
        int32, shape (i,): the original whose attributes, the sensitive one included, an inserted
        vertex has; -1 where it only has a class. None: nowhere.
    groups:
        Integers, shape (n + i,): the group of each vertex within which sensitive values may be
        exchanged: every protection set is a union of groups. None: the orbits of `shift`, if there
        is one; else values stay in place.
    """

    inserted: NDArray[np.int32]
    edges: NDArray[np.int32]
    shift: NDArray[np.int32] | None = None
    copied_from: NDArray[np.int32] | None = None
    groups: NDArray[np.integer[Any]] | None = None


class Strategy(Protocol):
    """Plans one release."""

    def __call__(self, request: Request) -> Plan:
        """Return the plan of a release of the request's graph."""
        ...  # pragma: no cover


@dataclasses.dataclass(frozen=True)
class Entry:
    """A strategy of the registry.

    Attributes
    ----------
    module, function:
        Where it is; loaded when it is first asked for, since kernels load slowly.
    summary:
        What it does, in a few words for people.
    any_reach:
        Whether it knows neighbourhoods of any radius and both readings, not stars alone.
    zero_hops:
        Whether it knows an attacker without neighbourhoods, beside stars.
    """

    module: str
    function: str
    summary: str
    any_reach: bool = False
    zero_hops: bool = False


GROUP: Final = "ktsafe.strategies"
"""The group of entry points by which installed packages add strategies."""

STRATEGIES: Final[dict[str, Entry]] = {
    "exact": Entry(
        "ktsafe.anonymization.exact.exact_strategy",
        "exact",
        "cohorts whose members have equal neighbours, ties hidden and inserted alike",
    ),
}
"""Our own strategies, all of them safe by construction. No package can replace one."""


def strategy_names() -> list[str]:
    """Return the names of all strategies.

    Our own, then those of installed packages.
    """
    return [*STRATEGIES, *(name for name in offered(GROUP) if name not in STRATEGIES)]


def is_own(name: str) -> bool:
    """Return whether a strategy is one of ours, safe by construction."""
    return name in STRATEGIES


def default_strategy(params: PrivacyParams) -> str:
    """Return the strategy that is taken where none is named.

    `exact` for stars, else `aligned`.
    """
    return "exact" if params.sees_stars else "aligned"


def check_strategy(name: str, params: PrivacyParams) -> None:
    """Refuse a missing strategy, or one without these neighbourhoods.

    Raises
    ------
    InvalidParams
        If so.
    """
    entry = _entry(name)
    if not (entry.any_reach or params.sees_stars or (entry.zero_hops and params.n_hops == 0)):
        msg = f"Strategy {name!r} protects one hop in the walk reading only."
        hint = "For other hops and the induced reading: aligned, of the package ktsafe-lab."
        raise InvalidParams(msg, hint=hint)


def strategy_named(name: str) -> Strategy:
    """Return the strategy of a name.

    Raises
    ------
    InvalidParams
        If there is none of that name.
    """
    entry = _entry(name)
    return cast("Strategy", getattr(importlib.import_module(entry.module), entry.function))


def _entry(name: str) -> Entry:
    if name in STRATEGIES:
        return STRATEGIES[name]
    point = found(GROUP, name)
    if point is None:
        msg = f"There is no strategy {name!r}."
        hint = f"There is {', '.join(STRATEGIES)}; the package ktsafe-lab adds aligned and others."
        raise InvalidParams(msg, hint=hint)
    entry = point.load()
    if not isinstance(entry, Entry):
        msg = f"The strategy {name!r} of an installed package is invalid."
        raise InvalidParams(msg, hint=f"The entry point must name a {__name__}.Entry.")
    return entry
