"""The search for one cheap kt-safe supergraph: settle, choose targets, serve, insert, trim."""

from __future__ import annotations

import dataclasses
from concurrent.futures import Executor

import numpy as np
from numpy.typing import NDArray

from ktsafe.cohorts.choose import choose_targets
from ktsafe.cohorts.companions import add_companions, companions_cost
from ktsafe.cohorts.dilution import dilute
from ktsafe.cohorts.matching import (
    RAISES_PER_ROUND,
    absorb_leftovers,
    insert_for_leftovers,
    match_wants,
)
from ktsafe.graph import AttributedGraph
from ktsafe.index import upkeep
from ktsafe.index._table_core import Rule
from ktsafe.index.table import LocationTable, real_floors, similarity_rule
from ktsafe.neighborhoods import QuasiIdentifierSpace
from ktsafe.options import Effort
from ktsafe.params import PrivacyParams
from ktsafe.polish.annealing import sweep
from ktsafe.polish.trimming import trim
from ktsafe.strategies import Progress
from ktsafe.working._graph_core import highest_counts
from ktsafe.working.executors import in_order
from ktsafe.working.graph import WorkingGraph

# Rounds of the search, and rounds in all: what is left after the search gets companions.
SEARCH_ROUNDS_MIN = 4
SEARCH_ROUNDS_MAX = 32
ROUNDS_MAX = 44
EMPTY = np.zeros(0, dtype=np.int32)
RARE_CLASSES_MIN = 64
# From here on comparing whole degrees pays for the table that it needs.
SWEPT_MIN = 30_000


