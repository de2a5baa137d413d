"""Compiled kernels, made by toy runs.

    python -m ktsafe.stream.warm [search|ending|judges|attacks...]

Without a name all of them: a service's first release, and workers, then find what they need.

`search` may run beside `ending` and `judges`: it finds compiled what it comes to last, and no other
kernel is of two of them. Prints how many kernels had to be compiled.

Toy graphs may be changed as long as they reach every kernel that releases use:
tests/ktsafe/kernels/test_warm.py fails if a second run, or a release, still compiles one.
"""

# ruff: noqa: E402 -- the folder must be chosen before a module with a kernel is imported

from __future__ import annotations

import dataclasses
import sys
from fractions import Fraction

from ktsafe.kernels.kernel_cache import choose_kernel_folder

choose_kernel_folder()

import numpy as np
from numba.core.dispatcher import Dispatcher

from ktsafe import AttributedGraph, PrivacyParams, anonymize
from ktsafe.anonymization.pair_edges import realize
from ktsafe.anonymization.pair_program import Pair, solve
from ktsafe.anonymization.rewiring import exchanged
from ktsafe.audit import audit_release, trace
from ktsafe.audit.sequence import AuditedRelease, CodedTexts, SequenceAuditor, TrueGraph
from ktsafe.graph.synthetic import uniform
from ktsafe.sequence import Changes, SequenceEngine, SequenceOptions
from ktsafe.stream.assessment import assessment, is_installed
from ktsafe.stream.process.process import collect_seldom
from ktsafe.verify import verify_graph


def search() -> None:
    """Make toy releases, single and in sequence, and plan a pair."""
    graph, params, rng = _toy()
    anonymize(graph, params, rng=rng)
    # Small classes: the totals of pairs are reached in single steps.
    anonymize(uniform(240, 700, n_tuples=8, rng=rng), params, rng=rng)
    begun = Changes.of_graph(graph, np.arange(graph.n_vertices))
    sequence = SequenceEngine.begin(graph.schema, params, SequenceOptions(), begun, rng)
    gone = graph.edges[: len(graph.edges) // 3].astype(np.int64)
    sequence.advance(Changes(ties_removed=gone), rng)
    _far_from_its_total(rng)


def _far_from_its_total(rng: np.random.Generator) -> None:
    """Plan a pair of classes that must show far fewer edges.

    Only large ones must.
    """
    n = 200
    edges = np.column_stack((np.arange(n), np.arange(n, 2 * n))).astype(np.int32)
    pair = Pair.in_order(np.full(2 * n // 10, 10), n // 10, edges, np.full(n, 2.0))
    solve(dataclasses.replace(pair, total=0.0), rng=rng)


def ending() -> None:
    """Insert a pair's edges and exchange their ends, as releases do."""
    rng, cohorts = np.random.default_rng(1), np.full(8, 5)
    ties = np.array([[0, 20], [1, 21]], dtype=np.int32)
    pair = Pair.in_order(cohorts, 4, ties, np.full(2, 2.0))
    edges = realize(pair, np.full(8, 2), ties, rng=rng)
    assert edges is not None
    classes = np.repeat(np.arange(2, dtype=np.int32), 20)
    exchanged(classes, edges[:2], edges[2:], truth=ties, rng=rng)


def judges() -> None:
    """Judge the toy graph itself.

    What it is does not matter to a judge.
    """
    graph, params, _ = _toy()
    everybody = np.arange(graph.n_vertices, dtype=np.int32)
    verify_graph(graph, params)
    audit_release(graph, graph, params, original_of=everybody)
    auditor = SequenceAuditor()
    *values, sensitive = (
        CodedTexts(texts, graph.codes[:, j]) for j, texts in enumerate(graph.categories)
    )
    truth = TrueGraph(everybody.astype(np.int64), values, sensitive, graph.edges)
    for number, n_gone in enumerate((0, len(graph.edges) // 3)):
        auditor.extend(
            AuditedRelease(
                release_id=str(number),
                sequence_id="toy",
                params=params,
                ids=[str(v) for v in range(graph.n_vertices)],
                categories=graph.categories[:-1],
                codes=graph.codes[:, :-1].astype(np.int64),
                is_sensitive=graph.is_sensitive,
                edges=graph.edges[n_gone:],
                owners=truth.people,
            ),
            truth,
        )


def attacks() -> None:
    """Attack the toy graph itself, where what attacks is installed."""
    if is_installed():
        graph, params, rng = _toy()
        traced = trace(graph, graph, np.arange(graph.n_vertices))
        assessment("Compiling").attacked(traced, params, ("one_hop",), rng)


def _toy() -> tuple[AttributedGraph, PrivacyParams, np.random.Generator]:
    rng = np.random.default_rng(1)
    params = PrivacyParams(k=5, t=Fraction(0), epsilon=0)
    return uniform(240, 700, n_tuples=3, rng=rng), params, rng


def n_compiled() -> int:
    """Return how many kernels this process did not find compiled."""
    files = [module for name, module in sys.modules.items() if name.endswith("_core")]
    found = {id(one): one for module in files for one in vars(module).values()}
    kernels = [one for one in found.values() if isinstance(one, Dispatcher)]
    return sum(sum(one.stats.cache_misses.values()) for one in kernels)


RUNS = {"search": search, "ending": ending, "judges": judges, "attacks": attacks}

if __name__ == "__main__":
    collect_seldom()  # numba makes millions of objects, hardly any of which are garbage.
    for name in sys.argv[1:] or RUNS:
        RUNS[name]()
    print(n_compiled())  # noqa: T201 -- it is a program
