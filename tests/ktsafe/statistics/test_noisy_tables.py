"""Noisy counts: exact noise from a secret, cells that tell nothing, unbiased counts."""

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from ktsafe import AttributedGraph
from ktsafe.graph.synthetic import uniform
from ktsafe.statistics import (
    DEGREE_BINS,
    MICRO,
    SHARES_OF_PEOPLE,
    SHARES_OF_TIES,
    SecretBytes,
    TrueChanges,
    discrete_laplace,
    noisy_tables,
)

SECRET = bytes(range(32))


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(3), Fraction(27, 5)])
def test_noise_has_the_distribution_that_is_claimed(scale):
    """Shares of 20,000 draws are those of the formula, within five standard errors."""
    n = 20_000
    source = SecretBytes(SECRET, "distribution")
    found = Counter(discrete_laplace(scale, source) for _ in range(n))
    decay = math.exp(-1 / scale)
    for x in range(-12, 13):
        expected = (1 - decay) / (1 + decay) * decay ** abs(x)
        assert abs(found[x] / n - expected) < 5 * math.sqrt(expected / n) + 1e-9


def test_bytes_follow_from_the_secret_and_the_name_alone():
    """The same twice; others for another secret, and for another name."""

    def draws(secret, what):
        source = SecretBytes(secret, what)
        return [source.below(1000) for _ in range(50)]

    assert draws(SECRET, "a") == draws(SECRET, "a")
    assert draws(SECRET, "a") != draws(SECRET, "b")
    assert draws(SECRET, "a") != draws(SECRET[::-1], "a")


def test_whole_numbers_are_uniform():
    """Each of seven is drawn about as often."""
    source = SecretBytes(SECRET, "uniform")
    found = Counter(source.below(7) for _ in range(7_000))
    assert set(found) == set(range(7))
    assert all(abs(n - 1_000) < 160 for n in found.values())


EPSILON = Fraction(7, 10)


def cost(truth, less, graph, changes, fewer, of_what):
    """Return what the tables of ties, or of people, tell of the step from one truth to another."""

    def tables(truth, changes):
        source = SecretBytes(SECRET, "x")
        return noisy_tables(truth, graph, int(EPSILON * MICRO), source, changes)

    told = Fraction(0)
    for a, b in zip(tables(truth, changes), tables(less, fewer), strict=True):
        assert (a.of, a.cells, a.scale) == (b.of, b.cells, b.scale)
        # The noise of both is the same, so the difference is that of the true counts.
        moved = sum(abs(x - y) for x, y in zip(a.counts, b.counts, strict=True))
        told += (a.of in of_what) * moved / a.scale
    return told


@pytest.mark.parametrize("changes", [None, TrueChanges(5, 4, 3, 2)])
def test_the_worst_tie_costs_exactly_epsilon(changes):
    """No tie more, and one as much: two people who know nobody else leave a bin of degrees both.

    A greater scale than needed is found as well as a smaller one.
    """
    few = uniform(60, 150, n_tuples=4, rng=np.random.default_rng(1))
    pair = np.array([[60, 61]])
    graph = AttributedGraph.from_codes(
        few.schema, few.categories, np.vstack((few.codes, few.codes[:2])),
        np.vstack((few.edges, pair)),
    )  # fmt: skip
    # One that ended and began again is counted as both.
    fewer = changes and TrueChanges(4, 3, 3, 2)
    costs = []
    for row in [*range(20), graph.n_edges - 1]:
        rest = np.delete(graph.edges, row, axis=0)
        less = AttributedGraph.from_codes(graph.schema, graph.categories, graph.codes, rest)
        costs.append(cost(graph, less, graph, changes, fewer, SHARES_OF_TIES))
    assert min(costs) > 0
    assert max(costs) == EPSILON


@pytest.mark.parametrize("changes", [None, TrueChanges(5, 4, 3, 2)])
def test_the_worst_person_costs_exactly_epsilon(changes):
    """The tables of people together, for everybody without ties."""
    graph = uniform(60, 0, n_tuples=4, rng=np.random.default_rng(1))
    # Whoever left and came back is counted twice.
    fewer = changes and TrueChanges(5, 4, 2, 1)
    costs = set()
    for v in range(20):
        less = graph.subgraph(np.delete(np.arange(60), v))
        costs.add(cost(graph, less, graph, changes, fewer, SHARES_OF_PEOPLE))
    assert costs == {EPSILON}


def test_with_hardly_any_noise_the_counts_are_true():
    """Tables add up to all ties, across attributes to both ends of them, or to all people."""
    graph = uniform(60, 150, n_tuples=4, rng=np.random.default_rng(1))
    m, found = graph.n_edges, set()
    for table in noisy_tables(graph, graph, 10**12, SecretBytes(SECRET, "x")):
        found.add(table.of)
        assert sum(table.counts) == {"ties": m, "across": 2 * m}.get(table.of, graph.n_vertices)
        if table.of == "across":
            assert table.by is not None
            assert table.across is not None
            columns = [graph.schema.attributes.index(name) for name in (table.by, table.across)]
            texts = [[graph.categories[j][c] for c in graph.codes[:, j]] for j in columns]
            steps = [*graph.edges.tolist(), *graph.edges[:, ::-1].tolist()]
            expected = Counter((texts[0][u], texts[1][v]) for u, v in steps)
            assert dict(zip(table.cells, table.counts, strict=True)).items() >= expected.items()
        if table.of == "degrees":
            degrees = np.bincount(graph.edges.reshape(-1), minlength=graph.n_vertices)
            assert table.counts[0] == (degrees == 0).sum()
            assert len(table.counts) == len(DEGREE_BINS)
    assert found == {"people", "ties", "across", "degrees"}
