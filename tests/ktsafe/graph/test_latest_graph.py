"""Pairs of classes that a release does not show, against a plain search."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ktsafe.graph.latest_graph import dark_pairs, of_dark_pairs


@pytest.mark.parametrize("seed", range(10))
def test_dark_pairs_are_those_of_a_search(seed: int) -> None:
    """They are all pairs of classes that two vertices have and no edge joins."""
    rng = np.random.default_rng(seed)
    # A class in the middle has nobody.
    classes = rng.choice([0, 1, 3, 4], size=int(rng.integers(2, 9)))
    pairs = list(itertools.combinations(range(len(classes)), 2))
    edges = [pair for pair in pairs if rng.random() < 0.2]
    possible = {tuple(sorted((classes[a], classes[b]))) for a, b in pairs}
    shown = {tuple(sorted((classes[a], classes[b]))) for a, b in edges}
    array = np.array(edges, dtype=np.int64).reshape(-1, 2)
    found = dark_pairs(classes, array)
    assert found is not None
    assert list(map(tuple, found.tolist())) == sorted(possible - shown)
    if possible - shown:
        assert dark_pairs(classes, array, limit=len(possible - shown) - 1) is None


def test_nothing_is_dark_in_an_empty_release() -> None:
    """Without vertices there are no pairs, and no edges of them."""
    nobody, nothing = np.zeros(0, dtype=np.int64), np.zeros((0, 2), dtype=np.int64)
    found = dark_pairs(nobody, nothing)
    assert found is not None
    assert not len(found)
    assert not len(of_dark_pairs(nobody, nothing, nothing))


def test_pairs_of_many_classes_stay_apart() -> None:
    """The number of a pair of the last ones needs more than 31 bits."""
    last = 50_000
    classes, edges = np.array([0, last, last, last - 1]), np.array([[1, 2], [0, 3]])
    found = dark_pairs(classes, edges)
    assert found is not None
    assert found.tolist() == [[0, last], [last - 1, last]]
    assert of_dark_pairs(classes, edges, np.array([[1, 2], [0, 1]])).tolist() == [False, True]
