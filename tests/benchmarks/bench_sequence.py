"""Cost, time and safety of long sequences: `python -m tests.benchmarks.bench_sequence [--small]`.

In each release half of the changed ties are removed and half are added, all drawn uniformly. Every
release passes the strict verifier, every sequence its whole certificate at the end. The cost is
compared with a fresh release of the same final graph. Times are core milliseconds of `advance`
alone, which applies, repairs and checks the certificate and the cover of what changed; a small
sequence is made first, so that none of them loads compiled code. `cover` is the least number of
members of a cohort that shared a visible change. The digest covers the released graphs.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from ktsafe import AttributedGraph, PrivacyParams, Schema, anonymize
from ktsafe.audit import cost_parts, trace
from ktsafe.options import Effort
from ktsafe.sequence import Changes, Released, Sequence, SequenceOptions, Step
from ktsafe.verify import verify_graph
from tests.benchmarks.bench_anonymize import from_folder

PARAMS = PrivacyParams()


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What one sequence came to."""

    first: int
    last: int
    fresh: int
    held: int
    age: int
    rotated: int
    cover: int
    unsafe: int
    ms: list[float]
    digest: str


def main() -> int:
    """Run the benchmark; return the number of unsafe vertices found."""
    parser = argparse.ArgumentParser(description="Cost and time of sequences of releases.")
    parser.add_argument("--data", type=Path, help="folder of data sets: use cora of it")
    parser.add_argument("--vertices", type=int, default=10_000, help="of the synthetic graph")
    parser.add_argument("--releases", type=int, default=50)
    parser.add_argument("--share", type=float, default=0.001, help="of ties changed per release")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--lags", default="", help="values of edge_lag_max, separated by commas")
    parser.add_argument("--no-cover", action="store_true")
    parser.add_argument("--effort", choices=get_args(Effort), help="of the first release")
    parser.add_argument("--small", action="store_true", help="only a small synthetic graph")
    a = parser.parse_args()
    n, releases = (600, 4) if a.small else (a.vertices, a.releases)
    effort: Effort = a.effort or ("fast" if a.small else "balanced")
    defaults = SequenceOptions(cover=not a.no_cover, effort=effort)
    lags = [int(lag) for lag in a.lags.split(",") if lag] or [defaults.edge_lag_max]
    warm = dataclasses.replace(defaults, effort="fast")
    run(power_law(300, 0), warm, 4, 0.05, 0)
    print(
        "cover lag seed    first     last    fresh ratio   held  age rotated cover  "
        "ms med  ms max unsafe hash"
    )
    unsafe = 0
    for lag in lags:
        options = dataclasses.replace(defaults)
        ratios = []
        for seed in range(a.seeds):
            graph = cora(a.data) if a.data else power_law(n, seed)
            outcome = run(graph, options, releases, a.share, seed)
            ratios.append(outcome.last / max(outcome.fresh, 1))
            unsafe += outcome.unsafe
            report(options, seed, outcome)
        print(f"lag {lag}: ratio median {statistics.median(ratios):.3f} worst {max(ratios):.3f}")
    return unsafe


def report(options: SequenceOptions, seed: int, outcome: Outcome) -> None:
    """Print one line."""
    o = outcome
    print(
        f"{options.cover!s:5} {options.edge_lag_max:3} {seed:4} {o.first:8} {o.last:8} {o.fresh:8} "
        f"{o.last / max(o.fresh, 1):5.3f} {o.held:6} {o.age:4} {o.rotated:7} {o.cover:5} "
        f"{statistics.median(o.ms):7.1f} {max(o.ms):7.1f} {o.unsafe:6} {o.digest}",
        flush=True,
    )


