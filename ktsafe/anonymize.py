"""One kt-safe release of one graph, at low cost (insertion of vertices and edges only)."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from ktsafe.cohort_search import Effort, Progress, cheapest_supergraph, copies_cost
from ktsafe.errors import Infeasible
from ktsafe.fallback import disjoint_copies
from ktsafe.graph import MISSING, AttributedGraph
from ktsafe.neighborhoods import QuasiIdentifierSpace
from ktsafe.params import PrivacyParams


@dataclasses.dataclass(frozen=True)
class AnonymizeOptions:
    """How to search; no option weakens the guarantee.

    Attributes
    ----------
    effort:
        How much search a lower cost is worth.
    """

    effort: Effort = "balanced"


@dataclasses.dataclass(frozen=True, eq=False)
class Anonymized:
    """A kt-safe graph and private figures about how it came to be.

    Attributes
    ----------
    graph:
        Vertices 0..n_original-1 are the originals in order with unchanged attributes; the rest
        are inserted.
    n_original:
        Number of original vertices.
    rounds:
        Rounds of settling, matching and inserting, over all searches.
    used_fallback:
        Whether the disjoint copies were cheaper, or the only way.
    """

    graph: AttributedGraph
    n_original: int
    rounds: int
    used_fallback: bool


def anonymize(
    graph: AttributedGraph,
    params: PrivacyParams,
    *,
    rng: np.random.Generator,
    options: AnonymizeOptions = AnonymizeOptions(),
    progress: Progress | None = None,
) -> Anonymized:
    """Return a kt-safe supergraph of `graph`.

    Rounds of: settle what is safe, give the others targets (`cohorts`), serve their wants among
    each other, by settled vertices, and by inserted ones (`matching`). If that neither ends nor
    beats them, disjoint copies (`fallback`) are released.

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
    progress:
        Called with the name of the phase and the fraction of the work that is done.

    Raises
    ------
    Infeasible
        If the vertices that must be inserted cannot be non-sensitive.
    """
    report = progress or (lambda _phase, _fraction: None)
    rounds, best = cheapest_supergraph(graph, params, options.effort, rng, report)
    used_fallback = best is None or best.cost > copies_cost(graph, params)
    if best is None or used_fallback:
        classes, edges = disjoint_copies(graph, params)
    else:
        classes, edges = best.arrays.cls[graph.n_vertices : best.n], best.inserted_edges
    released = _with_inserted(graph, classes, edges, rng)
    return Anonymized(released, graph.n_vertices, rounds, used_fallback)


def _with_inserted(
    graph: AttributedGraph,
    inserted: NDArray[np.int32],
    edges: NDArray[np.int32],
    rng: np.random.Generator,
) -> AttributedGraph:
    """Return `graph` plus inserted vertices of the given classes and inserted edges."""
    categories = graph.categories
    codes = graph.codes
    if len(inserted):
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
        rows = np.empty((len(inserted), codes.shape[1]), dtype=np.int32)
        rows[:, :-1] = QuasiIdentifierSpace.of_graph(graph).tuples[inserted]
        rows[:, -1] = rng.choice(allowed, size=len(inserted), p=weights / weights.sum())
        codes = np.concatenate((codes, rows))
    return AttributedGraph.from_codes(
        graph.schema, categories, codes, np.concatenate((graph.edges, edges))
    )
