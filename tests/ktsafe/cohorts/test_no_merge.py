"""The graphs that break the paper's merge do not break ours: one graph, never cut."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from ktsafe import AnonymizeOptions, PrivacyParams, anonymize
from ktsafe.verify import verify_graph
from tests import naive
from tests.graphs import attributed
from tests.ktsafe.paper.support import five_pairs, stars_behind_a_border, ten_hubs, uneven_circles
from tests.naive import Small, Tolerance

CASES = [
    (uneven_circles, PrivacyParams(k=4, t=1, alpha=0.5, epsilon=2)),
    (ten_hubs, PrivacyParams(k=10, t=1, alpha=1, epsilon=4)),
    (stars_behind_a_border, PrivacyParams(k=5, t=1, alpha=1, epsilon=4)),
    (five_pairs, PrivacyParams(k=5, t=1, alpha=0.2, epsilon=2)),
]


@pytest.mark.parametrize("edits", ["insert", "insert+delete"])
@pytest.mark.parametrize(("build", "params"), CASES)
def test_what_breaks_a_merge_is_released_safely(build, params, edits):
    """All four counter-examples become safe releases, by the verifier and by definition."""
    options = AnonymizeOptions("fast", "tolerant", edits, rare_qi="pad", over_alpha="pad")
    made = anonymize(attributed(build()), params, rng=np.random.default_rng(1), options=options)
    released = made.graph
    assert verify_graph(released, params).is_safe
    qi = [tuple(row) for row in released.codes[:, :-1].tolist()]
    small = Small(qi, released.is_sensitive.tolist(), [*map(tuple, released.edges.tolist())])
    tolerance = Tolerance(params.k, Fraction(params.t), Fraction(params.alpha), params.epsilon)
    assert naive.unsafe_vertices(small, tolerance) == set()
