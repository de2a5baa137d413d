"""One measurement of the evaluation: what is run, and the row that comes of it."""

from __future__ import annotations

import dataclasses
import hashlib
import time
from typing import Any

import networkit
import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.anonymization.request import Request
from ktsafe.assess.utility import as_networkit, hops_between
from ktsafe.audit import trace, usefulness
from ktsafe.graph.synthetic import uniform
from ktsafe_lab.paper import graph_generation
from ktsafe_lab.paper._pivots_core import pruned_pairs
from ktsafe_lab.paper.cost_model import sampled_cost_model
from ktsafe_lab.paper.paper_strategies import ByThePaper
from ktsafe_lab.paper.partition_set import select_partitioning
from ktsafe_lab.paper.pivots import SAMPLE_SIZE, select_pivots
from ktsafe_lab.paper.vertex_generation import Setting
from ktsafe_lab.strategies import everybody, in_order, strategy_named
from ktsafe_lab.verify_hops import verify_graph
from lab.evaluation.paper_graphs import SCALE
from lab.evaluation.paper_hops import release_by_hops

SEED = 0
SAMPLES = 100
"""Repeated draws of 1,000 vertices, whose means are compared."""
DRAWN = 1_000
DEGREE_EDGES = (0, 1, 2, 3, 6, 11, 21, 41, 81, 161)
PATHS_MAX = 12
IN_COHORTS = frozenset({"exact", "tolerant", "attribute"})
"""Strategies that insert nobody: people whom no cohort can have are withheld beforehand."""


@dataclasses.dataclass(frozen=True)
class Cell:
    """What is measured; every size is the paper's, and is divided in a small run.

    Attributes
    ----------
    kind:
        "release", "utility" (a release and its distributions), "estimate" (of the cost model),
        "partitioning" and "pivots" (of so many iterations), "orders" (so many iterations, too),
        "hops" (a release of a cut of so many vertices, the paper's strategies in plain Python).
    """

    kind: str
    graph: str
    strategy: str = "partition+pruning"
    vertices: int = 10_000
    tuples: int = 10
    k: int = 10
    alpha: str = "0.2"
    epsilon: int = 5
    t: str = "0.1"
    n: int = 1
    gamma: int = 1000
    s: int = 4
    iterations: int = 0

    @property
    def params(self) -> PrivacyParams:
        """The guarantee that is aimed at."""
        return PrivacyParams(self.k, self.t, self.alpha, self.epsilon, self.n)


def measured(cell: Cell, graph: AttributedGraph, *, full: bool) -> dict[str, Any]:
    """Return the row of a cell, without the cell's own columns."""
    is_whole = full or cell.graph == "Cora" or cell.kind == "hops"
    gamma = cell.gamma if is_whole else cell.gamma // SCALE
    row: dict[str, Any] = {"true_vertices": graph.n_vertices, "true_edges": graph.n_edges}
    if cell.kind in {"release", "utility", "hops"}:
        return row | released(cell, graph, gamma)
    if cell.kind == "pivots":
        return row | of_pivots(cell, graph)
    if cell.kind == "orders":
        return row | of_orders(cell, graph)
    return row | of_partitioning(cell, graph, gamma)


def warm() -> None:
    """Load every kernel, so no cell is charged for it."""
    graph = uniform(150, 300, rng=np.random.default_rng(SEED), n_tuples=3)
    for strategy in ("partition+pruning", "none", "kl-graph", "exact", "tolerant", "aligned"):
        measured(Cell("utility", "Uniform", strategy, k=3), graph, full=False)
    measured(Cell("release", "Uniform", "aligned", n=2, k=3), graph, full=False)
    for kind in ("estimate", "partitioning", "pivots", "orders"):
        measured(Cell(kind, "Uniform", k=3, iterations=1), graph, full=False)


def released(cell: Cell, graph: AttributedGraph, gamma: int) -> dict[str, Any]:
    """Anonymize, verify strictly, and count vertices and edges apart."""
    params, row, phases = cell.params, {}, {}
    outcome, origin = graph, np.arange(graph.n_vertices, dtype=np.int32)
    if cell.strategy != "original":
        strategy = strategy_named(cell.strategy)
        if isinstance(strategy, ByThePaper):
            strategy = strategy.in_parts(gamma, cell.s)

        def report(phase: str, _fraction: float) -> None:
            phases[phase] = time.process_time()

        began = time.process_time()
        rng = np.random.default_rng(SEED)
        if cell.kind == "hops" and cell.strategy in {"none", "partition"}:
            parts_of = gamma if cell.strategy == "partition" else 0
            made = release_by_hops(graph, params, rng, gamma=parts_of, s=cell.s)
        else:
            request = Request(graph, params, rng, report=report)
            # The others insert vertices where people are rare.
            make = in_order if cell.strategy in IN_COHORTS else everybody
            made = make(request, strategy)
        row["core_s"] = time.process_time() - began
        if "partition" in phases:
            marks = [began, phases["partition"], phases["anonymize"], began + row["core_s"]]
            names = ("partition_s", "anonymize_s", "merge_s")
            row |= dict(zip(names, np.diff(marks).tolist(), strict=True))
        outcome, origin = made.graph, made.origin
        useful = usefulness(trace(graph, outcome, origin.astype(np.int64)))
        for what, of in (("vertices", useful.vertices), ("edges", useful.edges)):
            row[f"inserted_{what}"] = of.released - of.shared
            row[f"deleted_{what}"] = of.true - of.shared
    unsafe = verify_graph(outcome, params).is_unsafe
    row |= {
        "unsafe": int(unsafe.sum()),
        "unsafe_originals": int(unsafe[: graph.n_vertices].sum()),
        "safe_share": 1 - float(unsafe.mean()),
        "released_vertices": outcome.n_vertices,
        "released_edges": outcome.n_edges,
        "hash": hashlib.sha256(outcome.codes.tobytes() + outcome.edges.tobytes()).hexdigest()[:12],
    }
    return row | (utility(graph.n_vertices, outcome) if cell.kind == "utility" else {})


