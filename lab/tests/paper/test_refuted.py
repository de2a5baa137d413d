"""What the paper claims and a small example refutes."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest

from ktsafe import PrivacyParams, Schema
from ktsafe.errors import InvalidGraph
from ktsafe.graph import AttributedGraph
from ktsafe.graph.schemas import composite_sensitive
from ktsafe_lab.figures.link_density import equal_neighbourhoods, link_max
from ktsafe_lab.paper.vertex_generation import Setting, anonymize_subgraph
from ktsafe_lab.verify_hops import verify, verify_graph
from lab.tests.paper.support import small_outcome, whole
from tests import naive
from tests.graphs import attributed, union
from tests.naive import Small, Tolerance


def circle(n: int) -> Small:
    """Return C_n."""
    return Small([()] * n, [False] * n, [(i, (i + 1) % n) for i in range(n)])


@pytest.mark.parametrize("reading", ["walk", "induced"])
@pytest.mark.parametrize("n_hops", [1, 2, 3])
def test_step_4_of_the_hardness_proof(n_hops, reading) -> None:
    """Claimed: kt-safe at t = 1, epsilon = 0, alpha = 1 iff k-automorphic. C_{2n+2} + C_{2n+3}.

    All 4n + 5 vertices see the same path up to n hops, in either reading, so the graph is kt-safe
    for k = 4n + 5 as it is; but no automorphism takes a vertex of one circle to the other, so a
    vertex has 2n + 3 images at most. The two minima differ: 0 and more.
    """
    short = 2 * n_hops + 2
    graph = union(circle(short), circle(short + 1))
    params = PrivacyParams(k=2 * short + 1, t=1, alpha=1, epsilon=0, n_hops=n_hops, reading=reading)
    assert verify_graph(attributed(graph), params).is_safe
    reference = nx.Graph(graph.edges)
    matcher = nx.algorithms.isomorphism.GraphMatcher(reference, reference)
    images: dict[int, set[int]] = {v: set() for v in reference}
    for mapping in matcher.isomorphisms_iter():
        for v, image in mapping.items():
            images[v].add(image)
    assert {len(found) for found in images.values()} == {short, short + 1}
    assert images[0] == set(range(short))


def test_shorter_circles_would_not_do_for_every_reading() -> None:
    """C_7 + C_9 is safe for 3 hops of a walk; edges among the third neighbours close C_7."""
    graph = attributed(union(circle(7), circle(9)))
    for reading, safe in (("walk", True), ("induced", False)):
        params = PrivacyParams(k=16, t=1, alpha=1, epsilon=0, n_hops=3, reading=reading)
        assert verify_graph(graph, params).is_safe == safe


@pytest.mark.parametrize("duplicates", ["apart", "attached"])
def test_fake_twins_single_out_the_sensitive(duplicates) -> None:
    """Claimed (Appendix, attack resistance): nobody can be told real, nor sensitive beyond alpha.

    Every fake duplicate is non-sensitive, and an exact twin, or part of an exact copy. Whoever is
    the only sensitive one among vertices with equal stars is real, with certainty, and so is the
    sensitive value: 1 where alpha = 1/10.
    """
    # Ten people of different QIs, all tied to one; the first is sensitive.
    small = Small([(i,) for i in range(10)], [True] + [False] * 9, [(i, 9) for i in range(9)])
    graph, part = whole(small)
    params = PrivacyParams(k=10, alpha=0.1, t=0, epsilon=0)
    done = anonymize_subgraph(part, Setting.of_graph(graph, params, duplicates=duplicates))
    outcome = small_outcome(graph, done)
    tolerance = Tolerance(10, Fraction(0), Fraction(1, 10), 0)
    assert naive.unsafe_vertices(outcome, tolerance).isdisjoint(range(10))
    members = naive.protection_set(outcome, tolerance, 0)
    sensitive = [u for u in members if outcome.is_sensitive[u]]
    assert len(members) >= 10
    # The only sensitive one of ten equals, and the only one that is real.
    assert sensitive == [0]
    assert [u for u in members if u < graph.n_vertices] == [0]


def test_attached_duplicates_are_exact_twins() -> None:
    """With the text's letter the ten equals even have the same neighbours, which tells them."""
    small = Small([(i,) for i in range(3)], [True, False, False], [(0, 2), (1, 2)])
    graph, part = whole(small)
    params = PrivacyParams(k=4, alpha=0.25, t=0, epsilon=0)
    queue = np.array([0], dtype=np.int32)
    setting = Setting.of_graph(graph, params, duplicates="attached")
    outcome = small_outcome(graph, anonymize_subgraph(part, setting, queue))
    reach = naive.closed_neighbourhoods(outcome)
    equals = [u for u in range(len(reach)) if outcome.quasi_identifiers[u] == (0,)]
    twins = [u for u in equals if reach[u] - {u} == {2}]
    assert len(twins) == 4
    assert [outcome.is_sensitive[u] for u in twins] == [True, False, False, False]


