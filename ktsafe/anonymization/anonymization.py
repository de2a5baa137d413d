"""One kt-safe release of one graph.

Prepared, planned by a strategy, and completed.
"""

from __future__ import annotations

import dataclasses
from concurrent.futures import Executor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ktsafe.anonymization.rare_classes import prepare
from ktsafe.anonymization.shown_values import of_purpose, orbits_of, places_of_values, with_inserted
from ktsafe.anonymization.strategies import (
    DEFAULTS,
    AnonymizeOptions,
    Progress,
    Request,
    Strategy,
    Values,
    check_strategy,
    is_own,
    strategy_named,
)
from ktsafe.errors import NotKTSafe
from ktsafe.graph import AttributedGraph
from ktsafe.params import PrivacyParams

__all__ = [
    "AnonymizeOptions",
    "Anonymized",
    "anonymize",
    "anonymize_in_order",
    "anonymize_unverified",
]


@dataclasses.dataclass(frozen=True, eq=False)
class Anonymized:
    """A released graph and, privately, its mapping and how it was made.

    Attributes
    ----------
    graph:
        The released graph, its vertices in random order. All else is private.
    origin:
        int32, shape (released vertices,): the original vertex behind each, -1 for an inserted
        one. Original vertices that it does not name are withheld. It alone maps the release to
        people.
    n_original:
        Number of original vertices, withheld ones included.
    shift:
        int32, shape (released vertices,): an automorphism that certifies the release
        (`ktsafe_lab.verify_hops.certificate`), as private as `origin`. None: there is none.
    value_at:
        int64, shape (released vertices,): the vertex that shows the sensitive value of each, as
        private as `origin`. None: each shows its own.
    """

    graph: AttributedGraph
    origin: NDArray[np.int32]
    n_original: int
    shift: NDArray[np.int32] | None = None
    value_at: NDArray[np.int64] | None = None

    @property
    def values(self) -> Values:
        """Whether sensitive values are exchanged, or each vertex shows its own."""
        return "in place" if self.value_at is None else "exchanged"


def anonymize(
    graph: AttributedGraph,
    params: PrivacyParams,
    *,
    rng: np.random.Generator,
    options: AnonymizeOptions = DEFAULTS,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Anonymized:
    """Return a kt-safe release of `graph`.

    Vertices of the release stand in random order, inserted ones among the others, so no
    position identifies a person. A release of a strategy that is not ours is returned only if
    the strict verifier passes it.

    Parameters
    ----------
    graph:
        The true graph.
    params:
        The guarantee.
    rng:
        The only randomness: the same graph, parameters, options and seed give the same release.
    options:
        How to search.
    executor:
        Runs parts of the work, if given; the release is the same without. None: all work is done
        in the calling thread.
    progress:
        Called with the name of the phase and the fraction of the work that is done.

    Raises
    ------
    Infeasible
        If vertices that must be inserted cannot be non-sensitive, or values cannot be suppressed.
    InvalidParams
        If the options name no strategy.
    NotKTSafe
        If a strategy of an installed package made a release that the verifier does not pass.

    Examples
    --------
    >>> from ktsafe.graph.datasets.synthetic import uniform
    >>> graph = uniform(60, 90, n_tuples=2, rng=np.random.default_rng(1))
    >>> made = anonymize(graph, PrivacyParams(k=5), rng=np.random.default_rng(1))
    >>> sorted(made.origin[made.origin >= 0].tolist()) == list(range(60))
    True
    """
    request = Request(graph, params, rng, options, executor)
    if progress is not None:
        request = dataclasses.replace(request, report=progress)
    made = anonymize_unverified(request)
    if not is_own(options.strategy):
        _raise_if_unsafe(made, params, options.strategy)
    return made


def anonymize_unverified(request: Request, strategy: Strategy | None = None) -> Anonymized:
    """Return what a strategy makes, in random order and not verified.

    Benchmarks measure it.

    Parameters
    ----------
    request:
        What is asked for.
    strategy:
        Plans the release in place of the one that the options name.
    """
    made, rng = anonymize_in_order(request, strategy), request.rng
    order = rng.permutation(made.graph.n_vertices)
    position = np.argsort(order)
    shift = None if made.shift is None else position[made.shift[order]].astype(np.int32)
    value_at = None if made.value_at is None else position[made.value_at[order]]
    graph, origin = made.graph.subgraph(order), made.origin[order]
    return Anonymized(graph, origin, made.n_original, shift, value_at)


def anonymize_in_order(request: Request, strategy: Strategy | None = None) -> Anonymized:
    """Return a release before its order is drawn, to build upon.

    The original vertices come first, in their order, then the inserted ones: never to be published.
    It is not verified, and `strategy` is as in `anonymize_unverified`.
    """
    strategy = strategy or _strategy_of(request)
    ready = prepare(request.graph, request.params, request.options, request.rng)
    made, groups = _made(dataclasses.replace(request, graph=ready.graph), strategy)
    inserted = made.origin[len(ready.origin) :]
    origin = np.concatenate((ready.origin, inserted))
    made = dataclasses.replace(made, origin=origin, n_original=request.graph.n_vertices)
    if groups is None or request.options.values == "in place":
        return made
    return _with_exchanged(made, groups, request.rng)


def anonymize_everybody(request: Request, strategy: Strategy | None = None) -> Anonymized:
    """Return what `anonymize_in_order` does without withholding people or suppressing values.

    Not every strategy is safe then, and values stay in place.
    """
    return _made(request, strategy or _strategy_of(request))[0]


def _made(
    request: Request, strategy: Strategy
) -> tuple[Anonymized, NDArray[np.integer[Any]] | None]:
    """Return the release with values in place, and groups for exchanges.

    Groups are None if there are none.
    """
    plan, n = strategy(request), request.graph.n_vertices
    inserted = np.full(len(plan.inserted), -1, dtype=np.int32)
    made = Anonymized(
        graph=with_inserted(request.graph, plan, request.params, request.rng),
        origin=np.concatenate((np.arange(n, dtype=np.int32), inserted)),
        n_original=n,
        shift=plan.shift,
    )
    if plan.groups is None and plan.shift is not None:
        return made, orbits_of(plan.shift)
    return made, plan.groups


def _with_exchanged(
    made: Anonymized, groups: NDArray[np.integer[Any]], rng: np.random.Generator
) -> Anonymized:
    """Return the release with values exchanged within groups.

    Nothing else is drawn otherwise.
    """
    graph = made.graph
    value_at = places_of_values(groups, of_purpose(rng, "values"))
    codes = graph.codes.copy()
    codes[value_at, -1] = graph.codes[:, -1]
    graph = dataclasses.replace(graph, codes=codes)
    return dataclasses.replace(made, graph=graph, value_at=value_at)


def _strategy_of(request: Request) -> Strategy:
    """Return the strategy that the options name, checked against the parameters."""
    name = request.options.strategy
    found = strategy_named(name)
    check_strategy(name, request.params)
    return found


def _raise_if_unsafe(made: Anonymized, params: PrivacyParams, strategy: str) -> None:
    """Refuse a release that the strict verifier does not pass."""
    # The verifier loads slowly, and our own strategies do not need it here.
    from ktsafe.verify import verify_graph  # noqa: PLC0415

    verdict = verify_graph(made.graph, params, certificate=made.shift)
    if not verdict.is_safe:
        msg = f"Strategy {strategy!r} left {verdict.n_unsafe} vertices that are not kt-safe."
        raise NotKTSafe(msg, hint="Nothing was written. Take a strategy that is safe: exact.")
