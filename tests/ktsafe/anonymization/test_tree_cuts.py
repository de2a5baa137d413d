"""Nodes of the kt-tree that are cut level by level are those that are cut one by one."""

from __future__ import annotations

from fractions import Fraction
from statistics import median

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import PrivacyParams
from ktsafe.anonymization import tree_cuts
from ktsafe.anonymization.tree_cuts import AT_BORDERS, CUTS, leaves_of
from tests.graphs import ALPHAS

Row = tuple[int, ...]


def deviation(counts: list[int]) -> float:
    """Return the sum of distances from the median."""
    return sum(abs(x - median(counts)) for x in counts)


def halves_apart(counts: list[int]) -> int:
    """Return by how much the sums of both halves differ: the deviation where counts ascend."""
    half = len(counts) // 2
    return abs(sum(counts[:half]) - sum(counts[len(counts) - half :]))


def in_order(counts: list[int], is_sensitive: list[bool], *, is_mixed: bool) -> list[int]:
    """Return the positions of members as they are cut."""
    by_count = sorted(range(len(counts)), key=counts.__getitem__)
    if not is_mixed:
        return by_count
    share = {}
    for kind in (False, True):
        alike = [v for v in by_count if is_sensitive[v] == kind]
        share |= {v: (i + 0.5) / len(alike) for i, v in enumerate(alike)}
    return sorted(range(len(counts)), key=share.__getitem__)


def cut(rows: list[Row], is_sensitive: list[bool], params: PrivacyParams, ways) -> list | None:
    """Return the positions of both sides of one node; None: it is a leaf."""
    n, k, alpha = len(rows), params.k, Fraction(params.alpha)
    columns = [list(column) for column in zip(*rows, strict=True)]
    spread = [deviation(column) for column in columns]
    widest = sorted(range(len(columns)), key=lambda j: -spread[j])[: tree_cuts.COLUMNS_TRIED]
    for way in ways:
        tried = [j for j in widest if spread[j] > 0] if way.at_border else widest[:1]
        for counts in (columns[j] for j in tried):
            order = in_order(counts, is_sensitive, is_mixed=way.is_mixed)
            possible = []
            for size in range(k, n - k + 1):
                sides = order[:size], order[size:]
                if any(sum(is_sensitive[v] for v in x) > alpha * len(x) for x in sides):
                    continue
                if not way.wastes and sum(len(x) // k for x in sides) < n // k:
                    continue
                if way.at_border and counts[order[size - 1]] == counts[order[size]]:
                    continue
                off = sum(halves_apart([counts[v] for v in x]) for x in sides)
                if not way.is_mixed:
                    assert off == sum(deviation([counts[v] for v in x]) for x in sides)
                possible.append((off, abs(n - 2 * size), size))
            if possible:
                size = min(possible)[2]
                return [order[:size], order[size:]]
    return None


def leaves(rows, is_sensitive, params, ways, node: list[int]) -> list[list[int]]:
    """Return the leaves below a node, those of greater counts first."""
    sides = cut([rows[v] for v in node], [is_sensitive[v] for v in node], params, ways)
    if sides is None:
        return [node]
    lower, upper = ([node[i] for i in side] for side in sides)
    return [
        *leaves(rows, is_sensitive, params, ways, upper),
        *leaves(rows, is_sensitive, params, ways, lower),
    ]


@st.composite
def classes(draw) -> tuple[list[Row], list[bool], PrivacyParams]:
    """Return rows, who is sensitive, and what cohorts must satisfy."""
    n, n_columns = draw(st.integers(1, 40)), draw(st.integers(1, 4))
    most = draw(st.sampled_from([0, 1, 3, 50]))
    row = st.tuples(*[st.integers(0, most)] * n_columns)
    rows = draw(st.lists(row, min_size=n, max_size=n))
    is_sensitive = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    alpha = draw(st.sampled_from(ALPHAS[1:-1]))
    return rows, is_sensitive, PrivacyParams(k=draw(st.integers(2, 4)), alpha=alpha)


@pytest.mark.parametrize("ways", [CUTS, AT_BORDERS])
@settings(max_examples=200, deadline=None)
@given(given_class=classes(), several=st.booleans())
def test_leaves_are_those_of_nodes_cut_one_by_one(ways, given_class, several) -> None:
    """Also below nodes that are given, whose leaves do not mix."""
    rows, is_sensitive, params = given_class
    everybody = list(range(len(rows)))
    nodes = [everybody[::2], everybody[1::2]] if several and len(rows) > 1 else [everybody]
    found = leaves_of(
        np.array(rows, dtype=np.int32),
        np.array(is_sensitive),
        params,
        [np.array(node) for node in nodes],
        ways,
    )
    expected = [
        leaf for node in reversed(nodes) for leaf in leaves(rows, is_sensitive, params, ways, node)
    ]
    assert [leaf.tolist() for leaf in found] == expected


def test_only_the_widest_counts_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the widest one has no border that fits, the next one is not looked at."""
    rows = np.array([[0, 0], [9, 1], [9, 1], [9, 0]], dtype=np.int32)
    nobody, params = np.zeros(4, dtype=np.bool_), PrivacyParams(k=2)
    assert len(leaves_of(rows, nobody, params, ways=AT_BORDERS)) == 2
    monkeypatch.setattr(tree_cuts, "COLUMNS_TRIED", 1)
    assert len(leaves_of(rows, nobody, params, ways=AT_BORDERS)) == 1


def test_people_without_neighbours_stay_together() -> None:
    """There is nothing to cut by."""
    nobody = np.zeros(9, dtype=np.bool_)
    assert len(leaves_of(np.zeros((9, 0), dtype=np.int32), nobody, PrivacyParams(k=2))) == 1
