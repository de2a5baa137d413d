"""The registry of strategies: functions that plan one release, by name.

A strategy sees the graph that is to be released, with all its vertices, and plans which vertices
and edges the release has. What is done to people beforehand and to inserted vertices afterwards
is the same for all of them (`ktsafe.anonymization`).
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidParams
from ktsafe.graph import AttributedGraph
from ktsafe.options import DEFAULTS, AnonymizeOptions
from ktsafe.params import PrivacyParams

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
    """What a strategy wants to release: all vertices of its graph, and inserted ones.

    Attributes
    ----------
    inserted:
        int32, shape (i,): quasi-identifier class of each inserted vertex, one that occurs in the
        graph. Inserted vertices are numbered from n on.
    edges:
        int32, shape (m, 2): all edges of the release, original and inserted ones.
    shift:
        int32, shape (n + i,): the image of every vertex under an automorphism of the release,
        which certifies it (`ktsafe.verify.certificate`). None: there is no certificate.
    copied_from:
        int32, shape (i,): the original whose attributes, the sensitive one included, an inserted
        vertex has; -1 where it only has a class. None: nowhere.
    """

    inserted: NDArray[np.int32]
    edges: NDArray[np.int32]
    shift: NDArray[np.int32] | None = None
    copied_from: NDArray[np.int32] | None = None


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
    is_safe:
        Whether its releases are kt-safe by construction. Others are for comparison.
    any_reach:
        Whether it knows neighbourhoods of any radius and both readings, not stars alone.
    zero_hops:
        Whether it knows an attacker without neighbourhoods, beside stars.
    """

    module: str
    function: str
    summary: str
    is_safe: bool
    any_reach: bool = False
    zero_hops: bool = False


STRATEGIES: dict[str, Entry] = {
    "exact": Entry(
        "ktsafe.exact.exact_strategy",
        "exact",
        "cohorts whose members have equal neighbours, ties hidden and inserted alike",
        is_safe=True,
    ),
    "attribute": Entry(
        "ktsafe.by_attribute.attribute_strategy",
        "attribute",
        "cohorts whose members have equal neighbours attribute by attribute",
        is_safe=True,
    ),
    "tolerant": Entry(
        "ktsafe.tolerant.tolerant_strategy",
        "tolerant",
        "the paper's definition to the letter: edits undone as t and epsilon allow",
        is_safe=True,
    ),
    "aligned": Entry(
        "ktsafe.alignment.aligned_strategy",
        "aligned",
        "groups under one shift: safe for any number of hops and both readings",
        is_safe=True,
        any_reach=True,
    ),
    **{
        name: Entry(
            "ktsafe.paper.paper_strategies", function, summary, is_safe=False, zero_hops=zero_hops
        )
        for name, function, summary, zero_hops in (
            ("none", "none", "the paper's algorithm, not optimized, unsafe", True),
            ("pruning", "pruning", "the paper's, with pivots and kt-tree, unsafe", True),
            ("partition", "partition", "the paper's, divided by its cost model, unsafe", True),
            ("partition+pruning", "partition_pruning", "the paper's own choice, unsafe", True),
            ("kl-graph", "kl_graph", "the paper's competitor: equal degrees, unsafe", False),
        )
    },
}


def default_strategy(params: PrivacyParams) -> str:
    """Return the strategy that is taken where none is named: `exact` for stars, else `aligned`."""
    return "exact" if params.sees_stars else "aligned"


def check_strategy(name: str, params: PrivacyParams) -> None:
    """Refuse a strategy that does not exist or does not know neighbourhoods of these parameters.

    Raises
    ------
    InvalidParams
        If so.
    """
    entry = _entry(name)
    if not (entry.any_reach or params.sees_stars or (entry.zero_hops and params.n_hops == 0)):
        msg = f"Strategy {name!r} protects one hop in the walk reading only."
        able = ", ".join(other for other, found in STRATEGIES.items() if found.any_reach)
        raise InvalidParams(msg, hint=f"For other hops and the induced reading: {able}.")


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
    entry = STRATEGIES.get(name)
    if entry is None:
        msg = f"There is no strategy {name!r}."
        raise InvalidParams(msg, hint=f"There are {', '.join(STRATEGIES)}.")
    return entry
