"""The strict verifier on raw synthetic graphs, which is harder than on releases.

    python -m lab.benchmarks.bench_verify [--size small|full] [--workers N]

Raw vertices share hardly any location, so nearly every one has to be compared with all others
of its class and degree band. Prints for each graph the answers' hash, the seconds (the best of
two, kernels compiled) on the clock and of all cores' work, and the process's peak memory.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import resource
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from ktsafe import PrivacyParams
from ktsafe.graph.synthetic import uniform
from ktsafe.verify import verify_graph
from ktsafe_lab.synthetic_degrees import zipf

SIZES = {
    "small": [("uniform", 1_000, 10_000, 10), ("zipf", 1_000, 5_000, 10)],
    "full": [
        ("uniform", 10_000, 100_000, 10),
        ("zipf", 10_000, 56_000, 10),
        ("uniform", 100_000, 1_000_000, 10),
        ("uniform", 100_000, 1_000_000, 100),
        ("uniform", 1_000_000, 10_000_000, 100),
        ("uniform", 1_000_000, 10_000_000, 10),
    ],
}
GENERATORS = {"uniform": uniform, "zipf": zipf}


def run(size: str, workers: int | None = None, repeats: int = 2) -> Iterator[dict[str, Any]]:
    """Yield one row of results per graph of the size."""
    params = PrivacyParams()
    verify_graph(uniform(100, 300, rng=np.random.default_rng(0)), params)
    for kind, n, m, n_tuples in SIZES[size]:
        graph = GENERATORS[kind](n, m, n_tuples=n_tuples, rng=np.random.default_rng(1))
        seconds = []
        for _ in range(repeats):
            started, worked = time.perf_counter(), time.process_time()
            verdict = verify_graph(graph, params, workers=workers)
            seconds.append((time.perf_counter() - started, time.process_time() - worked))
        digest = hashlib.sha256(verdict.ps_size.tobytes() + verdict.ps_sensitive.tobytes())
        yield {
            "graph": kind,
            "vertices": n,
            "edges": m,
            "tuples": n_tuples,
            "unsafe": verdict.n_unsafe,
            "hash": digest.hexdigest()[:16],
            "seconds": round(min(seconds)[0], 3),
            "core_seconds": round(min(seconds)[1], 3),
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=sorted(SIZES), default="full")
    parser.add_argument("--workers", type=int, default=None)
    options = parser.parse_args()
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores")
    for row in run(options.size, options.workers):
        print("  ".join(f"{name} {value}" for name, value in row.items()), flush=True)


if __name__ == "__main__":
    main()
