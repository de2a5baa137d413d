"""Insertion only beside insertion and deletion: cost, utility and time, each strictly verified.

    python -m tests.benchmarks.bench_edits [--data FOLDER] [--names cora,ciao] [--effort balanced]

Without `--data` it runs on a synthetic graph. With it, on every folder in FOLDER that holds
`vertices.csv[.gz]`, `edges.csv[.gz]` and `schema.toml`. Kernels are loaded by a small release
before. Prints the cost, deleted edges, the earth mover's distance of the degrees in edges,
seconds, unsafe vertices, and a hash of the release. Returns the number of releases that are not
safe, or dearer than with insertions only.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from pathlib import Path
from typing import get_args

import numpy as np

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams, anonymize
from ktsafe.audit import cost_parts, trace
from ktsafe.audit.utility import degree_emd
from ktsafe.datasets.synthetic import uniform
from ktsafe.options import Edits, Effort
from ktsafe.verify import verify_graph
from tests.benchmarks.bench_anonymize import from_folder

SEED = 0


def main() -> int:
    """Run the benchmark; return the number of failures."""
    parser = argparse.ArgumentParser(description="Insertion only beside insertion and deletion.")
    parser.add_argument("--data", type=Path, help="folder of data sets")
    parser.add_argument("--names", default="", help="names of data sets, separated by commas")
    parser.add_argument("--effort", choices=get_args(Effort), default="balanced")
    arguments = parser.parse_args()
    wanted = {name for name in arguments.names.split(",") if name}
    synthetic = uniform(2_000, 10_000, rng=np.random.default_rng(SEED))
    graphs = from_folder(arguments.data) if arguments.data else [("uniform-2000", synthetic)]
    print("name         edits         cost  deleted degree_emd seconds unsafe hash")
    failed = 0
    for name, graph in graphs:
        if not wanted or name in wanted:
            failed += compare(name, graph, arguments.effort)
    return failed


def compare(name: str, graph: AttributedGraph, effort: Effort) -> int:
    """Print a line for either way; return the number of failures."""
    params = PrivacyParams()
    small = uniform(200, 800, rng=np.random.default_rng(SEED))
    failed, costs = 0, []
    for edits in get_args(Edits):
        options = AnonymizeOptions(effort=effort, edits=edits)
        anonymize(small, params, rng=np.random.default_rng(SEED), options=options)
        began = time.perf_counter()
        outcome = anonymize(graph, params, rng=np.random.default_rng(SEED), options=options)
        seconds = time.perf_counter() - began
        released = outcome.graph
        parts = cost_parts(trace(graph, released, outcome.origin), params)
        unsafe = verify_graph(released, params).n_unsafe
        digest = hashlib.sha256(released.codes.tobytes() + released.edges.tobytes()).hexdigest()
        print(
            f"{name:12} {edits:13} {parts['total']:8} {parts['deleted_edges']:8} "
            f"{degree_emd(graph, released):10.3f} {seconds:7.2f} {unsafe:6} {digest[:12]}",
            flush=True,
        )
        costs.append(parts["total"])
        failed += unsafe > 0
    return failed + (costs[1] > costs[0])


if __name__ == "__main__":
    sys.exit(main())
