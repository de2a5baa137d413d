"""Cost, time and safety of releases made one from the other (w = 1).

`python -m tests.benchmarks.bench_incremental [--small]`: the streams are those of
`bench_sequence`: in each release half of the changed ties are removed, half are added. Times are
core seconds of the release alone, index included; the strict verifier judges every release outside
them, and its core seconds are printed too. The cost is compared with a fresh release of the same
final graph, the time with that of the first release, which is fresh. `short` counts people of the
last release who see fewer than k real candidates where their combination has them.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import statistics
import sys
import time
from pathlib import Path

import numpy as np

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams, anonymize
from ktsafe.incremental import IncrementalReleases
from ktsafe.options import Effort
from ktsafe.verify import verify_flags, verify_graph
from tests.benchmarks.bench_sequence import churn, cora, power_law

PARAMS = PrivacyParams()


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What one run came to; times in core seconds."""

    first: int
    last: int
    fresh: int
    rebuilds: int
    unsafe: int
    fresh_s: float
    carried_s: list[float]
    verify_s: float
    kept_share: float
    short: int
    digest: str

    @property
    def ratio(self) -> float:
        """The cost by that of a fresh release, NaN where none was made."""
        return self.last / self.fresh if self.fresh else float("nan")


def main() -> int:
    """Run the benchmark; return the number of unsafe vertices found."""
    parser = argparse.ArgumentParser(description="Cost and time of releases made one by one.")
    parser.add_argument("--data", type=Path, help="folder of data sets: use cora of it")
    parser.add_argument("--vertices", type=int, default=10_000, help="of the synthetic graph")
    parser.add_argument("--releases", type=int, default=50)
    parser.add_argument("--share", type=float, default=0.001, help="of ties changed per release")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--times-only", action="store_true", help="no fresh release at the end")
    parser.add_argument("--small", action="store_true", help="only a small synthetic graph")
    a = parser.parse_args()
    n, releases = (400, 3) if a.small else (a.vertices, a.releases)
    effort: Effort = "fast" if a.small else "balanced"
    print(
        "seed  first   last  fresh ratio new unsafe fresh s  median     max faster verify  "
        "index short"
    )
    outcomes = []
    # Kernels are compiled, or read, before anything is timed.
    run(power_law(200, 0), effort, 1, 0.01, 0)
    for seed in range(a.first_seed, a.first_seed + a.seeds):
        graph = cora(a.data) if a.data else power_law(n, seed)
        outcomes.append(run(graph, effort, releases, a.share, seed, compared=not a.times_only))
        report(seed, outcomes[-1])
    ratios = [o.ratio for o in outcomes]
    print(f"ratio median {statistics.median(ratios):.3f} worst {max(ratios):.3f}")
    return sum(o.unsafe for o in outcomes)


def report(seed: int, o: Outcome) -> None:
    """Print one line."""
    median = statistics.median(o.carried_s) if o.carried_s else float("nan")
    print(
        f"{seed:4} {o.first:6} {o.last:6} {o.fresh:6} {o.ratio:5.3f} "
        f"{o.rebuilds:3} {o.unsafe:6} {o.fresh_s:7.2f} {median:7.3f} "
        f"{max(o.carried_s, default=0):7.3f} {o.fresh_s / median:6.1f} {o.verify_s:6.3f} "
        f"{o.kept_share:6.4f} {o.short:5} {o.digest}",
        flush=True,
    )


def run(
    graph: AttributedGraph,
    effort: Effort,
    releases: int,
    share: float,
    seed: int,
    *,
    compared: bool = True,
) -> Outcome:
    """Make one series of releases."""
    keys = np.arange(graph.n_vertices, dtype=np.int64)
    rng = np.random.default_rng(seed)
    options = AnonymizeOptions(effort=effort)
    made = IncrementalReleases(PARAMS, options)
    began = time.process_time()
    step = made.release(graph, keys, rng)
    fresh_s, first = time.process_time() - began, step.cost
    ties = {(u, v) for u, v in graph.edges.tolist()}
    carried_s: list[float] = []
    verify_s: list[float] = []
    digest = hashlib.sha256()
    rebuilds = unsafe = kept = computed = 0
    now = released = graph
    for _ in churn(ties, graph.n_vertices, share, releases, np.random.default_rng(seed + 1)):
        now = AttributedGraph.from_codes(graph.schema, graph.categories, graph.codes, sorted(ties))
        began = time.process_time()
        step = made.release(now, keys, rng)
        seconds = time.process_time() - began
        assert made.last is not None
        released = made.last.graph
        rebuilds += step.is_fresh
        if not step.is_fresh:
            carried_s.append(seconds)
            kept, computed = kept + step.upkeep.kept, computed + step.upkeep.computed
        began = time.process_time()
        unsafe += verify_graph(released, PARAMS).n_unsafe
        verify_s.append(time.process_time() - began)
        assert step.cost == _cost(now, released)
        digest.update(released.codes.tobytes() + released.edges.tobytes())
    fresh = now
    if compared:
        fresh = anonymize(now, PARAMS, rng=np.random.default_rng(seed), options=options).graph
    return Outcome(
        first,
        step.cost,
        _cost(now, fresh),
        rebuilds,
        unsafe,
        fresh_s,
        carried_s,
        statistics.median(verify_s),
        kept / max(kept + computed, 1),
        short_of_real(released, now.n_vertices),
        digest.hexdigest()[:12],
    )


def short_of_real(released: AttributedGraph, people: int) -> int:
    """Return how many people see fewer than k people, of those whose class has k, by the verifier.

    The first vertices are the people.
    """
    is_real = np.arange(released.n_vertices) < people
    _, (seen,) = verify_flags(
        released.codes[:, :-1], is_real.reshape(-1, 1), released.edges, PARAMS
    )
    in_class = np.bincount(released.qi_classes[:people])[released.qi_classes[:people]]
    return int(np.count_nonzero((seen[:people] < PARAMS.k) & (in_class >= PARAMS.k)))


def _cost(true: AttributedGraph, released: AttributedGraph) -> int:
    """Return the inserted vertices and edges."""
    return released.n_vertices - true.n_vertices + released.n_edges - true.n_edges


if __name__ == "__main__":
    sys.exit(main())
