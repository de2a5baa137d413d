"""Pivots accept and reject only what is true."""

from __future__ import annotations

import itertools
import random

from ktsafe.index.interval_pivots import PivotIntervals
from ktsafe.verify.edit_distance import graph_edit_distance, rooted
from tests.ktsafe.verify.test_edit_distance import altered, drawn


def test_pivots_never_contradict_the_distance() -> None:
    """Whatever they decide is right, also with intervals that a tiny budget left wide."""
    rng = random.Random(11)
    base = drawn(rng, 6, 0.5)
    graphs = [altered(rng, base, rng.randint(0, 4)) for _ in range(14)]
    graphs += [drawn(rng, rng.randint(3, 8), 0.4) for _ in range(6)]
    prepared = [rooted(*graph) for graph in graphs]
    decided = {"within": 0, "beyond": 0, "undecided": 0}
    for nodes_max in (20_000, 3):
        table = PivotIntervals.of_graphs(prepared, [0, 5, 15], reach=8, nodes_max=nodes_max)
        for u, v in itertools.combinations(range(len(graphs)), 2):
            truth = graph_edit_distance(prepared[u], prepared[v], upper_bound=4).answer
            answer = table.answer(u, v, 4)
            decided[answer] += 1
            assert answer in {truth, "undecided"}
    assert min(decided.values()) > 0


def test_without_pivots_nothing_is_decided() -> None:
    """An empty table claims nothing."""
    path = rooted(2, [(0, 1)])
    assert PivotIntervals.of_graphs([path, path], [], reach=4).answer(0, 1, 4) == "undecided"
