"""k-degree-l-diverse graphs are just that, and not kt-safe."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe import Infeasible, PrivacyParams
from ktsafe.anonymization.request import Request
from ktsafe.graph.synthetic import uniform
from ktsafe.verify import verify_graph
from ktsafe_lab.paper.kl_graph import degree_sequence, kl_graph
from ktsafe_lab.strategies import unverified


def groups(degrees, labels):
    """Return for each degree its vertices' labels."""
    found: dict[int, list[int]] = {}
    for degree, label in zip(degrees.tolist(), labels.tolist(), strict=True):
        found.setdefault(degree, []).append(label)
    return found


@settings(max_examples=60, deadline=None)
@given(st.integers(8, 40), st.integers(1, 8), st.integers(0, 2**32))
def test_sequences_are_k_degree_l_diverse(n, k, seed) -> None:
    """Each degree has k vertices and 2 labels; none falls; the sum is even."""
    rng = np.random.default_rng(seed)
    degrees = rng.integers(0, 9, n)
    degrees[0] += degrees.sum() % 2
    labels = rng.integers(0, 3, n).astype(np.int32)
    labels[:2] = (0, 1)
    target = degree_sequence(degrees, labels, k, 2)
    assert np.all(target >= degrees)
    assert target.sum() % 2 == 0
    for members in groups(target, labels).values():
        assert len(members) >= k
        assert len(set(members)) >= 2


@pytest.mark.parametrize("seed", range(4))
def test_releases_are_k_degree_l_diverse(seed) -> None:
    """Noise vertices included; originals keep their degree or gain."""
    graph = uniform(150, 400, rng=np.random.default_rng(seed), n_tuples=4, sensitive_share=0.3)
    found = kl_graph(graph, 5, rng=np.random.default_rng(seed))
    degrees = np.bincount(found.edges.reshape(-1), minlength=150 + len(found.inserted))
    assert np.all(degrees[:150] >= graph.degrees)
    labels = np.concatenate((graph.codes[:, -1], np.full(len(found.inserted), -1)))
    for members in groups(degrees, labels).values():
        assert len(members) >= 5
        assert len(set(members) - {-1}) >= 2


def test_equal_degrees_are_not_kt_safety() -> None:
    """The paper's Table "privacy power": most of the vertices remain unsafe."""
    graph = uniform(300, 1_500, rng=np.random.default_rng(0), n_tuples=4)
    params = PrivacyParams(k=5)
    request = Request(graph, params, np.random.default_rng(0))
    released = unverified(request, "kl-graph").graph
    assert verify_graph(released, params).n_unsafe > 100


def test_what_cannot_be_is_refused() -> None:
    """Fewer than k vertices, or one sensitive value alone, make no group."""
    graph = uniform(6, 6, rng=np.random.default_rng(0))
    with pytest.raises(Infeasible):
        kl_graph(graph, 7, rng=np.random.default_rng(0))