def utility(n: int, graph: AttributedGraph) -> dict[str, Any]:
    """Return distributions, and means and deviations over the same samples in every release.

    The first `n` vertices are the originals; of them the samples are drawn.
    """
    rng = np.random.default_rng(SEED)
    count, degrees = min(DRAWN, n), graph.degrees.astype(np.float64)
    samples = [degrees[rng.choice(n, count, replace=False)] for _ in range(SAMPLES)]
    first = samples[0]
    sources = rng.integers(n, size=DRAWN // 10)
    targets = (sources[:, np.newaxis] + rng.integers(1, n, size=(len(sources), 10))) % n
    counted = as_networkit(graph)
    hops = hops_between(counted, sources, targets).reshape(-1)
    found = hops[hops >= 0].astype(np.float64)
    closed = np.array(networkit.centrality.LocalClusteringCoefficient(counted).run().scores())
    tops = np.append(DEGREE_EDGES, np.inf)
    return {
        "degree_mean": first.mean(),
        "degree_sd": first.std(),
        "degree_root": np.sqrt(((first - first.mean()) ** 2).sum()),
        "degree_spread": float(np.std([sample.mean() for sample in samples])),
        "path_mean": found.mean(),
        "path_sd": found.std(),
        "path_root": np.sqrt(((found - found.mean()) ** 2).sum()),
        "connected": len(found) / len(hops),
        "clustering": closed.mean(),
        "largest_component": largest_component(graph),
        "degree_shares": shares(np.histogram(degrees, tops)[0]),
        "path_shares": shares(np.bincount(np.minimum(found, PATHS_MAX).astype(int), minlength=13)),
        "clustering_shares": shares(np.histogram(closed, np.linspace(0, 1, 11))[0]),
    }


def largest_component(graph: AttributedGraph) -> int:
    """Return its size."""
    matrix = sparse.csr_array(
        (np.ones(len(graph.indices)), graph.indices, graph.indptr), shape=(graph.n_vertices,) * 2
    )
    return int(np.bincount(csgraph.connected_components(matrix)[1]).max())


def shares(counts: np.ndarray) -> str:
    """Return a distribution as one cell of a CSV file."""
    return " ".join(f"{x:.4f}" for x in counts / max(counts.sum(), 1))


def of_partitioning(cell: Cell, graph: AttributedGraph, gamma: int) -> dict[str, Any]:
    """Return what Algorithm 4 takes, and what the cost model expects of its result (Eq. 3)."""
    rng = np.random.default_rng(SEED).spawn(2)[0]  # the one that Algorithm 1 partitions with
    setting = Setting.of_graph(graph, cell.params)
    model = sampled_cost_model(graph, cell.params, setting, rng, s=cell.s)
    began = time.process_time()
    tries = cell.iterations or 50
    parts = select_partitioning(graph, model, rng, gamma=gamma, s=cell.s, iterations=tries)
    seconds = time.process_time() - began
    label = np.zeros(graph.n_vertices, dtype=np.int32)
    for number, part in enumerate(parts):
        label[part.origin[: part.n_owned]] = number
    return {
        "core_s": seconds,
        "parts": len(parts),
        "estimate": model.estimate(graph, label, len(parts)),
    }


def of_pivots(cell: Cell, graph: AttributedGraph) -> dict[str, Any]:
    """Return what Algorithm 7 takes, and how many pairs of a sample its pivots rule out."""
    rng = np.random.default_rng(SEED)
    began = time.process_time()
    pivots = select_pivots(graph, cell.params, rng, iterations=cell.iterations)
    seconds = time.process_time() - began
    drawn = np.random.default_rng(1).permutation(graph.n_vertices)[:SAMPLE_SIZE]
    ruled_out = pruned_pairs(graph.degrees[drawn], graph.degrees[pivots], cell.epsilon)
    return {"core_s": seconds, "pruned_pairs": int(ruled_out)}


def of_orders(cell: Cell, graph: AttributedGraph) -> dict[str, Any]:
    """Return the cheapest of random execution orders, in vertices and edges, and their time."""
    began = time.process_time()
    best, costs = graph_generation.near_optimal(
        graph, cell.params, rng=np.random.default_rng(SEED), orders=cell.iterations
    )
    return {
        "core_s": time.process_time() - began,
        "inserted_vertices": len(best.inserted),
        "inserted_edges": len(best.inserted_edges),
        "cost_mean": float(costs.mean()),
        "cost_sd": float(costs.std()),
    }
