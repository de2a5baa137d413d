"""The paper's merge joins what did not change, and breaks four graphs whose parts are safe.

Each counter-example gives two parts that are kt-safe by themselves, as the strict definition has
it, and whose merged graph is not. The same parts, as the halves of one graph, are what our own
search must survive.

*Reading*: the protection set is the maximal one, which Algorithm 2 counts and the attacker sees. If
any set of similar vertices would do ("a set of vertices that satisfy", Definition 3), the first and
the fourth counter-example vanish; the second and the third need no such reading.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from ktsafe_lab.paper.merging import merge_subgraphs
from ktsafe_lab.paper.partitioning import expand
from lab.tests.paper.support import (
    five_pairs,
    part_of,
    small_merged,
    small_outcome,
    stars_behind_a_border,
    ten_hubs,
    uneven_circles,
)
from tests import naive
from tests.graphs import attributed, stars
from tests.naive import Small, Tolerance


def halves(small: Small, cut: int):
    """Return the graph and its untouched parts: vertices below `cut`, and the others."""
    graph = attributed(small)
    label = (np.arange(graph.n_vertices) >= cut).astype(np.int32)
    parts = expand(graph, label, 2)
    return graph, [part_of(p.origin.tolist(), p.n_owned, p.edges.tolist()) for p in parts]


def unsafe_in_parts(graph, parts, tolerance) -> list[set[int]]:
    """Return the unsafe vertices of each part by itself."""
    return [naive.unsafe_vertices(small_outcome(graph, part), tolerance) for part in parts]


def test_unchanged_parts_merge_to_the_original() -> None:
    """Where nobody changed, merging restores the graph, borders and halos included."""
    small = stars(3, 4)
    small.edges.extend([(1, 6), (2, 12), (7, 13)])
    graph, parts = halves(small, 7)
    merged = merge_subgraphs(graph, parts)
    assert len(merged.inserted) == 0
    assert merged.edges.tolist() == graph.edges.tolist()
    assert merged.merging_cost.sum() == 0
    assert merged.n_versions.tolist() == [1, 1, 2, 1, 1, 2, 1, 2, 2, 2, 1, 1, 2, 1, 1]


def test_changed_versions_are_kept_beside_each_other() -> None:
    """A vertex that changed in its own part, in a halo, or in both has that many versions."""
    small = Small([()] * 4, [True, False, True, False], [(0, 1), (1, 2), (2, 3)])
    graph = attributed(small)
    # Parts {0, 1} and {2, 3}: 1 and 2 are border vertices, each in the other's halo.
    left = part_of([0, 1, 2], 2, [(0, 1), (1, 2)], [0], [(2, 3)])
    right = part_of([2, 3, 1], 2, [(2, 0), (0, 1)])
    merged = merge_subgraphs(graph, [left, right])
    assert merged.copied_from.tolist() == [2, -1]
    assert sorted(map(tuple, merged.edges.tolist())) == [(0, 1), (1, 2), (1, 4), (2, 3), (4, 5)]
    assert merged.merging_cost.tolist() == [0, 0, 3, 0]
    both = part_of([2, 3, 1], 2, [(2, 0), (0, 1)], [0], [(0, 3)])
    merged = merge_subgraphs(graph, [left, both])
    assert merged.copied_from.tolist().count(2) == 1
    # Changed in its own part only: the unchanged halo version is one more vertex.
    merged = merge_subgraphs(graph, [part_of([0, 1, 2], 2, [(0, 1), (1, 2)]), both])
    assert merged.copied_from.tolist() == [2, -1]
    assert small_merged(graph, merged).is_sensitive == [True, False, True, False, True, False]


def test_alpha_breaks_over_the_union() -> None:
    """1: no border at all, yet two safe parts unite to maximal sets with too many sensitive.

    Degrees 2, 3, 4: circles of degree 3 are all sensitive and hide among those of degree 4; those
    of degree 2, half sensitive, are similar to those of degree 3 but not to those of degree 4.
    """
    tolerance = Tolerance(4, Fraction(1), Fraction(1, 2), 2)
    graph, parts = halves(uneven_circles(), 6)
    assert unsafe_in_parts(graph, parts, tolerance) == [set(), set()]
    merged = small_merged(graph, merge_subgraphs(graph, parts))
    assert naive.unsafe_vertices(merged, tolerance) == set(range(6))
    members = naive.protection_set(merged, tolerance, 0)
    assert Fraction(sum(merged.is_sensitive[u] for u in members), len(members)) == Fraction(3, 4)


def test_unchanged_vertices_gain_both_versions_of_a_changed_neighbour() -> None:
    """2: a hub beside the border merges unchanged, but its neighbours stay twice.

    Its degree grows by their number, and it leaves its protection set, unedited.
    """
    # Hub 0's leaves live in the other part.
    small = ten_hubs()
    edges = small.edges
    graph = attributed(small)
    own = list(range(10)) + list(range(13, 40))
    place = {v: i for i, v in enumerate(own)}
    inside = [(place[u], place[v]) for u, v in edges if u in place and v in place]
    first = part_of([*own, 10, 11, 12], len(own), [*inside, (0, 37), (0, 38), (0, 39)])
    # In the other part each of hub 0's leaves got one fake neighbour.
    qi_of_leaf = int(graph.qi_classes[10])
    second = part_of(
        [10, 11, 12, 0], 3, [(0, 3), (1, 3), (2, 3)], [qi_of_leaf] * 3, [(0, 4), (1, 5), (2, 6)]
    )
    tolerance = Tolerance(10, Fraction(1), Fraction(1), 4)
    assert not first.is_changed.any()
    assert not second.is_changed[3]
    merged = small_merged(graph, merge_subgraphs(graph, [first, second]))
    degrees = np.bincount(np.array(merged.edges).reshape(-1))
    assert degrees[0] == 6
    before = naive.protection_set(small, tolerance, 0)
    after = naive.protection_set(merged, tolerance, 0)
    assert {u for u in before if small.quasi_identifiers[u] == (1,)} == set(range(10))
    assert after == {0}


def test_halo_members_are_cut_off_stars() -> None:
    """3: inside a part halo vertices count as members with the few edges they show there."""
    # Five of degree 1 in the part: one owned, whose star is whole, and four of the halo, whose
    # stars have five further edges outside.
    small = stars_behind_a_border()
    graph, parts = halves(small, 2)
    tolerance = Tolerance(5, Fraction(1), Fraction(1), 4)
    inside = small_outcome(graph, parts[0])
    assert len(naive.protection_set(inside, tolerance, 0)) == 5
    merged = small_merged(graph, merge_subgraphs(graph, parts))
    assert len(naive.protection_set(merged, tolerance, 0)) == 1


def test_who_is_kept_twice_counts_twice() -> None:
    """4: one sensitive person twice raises 1 of 5 to 2 of 6 in the maximal set; 6 are 5 persons."""
    # The neighbour 5 of the sensitive vertex 0 lives in the other part.
    small = five_pairs()
    edges = small.edges
    graph = attributed(small)
    own = [0, 1, 2, 3, 4, 6, 7, 8, 9]
    place = {v: i for i, v in enumerate(own)}
    inside = [(place[u], place[v]) for u, v in edges[1:]]
    first = part_of([*own, 5], 9, [*inside, (0, 9)])
    # In the other part halo vertex 0 got a fake neighbour; in its own part it is unchanged.
    second = part_of([5, 0], 1, [(0, 1)], [int(graph.qi_classes[5])], [(1, 2)])
    tolerance = Tolerance(5, Fraction(1), Fraction(1, 5), 2)
    alone = small_outcome(graph, first)
    assert naive.protection_set(alone, tolerance, 0) == {0, 1, 2, 3, 4}
    assert not naive.unsafe_vertices(alone, tolerance) & {0, 1, 2, 3, 4}
    merged = merge_subgraphs(graph, [first, second])
    outcome = small_merged(graph, merged)
    members = naive.protection_set(outcome, tolerance, 1)
    assert members == {0, 1, 2, 3, 4, 10}
    assert Fraction(sum(outcome.is_sensitive[u] for u in members), len(members)) == Fraction(1, 3)
    persons = {0 if u == 10 else u for u in members}
    assert len(persons) == 5
    assert 1 in naive.unsafe_vertices(outcome, tolerance)


def test_a_tie_between_two_changed_vertices_is_lost() -> None:
    """5: claimed are insertions only, but where both ends of a cut edge changed a tie is lost.

    Of the path 2-0-1-3, with 2 and 0 in one part and 1 and 3 in the other, two of three ties are
    kept at most, whichever version of 0 and of 1 stands for the original.
    """
    graph = attributed(Small([()] * 4, [False] * 4, [(0, 2), (0, 1), (1, 3)]))
    left = part_of([0, 2, 1], 2, [(0, 1), (0, 2)], [0, 0], [(0, 3), (2, 4)])
    right = part_of([1, 3, 0], 2, [(0, 1), (0, 2)], [0, 0], [(0, 3), (2, 4)])
    merged = merge_subgraphs(graph, [left, right])
    versions = [[v] for v in range(4)]
    for place, original in enumerate(merged.copied_from.tolist()):
        if original >= 0:
            versions[original].append(4 + place)
    assert [len(found) for found in versions] == [2, 2, 1, 1]
    released = {frozenset(edge) for edge in merged.edges.tolist()}
    kept = [
        sum({chosen[u], chosen[v]} in released for u, v in graph.edges.tolist())
        for chosen in itertools.product(*versions)
    ]
    assert max(kept) == 2


@pytest.mark.parametrize("n", [0, 1])
def test_trivial_graphs_merge(n) -> None:
    """Nothing, and one vertex alone, merge to themselves."""
    graph, parts = halves(Small([(0,)] * n, [False] * n, []), 5)
    merged = merge_subgraphs(graph, parts)
    assert (len(merged.inserted), len(merged.edges)) == (0, 0)
