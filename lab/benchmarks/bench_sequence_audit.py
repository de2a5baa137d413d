"""The exact audit of a long sequence, and what one more release costs.

    python -m lab.benchmarks.bench_sequence_audit [--size small|full]

The sequence is safe and hand-made: ten copies of one graph, where the ten of each person then gain
ties with the ten of another. Prints vertices, edges, releases, the
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

import msgspec
import networkx as nx
import numpy as np

from ktsafe import PrivacyParams
from ktsafe.audit.sequence import AuditedRelease, Promise, SequenceAuditor

SIZES = {"small": [(1_000, 5, 3)], "full": [(10_000, 50, 15), (100_000, 10, 150)]}
"""People, releases, rounds of ties added per release."""

CATEGORIES = [["0", "1", "2", "3"], ["0", "1", "2", "3"], ["0", "1", "2"]]


def releases(n: int, count: int, rounds: int) -> Iterator[AuditedRelease]:
    """Yield a sequence that is safe for w = all, with cover."""
    rng = np.random.default_rng(1)
    size = PrivacyParams().group_size_min
    people = n // size
    # Vertex v of copy i is i * people + v; only the first copy is ever sensitive.
    codes = np.column_stack([rng.integers(0, len(texts), people) for texts in CATEGORIES])
    codes = np.tile(codes, (size, 1))
    is_sensitive = np.arange(n) < people
    is_sensitive[:people] = rng.random(people) < 0.5
    ties = np.array(nx.powerlaw_cluster_graph(people, 3, 0.5, seed=1).edges, dtype=np.int64)
    ties = np.concatenate([ties + i * people for i in range(size)])
    edges = {(min(u, v), max(u, v)) for u, v in ties.tolist()}
    ids = [f"{v:016x}" for v in range(n)]
    for i in range(count):
        for _ in range(rounds if i else 0):
            a, b = rng.choice(people, 2, replace=False).tolist()
            shift = int(rng.integers(0, size))
            ends = [(a + j * people, b + (j + shift) % size * people) for j in range(size)]
            chosen = {(min(e), max(e)) for e in ends}
            if not chosen & edges:
                edges |= chosen
        yield AuditedRelease(
            str(i),
            "bench",
            PrivacyParams(),
            ids,
            CATEGORIES,
            codes,
            is_sensitive,
            np.array(sorted(edges), dtype=np.int64),
            list(range(n)),
        )


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
            digest.update(msgspec.json.encode(findings.told(), order="sorted"))
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
