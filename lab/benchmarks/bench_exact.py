"""Cost, truth, bounds and time of releases in exact cohorts, each checked by the strict verifier.

    python -m lab.benchmarks.bench_exact [--data FOLDER] [--names cora,uniform-10000]
        [--strategy exact] [--aims balanced,f1,cost] [--effort balanced] [--seeds 0,1,2] [--small]
        [--no-bound] [--no-guess]

Without `--data` it runs on synthetic graphs. For each graph and seed it prints the cost as a share
of the true ties (hidden ties, inserted edges, withheld people and their ties, inserted vertices),
precision, recall and F1 of ties, the linear bound for the cohorts and the bound for any cohorts
as the same share (`exact` only), the share of people found by best guess, plainly and denoised,
unsafe vertices, edges for each tie, the share of readers' conclusions that are wrong by more than
20%, cells of two values that have ties and no edge, seconds of all cores, and a hash of the
release. Bounds are of the least cost. Kernels are warm: a small graph goes first.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import itertools
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import numpy as np
from scipy.sparse import csr_array

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams
from ktsafe.anonymization.anonymization import Anonymized
from ktsafe.anonymization.kt_tree import cohorts_of, neighbour_counts
from ktsafe.anonymization.request import Effort, Request, prepare
from ktsafe.assess.conclusions import conclusions, summary
from ktsafe.graph.numbering import edge_keys
from ktsafe.graph.synthetic import uniform
from ktsafe.verify import verify_graph
from ktsafe_lab.figures.exact_bounds import cohort_bound, degree_bound
from ktsafe_lab.strategies import unverified
from lab.benchmarks.bench_anonymize import from_folder

BINS = 20
UNIT = 64


def main() -> int:
    """Run the benchmark; return the number of releases that are not safe."""
    parser = argparse.ArgumentParser(description="Releases in exact cohorts.")
    parser.add_argument("--data", type=Path, help="folder of data sets")
    parser.add_argument("--names", default="", help="names of data sets, separated by commas")
    strategies = ("exact", "attribute", "tolerant")
    parser.add_argument("--strategy", choices=strategies, default="exact")
    parser.add_argument("--aims", default="balanced", help="of balanced, f1, cost, by commas")
    parser.add_argument("--effort", choices=get_args(Effort), default="balanced")
    parser.add_argument("--seeds", default="0", help="seeds, separated by commas")
    parser.add_argument("--small", action="store_true", help="only a small synthetic graph")
    parser.add_argument("--no-bound", action="store_true", help="without linear programs")
    parser.add_argument("--no-guess", action="store_true", help="without best guesses")
    arguments = parser.parse_args()
    wanted = {name for name in arguments.names.split(",") if name}
    graphs = from_folder(arguments.data) if arguments.data else synthetic(arguments.small)
    asked, strategy = AnonymizeOptions(arguments.effort), arguments.strategy
    small = uniform(200, 1000, rng=np.random.default_rng(0))
    unverified(Request(small, PrivacyParams(), np.random.default_rng(0), asked), strategy)
    print(
        "name         aim   seed  cost/E      P      R     F1 linear  any   guess denoised unsafe "
        "edges/T wrong  empty  core s"
    )
    failed = 0
    for name, graph in graphs:
        if wanted and name not in wanted:
            continue
        for aim, seed in itertools.product(arguments.aims.split(","), arguments.seeds.split(",")):
            options = dataclasses.replace(asked, aim=aim)
            bounds, guesses = not arguments.no_bound, not arguments.no_guess
            named = (name, strategy)
            failed += report(named, graph, options, int(seed), bounds=bounds, guesses=guesses) > 0
    return failed


def report(
    named: tuple[str, str],
    graph: AttributedGraph,
    options: AnonymizeOptions,
    seed: int,
    *,
    bounds: bool,
    guesses: bool,
) -> int:
    """Anonymize by a strategy, print a line, return the unsafe vertices."""
    params, (name, strategy) = PrivacyParams(), named
    began = time.process_time()
    outcome = unverified(Request(graph, params, np.random.default_rng(seed), options), strategy)
    seconds = time.process_time() - began
    released = outcome.graph
    truth, shown = edge_keys(graph.edges), edge_keys(outcome.origin[released.edges])
    true = np.isin(shown, truth).sum()
    precision, recall = true / max(len(shown), 1), true / max(len(truth), 1)
    vertices = graph.n_vertices + released.n_vertices - 2 * int((outcome.origin >= 0).sum())
    cost = len(truth) + len(shown) - 2 * true + vertices
    linear = any_ = plain = denoised = float("nan")
    kept = graph.subgraph(outcome.origin[outcome.origin >= 0])
    fixed = vertices + len(truth) - kept.n_edges
    if bounds and strategy == "exact" and not (outcome.origin < 0).any():
        # The cohorts are drawn first, so the same seed gives them again.
        seen = AttributedGraph.from_codes(
            released.schema, released.categories, released.codes, kept.edges
        )
        cohorts = cohorts_of(
            seen.qi_classes,
            seen.is_sensitive,
            neighbour_counts(seen),
            params,
            rng=generator_after(graph, seed),
        )
        linear = (cohort_bound(seen, cohorts) + fixed) / len(truth)
        any_ = (degree_bound(seen, params) + fixed) / len(truth)
    if guesses:
        plain, denoised = best_guesses(graph, outcome)
    unsafe = verify_graph(released, params).n_unsafe
    digest = hashlib.sha256(released.codes.tobytes() + released.edges.tobytes()).hexdigest()[:12]
    told = summary(conclusions(graph, released))
    print(
        f"{name:14} {options.aim:8} {seed:2} {cost / len(truth):7.4f} "
        f"{precision:6.3f} {recall:6.3f} {2 * true / max(len(truth) + len(shown), 1):6.3f} "
        f"{linear:6.3f} {any_:6.3f} "
        f"{plain:6.3f} {denoised:6.3f} {unsafe:6} {len(shown) / max(len(truth), 1):7.3f} "
        f"{told.wrong_share:6.3f} {told.cells_empty:3}/{told.cells:3} "
        f"{seconds:8.2f} {digest}",
        flush=True,
    )
    return unsafe


def generator_after(graph: AttributedGraph, seed: int) -> np.random.Generator:
    """Return the generator as it is once people have been prepared."""
    rng = np.random.default_rng(seed)
    prepare(graph, PrivacyParams(), PREPARED, rng)
    return rng


PREPARED = AnonymizeOptions(rare_qi="withhold")


def best_guesses(graph: AttributedGraph, outcome: Anonymized) -> tuple[float, float]:
    """Return the shares of people found by true tuple counts: plainly, and denoised.

    Denoised: the attacker knows how likely an edge is true, given its common neighbours over the
    root of the degrees' product, in twenty bins; this favours the attacker. Surplus and missing
    neighbours weigh alike. `ktsafe.assess.attacks` tries more.
    """
    released, origin = outcome.graph, outcome.origin
    n, classes = released.n_vertices, released.qi_classes
    one = np.ones(len(released.indices))
    beside = csr_array((one, released.indices, released.indptr), shape=(n, n))
    ends = released.edges
    common = np.array((beside[ends[:, 0]] * beside[ends[:, 1]]).sum(axis=1)).reshape(-1)
    share = common / np.sqrt(np.prod(released.degrees[ends].astype(float), axis=1))
    bins = np.searchsorted(np.unique(np.quantile(share, np.arange(1, BINS) / BINS)), share, "right")
    is_true = np.isin(edge_keys(origin[ends]), edge_keys(graph.edges))
    chance = np.bincount(bins, is_true) / np.maximum(np.bincount(bins), 1)
    # Whole numbers make ties of distances exact.
    worth = np.rint(chance[bins] * UNIT).astype(np.int64)
    known = true_counts(graph, released, origin)
    found = []
    for weight in (np.full(len(ends), UNIT), worth):
        row, column = ends.T.reshape(-1), classes[ends[:, ::-1].T.reshape(-1)]
        cells = row.astype(np.int64) * known.shape[1] + column
        counts = np.bincount(cells, np.tile(weight, 2), n * known.shape[1])
        found.append(found_share(known * UNIT, counts.reshape(known.shape), classes))
    return found[0], found[1]


def true_counts(
    graph: AttributedGraph, released: AttributedGraph, origin: np.ndarray
) -> np.ndarray:
    """Return the true neighbours of every released vertex by class; one column for all others."""
    n_classes = int(released.qi_classes.max()) + 1
    of_person = np.full(graph.n_vertices, n_classes)
    of_person[origin[origin >= 0]] = released.qi_classes[origin >= 0]
    counts = np.zeros((graph.n_vertices, n_classes + 1))
    np.add.at(counts, (graph.edges[:, 0], of_person[graph.edges[:, 1]]), 1)
    np.add.at(counts, (graph.edges[:, 1], of_person[graph.edges[:, 0]]), 1)
    return counts[origin]


def found_share(known: np.ndarray, shown: np.ndarray, classes: np.ndarray) -> float:
    """Return the chance of naming a person by the nearest row of the class, ties drawn by lot."""
    found = 0.0
    for c in range(int(classes.max()) + 1):
        members = np.flatnonzero(classes == c)
        rows = shown[members]
        for i, v in enumerate(members):
            distance = np.abs(rows - known[v]).sum(axis=1)
            if distance[i] == distance.min():
                found += 1 / (distance == distance[i]).sum()
    return found / len(classes)


def synthetic(small: bool) -> Iterator[tuple[str, AttributedGraph]]:
    """Yield uniform graphs of 10 quasi-identifier tuples."""
    for n, m in [(1_000, 10_000)] if small else [(10_000, 100_000), (100_000, 1_000_000)]:
        yield f"uniform-{n}", uniform(n, m, rng=np.random.default_rng(0))


if __name__ == "__main__":
    sys.exit(main())
