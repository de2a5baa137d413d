"""The cheapest release with insertions only, or with deleted edges where they save more.

A cohort is held up by the largest of its members: all others need edges until they are as large.
If that one loses an edge, all others need one less. So the largest vertices are cut down to a
middle one of those beside whom they would stand, the search runs on what is left, and annealing
of single edges decides in the end which deletions pay (ADR 0006).
"""

from __future__ import annotations

import dataclasses
from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray

from ktsafe.cohorts import _deletion_core as core
from ktsafe.cohorts.search import cheapest_supergraph, copies_cost
from ktsafe.graph import AttributedGraph, edge_keys
from ktsafe.index.table import LocationTable, similarity_rule
from ktsafe.neighborhoods import QuasiIdentifierSpace
from ktsafe.options import AnonymizeOptions, Effort
from ktsafe.params import PrivacyParams
from ktsafe.polish.annealing import INSERT_ONLY, WITH_DELETION, Schedule, anneal
from ktsafe.strategies import Progress
from ktsafe.working.graph import WorkingGraph

# Which member of a group decides how many neighbours the others keep, as a share of the group.
RANK = 0.5


@dataclasses.dataclass(frozen=True)
class Budget:
    """What an effort may spend on annealing: trials per edit, and trials in all."""

    trials_per_edit: int
    trials_max: int

    def trials(self, working: WorkingGraph) -> int:
        """Return how often edges of `working` may be tried."""
        return min(self.trials_max, self.trials_per_edit * working.cost)


BUDGETS: dict[Effort, Budget] = {
    "fast": Budget(0, 0),
    "balanced": Budget(150, 1_000_000),
    "thorough": Budget(3_000, 16_000_000),
}


def cheapest_release(
    graph: AttributedGraph,
    params: PrivacyParams,
    rng: np.random.Generator,
    options: AnonymizeOptions,
    report: Progress,
    executor: Executor | None = None,
) -> tuple[int, WorkingGraph | None]:
    """Search with the edits that the options allow; return the rounds and the cheapest result.

    The release with insertions only is found first, from the same random numbers whatever is
    allowed. Deletion starts from there, or from the thinned graph where that is cheaper so far,
    and the cheaper end counts: deletion never costs more. The result is None where no search
    ended.
    """
    deletes = options.edits == "insert+delete"
    parts = 4 if deletes else 2
    rounds, best = cheapest_supergraph(
        graph,
        params,
        options.effort,
        rng,
        _part(report, 0, parts),
        executor=executor,
    )
    own_rng, thin_rng, deletion_rng = rng.spawn(3)
    if best is None:
        report("anonymize", 1.0)
        return rounds, best
    searched = best.cost
    _anneal(best, params, own_rng, options, INSERT_ONLY, _part(report, 1, parts))
    # Beyond copies another strategy takes over, the same with either kind of edits.
    if deletes and best.cost <= copies_cost(graph, params):
        spent, working = _thinned_search(
            graph, params, thin_rng, options, _part(report, 2, parts), executor
        )
        rounds += spent
        if working is None or working.cost > searched:
            working = best
        # In place: a working graph that is dearer afterwards stays as it was.
        _anneal(working, params, deletion_rng, options, WITH_DELETION, _part(report, 3, parts))
        best = min(best, working, key=lambda candidate: candidate.cost)
    report("anonymize", 1.0)
    return rounds, best


def thinned(
    graph: AttributedGraph, params: PrivacyParams, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Return which edges are kept when unsafe vertices are cut down to the size of others.

    The unsafe vertices of each class are grouped by degree, m = max(k, ceil(1 / alpha)) in a
    group. Those above the middle one lose edges until they are not, to each other if possible.
    """
    space = QuasiIdentifierSpace.of_graph(graph)
    working = WorkingGraph(graph, space)
    caps = np.zeros(space.n_classes, dtype=np.int64)
    table = LocationTable(working, similarity_rule(space, params), caps)
    unsafe, _ = table.peel(working, rng.permutation(working.n).astype(np.int32))
    degrees, classes = graph.degrees.astype(np.int64), graph.qi_classes
    unsafe = unsafe[np.lexsort((-degrees[unsafe], classes[unsafe]))]
    first = np.searchsorted(classes[unsafe], classes[unsafe])
    last = np.searchsorted(classes[unsafe], classes[unsafe], side="right") - 1
    place = np.arange(len(unsafe)) - first
    size = params.group_size_min
    middle = np.minimum(first + place - place % size + int(RANK * size), last)
    excess = np.zeros(graph.n_vertices, dtype=np.int64)
    excess[unsafe] = degrees[unsafe] - degrees[unsafe[middle]]
    kept: NDArray[np.bool_] = core.thin(graph.edges, rng.permutation(graph.n_edges), excess)
    return kept


def _thinned_search(
    graph: AttributedGraph,
    params: PrivacyParams,
    rng: np.random.Generator,
    options: AnonymizeOptions,
    report: Progress,
    executor: Executor | None,
) -> tuple[int, WorkingGraph | None]:
    """Search on the thinned graph; return the rounds and the result as edits of the whole one."""
    kept = thinned(graph, params, rng)
    edges = graph.edges
    thin = AttributedGraph.from_codes(graph.schema, graph.categories, graph.codes, edges[kept])
    rounds, working = cheapest_supergraph(
        thin, params, options.effort, rng, report, executor=executor
    )
    if working is not None:
        inserted, deleted = working.inserted_edges, edges[~kept]
        is_restored = np.isin(edge_keys(inserted), edge_keys(deleted))
        is_gone = ~np.isin(edge_keys(deleted), edge_keys(inserted))
        original = np.concatenate((working.original_edges, inserted[is_restored]))
        working.rewire(original, deleted[is_gone], inserted[~is_restored])
    return rounds, working


def _anneal(
    working: WorkingGraph,
    params: PrivacyParams,
    rng: np.random.Generator,
    options: AnonymizeOptions,
    schedule: Schedule,
    report: Progress,
) -> None:
    """Anneal as long as the effort allows."""
    rule = similarity_rule(working.space, params)
    anneal(working, rule, rng, schedule, BUDGETS[options.effort].trials(working), report)


def _part(report: Progress, part: int, parts: int) -> Progress:
    """Return a progress that fills one of several equal parts of another."""
    return lambda phase, fraction: report(phase, (part + fraction) / parts)
