"""One kt-safe release of one graph, at low cost (insertion of vertices and edges only)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ktsafe.cohorts import choose_targets, dilute
from ktsafe.errors import Infeasible
from ktsafe.fallback import add_companions, disjoint_copies
from ktsafe.graph import MISSING, AttributedGraph
from ktsafe.locations import LocationTable, similarity_rule
from ktsafe.matching import absorb_leftovers, insert_for_leftovers, match_wants
from ktsafe.neighborhoods import QuasiIdentifierSpace
from ktsafe.params import PrivacyParams
from ktsafe.trimming import trim
from ktsafe.working import WorkingGraph

Effort = Literal["fast", "balanced", "thorough"]
Progress = Callable[[str, float], None]

# Rounds of the search, and rounds in all: what is left after the search gets companions.
SEARCH_ROUNDS_MAX = 12
ROUNDS_MAX = 24
EMPTY = np.zeros(0, dtype=np.int32)
SWAPS = {"fast": 0, "balanced": 100, "thorough": 1000}


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
        Rounds of settling, matching and inserting until all were safe.
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
    progress: Callable[[str, float], None] | None = None,
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
    rounds, working = _search(graph, params, rng, options.effort, report)
    m = params.group_size_min
    copies_cost = (m - 1) * (graph.n_vertices + graph.n_edges)
    if working is None or working.cost > copies_cost:
        classes, edges = disjoint_copies(graph, params)
        return Anonymized(
            _with_inserted(graph, classes, edges, rng), graph.n_vertices, rounds, True
        )
    report("done", 1.0)
    inserted = working.arrays.cls[graph.n_vertices : working.n]
    released = _with_inserted(graph, inserted, working.inserted_edges, rng)
    return Anonymized(released, graph.n_vertices, rounds, False)


def _search(
    graph: AttributedGraph,
    params: PrivacyParams,
    rng: np.random.Generator,
    effort: Effort,
    report: Progress,
) -> tuple[int, WorkingGraph | None]:
    """Insert until every vertex is safe; None where the rounds are spent before."""
    space = QuasiIdentifierSpace.of_graph(graph)
    rule = similarity_rule(space, params)
    working = WorkingGraph(graph, space)
    for round_ in range(ROUNDS_MAX):
        table = LocationTable(working, rule, _degree_caps(working))
        unsafe = table.unsafe_vertices()
        if not len(unsafe):
            trim(working, table, rng, passes_max=1 if effort == "fast" else 4)
            return round_, working
        report("anonymize", round_ / ROUNDS_MAX)
        if round_ >= SEARCH_ROUNDS_MAX:
            add_companions(working, table, unsafe, params)
            continue
        # Step 1: settle. What is safe without the others stays; the others are lifted.
        diluted = dilute(working, table, everywhere=round_ >= 2) if round_ else EMPTY
        lifted = table.peel(working, rng.permutation(working.n).astype(np.int32))
        # Step 2: targets.
        wants = choose_targets(
            working, table, lifted, diluted, params, rng, swaps_per_vertex=SWAPS[effort]
        )
        # Step 3: serve the wants.
        match_wants(working, wants, rng)
        absorb_leftovers(working, table, wants, rng, tries_max=200)
        insert_for_leftovers(working, table, wants, rng)
    return ROUNDS_MAX, None


def _degree_caps(working: WorkingGraph) -> NDArray[np.int64]:
    """Return a degree per class that a round can hardly exceed, and never may."""
    g, n = working.arrays, working.n
    caps = np.zeros(working.space.n_classes, dtype=np.int64)
    np.maximum.at(caps, g.cls[:n], g.degree[:n].astype(np.int64))
    return 2 * caps + 64


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
