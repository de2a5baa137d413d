"""The exact audit of a long sequence, and what one more release costs.

    python -m tests.benchmarks.bench_sequence_audit [--size small|full]

The sequence is safe and hand-made: an exactly uniform graph (t = 0, epsilon = 0), whose cohorts of
one size then gain and lose whole rounds of ties among them. Prints vertices, edges, releases, the
seconds in all, the median and worst milliseconds of the releases after the first (strict verifier
included), how many profiles were built, and a hash of the findings.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import statistics
import time
from collections.abc import Iterator

import networkx as nx
import numpy as np

from ktsafe import AttributedGraph, PrivacyParams, Schema, anonymize
from ktsafe.sequence_audit import AuditedRelease, Promise, SequenceAuditor

SIZES = {"small": [(1_000, 5, 3)], "full": [(10_000, 50, 15), (100_000, 10, 150)]}
"""People, releases, rounds changed per release."""

CATEGORIES = [["0", "1", "2", "3"], ["0", "1", "2", "3"], ["0", "1", "2"], ["0", "1"]]


def releases(n: int, count: int, rounds: int) -> Iterator[AuditedRelease]:
    """Yield a sequence that is safe for w = all, with cover."""
    rng = np.random.default_rng(1)
    codes = np.column_stack([rng.integers(0, len(texts), n) for texts in CATEGORIES])
    codes[:, 3] = rng.random(n) < 0.05
    schema = Schema(("a", "b", "c"), "s", frozenset({"1"}))
    ties = nx.powerlaw_cluster_graph(n, 3, 0.5, seed=1).edges
    graph = AttributedGraph.from_codes(schema, CATEGORIES, codes, np.array(ties))
    start = anonymize(graph, PrivacyParams(t=0, epsilon=0), rng=np.random.default_rng(1)).graph
    cohorts = _cohorts(start)
    edges = {(int(u), int(v)) for u, v in start.edges}
    ids = [f"{v:016x}" for v in range(start.n_vertices)]
    owners = [v if v < n else None for v in range(start.n_vertices)]
    for i in range(count):
        for _ in range(rounds if i else 0):
            a, b = rng.choice(len(cohorts), 2, replace=False)
            first, second = cohorts[a], cohorts[b]
            shift = int(rng.integers(0, len(first)))
            turned = np.roll(second, shift)[: len(first)]
            ends = list(zip(first.tolist(), turned.tolist(), strict=False))
            chosen = {(min(e), max(e)) for e in ends}
            if len(first) == len(second) and not chosen & edges:
                edges |= chosen
        yield AuditedRelease(
            str(i),
            "bench",
            PrivacyParams(),
            ids,
            start.categories[:-1],
            start.codes[:, :-1].astype(np.int64),
            start.is_sensitive,
            np.array(sorted(edges), dtype=np.int64),
            owners,
        )


def _cohorts(graph: AttributedGraph) -> list[np.ndarray]:
    """Return the vertices by quasi-identifiers and histogram."""
    ones = [
        np.eye(len(texts), dtype=np.int64)[graph.codes[:, j]]
        for j, texts in enumerate(CATEGORIES[:3])
    ]
    own = np.concatenate(ones, axis=1)
    near = own.copy()
    for u, v in ((0, 1), (1, 0)):
        np.add.at(near, graph.edges[:, u], own[graph.edges[:, v]])
    key = np.column_stack((graph.codes[:, :-1], near))
    label = np.unique(key, axis=0, return_inverse=True)[1].reshape(-1)
    return np.split(np.argsort(label, kind="stable"), np.cumsum(np.bincount(label))[:-1])


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=sorted(SIZES), default="full")
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores")
    for n, count, rounds in SIZES[parser.parse_args().size]:
        auditor = SequenceAuditor(Promise("all", cover=True))
        seconds, digest, release = [], hashlib.sha256(), None
        for release in releases(n, count, rounds):
            started = time.perf_counter()
            findings = auditor.extend(release)
            seconds.append(time.perf_counter() - started)
            assert findings.is_safe, findings.violations
            digest.update(json.dumps(findings.to_mapping(), sort_keys=True).encode())
        digest.update(json.dumps(auditor.shares(), sort_keys=True).encode())
        assert release is not None
        later = [1000 * s for s in seconds[1:]]
        print(
            f"people {n}  vertices {len(release.ids)}  edges {len(release.edges)}  "
            f"releases {count}  seconds {sum(seconds):.2f}  "
            f"ms median {statistics.median(later):.1f}  ms worst {max(later):.1f}  "
            f"profiles {auditor.work['profiles']}  comparisons {auditor.work['comparisons']}  "
            f"hash {digest.hexdigest()[:16]}",
            flush=True,
        )


if __name__ == "__main__":
    main()
