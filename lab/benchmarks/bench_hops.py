"""More than one hop: exact protection sets of raw graphs, and aligned releases of them.

    python -m lab.benchmarks.bench_hops [--data FOLDER] [--names cora,ego-facebook]
        [--effort balanced] [--k 10] [--samples 20] [--small]

Without `--data` it runs on a synthetic graph. For each graph it prints, kernels warm:

1. exact protection sets of all vertices of the raw graph, n = 2 walk: pairs of equal
   quasi-identifiers, those that reach the edit distance, those that stay undecided, seconds;
2. the aligned release, n = 2 walk: its edge cost as a share of the true ties, precision, recall and
   F1, seconds, the mean degree's factor, real members behind the vertices, whether the certificate
   holds; then sampled vertices whose protection sets are counted by exact edit distances, without
   the certificate.

Seconds are on the clock and of all cores' work. Hashes are of the counts and of the release.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams
from ktsafe.anonymization.request import Request
from ktsafe.graph.numbering import edge_keys
from ktsafe.graph.synthetic import uniform
from ktsafe.verify.verifier import coded
from ktsafe_lab.strategies import LabRelease, anonymize
from ktsafe_lab.verify_hops import verify_graph
from ktsafe_lab.verify_hops.certificate import checked_orbits
from ktsafe_lab.verify_hops.protection_sets import ProtectionSets, protection_sets
from lab.benchmarks.bench_anonymize import SEED, from_folder

Result = TypeVar("Result")


def main() -> int:
    """Run the benchmark; return the number of releases that are not safe."""
    parser = argparse.ArgumentParser(description="More than one hop.")
    parser.add_argument("--data", help="folder of data sets")
    parser.add_argument("--names", default="cora", help="names of data sets, separated by commas")
    parser.add_argument("--effort", choices=["fast", "balanced"], default="balanced")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--samples", type=int, default=20, help="vertices verified by definition")
    parser.add_argument("--small", action="store_true", help="a small synthetic graph")
    arguments = parser.parse_args()
    params = PrivacyParams(k=arguments.k, n_hops=2)
    warm = uniform(60, 120, n_tuples=2, rng=np.random.default_rng(SEED))
    asked = Request(warm, params, np.random.default_rng(0), AnonymizeOptions("fast"))
    exact(anonymize(asked, "aligned").graph, params)
    failed = 0
    for name, graph in graphs(arguments):
        print(f"{name}: {graph.n_vertices} vertices, {graph.n_edges} edges", flush=True)
        raw(graph, params)
        failed += aligned(graph, params, arguments.effort, arguments.samples)
    return failed


def graphs(arguments: argparse.Namespace) -> list[tuple[str, AttributedGraph]]:
    """Return the graphs that were asked for, by name."""
    if not arguments.data:
        n, m = (300, 600) if arguments.small else (3_000, 6_000)
        return [(f"uniform-{n}", uniform(n, m, rng=np.random.default_rng(SEED)))]
    wanted = set(arguments.names.split(","))
    return [(name, graph) for name, graph in from_folder(Path(arguments.data)) if name in wanted]


def exact(
    graph: AttributedGraph, params: PrivacyParams, chosen: np.ndarray | None = None
) -> ProtectionSets:
    """Count protection sets by the definition."""
    flags = graph.is_sensitive.reshape(-1, 1)
    given = coded(graph.codes[:, :-1], flags, graph.edges)
    return protection_sets(given, params, chosen=chosen)


def raw(graph: AttributedGraph, params: PrivacyParams) -> None:
    """Print a line on the raw graph's protection sets."""
    found, seconds, work = timed(lambda: exact(graph, params))
    sizes = np.bincount(graph.qi_classes)
    pairs = int((sizes * (sizes - 1) // 2).sum())
    print(
        f"  protection sets, n = 2 walk: {seconds:.2f} s ({work:.2f} s of work), {pairs} pairs, "
        f"{found.pairs} reach the edit distance, {found.undecided_pairs} undecided "
        f"({found.undecided_pairs / max(pairs, 1):.1e}), "
        f"{np.mean(found.certain[0] >= params.k):.1%} of vertices have k candidates, "
        f"{digest(found.certain)}",
        flush=True,
    )


def aligned(graph: AttributedGraph, params: PrivacyParams, effort: Any, samples: int) -> int:
    """Print lines on an aligned release; return the unsafe vertices that were found."""
    asked = Request(graph, params, np.random.default_rng(SEED), AnonymizeOptions(effort))
    outcome: LabRelease
    outcome, seconds, work = timed(lambda: anonymize(asked, "aligned"))
    released = outcome.graph
    inserted = int(np.count_nonzero(outcome.origin < 0))
    ends = outcome.origin[released.edges]
    shown = np.isin(edge_keys(ends[(ends >= 0).all(axis=1)]), edge_keys(graph.edges)).sum()
    cost = (graph.n_edges + released.n_edges - 2 * shown) / graph.n_edges
    precision, recall = shown / max(released.n_edges, 1), shown / graph.n_edges
    f1 = 2 * shown / (released.n_edges + graph.n_edges)
    verdict, proof_seconds, _ = timed(
        lambda: verify_graph(released, params, certificate=outcome.shift)
    )
    is_real, shift = outcome.origin >= 0, outcome.shift
    orbits = checked_orbits(shift, released.qi_classes.astype(np.int64), released.edges)
    reals = np.bincount(orbits, weights=is_real)[orbits][is_real]
    factor = released.degrees.mean() / max(graph.degrees.mean(), 1e-9)
    print(
        f"  aligned, {effort}: edge cost {cost:.3f} of the ties, precision {precision:.2f}, "
        f"recall {recall:.2f}, F1 {f1:.2f}, {inserted} vertices inserted, "
        f"{seconds:.1f} s ({work:.1f} s of work), mean degree x{factor:.2f}, "
        f"k_real >= k for {np.mean(reals >= params.k):.1%}, min {reals.min()}, "
        f"unsafe by certificate {verdict.n_unsafe} ({proof_seconds:.2f} s), "
        f"{digest(released.codes, released.edges)}",
        flush=True,
    )
    count = min(samples, released.n_vertices)
    if count == 0:
        return verdict.n_unsafe
    chosen = np.random.default_rng(SEED).choice(released.n_vertices, count, replace=False)
    found, seconds, work = timed(lambda: exact(released, params, chosen))
    size, sensitive = found.certain[:, chosen]
    open_ = found.undecided[1, chosen]
    share = [
        Fraction(int(s + o), int(n + o)) for s, n, o in zip(sensitive, size, open_, strict=True)
    ]
    unsafe = sum(n < params.k or a > params.alpha for n, a in zip(size, share, strict=True))
    print(
        f"  {count} vertices by definition: {unsafe} unsafe, fewest candidates {size.min()}, "
        f"greatest share {max(share)}, {found.pairs} edit distances, "
        f"{found.undecided_pairs} undecided, {seconds:.1f} s ({work:.1f} s of work)",
        flush=True,
    )
    return verdict.n_unsafe + unsafe


def timed(task: Callable[[], Result]) -> tuple[Result, float, float]:
    """Return what a task returns, its seconds on the clock, and those of all cores."""
    began, worked = time.perf_counter(), time.process_time()
    found = task()
    return found, time.perf_counter() - began, time.process_time() - worked


def digest(*arrays: np.ndarray) -> str:
    """Return a short hash."""
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()[:12]


if __name__ == "__main__":
    sys.exit(main())