def run(
    graph: AttributedGraph, options: SequenceOptions, releases: int, share: float, seed: int
) -> Outcome:
    """Make one sequence."""
    keys = np.arange(graph.n_vertices, dtype=np.int64)
    rng = np.random.default_rng(seed)
    sequence = Sequence.begin(graph.schema, PARAMS, options, Changes.of_graph(graph, keys), rng)
    first = sequence.figures().cost
    digest = hashlib.sha256()
    milliseconds: list[float] = []
    shared: list[int] = []
    before = sequence.released()
    unsafe = _judge(sequence, digest)
    ties = {(u, v) for u, v in graph.edges.tolist()}
    for changes in churn(ties, graph.n_vertices, share, releases, np.random.default_rng(seed + 1)):
        began = time.process_time()
        step = sequence.advance(changes, rng)
        milliseconds.append(1000 * (time.process_time() - began))
        after = sequence.released()
        shared += _shared(step, before, after, sequence.cohorts())
        before = after
        unsafe += _judge(sequence, digest)
    sequence.check()
    final = AttributedGraph.from_codes(graph.schema, graph.categories, graph.codes, sorted(ties))
    fresh = anonymize(final, PARAMS, rng=np.random.default_rng(seed))
    fresh_cost = cost_parts(trace(final, fresh.graph, fresh.origin), PARAMS)["total"]
    figures = sequence.figures()
    return Outcome(
        first,
        figures.cost,
        fresh_cost,
        figures.held_edges,
        figures.held_edge_age_max,
        figures.moves.get("rotated", 0),
        min(shared, default=0),
        unsafe,
        milliseconds,
        digest.hexdigest()[:12],
    )


def _shared(step: Step, before: Released, after: Released, cohorts: NDArray[np.int64]) -> list[int]:
    """Return for each visible change how many members of the cohort share it.

    Who changes must be in both releases; the neighbours that are gained or lost need not be.
    """
    ids = np.concatenate((before.ids, after.ids)).tolist()
    codes = np.concatenate((before.graph.codes[:, :-1], after.graph.codes[:, :-1])).tolist()
    kind = dict(zip(ids, map(tuple, codes), strict=True))
    changes: defaultdict[int, Counter[tuple[object, ...]]] = defaultdict(Counter)
    for what, edges in (("gained", step.gained), ("lost", step.lost)):
        for u, v in edges.tolist():
            changes[u][what, kind[v]] += 1
            changes[v][what, kind[u]] += 1
    cohort = dict(zip(after.ids.tolist(), cohorts.tolist(), strict=True))
    there = changes.keys() & set(before.ids.tolist()) & cohort.keys()
    return list(Counter((cohort[v], frozenset(changes[v].items())) for v in there).values())


def churn(
    ties: set[tuple[int, int]], n: int, share: float, releases: int, rng: np.random.Generator
) -> Iterator[Changes]:
    """Change the set of ties release by release."""
    for _ in range(releases):
        known = sorted(ties)
        count = max(1, round(len(known) * share / 2))
        removed = [known[i] for i in rng.choice(len(known), count, replace=False).tolist()]
        added: set[tuple[int, int]] = set()
        while len(added) < count:
            u, v = sorted(rng.integers(0, n, 2).tolist())
            if u != v and (u, v) not in ties:
                added.add((u, v))
        ties.difference_update(removed)
        ties.update(added)
        yield Changes(ties_added=_array(sorted(added)), ties_removed=_array(removed))


def _array(ties: list[tuple[int, int]]) -> NDArray[np.int64]:
    return np.array(ties, dtype=np.int64)


def _judge(sequence: Sequence, digest: hashlib._Hash) -> int:
    graph = sequence.released().graph
    digest.update(graph.codes.tobytes() + graph.edges.tobytes())
    return verify_graph(graph, PARAMS).n_unsafe


def cora(folder: Path) -> AttributedGraph:
    """Return the data set of that name."""
    return next(graph for name, graph in from_folder(folder) if name == "cora")


def power_law(n: int, seed: int) -> AttributedGraph:
    """Return a graph of power-law degrees, 3n edges, 48 quasi-identifiers, 5% sensitive."""
    rng = np.random.default_rng(seed)
    edges = np.array(nx.powerlaw_cluster_graph(n, 3, 0.5, seed=seed).edges())
    columns = [rng.integers(0, values, n) for values in (4, 4, 3)]
    codes = np.column_stack([*columns, (rng.random(n) < 0.05).astype(np.int64)])
    schema = Schema(("a", "b", "c"), "s", frozenset({"1"}))
    return AttributedGraph.from_codes(
        schema, [list("0123"), list("0123"), list("012"), list("01")], codes, edges
    )


if __name__ == "__main__":
    sys.exit(main())