@dataclasses.dataclass(frozen=True)
class Budget:
    """What an effort may spend, in moves rather than seconds, so that results repeat.

    Attributes
    ----------
    swaps_per_vertex:
        Steps of the cohort search.
    trim_passes_max:
        Passes over the inserted edges.
    elements_max, searches_max:
        Small graphs are searched several times, the cheapest result counts: as often as their
        vertices and edges fit into `elements_max`, at most `searches_max` times.
    """

    swaps_per_vertex: int
    trim_passes_max: int
    elements_max: int
    searches_max: int

    def searches(self, graph: AttributedGraph) -> int:
        """Return how often `graph` is searched."""
        size = max(graph.n_vertices + graph.n_edges, 1)
        return min(self.searches_max, max(1, self.elements_max // size))


BUDGETS: dict[Effort, Budget] = {
    "fast": Budget(10, 1, 0, 1),
    "balanced": Budget(100, 4, 30_000, 4),
    "thorough": Budget(1000, 6, 200_000, 16),
}


class _Patience:
    """Says when further rounds are not worth what they cost.

    Each round could end the search by buying companions for those who are left. Where rounds no
    longer lower the sum of what was spent and what that would cost, the search goes on until it
    has spent a third of the price (the ski rental problem), and then buys.
    """

    def __init__(self) -> None:
        self._least = self._spent = -1

    def is_over(
        self,
        working: WorkingGraph,
        table: LocationTable,
        unsafe: NDArray[np.int32],
        params: PrivacyParams,
    ) -> bool:
        """Whether to buy now; to be asked once in each round."""
        price = companions_cost(working, table, unsafe, params)
        if self._spent < 0 or working.cost + price < self._least:
            self._least, self._spent = working.cost + price, working.cost
            return False
        return 3 * (working.cost - self._spent) > price


def cheapest_supergraph(
    graph: AttributedGraph,
    params: PrivacyParams,
    effort: Effort,
    rng: np.random.Generator,
    report: Progress,
    *,
    executor: Executor | None = None,
) -> tuple[int, WorkingGraph | None]:
    """Search as often as the effort allows; return the rounds spent and the cheapest result.

    The result is None where no search ended, and the same whatever executor is given.
    """
    budget = BUDGETS[effort]
    searches = 0 if _is_mostly_rare(graph, params) else budget.searches(graph)
    best: WorkingGraph | None = None
    rounds = 0
    # Either whole searches go to the executor, or the classes of the only one.
    outer, inner = (executor, None) if searches > 1 else (None, executor)
    tasks = [(graph, params, own, budget, inner) for own in rng.spawn(searches)]
    for search, (spent, working) in enumerate(in_order(outer, _search, tasks)):
        rounds += spent
        if working is not None and (best is None or working.cost < best.cost):
            best = working
        report("anonymize", (search + 1) / searches)
    report("anonymize", 1.0)
    return rounds, best


def copies_cost(graph: AttributedGraph, params: PrivacyParams) -> int:
    """Return the cost of m - 1 disjoint harmless copies, m = max(k, ceil(1 / alpha)).

    Every location then holds m vertices, at most one of them sensitive, and a protection set is
    a union of locations: safe for every input, so that no release needs to cost more.
    """
    return (params.group_size_min - 1) * (graph.n_vertices + graph.n_edges)


def _is_mostly_rare(graph: AttributedGraph, params: PrivacyParams) -> bool:
    """Whether cohorts would consist of inserted vertices mostly, in a great many classes.

    Nothing is then to be gained over copies, and the search over pairs of classes takes long.
    """
    counts = np.bincount(graph.qi_classes)
    lacking = np.maximum(params.group_size_min - counts, 0).sum()
    return len(counts) > RARE_CLASSES_MIN and bool(lacking > graph.n_vertices)


def _search(
    graph: AttributedGraph,
    params: PrivacyParams,
    rng: np.random.Generator,
    budget: Budget,
    executor: Executor | None,
) -> tuple[int, WorkingGraph | None]:
    """Insert until every vertex is safe; None where rounds or cost are spent before."""
    space = QuasiIdentifierSpace.of_graph(graph)
    rule = similarity_rule(space, params)
    working = WorkingGraph(graph, space)
    floors, patience = real_floors(working, rule), _Patience()
    table: LocationTable | None = None
    for round_ in range(ROUNDS_MAX):
        # What trimming takes back is far less than half.
        if working.cost > 2 * copies_cost(graph, params):
            return round_, None
        table = in_step(table, working, rule, floors)
        unsafe = table.unsafe_vertices()
        wishing = np.union1d(unsafe, table.short_of_real()).astype(np.int32)
        ends = round_ >= SEARCH_ROUNDS_MAX or (
            round_ >= SEARCH_ROUNDS_MIN and patience.is_over(working, table, wishing, params)
        )
        if not len(unsafe if ends else wishing):
            # Step 5: take back what nobody needs.
            _take_back(working, table, rng, budget.trim_passes_max)
            return round_, working
        if ends:
            add_companions(working, table, unsafe, params)
            continue
        # Step 1: settle. What is safe without the others stays; the others are lifted. Where
        # moving did not help in the first rounds, harmless vertices dilute sensitive ones.
        diluted = dilute(working, table, everywhere=round_ >= 2) if round_ else EMPTY
        lifted = table.peel(working, rng.permutation(working.n).astype(np.int32))
        serve(working, table, lifted, diluted, params, rng, budget, executor)
    return ROUNDS_MAX, None


def serve(
    working: WorkingGraph,
    table: LocationTable,
    lifted: tuple[NDArray[np.int32], NDArray[np.int32]],
    diluted: NDArray[np.int32],
    params: PrivacyParams,
    rng: np.random.Generator,
    budget: Budget,
    executor: Executor | None = None,
) -> None:
    """Give the lifted vertices what they lack, in one round; the table becomes stale.

    Parameters
    ----------
    lifted, diluted:
        As for `ktsafe.cohorts.choose.choose_targets`.
    """
    # Step 2: targets, by cohorts.
    wants = choose_targets(
        working,
        table,
        lifted,
        diluted,
        params,
        rng,
        swaps_per_vertex=budget.swaps_per_vertex,
        executor=executor,
    )
    # Step 3: serve wants by wants, then by settled vertices that can bear it.
    match_wants(working, wants, rng)
    absorb_leftovers(working, table, wants, rng, tries_max=400)
    # Step 4: insert vertices for the rest; what they want is served next round.
    insert_for_leftovers(working, table, wants, rng)


def in_step(
    table: LocationTable | None,
    working: WorkingGraph,
    rule: Rule,
    floors: NDArray[np.int64],
) -> LocationTable:
    """Return the table of all vertices: the one of the round before, where only few moved since.

    A new one is made at first, and where degrees could outgrow it.
    """
    caps = degree_caps(working)
    if table is None or (np.diff(table.arrays.bucket_start) <= caps).any():
        return LocationTable(working, rule, caps + caps // 2, floors)
    upkeep.refresh(table, working)
    return table


def _take_back(
    working: WorkingGraph, table: LocationTable, rng: np.random.Generator, passes_max: int
) -> None:
    """Withdraw what nobody needs; large graphs by the table that compares whole degrees."""
    if working.n >= SWEPT_MIN and sweep(working, table.rule, rng, passes_max):
        floors = table.arrays.floor
        table = LocationTable(working, table.rule, degree_caps(working), floors)
        passes_max = 0
    trim(working, table, rng, passes_max=passes_max)


def degree_caps(working: WorkingGraph) -> NDArray[np.int64]:
    """Return a degree per class that no vertex of it can exceed in one round.

    A target is at most the sum of the columns' maxima over the class, plus its freedom, which is
    at most the largest degree. A round raises a cohort at most `RAISES_PER_ROUND` times, and a
    settled vertex absorbs no more than the cap allows.
    """
    g, n = working.arrays, working.n
    highest = np.zeros((working.space.n_classes, working.n_columns), dtype=np.int32)
    highest_counts(g.cls[:n], g.hist[:n], highest)
    caps = np.zeros(working.space.n_classes, dtype=np.int64)
    np.maximum.at(caps, g.cls[:n], g.degree[:n].astype(np.int64))
    caps += highest.sum(axis=1) + 1
    return 2 * caps + RAISES_PER_ROUND + 64
