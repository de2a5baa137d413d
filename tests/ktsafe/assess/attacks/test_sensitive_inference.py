"""Sensitive inference: what the nearest candidates tell of a person's sensitive value."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings

from ktsafe import PrivacyParams
from ktsafe.assess.attacks import Case
from ktsafe.assess.attacks.common.nearest import nearest_share
from ktsafe.assess.attacks.neighbourhoods import joint_rows, sensitive_inference
from tests.ktsafe.assess.attacks import naive
from tests.ktsafe.assess.attacks.releases import cases, graph_of

PARAMS = PrivacyParams(k=5)
TWO_OF_THREE = graph_of(np.array([[0, 0, 0], [0, 0, 0], [0, 0, 1]]), np.zeros((0, 2)))


@settings(max_examples=60, deadline=None)
@given(cases())
@example(Case(TWO_OF_THREE, TWO_OF_THREE, np.arange(3)))
def test_shares_equal_a_count_over_all_candidates(case: Case) -> None:
    """The share among the nearest candidates is that of a literal search."""
    texts = naive.qi_texts(case.released)
    flags = case.released.is_sensitive.astype(float)
    expected = []
    for place, person in enumerate(case.original_of.tolist()):
        if person < 0:
            continue
        known = naive.star(case.original, person, "joint")
        distances = {}
        for u in range(len(texts)):
            if texts[u] == texts[place]:
                seen = naive.star(case.released, u, "joint")
                distances[u] = sum(abs(known[f] - seen[f]) for f in known.keys() | seen.keys())
        best = [u for u, d in distances.items() if d == min(distances.values())]
        expected.append(sum(flags[u] for u in best) / len(best))
    found = nearest_share(
        *joint_rows(case), case.places, case.tuples[1], (1, 1), flags.reshape(-1, 1)
    )
    assert found[:, 0].tolist() == pytest.approx(expected)
    results = sensitive_inference(case, PARAMS, np.random.default_rng(0))
    (named,) = [each for each in results if each.attack == "sensitive_inference.named"]
    right = case.original.is_sensitive[case.people][np.array(expected, dtype=float) > 0.5]
    assert named.figures["named"] == named.targets == len(right)
    assert named.value == pytest.approx(right.mean() if len(right) else 0.0)
