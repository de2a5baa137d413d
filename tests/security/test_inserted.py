"""Inserted vertices are not told from people by what can be seen of them alone.

kt-safety does not promise that; these are the bounds that the mechanism keeps on generated
networks. `python -m tests.benchmarks inserted` prints the figures.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.benchmarks import bench_inserted
from tests.benchmarks.bench_inserted import area, fresh, linked

SEEDS = range(4)


def test_areas_are_chances() -> None:
    """Greater, smaller, equal, and half of each."""
    low, high = np.array([1, 2]), np.array([3, 4])
    found = [area(high, low), area(low, high), area(low, low), area(low, np.array([0, 3]))]
    assert found == [1.0, 0.0, 0.5, 0.5]


@pytest.mark.parametrize("measure", [fresh, linked])
def test_no_inserted_vertex_stands_out(measure) -> None:
    """There are people with its quasi-identifiers and a degree within the tolerance, always.

    In a sequence they have exactly its degree. Ids tell nothing; degrees and ages, which are not
    promised, sort no release.
    """
    found = [measure(seed) for seed in SEEDS]
    inserted = sum(told.inserted for told in found)
    assert inserted > 50
    assert all(told.alike.min() >= 1 for told in found)
    # The area of so many against ten times as many deviates by 0.3 / sqrt(inserted) on average.
    assert abs(np.mean([told.id for told in found]) - 0.5) < 4 * 0.3 / np.sqrt(inserted)
    for told in found:
        assert 0.1 < told.degree < 0.9
        assert 0.1 < told.age < 0.9


def test_a_vertex_that_stands_out_is_noticed() -> None:
    """The measure sees an inserted vertex that nobody looks like."""
    graph = bench_inserted.network(1)
    hub = int(np.bincount(graph.edges.ravel()).argmax())
    marked = np.arange(graph.n_vertices) == hub
    none = np.zeros(graph.n_vertices, dtype=np.int64)
    told = bench_inserted.told(graph, marked, none, none)
    assert told.alike.tolist() == [0]
    assert told.degree > 0.9
