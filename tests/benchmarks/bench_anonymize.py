"""Cost and time of one release, each verified by the strict verifier.

    python -m tests.benchmarks.bench_anonymize [--data FOLDER] [--names cora,ciao]
        [--effort balanced] [--small]

Without `--data` it runs on synthetic graphs. With it, on every folder in FOLDER that holds
`vertices.csv[.gz]`, `edges.csv[.gz]` and `schema.toml`. Each graph is anonymized twice, so that
compiled kernels are warm in the second, reported run. Prints the cost (inserted vertices plus
edges), its share of the original's edges, its multiple of the certified lower bound, seconds,
unsafe vertices, and a hash of the release.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import hashlib
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams, Schema, anonymize
from ktsafe.cohort_search import BUDGETS
from ktsafe.datasets.synthetic import uniform
from ktsafe.lower_bound import insertion_lower_bound
from ktsafe.verify import verify_graph

SEED = 0


def main() -> int:
    """Run the benchmark; return the number of releases that are not safe."""
    parser = argparse.ArgumentParser(description="Cost and time of one release.")
    parser.add_argument("--data", type=Path, help="folder of data sets")
    parser.add_argument("--names", default="", help="names of data sets, separated by commas")
    parser.add_argument("--effort", choices=list(BUDGETS), default="balanced")
    parser.add_argument("--small", action="store_true", help="only a small synthetic graph")
    arguments = parser.parse_args()
    wanted = {name for name in arguments.names.split(",") if name}
    graphs = from_folder(arguments.data) if arguments.data else synthetic(small=arguments.small)
    print("name          n        edges    cost     fakes  /edges /bound seconds unsafe hash")
    failed = 0
    for name, graph in graphs:
        if not wanted or name in wanted:
            failed += report(name, graph, AnonymizeOptions(effort=arguments.effort)) > 0
    return failed


def report(name: str, graph: AttributedGraph, options: AnonymizeOptions) -> int:
    """Anonymize twice, print a line on the second run, return its unsafe vertices."""
    params = PrivacyParams()
    for _ in range(2):
        began = time.perf_counter()
        outcome = anonymize(graph, params, rng=np.random.default_rng(SEED), options=options)
        seconds = time.perf_counter() - began
    released = outcome.graph
    inserted = released.n_vertices - graph.n_vertices
    cost = inserted + released.n_edges - graph.n_edges
    bound = insertion_lower_bound(graph, params)
    unsafe = verify_graph(released, params).n_unsafe
    digest = hashlib.sha256(released.codes.tobytes() + released.edges.tobytes()).hexdigest()[:12]
    print(
        f"{name:12} {graph.n_vertices:8} {graph.n_edges:8} {cost:8} {inserted:8} "
        f"{cost / max(graph.n_edges, 1):6.2f} {cost / max(bound, 1):6.2f} {seconds:7.2f} "
        f"{unsafe:6} {digest}",
        flush=True,
    )
    return unsafe


def synthetic(*, small: bool) -> Iterator[tuple[str, AttributedGraph]]:
    """Yield uniform graphs of 10 quasi-identifier tuples."""
    for n, m in [(1_000, 10_000)] if small else [(10_000, 100_000), (100_000, 1_000_000)]:
        yield f"uniform-{n}", uniform(n, m, rng=np.random.default_rng(SEED))


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
