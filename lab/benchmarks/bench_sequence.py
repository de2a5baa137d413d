"""Worth, time and safety of long sequences: `python -m lab.benchmarks.bench_sequence [--small]`.

    [--data FOLDER --only cora,fb-reed98] [--vertices 10000] [--classes 48|8] [--releases 50]
    [--share 0.0001,0.001,0.01,0.1] [--seeds 3] [--effort balanced] [--each]

In each release half of the changed ties are removed and half are added, all drawn uniformly. Every
release passes the strict verifier, every sequence its whole certificate at the end. `cost` counts
ties hidden and inserted, over the true ties; F1 is that of the ties; `worst` is the greatest cost
of any release. `age` is how well the ages of ties tell true from inserted ones in the last release
(area under the curve, 0.5 tells nothing). `cover` is the least number of members of a cohort that
shared a visible change. Of the last release, `clustering` is the mean over all vertices of the
share of pairs of neighbours that are tied, truly and as released, `denoised` the greatest of the
shares of people that `ktsafe.assess.attacks.denoised` finds. Times are core milliseconds of
`advance` alone, which applies, plans and checks the certificate and the cover of what changed; a
small sequence is made first, so none of them loads compiled code. The hash covers the released
graphs.
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
from typing import Final, get_args

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from ktsafe import AttributedGraph, PrivacyParams, Schema
from ktsafe.anonymization.request import Effort
from ktsafe.assess.attacks.common.case import Case
from ktsafe.assess.attacks.denoised import denoised
from ktsafe.assess.utility import structure
from ktsafe.audit import trace, usefulness
from ktsafe.audit.sequence.continuity import EdgeAges
from ktsafe.graph.numbering import edge_keys
from ktsafe.sequence import Changes, Released, SequenceEngine, SequenceOptions, Step
from ktsafe.verify import verify_graph
from lab.benchmarks.bench_anonymize import from_folder

PARAMS: Final = PrivacyParams()
VALUES: Final = {48: (4, 4, 3), 8: (2, 2, 2)}
"""Values of the three quasi-identifiers, by the number of classes."""


@dataclasses.dataclass(frozen=True)
class Row:
    """What one release came to; `edges` are the figures of `ktsafe.audit.release_audit`."""

    vertices: int
    edges: int
    cost: float
    f1: float
    age: float | None
    cover: int | None
    ms: float
    unsafe: int
    clustering: tuple[float, float] | None = None
    denoised: float | None = None


def main() -> int:
    """Run the benchmark; return the number of unsafe vertices found."""
    parser = argparse.ArgumentParser(description="Worth and time of sequences of releases.")
    parser.add_argument("--data", type=Path, help="folder of data sets, instead of synthetic ones")
    parser.add_argument("--only", default="cora", help="data sets of it, separated by commas")
    parser.add_argument("--vertices", type=int, default=10_000, help="of the synthetic graph")
    parser.add_argument("--classes", type=int, choices=sorted(VALUES), default=48, help="of it")
    parser.add_argument("--releases", type=int, default=50, help="after the first one")
    parser.add_argument("--share", default="0.001", help="of ties changed per release; a list")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--effort", choices=get_args(Effort), default="balanced")
    parser.add_argument("--each", action="store_true", help="print every release")
    parser.add_argument("--small", action="store_true", help="only a small synthetic graph")
    a = parser.parse_args()
    n, releases = (600, 4) if a.small else (a.vertices, a.releases)
    options = SequenceOptions(effort="fast" if a.small else a.effort)
    for _ in sequence_of(power_law(300, 0), SequenceOptions(effort="fast"), 4, 0.05, 0):
        pass
    print(
        f"{'graph':>12} {'share':>7} seed   first    last   worst      F1    age cover "
        "  ms med   ms max clustering denoised unsafe hash"
    )
    unsafe = 0
    for share in map(float, a.share.split(",")):
        for seed in range(a.seeds):
            for name, graph in graphs(a, n, seed):
                unsafe += report(name, graph, options, releases, share, seed, each=a.each)
    return unsafe


def graphs(a: argparse.Namespace, n: int, seed: int) -> Iterator[tuple[str, AttributedGraph]]:
    """Yield the graphs that are asked for, and their names."""
    if a.data is None:
        yield f"{n}x{a.classes}", power_law(n, seed, a.classes)
        return
    wanted = a.only.split(",")
    yield from ((name, graph) for name, graph in from_folder(a.data) if name in wanted)


def report(
    name: str,
    graph: AttributedGraph,
    options: SequenceOptions,
    releases: int,
    share: float,
    seed: int,
    *,
    each: bool,
) -> int:
    """Make one sequence and print a line; return the number of unsafe vertices."""
    digest = hashlib.sha256()
    rows: list[Row] = []
    for number, (row, released) in enumerate(sequence_of(graph, options, releases, share, seed)):
        digest.update(released.codes.tobytes() + released.edges.tobytes())
        rows.append(row)
        if each:
            print(
                f"{number:4}: {row.vertices:7} vertices {row.edges:8} edges  cost {row.cost:.3f}  "
                f"F1 {row.f1:.3f}  age {_text(row.age)}  cover {row.cover or '-'}  {row.ms:.1f} ms"
            )
    last, ms = rows[-1], [row.ms for row in rows[1:]] or [0.0]
    worst, age = max(row.cost for row in rows), _text(last.age)
    cover = min((row.cover for row in rows if row.cover is not None), default=None)
    unsafe = sum(row.unsafe for row in rows)
    true, shown = last.clustering or (0.0, 0.0)
    print(
        f"{name:>12} {share:7} {seed:4} {rows[0].cost:7.3f} {last.cost:7.3f} "
        f"{worst:7.3f} {last.f1:7.3f} {age:>6} {cover or '-':>5} "
        f"{statistics.median(ms):8.1f} {max(ms):8.1f}  {true:.3f} {shown:.3f} "
        f"{_text(last.denoised):>8} {unsafe:6} {digest.hexdigest()[:12]}",
        flush=True,
    )
    return unsafe


def sequence_of(
    graph: AttributedGraph, options: SequenceOptions, releases: int, share: float, seed: int
) -> Iterator[tuple[Row, AttributedGraph]]:
    """Make one sequence; yield what each release came to, and the released graph."""
    keys = np.arange(graph.n_vertices, dtype=np.int64)
    rng = np.random.default_rng(seed)
    ages, numbers = EdgeAges(), {}
    began = time.process_time()
    sequence = SequenceEngine.begin(
        graph.schema, PARAMS, options, Changes.of_graph(graph, keys), rng
    )
    took = time.process_time() - began
    before = sequence.released()
    yield _row(sequence, before, ages, numbers, None, took), before.graph
    ties = {(u, v) for u, v in graph.edges.tolist()}
    draws = churn(ties, graph.n_vertices, share, releases, np.random.default_rng(seed + 1))
    for number, changes in enumerate(draws, 1):
        began = time.process_time()
        step = sequence.advance(changes, rng)
        took = time.process_time() - began
        after = sequence.released()
        cover = min(_shared(step, before, after, sequence.cohorts()), default=None)
        row = _row(sequence, after, ages, numbers, cover, took)
        yield (_looked_at(row, sequence) if number == releases else row), after.graph
        before = after
    sequence.check()


def _row(
    sequence: SequenceEngine,
    released: Released,
    ages: EdgeAges,
    numbers: dict[int, int],
    cover: int | None,
    seconds: float,
) -> Row:
    """Measure the current release; `numbers` gives every published id a small number for ever."""
    truth, keys = sequence.truth()
    behind = np.where(released.keys < 0, -1, np.searchsorted(keys, released.keys))
    found = usefulness(trace(truth, released.graph, behind)).edges
    shown = released.graph.edges
    true = edge_keys(truth.edges)
    is_true = (behind[shown] >= 0).all(axis=1) & np.isin(edge_keys(behind[shown]), true)
    number = np.array([numbers.setdefault(i, len(numbers)) for i in released.ids.tolist()])
    ties = edge_keys(number[shown])
    order = np.argsort(ties)
    return Row(
        vertices=released.graph.n_vertices,
        edges=released.graph.n_edges,
        cost=found.cost_share or 0.0,
        f1=found.f1 or 0.0,
        age=ages.add(ties[order], is_true[order]).age_auc,
        cover=cover,
        ms=1000 * seconds,
        unsafe=verify_graph(released.graph, PARAMS).n_unsafe,
    )


def _looked_at(row: Row, sequence: SequenceEngine) -> Row:
    """Add what inserted edges look like in the current release."""
    released, (truth, keys) = sequence.released(), sequence.truth()
    behind = np.where(released.keys < 0, -1, np.searchsorted(keys, released.keys))
    case = Case(truth, released.graph, behind)
    found = denoised(case, PARAMS, np.random.default_rng(0))
    return dataclasses.replace(
        row,
        clustering=(structure(truth).clustering, structure(released.graph).clustering),
        denoised=max(result.value for result in found if result.measure == "share"),
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


def cora(folder: Path) -> AttributedGraph:
    """Return the data set of that name."""
    return next(graph for name, graph in from_folder(folder) if name == "cora")


def _text(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def power_law(n: int, seed: int, classes: int = 48) -> AttributedGraph:
    """Return a graph of power-law degrees, 3n edges, 5% sensitive, of so many classes."""
    rng = np.random.default_rng(seed)
    edges = np.array(nx.powerlaw_cluster_graph(n, 3, 0.5, seed=seed).edges())
    values = VALUES[classes]
    columns = [rng.integers(0, count, n) for count in values]
    codes = np.column_stack([*columns, (rng.random(n) < 0.05).astype(np.int64)])
    schema = Schema(("a", "b", "c"), "s", frozenset({"1"}))
    return AttributedGraph.from_codes(
        schema, [[str(i) for i in range(count)] for count in (*values, 2)], codes, edges
    )


if __name__ == "__main__":
    sys.exit(main())
