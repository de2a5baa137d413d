"""What knowledge = true, rare_qi and over_alpha cost, and whom they protect; strictly verified.

    python -m tests.benchmarks.bench_options [--data FOLDER] [--names cora,ciao] [--effort balanced]

Without `--data` it runs on a synthetic graph. With it, on every folder in FOLDER that holds
`vertices.csv[.gz]`, `edges.csv[.gz]` and `schema.toml`. Kernels are loaded by a small release
before. Prints for each option the cost, withheld people, the share of real people with fewer than
k candidates for who knows their true neighbours (`known`), with fewer than k real candidates in
classes of k (`real`), those whose real candidates are too sensitive (`alpha`), the sensitive share
of inserted and of real vertices, seconds, unsafe vertices, and a hash of the release. Returns the
number of releases that are not safe, or miss what their option promises.
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
from ktsafe.audit.privacy_figures import privacy_figures
from ktsafe.datasets.synthetic import uniform
from ktsafe.options import Effort
from ktsafe.verify import verify_graph
from tests.benchmarks.bench_anonymize import from_folder

SEED = 0


def main() -> int:
    """Run the benchmark; return the number of failures."""
    parser = argparse.ArgumentParser(description="Options for people whom cohorts protect badly.")
    parser.add_argument("--data", type=Path, help="folder of data sets")
    parser.add_argument("--names", default="", help="names of data sets, separated by commas")
    parser.add_argument("--effort", choices=get_args(Effort), default="balanced")
    arguments = parser.parse_args()
    wanted = {name for name in arguments.names.split(",") if name}
    synthetic = uniform(2_000, 10_000, rng=np.random.default_rng(SEED))
    graphs = from_folder(arguments.data) if arguments.data else [("uniform-2000", synthetic)]
    variants = {
        "default": AnonymizeOptions(effort=arguments.effort),
        "true": AnonymizeOptions(effort=arguments.effort, knowledge="true"),
        "suppress": AnonymizeOptions(
            effort=arguments.effort, rare_qi="suppress", over_alpha="suppress"
        ),
        "withhold": AnonymizeOptions(
            effort=arguments.effort, rare_qi="withhold", over_alpha="suppress"
        ),
    }
    print("name         option      cost withheld  known   real  alpha inserted%  real% seconds")
    failed = 0
    for name, graph in graphs:
        if not wanted or name in wanted:
            failed += sum(report(name, graph, *variant) for variant in variants.items())
    return failed


def report(name: str, graph: AttributedGraph, title: str, options: AnonymizeOptions) -> bool:
    """Print a line for one option; return whether it failed."""
    params = PrivacyParams()
    small = uniform(200, 800, rng=np.random.default_rng(SEED))
    anonymize(small, params, rng=np.random.default_rng(SEED), options=options)
    began = time.perf_counter()
    outcome = anonymize(graph, params, rng=np.random.default_rng(SEED), options=options)
    seconds = time.perf_counter() - began
    released, origin = outcome.graph, outcome.origin
    unsafe = verify_graph(released, params).n_unsafe
    traced = trace(graph, released, origin)
    cost = cost_parts(traced, params)
    figures = privacy_figures(traced, params)
    known = float((figures.k_known_ps < params.k).mean())
    large = figures.class_size >= params.k
    real = float((figures.k_real[large] < params.k).mean())
    too_sensitive = int(
        np.count_nonzero(
            figures.sensitive_real * params.alpha.denominator
            > figures.k_real * params.alpha.numerator
        )
    )
    shares = [
        100 * float(released.is_sensitive[chosen].mean()) if chosen.any() else 0.0
        for chosen in (origin < 0, origin >= 0)
    ]
    digest = hashlib.sha256(released.codes.tobytes() + released.edges.tobytes()).hexdigest()
    print(
        f"{name:12} {title:9} {cost['total']:6} {cost['deleted_vertices']:8} {known:6.1%} "
        f"{real:6.1%} {too_sensitive:6} {shares[0]:9.1f} {shares[1]:6.1f} {seconds:7.2f} "
        f"{unsafe} unsafe {digest[:12]}",
        flush=True,
    )
    return unsafe > 0 or (options.knowledge == "true" and known > 0)


if __name__ == "__main__":
    sys.exit(main())
