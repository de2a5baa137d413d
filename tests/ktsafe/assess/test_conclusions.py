"""What readers conclude from a release, beside the truth."""

from __future__ import annotations

import numpy as np
import pytest

from ktsafe.assess.conclusions import conclusions, summary
from tests.ktsafe.anonymization.graphs import graph_of


def two_kinds(across):
    """Return two rings of 30 people each, and some ties across."""
    inside = [(base + v, base + (v + 1) % 30) for base in (0, 30) for v in range(30)]
    ties = [(v, 30 + v) for v in range(across)]
    return graph_of([0] * 30 + [1] * 30, [False] * 60, inside + ties)


def test_the_truth_has_no_errors():
    """Nothing is wrong about the graph itself."""
    found = conclusions(two_kinds(30), two_kinds(30))
    assert {one.error for one in found} == {0.0}
    assert summary(found).wrong_share == 0


def test_ties_that_are_not_shown_are_told():
    """Without the ties across, that cell is empty and assortativity is overstated."""
    found = {one.name: one for one in conclusions(two_kinds(30), two_kinds(0))}
    assert found["kind: ties kind0|kind1"].error == 1
    assert found["kind: assortativity"].true == pytest.approx(1 / 3)
    assert found["kind: assortativity"].released == 1
    assert found["kind=kind0: ties a person"].error == pytest.approx(1 / 3)
    assert found["kind=kind0: share of people"].error == 0
    told = summary(list(found.values()))
    assert (told.cells, told.cells_empty) == (3, 1)
    assert told.wrong_share == pytest.approx(5 / 9, abs=1e-6)


def test_values_that_are_not_released_are_wrong_altogether():
    """People of a value who are withheld count as nobody."""
    graph = two_kinds(30)
    found = {one.name: one for one in conclusions(graph, graph.subgraph(np.arange(30)))}
    assert found["kind=kind1: share of people"].released == 0
    assert found["kind: ties kind1|kind1"].released == 0


def test_an_empty_truth_has_no_conclusions():
    """There is nothing to conclude, and no share of it."""
    found = conclusions(graph_of([0], [False], []), graph_of([0], [False], []))
    assert summary(found).wrong_share is None


def test_the_worst_comes_first_and_no_value_is_named():
    """Errors descend; values are numbered, the most frequent is 1."""
    graph = two_kinds(30)
    told = summary(conclusions(graph, two_kinds(0)))
    first, errors = (
        told.worst[0],
        [abs(row.released - row.true) / row.true for row in told.worst],
    )
    assert errors == sorted(errors, reverse=True)
    assert min(errors) > 0.2
    assert (first.of, first.by, first.released) == ("assortativity", "kind", 1.0)
    assert "kind0" not in str(told)
    assert [row.ranks for row in told.mixing["kind"]] == [[1, 1], [1, 2], [2, 2]]