LINK_SAFETY = PrivacyParams(k=10, t=0, epsilon=0)
"""What the paper names as protecting "identity and link safety"."""


def two_bipartite(sides: bool) -> AttributedGraph:
    """Return two disjoint K_{10,10}, their sides of different quasi-identifiers or not."""
    part = [(0,)] * 10 + [(1 if sides else 0,)] * 10
    one = Small(part, [False] * 20, [(i, 10 + j) for i in range(10) for j in range(10)])
    return attributed(union(one, one))


@pytest.mark.parametrize("sides", [True, False])
def test_link_safety_is_no_guarantee_on_links(sides) -> None:
    """Claimed (Section 2.2): epsilon = t = 0 protects links. Two K_{10,10}: safe, ties certain.

    Whoever knows which of the two somebody belongs to, by one known tie, knows all 10 ties.
    """
    graph = two_bipartite(sides)
    assert verify_graph(graph, LINK_SAFETY).is_safe
    side_within_one = np.arange(40) // 10
    assert link_max(graph, side_within_one) == 1
    equals = equal_neighbourhoods(graph)
    assert np.bincount(equals).tolist() == ([20, 20] if sides else [40])
    assert link_max(graph, equals) == (Fraction(1, 2) if sides else Fraction(200, 780))


def test_one_bipartite_graph_is_safe_and_all_ties_are_certain() -> None:
    """A single K_{10,10} with sides by quasi-identifier: without any further knowledge."""
    small = Small(
        [(0,)] * 10 + [(1,)] * 10,
        [False] * 20,
        [(i, 10 + j) for i in range(10) for j in range(10)],
    )
    graph = attributed(small)
    assert verify_graph(graph, LINK_SAFETY).is_safe
    assert link_max(graph, equal_neighbourhoods(graph)) == 1


def test_composite_sensitive_attributes() -> None:
    """Several sensitive attributes are one; a composite value is sensitive iff a part is."""
    schema, columns = composite_sensitive(
        ["age"],
        {"illness": frozenset({"flu"}), "salary": frozenset({"low"})},
        {
            "age": [1, 1, 2, 2],
            "illness": ["flu", "none", None, "a|b"],
            "salary": ["high", "low", "high", ""],
        },
    )
    graph = AttributedGraph.from_columns(schema, columns, np.zeros((0, 2), dtype=int))
    harmless = frozenset({"-|high", "a||b|-"})
    assert schema == Schema(
        ("age",), "sensitive", frozenset({"flu|high", "none|low"}), harmless_values=harmless
    )
    assert columns["sensitive"] == ["flu|high", "none|low", "-|high", "a||b|-"]
    assert graph.is_sensitive.tolist() == [True, True, False, False]
    with pytest.raises(InvalidGraph):
        composite_sensitive(["age"], {}, {})
    verdict = verify([[0]] * 4, graph.is_sensitive, [], PrivacyParams(k=4, alpha=0.5))
    assert verdict.is_safe
