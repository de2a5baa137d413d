"""Parts of a sequence's releases in any executor: the same bytes."""

from __future__ import annotations

from concurrent.futures import Executor, ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ktsafe.anonymization import rewiring
from ktsafe.sequence import SequenceEngine, SequenceOptions
from tests.ktsafe.sequence.world import PARAMS, SCHEMA, World


def pages_of(seed: int, executor: Executor | None) -> list[dict[str, bytes]]:
    """Return all pages of each release of a changing world."""
    world, rng = World(60, 200, seed), np.random.default_rng(seed)
    options = SequenceOptions(effort="balanced")
    sequence = SequenceEngine.begin(SCHEMA, PARAMS, options, world.first, rng, executor)
    found = [dict(sequence.pages())]
    for _ in range(4):
        sequence.advance(world.change(ties=20, joins=6, leaves=2, moves=1, ill=1), rng, executor)
        found.append(dict(sequence.pages()))
    return found


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_an_executor_changes_no_byte(seed: int) -> None:
    """One, two and four threads remember and release what the calling thread does."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rewiring, "PART_MIN", 5)
        alone = pages_of(seed, None)
        for workers in (1, 2, 4):
            with ThreadPoolExecutor(workers) as executor:
                assert pages_of(seed, executor) == alone
