"""The bounded edit distance beside brute force and networkx."""

from __future__ import annotations

import itertools
import random

import networkx as nx
import pytest

from ktsafe.errors import InvalidGraph
from ktsafe_lab.verify_hops import _partial_matching_core as core
from ktsafe_lab.verify_hops.edit_distance import graph_edit_distance, rooted
from lab.tests.naive_hops import edit_distance

Graph = tuple[int, list[tuple[int, int]]]


def drawn(rng: random.Random, n: int, density: float) -> Graph:
    """Return a random graph, not always connected."""
    return n, [e for e in itertools.combinations(range(n), 2) if rng.random() < density]


def altered(rng: random.Random, graph: Graph, edits: int) -> Graph:
    """Return the graph with its vertices renamed, the root aside, and some pairs toggled."""
    n, edges = graph
    names = [0, *rng.sample(range(1, n), n - 1)]
    found = {tuple(sorted((names[a], names[b]))) for a, b in edges}
    for pair in rng.sample(list(itertools.combinations(range(n), 2)), edits):
        found ^= {pair}
    return n, [(a, b) for a, b in sorted(found)]


def literal(graph: Graph) -> tuple[list[int], set[frozenset[int]]]:
    return list(range(graph[0])), {frozenset(e) for e in graph[1]}


@pytest.mark.parametrize("seed", range(3))
def test_answers_are_those_of_brute_force(seed: int) -> None:
    """With enough nodes every answer is right; with few, none is wrong."""
    rng = random.Random(seed)
    undecided = 0
    for _ in range(120):
        first = drawn(rng, rng.randint(1, 6), rng.choice([0.2, 0.5, 0.8]))
        second = drawn(rng, rng.randint(1, 6), rng.choice([0.2, 0.5, 0.8]))
        if rng.random() < 0.5 and first[0] > 2:
            second = altered(rng, first, rng.randint(0, 3))
        truth, limit = edit_distance(literal(first), literal(second)), rng.randint(0, 10)
        pair = rooted(*first), rooted(*second)
        found = graph_edit_distance(*pair, upper_bound=limit)
        assert found.answer == ("within" if truth <= limit else "beyond")
        assert found.lower <= truth
        assert found.upper is None or truth <= found.upper <= limit
        hasty = graph_edit_distance(*pair, upper_bound=limit, nodes_max=rng.randint(0, 5))
        assert hasty.answer in {found.answer, "undecided"}
        undecided += hasty.answer == "undecided"
    assert undecided


def test_answers_are_those_of_networkx() -> None:
    """Networkx's exact distance with roots agrees, the symmetric question too."""
    rng = random.Random(7)
    for _ in range(12):
        first, second = drawn(rng, rng.randint(2, 5), 0.5), drawn(rng, rng.randint(2, 5), 0.5)
        graphs = []
        for n, edges in (first, second):
            graph = nx.empty_graph(n)
            graph.add_edges_from(edges)
            graphs.append(graph)
        truth = nx.graph_edit_distance(*graphs, roots=(0, 0))
        forth = graph_edit_distance(rooted(*first), rooted(*second), upper_bound=30)
        back = graph_edit_distance(rooted(*second), rooted(*first), upper_bound=30)
        assert forth.upper is not None
        assert back.upper is not None
        assert forth.lower <= truth <= forth.upper
        assert back.lower <= truth <= back.upper
        exact = graph_edit_distance(rooted(*first), rooted(*second), upper_bound=int(truth))
        assert exact.answer == "within"
        if truth:
            less = graph_edit_distance(rooted(*first), rooted(*second), upper_bound=int(truth) - 1)
            assert less.answer == "beyond"


def cost(first: Graph, second: Graph, image: list[int]) -> int:
    """Return the edits of a whole matching of the smaller first graph."""
    kept = {frozenset(e) for e in second[1]}
    preserved = sum(frozenset((image[a], image[b])) in kept for a, b in first[1])
    return second[0] - first[0] + len(first[1]) + len(second[1]) - 2 * preserved


def test_bounds_of_a_partial_matching_never_exceed_its_best_completion() -> None:
    """Both lower bounds hold at every depth; the dearer one is exact at the end and often more."""
    rng = random.Random(3)
    sharper = 0
    for _ in range(150):
        n_1 = rng.randint(4, 7)
        first = drawn(rng, n_1, rng.choice([0.3, 0.6]))
        second = drawn(rng, rng.randint(n_1, 8), rng.choice([0.3, 0.6]))
        if rng.random() < 0.5:
            second = altered(rng, first, rng.randint(0, 2))
        one, two = rooted(*first), rooted(*second)
        whole = [0, *rng.sample(range(1, second[0]), n_1 - 1)]
        depth = rng.randint(max(1, n_1 - 4), n_1)
        state = core.new_matching(one, two)
        for u in range(depth):
            core.match(one, two, state, u, whole[u])
        rest = [w for w in range(second[0]) if w not in whole[:depth]]
        best = min(
            cost(first, second, whole[:depth] + list(tail))
            for tail in itertools.permutations(rest, n_1 - depth)
        )
        cheap, dear = (
            bound(one, two, state) for bound in (core.matching_bound, core.unmatched_bound)
        )
        assert cheap <= best
        assert dear <= best
        assert depth < n_1 or cheap == best
        sharper += dear > cheap
        for u in reversed(range(depth)):
            core.unmatch(one, two, state, u)
        assert not state.met_1.any()
        assert not state.met_2.any()
    assert sharper > 5


def test_large_altered_copies_are_found_similar() -> None:
    """Renamed copies with up to four edits are told within five, as releases need it."""
    rng = random.Random(3)
    undecided = 0
    for _ in range(20):
        graph = nx.barabasi_albert_graph(80, 3, seed=rng.randint(0, 10**6))
        first = (80, [(a, b) for a, b in graph.edges()])
        second = altered(rng, first, rng.randint(0, 4))
        answer = graph_edit_distance(rooted(*first), rooted(*second), upper_bound=5).answer
        assert answer != "beyond"
        undecided += answer == "undecided"
    assert undecided <= 2


def test_the_root_matters() -> None:
    """A path seen from its end and from its middle differs; from its two ends it does not."""
    path = [(0, 1), (1, 2)]
    end, other, middle = (rooted(3, path, root) for root in (0, 2, 1))
    assert graph_edit_distance(end, other, upper_bound=0).answer == "within"
    assert graph_edit_distance(end, middle, upper_bound=0).answer == "beyond"
    assert graph_edit_distance(end, middle, upper_bound=2).upper == 2


@pytest.mark.parametrize(
    ("n", "edges", "root"),
    [(2, [(0, 2)], 0), (2, [(1, 1)], 0), (2, [(0, 1), (1, 0)], 0), (1, [], 1)],
)
def test_what_is_no_graph_is_refused(n: int, edges: list[tuple[int, int]], root: int) -> None:
    """Unknown ends, loops, repeated edges and unknown roots raise."""
    with pytest.raises(InvalidGraph):
        rooted(n, edges, root)
