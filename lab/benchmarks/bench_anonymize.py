"""Cost and time of one release, each verified by the strict verifier.

    python -m lab.benchmarks.bench_anonymize [--data FOLDER] [--names cora,ciao]
        [--effort balanced] [--strategy exact] [--workers 1] [--once]
        [--small]

Without `--data` it runs on synthetic graphs; `--names uniform-1000000` is the largest, and runs
only if named. With it, on every folder in FOLDER that holds `vertices.csv[.gz]`,
`edges.csv[.gz]` and `schema.toml`. Each graph is anonymized twice, so compiled kernels are
warm in the second, reported run; with `--once` not. Prints the cost (Equation 1), what of it is
inserted vertices, its share of the ties, precision, recall and F1 of ties, seconds, seconds of all
cores, the process's peak memory so far, unsafe vertices, and a hash of the release. Bounds and best
guesses: `bench_exact`.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import resource
import sys
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import get_args

import numpy as np

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams, Schema
from ktsafe.anonymization.request import Effort, Request
from ktsafe.audit import cost_parts, trace, usefulness
from ktsafe.graph.synthetic import uniform
from ktsafe.stream.process.pool import Workers
from ktsafe.verify import verify_graph
from ktsafe_lab.strategies import ALL, unverified

SEED = 0
LARGEST = "uniform-1000000"


def main() -> int:
    """Run the benchmark; return the number of releases that are not safe."""
    parser = argparse.ArgumentParser(description="Cost and time of one release.")
    parser.add_argument("--data", type=Path, help="folder of data sets")
    parser.add_argument("--names", default="", help="names of data sets, separated by commas")
    parser.add_argument("--effort", choices=get_args(Effort), default="balanced")
    parser.add_argument("--strategy", choices=tuple(ALL), default="exact")
    parser.add_argument("--workers", type=int, default=1, help="threads")
    parser.add_argument("--once", action="store_true", help="no first run to warm kernels")
    parser.add_argument("--small", action="store_true", help="only a small synthetic graph")
    arguments = parser.parse_args()
    wanted = {name for name in arguments.names.split(",") if name}
    graphs = from_folder(arguments.data) if arguments.data else synthetic(wanted, arguments.small)
    options = AnonymizeOptions(arguments.effort)
    print(
        "name          n        edges    cost     fakes  /edges      P      R     F1 "
        "seconds  core s peak MB unsafe hash"
    )
    failed = 0
    with Workers(arguments.workers).open() as (executor, _):
        for name, graph in graphs:
            if not wanted or name in wanted:
                failed += (
                    report(name, graph, options, arguments.strategy, executor, once=arguments.once)
                    > 0
                )
    return failed


def report(
    name: str,
    graph: AttributedGraph,
    options: AnonymizeOptions,
    strategy: str,
    executor: Executor | None,
    *,
    once: bool,
) -> int:
    """Anonymize, print a line on the last run, return its unsafe vertices."""
    params = PrivacyParams()
    for _ in range(1 if once else 2):
        began, core_began = time.perf_counter(), time.process_time()
        request = Request(graph, params, np.random.default_rng(SEED), options, executor)
        outcome = unverified(request, strategy)
        seconds, core_seconds = time.perf_counter() - began, time.process_time() - core_began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    released = outcome.graph
    traced = trace(graph, released, outcome.origin)
    cost, useful = cost_parts(traced, params), usefulness(traced).edges
    shares = (useful.precision or 0, useful.recall or 0, useful.f1 or 0)
    unsafe = verify_graph(released, params).n_unsafe
    digest = hashlib.sha256(released.codes.tobytes() + released.edges.tobytes()).hexdigest()[:12]
    print(
        f"{name:12} {graph.n_vertices:8} {graph.n_edges:8} {cost.total:8} "
        f"{cost.unowned_vertices:8} {cost.total / max(graph.n_edges, 1):7.3f} "
        f"{shares[0]:6.3f} {shares[1]:6.3f} {shares[2]:6.3f} {seconds:7.2f} "
        f"{core_seconds:7.2f} {peak:7} {unsafe:6} {digest}",
        flush=True,
    )
    return unsafe


def synthetic(wanted: set[str], small: bool) -> Iterator[tuple[str, AttributedGraph]]:
    """Yield uniform graphs of 10 quasi-identifier tuples; the largest has 100, if wanted."""
    for n, m in [(1_000, 10_000)] if small else [(10_000, 100_000), (100_000, 1_000_000)]:
        yield f"uniform-{n}", uniform(n, m, rng=np.random.default_rng(SEED))
    if LARGEST in wanted:
        rng = np.random.default_rng(SEED)
        yield LARGEST, uniform(1_000_000, 5_000_000, n_tuples=100, rng=rng)


def from_folder(folder: Path) -> Iterator[tuple[str, AttributedGraph]]:
    """Yield every data set below `folder`."""
    for schema_file in sorted(folder.glob("*/schema.toml")):
        there = schema_file.parent
        if not list(there.glob("vertices.csv*")):
            continue
        attributes = tomllib.loads(schema_file.read_text())["attributes"]
        schema = Schema(
            tuple(attributes["quasi_identifiers"]),
            attributes["sensitive"],
            frozenset(attributes["sensitive_values"]),
        )
        people = _rows(there, "vertices")
        position = {row["id"]: i for i, row in enumerate(people)}
        columns = {name: [row[name] for row in people] for name in schema.attributes}
        edges = [(position[r["source"]], position[r["target"]]) for r in _rows(there, "edges")]
        yield there.name, AttributedGraph.from_columns(schema, columns, edges)


def _rows(folder: Path, stem: str) -> list[dict[str, str]]:
    """Return the rows of `stem`.csv or `stem`.csv.gz."""
    path = next(folder.glob(f"{stem}.csv*"))
    raw = path.read_bytes()
    text = gzip.decompress(raw) if path.suffix == ".gz" else raw
    return list(csv.DictReader(text.decode().splitlines()))


if __name__ == "__main__":
    sys.exit(main())
