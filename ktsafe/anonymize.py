"""One kt-safe release of one graph: prepared, planned by a strategy, and completed."""

from __future__ import annotations

import dataclasses
from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import Infeasible
from ktsafe.graph import MISSING, AttributedGraph
from ktsafe.neighborhoods import QuasiIdentifierSpace
from ktsafe.options import AnonymizeOptions
from ktsafe.params import PrivacyParams
from ktsafe.strategies import Plan, Progress, check_strategy, strategy_named

__all__ = ["AnonymizeOptions", "Anonymized", "anonymize"]

DEFAULTS = AnonymizeOptions()


@dataclasses.dataclass(frozen=True, eq=False)
class Anonymized:
    """A released graph and private figures about how it came to be.

    Attributes
    ----------
    graph:
        The released graph.
    origin:
        int32, shape (released vertices,): the original vertex behind each, -1 for an inserted
        one. Original vertices that it does not name are withheld.
    n_original:
        Number of original vertices, withheld ones included.
    rounds:
        Rounds of the search.
    used_fallback:
        Whether disjoint copies were cheaper than what the search found, or the only way.
    shift:
        int32, shape (released vertices,): an automorphism that certifies the release
        (`ktsafe.certificate`), as private as `origin`. None: there is none.
    """

    graph: AttributedGraph
    origin: NDArray[np.int32]
    n_original: int
    rounds: int
    used_fallback: bool
    shift: NDArray[np.int32] | None = None


def anonymize(
    graph: AttributedGraph,
    params: PrivacyParams,
    *,
    rng: np.random.Generator,
    options: AnonymizeOptions = DEFAULTS,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Anonymized:
    """Return a release of `graph`; kt-safe unless the strategy is one that is for comparison.

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
        If the vertices that must be inserted cannot be non-sensitive.
    InvalidParams
        If the options name no strategy.
    """
    strategy = strategy_named(options.strategy)
    check_strategy(options.strategy, params)
    report = progress or (lambda _phase, _fraction: None)
    plan = strategy(graph, params, rng=rng, options=options, executor=executor, report=report)
    released = _planned(graph, plan, rng)
    origin = np.arange(released.n_vertices, dtype=np.int32)
    origin[graph.n_vertices :] = -1
    return Anonymized(
        released, origin, graph.n_vertices, plan.rounds, plan.used_fallback, plan.shift
    )


def _planned(graph: AttributedGraph, plan: Plan, rng: np.random.Generator) -> AttributedGraph:
    """Return the planned release; inserted vertices get sensitive attributes."""
    categories = graph.categories
    codes = graph.codes
    if len(plan.inserted):
        allowed = [
            code
            for code, text in enumerate(categories[-1])
            if text not in graph.schema.sensitive_values
        ]
        if not allowed:
            if MISSING in graph.schema.sensitive_values:
                msg = "Inserted vertices must be non-sensitive, but every value is sensitive."
                raise Infeasible(msg, hint=f"Do not declare {MISSING!r} sensitive.")
            categories = (*categories[:-1], (*categories[-1], MISSING))
            allowed = [len(categories[-1]) - 1]
        weights = 1 + np.bincount(codes[:, -1], minlength=len(categories[-1]))[allowed]
        rows = np.empty((len(plan.inserted), codes.shape[1]), dtype=np.int32)
        rows[:, :-1] = QuasiIdentifierSpace.of_graph(graph).tuples[plan.inserted]
        rows[:, -1] = rng.choice(allowed, size=len(rows), p=weights / weights.sum())
        if plan.copied_from is not None:
            copies = plan.copied_from >= 0
            rows[copies] = graph.codes[plan.copied_from[copies]]
        codes = np.concatenate((codes, rows))
    return AttributedGraph.from_codes(graph.schema, categories, codes, plan.edges)
