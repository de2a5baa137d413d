"""Our release and k-degree's of one network, the one peer that promises something of identity.

    python -m lab.benchmarks.bench_k_degree [--people 10000] [--ties 100000] [--small]

Both run once on a small network, so that kernels are compiled. Prints the core seconds of each, and
a hash of the edges of both.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time

import numpy as np

from ktsafe import AttributedGraph, PrivacyParams, anonymize
from ktsafe.graph.synthetic import uniform
from lab.evaluation.peer_mechanisms import k_degree

PARAMS = PrivacyParams(k=10, alpha="1/5")
SEED = 0


def main() -> int:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=10_000)
    parser.add_argument("--ties", type=int, default=100_000)
    parser.add_argument("--small", action="store_true", help="only a small network")
    given = parser.parse_args()
    size = (1_000, 5_000) if given.small else (given.people, given.ties)
    for n_people, n_ties in ((1_000, 5_000), size):
        graph = uniform(n_people, n_ties, rng=np.random.default_rng(SEED))
        found = {"ktsafe": _ours(graph), "k_degree": _theirs(graph)}
    print(json.dumps({name: core_s for name, (core_s, _) in found.items()}))
    print(hashlib.sha256(b"".join(edges for _, edges in found.values())).hexdigest()[:12])
    return 0


def _ours(graph: AttributedGraph) -> tuple[float, bytes]:
    before_s = time.process_time()
    release = anonymize(graph, PARAMS, rng=np.random.default_rng(SEED))
    return round(time.process_time() - before_s, 2), release.graph.edges.tobytes()


def _theirs(graph: AttributedGraph) -> tuple[float, bytes]:
    before_s = time.process_time()
    edges = k_degree(graph.n_vertices, graph.edges, PARAMS.k, np.random.default_rng(SEED))
    return round(time.process_time() - before_s, 2), edges.tobytes()


if __name__ == "__main__":
    sys.exit(main())
