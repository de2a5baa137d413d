"""Permanent groups forget texts and exchange values like the cohorts of other sequences."""

from __future__ import annotations

import numpy as np
import pytest

from ktsafe import PrivacyParams
from ktsafe_lab.aligned_sequence import AlignedSequence
from tests.ktsafe.sequence.test_exchanged_values import begun, texts
from tests.ktsafe.sequence.test_forgotten_texts import check_forgetting


@pytest.mark.parametrize("seed", range(2))
def test_forgetting_at_any_time_changes_no_release(seed: int) -> None:
    """A sequence that forgets makes the releases of one that does not."""
    params = PrivacyParams(k=3, n_hops=2, reading="induced")
    check_forgetting(AlignedSequence, params, seed)


def test_permanent_groups_exchange_values_too() -> None:
    """Inserted places take part; the shift is none the wiser."""
    _, sequence = begun("exchanged", AlignedSequence)
    _, other = begun("in place", AlignedSequence)
    released, in_place = sequence.released(), other.released()
    assert released.value_at is not None
    assert in_place.value_at is None
    shown = texts(released)
    assert [shown[v] for v in released.value_at] == texts(in_place)
    assert np.array_equal(released.graph.edges, in_place.graph.edges)
    cohorts = sequence.cohorts()
    assert np.array_equal(cohorts[released.value_at], cohorts)
