"""Inserted vertices are not told from people by what can be seen of them alone.

kt-safety does not promise that; these are the bounds that the mechanism keeps on generated
networks. `python -m lab.benchmarks inserted` prints the figures.
"""

from __future__ import annotations

import numpy as np
import pytest

from lab.benchmarks import bench_inserted
from lab.benchmarks.bench_inserted import area, fresh, linked

SEEDS = range(4)
MORE_SEEDS = range(13)
"""A release by itself inserts 4, a sequence several times as many."""


def test_areas_are_chances() -> None:
    """Greater, smaller, equal, and half of each."""
    low, high = np.array([1, 2]), np.array([3, 4])
    found = [area(high, low), area(low, high), area(low, low), area(low, np.array([0, 3]))]
    assert found == [1.0, 0.0, 0.5, 0.5]


@pytest.mark.parametrize(("measure", "seeds"), [(fresh, MORE_SEEDS), (linked, SEEDS)])
def test_no_inserted_vertex_stands_out(measure, seeds) -> None:
    """There are people with its quasi-identifiers and a degree within the tolerance, always.

    In a sequence they have exactly its degree. Ids tell nothing. Degrees and ages, which are not
    promised, tell little on average: less is shown of small classes, which are those that are
    padded, and of a sequence's since pairs are planned by age (area .25 before, .15 now).
    """
    found = [measure(seed) for seed in seeds]
    inserted = sum(told.inserted for told in found)
    assert inserted > 50
    assert all(told.alike.min() >= 1 for told in found)
    # The area of so many against ten times as many deviates by 0.3 / sqrt(inserted) on average.
    assert abs(np.mean([told.id for told in found]) - 0.5) < 4 * 0.3 / np.sqrt(inserted)
    assert 0.1 < np.mean([told.degree for told in found]) < 0.9
    assert all(0.1 < told.age < 0.9 for told in found)


def test_coming_and_going_tells_nobody() -> None:
    """Ids that vanish were people's, newcomers are among k, and few ties do not tell who is real.

    The network loses and gains an eighth of its people in each release.
    """
    found = [bench_inserted.came_and_went(seed) for seed in SEEDS]
    promise = 1 / bench_inserted.TURNOVER_PARAMS.k
    for results in found:
        assert results["arrival.named"].value <= promise
        assert results["departure.named"].value <= promise
        assert results["departure.vanished"].figures["vanished"] > 50
        assert results["departure.vanished"].figures["vanished_people"] > 0.9
    ties = [results["arrival.ties"].value for results in found if "arrival.ties" in results]
    assert len(ties) > 1
    assert 0.3 < np.mean(ties) < 0.7


def test_a_vertex_that_stands_out_is_noticed() -> None:
    """The measure sees an inserted vertex that nobody looks like."""
    graph = bench_inserted.network(1)
    hub = int(np.bincount(graph.edges.ravel()).argmax())
    marked = np.arange(graph.n_vertices) == hub
    none = np.zeros(graph.n_vertices, dtype=np.int64)
    told = bench_inserted.told(graph, marked, none, none)
    assert told.alike.tolist() == [0]
    assert told.degree > 0.9
