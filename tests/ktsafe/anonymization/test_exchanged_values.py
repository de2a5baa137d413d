"""Sensitive values are exchanged within cohorts: all else is as it was, friends tell nobody."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ktsafe import AttributedGraph, InvalidGraph, PrivacyParams, anonymize
from ktsafe.anonymization.anonymization import Anonymized, of_purpose, places_of_values
from ktsafe.anonymization.request import AnonymizeOptions, Values
from ktsafe.audit import audit_release, trace
from ktsafe.graph.synthetic import uniform
from ktsafe.verify import verify_graph

PARAMS = PrivacyParams(k=5, alpha="1/5")


def network(n: int = 240) -> AttributedGraph:
    """Return people of two kinds with a hundred values, a few of them sensitive."""
    graph = uniform(n, 5 * n, n_tuples=2, rng=np.random.default_rng(1))
    rng = np.random.default_rng(2)
    codes, values = graph.codes.copy(), [f"s{i}" for i in range(100)]
    codes[:, -1] = rng.integers(0, len(values), n)
    schema = graph.schema.__class__(
        graph.schema.quasi_identifiers, graph.schema.sensitive, frozenset(values[:15])
    )
    categories = (*graph.categories[:-1], values)
    return AttributedGraph.from_codes(schema, categories, codes, graph.edges)


def made(values: Values, seed: int = 3) -> Anonymized:
    """Return a release of it."""
    options = AnonymizeOptions("fast", values=values)
    return anonymize(network(), PARAMS, rng=np.random.default_rng(seed), options=options)


def found_by_friends(release: Anonymized) -> float:
    """Return the share of people named by kinds and values of their friends (own count)."""
    graph = network()
    shown = release.graph
    assert shown.categories == graph.categories

    def rows(of: AttributedGraph) -> NDArray[np.int64]:
        kinds = of.qi_classes.astype(np.int64) * len(of.categories[-1]) + of.codes[:, -1]
        found = np.zeros((of.n_vertices, 2 * len(of.categories[-1])), dtype=np.int64)
        for one, other in (of.edges.T, of.edges.T[::-1]):
            np.add.at(found, (one, kinds[other]), 1)
        return found

    true, released = rows(graph), rows(shown)
    hits = []
    for place, person in enumerate(release.origin.tolist()):
        if person < 0:
            continue
        far = np.abs(released - true[person]).sum(axis=1)
        far[shown.qi_classes != graph.qi_classes[person]] = far.max() + 1
        nearest = np.flatnonzero(far == far.min())
        hits.append((place in nearest) / len(nearest))
    return float(np.mean(hits))


def test_all_else_is_as_with_values_in_place() -> None:
    """Of one seed edges, order and people are the same; values stand elsewhere."""
    exchanged, in_place = made("exchanged"), made("in place")
    assert (exchanged.values, in_place.values) == ("exchanged", "in place")
    assert in_place.value_at is None
    assert exchanged.value_at is not None
    first, second = exchanged.graph, in_place.graph
    assert np.array_equal(first.edges, second.edges)
    assert np.array_equal(first.codes[:, :-1], second.codes[:, :-1])
    assert np.array_equal(exchanged.origin, in_place.origin)
    assert np.array_equal(first.codes[exchanged.value_at, -1], second.codes[:, -1])
    assert (first.codes[:, -1] != second.codes[:, -1]).mean() > 0.6
    found = [verify_graph(each.graph, PARAMS) for each in (exchanged, in_place)]
    assert [verdict.is_safe for verdict in found] == [True, True]


def test_values_stay_within_groups_that_nothing_tells_apart() -> None:
    """Who exchanges has the same quasi-identifiers, and as many neighbours of each kind."""
    check_groups(made("exchanged"))


def check_groups(release: Anonymized) -> None:
    """Assert that of a release."""
    graph = release.graph
    rows = np.zeros((graph.n_vertices, 2), dtype=np.int64)
    for one, other in (graph.edges.T, graph.edges.T[::-1]):
        np.add.at(rows, (one, graph.qi_classes[other]), 1)
    assert np.array_equal(rows, rows[release.value_at])
    assert np.array_equal(graph.qi_classes, graph.qi_classes[release.value_at])


def test_values_of_friends_name_nobody() -> None:
    """In place they name most people."""
    assert found_by_friends(made("in place")) > 0.5
    assert found_by_friends(made("exchanged")) < 1 / PARAMS.k


def test_the_private_audit_is_the_same_as_with_values_in_place() -> None:
    """An exchanged value is not a false one, and of people their own value counts."""
    audits = []
    for values in ("exchanged", "in place"):
        release = made(values)
        audits.append(
            audit_release(
                network(),
                release.graph,
                PARAMS,
                original_of=release.origin,
                value_at=release.value_at,
            )
        )
    assert audits[0] == audits[1]
    assert audits[0].suppressed.sensitive_values == 0
    assert audits[0].privacy.all.alpha_real.above_alpha == 0


def test_a_trace_refuses_values_that_stand_nowhere() -> None:
    """Each stands at one vertex."""
    release = made("exchanged")
    assert release.value_at is not None
    twice = np.zeros_like(release.value_at)
    with pytest.raises(InvalidGraph, match="once"):
        trace(network(), release.graph, release.origin, twice)


def test_every_permutation_of_a_group_is_as_likely() -> None:
    """A place that shows its own value is no less likely than any other."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(6000), 3)
    at = (places_of_values(groups, rng) - np.repeat(np.arange(6000) * 3, 3)).reshape(-1, 3)
    _, counts = np.unique(at, axis=0, return_counts=True)
    assert len(counts) == 6
    assert counts.min() > 850


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, np.random.SFC64])
def test_a_purpose_has_draws_of_its_own(bits: Any) -> None:
    """They follow from the generator and the purpose, and leave the generator as it is."""
    rng, same = (np.random.Generator(bits(7)) for _ in range(2))
    drawn = [of_purpose(rng, purpose).random(4).tolist() for purpose in ("a", "b", "a")]
    assert drawn[0] == drawn[2] != drawn[1]
    assert rng.random() == same.random()
    assert of_purpose(rng, "a").random(4).tolist() != drawn[0]
