"""Sequences beyond one hop: `python -m lab.benchmarks.bench_sequence_aligned [--small]`.

    [--data FOLDER] [--releases 20] [--share 0.01] [--k 10] [--effort balanced]

Permanent groups on cora of FOLDER, or on a synthetic graph; in each release half of the changed
ties are removed and half are added, all drawn uniformly. Every release is judged by the strict
verifier with its certificate, and by the auditor of sequences together with all before it; a
sample of the last one's vertices is judged by exact edit distances, without the certificate. The
cost is compared with a fresh aligned release of the same final graph. Seconds are core seconds of
`advance` alone; the hash covers the released graphs.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import sys
import time
from pathlib import Path

import numpy as np

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams
from ktsafe.anonymization.request import Request
from ktsafe.audit.sequence import Promise
from ktsafe.sequence import Changes, SequenceOptions
from ktsafe_lab.aligned_sequence import AlignedAuditor, AlignedRelease, AlignedSequence
from ktsafe_lab.strategies import everybody
from ktsafe_lab.verify_hops import verify_graph
from lab.benchmarks.bench_hops import digest, exact
from lab.benchmarks.bench_sequence import churn, cora, power_law

SEED = 0
SAMPLES = 10


def main() -> int:
    """Run the benchmark; return the number of unsafe vertices and violations found."""
    parser = argparse.ArgumentParser(description="Sequences beyond one hop.")
    parser.add_argument("--data", type=Path, help="folder of data sets: use cora of it")
    parser.add_argument("--vertices", type=int, default=3_000, help="of the synthetic graph")
    parser.add_argument("--releases", type=int, default=20)
    parser.add_argument("--share", type=float, default=0.01, help="of ties changed per release")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--effort", choices=["fast", "balanced"], default="balanced")
    parser.add_argument("--small", action="store_true", help="only a small synthetic graph")
    a = parser.parse_args()
    n, releases = (400, 3) if a.small else (a.vertices, a.releases)
    effort = "fast" if a.small else a.effort
    graph = cora(a.data) if a.data else power_law(n, SEED)
    params = PrivacyParams(k=a.k, n_hops=2)
    options = SequenceOptions(effort=effort)
    return run(graph, params, options, releases, a.share)


def run(
    graph: AttributedGraph,
    params: PrivacyParams,
    options: SequenceOptions,
    releases: int,
    share: float,
) -> int:
    """Make and judge one sequence; print what it came to."""
    keys = np.arange(graph.n_vertices, dtype=np.int64)
    rng = np.random.default_rng(SEED)
    everybody = Changes.of_graph(graph, keys)
    began = time.process_time()
    sequence = AlignedSequence.begin(graph.schema, params, options, everybody, rng)
    building = time.process_time() - began
    first, seconds, hashed = sequence.figures(), [], hashlib.sha256()
    auditor = AlignedAuditor(Promise("all", cover=True))
    wrong = judged(sequence, auditor, hashed)
    ties = {(u, v) for u, v in graph.edges.tolist()}
    drawn = np.random.default_rng(SEED + 1)
    for changes in churn(ties, graph.n_vertices, share, releases, drawn):
        began = time.process_time()
        sequence.advance(changes, rng)
        seconds.append(time.process_time() - began)
        wrong += judged(sequence, auditor, hashed)
    sequence.check()
    last = sequence.figures()
    final = AttributedGraph.from_codes(graph.schema, graph.categories, graph.codes, sorted(ties))
    fresh = fresh_cost(final, params, options)
    copies = (params.group_size_min - 1) * (final.n_vertices + final.n_edges)
    print(
        f"{graph.n_vertices} vertices, {releases} releases, k {params.k}: first {first.cost} "
        f"({building:.1f} core s), last {last.cost} ({last.cost / copies:.3f} of copies), fresh "
        f"{fresh}, ratio {last.cost / max(fresh, 1):.3f}; withheld {last.withheld_vertices}, "
        f"waiting ties {last.waiting_edges}; advance {1000 * statistics.median(seconds):.0f} ms "
        f"median, {1000 * max(seconds):.0f} worst (core); wrong {wrong}; "
        f"{hashed.hexdigest()[:12]}"
    )
    return wrong + sampled(sequence, params)


def judged(sequence: AlignedSequence, auditor: AlignedAuditor, hashed: hashlib._Hash) -> int:
    """Return the unsafe vertices of the current release and the violations of the sequence."""
    released = sequence.released()
    graph = released.graph
    hashed.update(digest(graph.codes, graph.edges).encode())
    assert released.shift is not None
    findings = auditor.extend(
        AlignedRelease(
            release_id=str(sequence.release),
            sequence_id="one",
            params=sequence.params,
            ids=[str(i) for i in released.ids.tolist()],
            categories=graph.categories[:-1],
            codes=graph.codes[:, :-1].astype(np.int64),
            is_sensitive=graph.is_sensitive,
            edges=graph.edges.astype(np.int64),
            owners=[None if key < 0 else key for key in released.keys.tolist()],
            shift=released.shift.astype(np.int64),
            value_at=released.value_at,
        )
    )
    verdict = verify_graph(graph, sequence.params, certificate=released.shift)
    return verdict.n_unsafe + len(findings.violations)


def fresh_cost(graph: AttributedGraph, params: PrivacyParams, options: SequenceOptions) -> int:
    """Return the cost of a release of the graph by itself."""
    chosen = AnonymizeOptions(options.effort)
    made = everybody(Request(graph, params, np.random.default_rng(SEED), chosen), "aligned").graph
    return made.n_vertices - graph.n_vertices + made.n_edges - graph.n_edges


def sampled(sequence: AlignedSequence, params: PrivacyParams) -> int:
    """Judge some vertices of the current release by definition; print and return the unsafe."""
    graph = sequence.released().graph
    chosen = np.random.default_rng(SEED).choice(
        graph.n_vertices, min(SAMPLES, graph.n_vertices), replace=False
    )
    found = exact(graph, params, chosen)
    size, sensitive = found.certain[:, chosen]
    rich = sensitive * params.alpha.denominator > size * params.alpha.numerator
    unsafe = int(np.count_nonzero((size < params.k) | rich))
    print(
        f"  {len(chosen)} vertices by definition: {unsafe} unsafe, fewest candidates {size.min()}, "
        f"{found.undecided_pairs} pairs undecided"
    )
    return unsafe


if __name__ == "__main__":
    sys.exit(main())
