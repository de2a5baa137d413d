"""What options of a release cost, how true it is, and whom it protects; strictly verified.

    python -m lab.benchmarks.bench_options [--data FOLDER] [--names cora,ciao] [--effort balanced]

Without `--data` it runs on a synthetic graph. With it, on every folder in FOLDER that holds
`vertices.csv[.gz]`, `edges.csv[.gz]` and `schema.toml`. Kernels are loaded by a small release
before. Prints for each variant the cost (Equation 1), withheld people, precision, recall and F1 of
ties, the earth mover's distance of the degrees in edges, the share of real people with fewer than k
candidates that contain their true neighbours (`known`), the people whose real candidates are too
sensitive (`alpha`), seconds, unsafe vertices, and a hash of the release. Returns the number of
releases that are not safe.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
from pathlib import Path
from typing import get_args

import numpy as np

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams
from ktsafe.anonymization.request import Effort, Request
from ktsafe.assess.utility import degree_emd
from ktsafe.audit import cost_parts, trace, usefulness
from ktsafe.audit.privacy_figures import privacy_figures
from ktsafe.graph.synthetic import uniform
from ktsafe.verify import verify_graph
from ktsafe_lab.strategies import unverified
from lab.benchmarks.bench_anonymize import from_folder

SEED = 0

Variant = tuple[AnonymizeOptions, str]


def main() -> int:
    """Run the benchmark; return the number of failures."""
    parser = argparse.ArgumentParser(description="Options of a release, side by side.")
    parser.add_argument("--data", type=Path, help="folder of data sets")
    parser.add_argument("--names", default="", help="names of data sets, separated by commas")
    parser.add_argument("--effort", choices=get_args(Effort), default="balanced")
    arguments = parser.parse_args()
    wanted = {name for name in arguments.names.split(",") if name}
    synthetic = uniform(2_000, 10_000, rng=np.random.default_rng(SEED))
    graphs = from_folder(arguments.data) if arguments.data else [("uniform-2000", synthetic)]
    print(
        "name         variant        cost withheld      P      R     F1 degrees  known  alpha "
        "seconds"
    )
    failed = 0
    for name, graph in graphs:
        if wanted and name not in wanted:
            continue
        for title, variant in variants(arguments.effort).items():
            failed += report(name, graph, title, variant) > 0
    return failed


def variants(effort: Effort) -> dict[str, Variant]:
    """Return the options and strategies to be compared, by their titles."""
    return {
        "default": (AnonymizeOptions(effort), "exact"),
        "suppress": (AnonymizeOptions(effort, rare_qi="suppress"), "exact"),
        "attribute": (AnonymizeOptions(effort), "attribute"),
        "tolerant": (AnonymizeOptions(effort), "tolerant"),
    }


def report(name: str, graph: AttributedGraph, title: str, variant: Variant) -> int:
    """Print a line for one variant; return its unsafe vertices."""
    params, (options, strategy) = PrivacyParams(), variant
    small = uniform(200, 800, rng=np.random.default_rng(SEED))
    unverified(Request(small, params, np.random.default_rng(SEED), options), strategy)
    began = time.perf_counter()
    outcome = unverified(Request(graph, params, np.random.default_rng(SEED), options), strategy)
    seconds = time.perf_counter() - began
    released = outcome.graph
    unsafe = verify_graph(released, params).n_unsafe
    traced = trace(graph, released, outcome.origin)
    cost, useful = cost_parts(traced, params), usefulness(traced).edges
    figures = privacy_figures(traced, params)
    known = float((figures.k_known < params.k).mean()) if len(figures.k_known) else 0.0
    too_sensitive = int(
        np.count_nonzero(
            figures.sensitive_real * params.alpha.denominator
            > figures.k_real * params.alpha.numerator
        )
    )
    digest = hashlib.sha256(released.codes.tobytes() + released.edges.tobytes()).hexdigest()
    print(
        f"{name:12} {title:9} {cost.total:9} {cost.deleted_vertices:8} "
        f"{useful.precision or 0:6.3f} {useful.recall or 0:6.3f} {useful.f1 or 0:6.3f} "
        f"{degree_emd(graph, released):7.2f} {known:6.1%} {too_sensitive:6} {seconds:7.2f} "
        f"{unsafe} unsafe {digest[:12]}",
        flush=True,
    )
    return unsafe


if __name__ == "__main__":
    sys.exit(main())
