"""Cost parts and privacy figures against hand-made releases and the literal definitions."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import to_builtins

import ktsafe.audit.privacy_figures as privacy_module
from ktsafe import InvalidGraph
from ktsafe.audit import audit_release, cost_parts, trace
from ktsafe.audit.privacy_figures import Group, privacy_figures
from tests import naive
from tests.graphs import (
    attributed,
    copies,
    paper_anonymized,
    paper_original,
    params_of,
    small_graphs,
    tolerances,
)
from tests.naive import Small, Tolerance

EXACT = Tolerance(2, Fraction(0), Fraction(1, 2), 0)


def test_cost_of_the_paper_example() -> None:
    """Example 3 inserts two vertices and two edges."""
    cost = cost_parts(
        trace(attributed(paper_original()), attributed(paper_anonymized())), params_of(EXACT)
    )
    assert [cost.unowned_vertices, cost.inserted_edges] == [2, 2]
    assert [cost.deleted_vertices, cost.deleted_edges] == [0, 0]
    assert cost.total == 4
    assert cost.k_copies == 11


def test_k_copies_follow_alpha() -> None:
    """Below alpha = 1/k more copies are needed, so the yardstick is longer."""
    graph = attributed(paper_original())
    cost = cost_parts(trace(graph, graph), params_of(EXACT._replace(alpha=Fraction(1, 10))))
    assert cost.k_copies == 9 * 11


@st.composite
def releases(draw: st.DrawFn) -> tuple[Small, Small]:
    """Draw a true graph and a release with more vertices and other edges."""
    released = draw(small_graphs(max_vertices=12))
    total = len(released.is_sensitive)
    n = draw(st.integers(min(1, total), total))
    kept = [e for e in released.edges if max(e) < n]
    kept = kept[: draw(st.integers(0, len(kept)))]
    lost = draw(st.booleans())
    if lost and n > 1 and (0, 1) not in released.edges and (1, 0) not in released.edges:
        kept = [*kept, (0, 1)]
    return Small(released.quasi_identifiers[:n], released.is_sensitive[:n], kept), released


@given(releases(), tolerances(), st.sampled_from([1, 6, privacy_module.ENDS_AT_ONCE]))
@settings(deadline=None)
def test_privacy_figures_agree_with_the_definitions(
    graphs: tuple[Small, Small], tolerance: Tolerance, ends_at_once: int
) -> None:
    """k_real, alpha_real and k_known equal what the literal definitions count."""
    original, released = graphs
    n = len(original.is_sensitive)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(privacy_module, "ENDS_AT_ONCE", ends_at_once)
        figures = privacy_figures(
            trace(attributed(original), attributed(released)), params_of(tolerance)
        )
    sets = naive.protection_sets(released, tolerance)[:n]
    behind = [v if v < n else -1 for v in range(len(released.is_sensitive))]
    known = [naive.known_candidates(original, released, behind, v) for v in range(n)]
    flags = released.is_sensitive
    assert figures.real.tolist() == list(range(n))
    assert figures.k_claimed.tolist() == [len(ps) for ps in sets]
    assert figures.k_real.tolist() == [sum(u < n for u in ps) for ps in sets]
    assert figures.sensitive.tolist() == [sum(flags[u] for u in ps) for ps in sets]
    assert figures.sensitive_real.tolist() == [sum(flags[u] for u in ps if u < n) for ps in sets]
    assert figures.k_known.tolist() == [len(candidates) for candidates in known]
    found = figures.summary()
    json.dumps(to_builtins(found), allow_nan=False)
    groups = {"by_true_degree": naive.degrees(original), "by_class_size": class_sizes(released, n)}
    rows = [(found.all, list(range(n)))]
    for name, sizes in groups.items():
        bands = {size.bit_length() for size in sizes}
        told = getattr(found, name)
        assert [(row.first.bit_length(), row.last.bit_length()) for row in told] == [
            (band, band) for band in sorted(bands)
        ]
        rows += [(row, [v for v in range(n) if row.first <= sizes[v] <= row.last]) for row in told]
    for row, people in rows if n else ():
        own = [(sets[v], known[v]) for v in people]
        check_group(row, own, flags, n, tolerance)


def check_group(
    row: Group,
    own: list[tuple[set[int], set[int]]],
    flags: list[bool],
    n: int,
    tolerance: Tolerance,
) -> None:
    """Assert that the figures of a group are those of its people's candidates."""
    assert row.vertices == len(own)
    chance = np.mean([1 / sum(u < n for u in ps) for ps, _ in own])
    assert row.k_real.risk_mean == pytest.approx(chance, abs=1e-6)
    counts = {
        "k_claimed": [len(ps) for ps, _ in own],
        "k_real": [sum(u < n for u in ps) for ps, _ in own],
        "k_known": [len(candidates) for _, candidates in own],
    }
    for name, values in counts.items():
        found, below = getattr(row, name), sum(value < tolerance.k for value in values)
        assert (found.min, found.below_k) == (min(values), below)
        assert found.share == pytest.approx(below / len(own), abs=1e-6)
        assert found.median == sorted(values)[(len(values) - 1) // 2]
    for name, last in (("alpha", len(flags)), ("alpha_real", n)):
        among = [[flags[u] for u in ps if u < last] for ps, _ in own]
        shares = [Fraction(sum(each), len(each)) for each in among]
        found = getattr(row, name)
        assert found.max == pytest.approx(float(max(shares)), abs=1e-6)
        assert found.above_alpha == sum(share > tolerance.alpha for share in shares)


def class_sizes(released: Small, n: int) -> list[int]:
    """Return how many of the first vertices have the same quasi-identifiers as each of them."""
    return [released.quasi_identifiers[:n].count(one) for one in released.quasi_identifiers[:n]]


def test_copies_protect_nobody_by_real_people() -> None:
    """In k disjoint copies everybody has k candidates, of whom possibly one is real."""
    original = paper_original()
    tolerance = Tolerance(3, Fraction(0), Fraction(1, 3), 0)
    audit = audit_release(
        attributed(original), attributed(copies(original, 3)), params_of(tolerance)
    )
    everybody = audit.privacy.all
    assert everybody.k_claimed.min == 3
    assert everybody.k_real.min == 1
    assert everybody.k_known.min >= 3
    assert everybody.alpha_real.max == 1.0
    assert everybody.alpha.above_alpha == 0
    assert everybody.alpha_real.above_alpha == 1
    assert audit.cost.total == audit.cost.k_copies


def test_many_pairs_are_sampled() -> None:
    """With a budget too small for all, a spread of vertices is asked and the number is told."""
    graph = copies(paper_original(), 5)
    figures = privacy_figures(
        trace(attributed(graph), attributed(graph)), params_of(EXACT), pairs_max=40
    )
    asked = len(figures.asked)
    assert 0 < asked < 30
    assert asked == len(figures.k_known)
    whole = privacy_figures(trace(attributed(graph), attributed(graph)), params_of(EXACT))
    assert whole.k_known[figures.asked].tolist() == figures.k_known.tolist()


def test_codes_may_differ_between_the_graphs() -> None:
    """Values are compared as texts: a release may number its categories otherwise."""
    original = Small([(1,), (2,)], [False, False], [(0, 1)])
    released = Small([(1,), (2,), (0,)], [False] * 3, [(0, 1)])
    figures = privacy_figures(trace(attributed(original), attributed(released)), params_of(EXACT))
    assert figures.k_known.tolist() == [1, 1]


def test_empty_release() -> None:
    """Nothing in, nothing out: the audit is still valid JSON."""
    empty = attributed(Small([], [], []))
    audit = audit_release(empty, empty, params_of(EXACT))
    assert audit.cost.total == 0
    json.dumps(to_builtins(audit), allow_nan=False)


@pytest.mark.parametrize("behind", [[0, 0], [0], [0, 2], [0, 1, -1]])
def test_mappings_that_do_not_fit_are_refused(behind: list[int]) -> None:
    """Each original stands behind at most one released vertex."""
    graph = attributed(Small([(0,), (0,)], [False, False], []))
    with pytest.raises(InvalidGraph):
        audit_release(graph, graph, params_of(EXACT), original_of=np.array(behind))


def test_fewer_vertices_need_a_mapping() -> None:
    """Without a mapping nobody can tell who was deleted; other schemas are refused as well."""
    two = attributed(Small([(0,), (0,)], [False, False], []))
    one = attributed(Small([(0,)], [False], []))
    other = attributed(Small([(0, 1), (0, 1)], [False, False], []))
    with pytest.raises(InvalidGraph):
        trace(two, one)
    with pytest.raises(InvalidGraph):
        trace(two, other)
