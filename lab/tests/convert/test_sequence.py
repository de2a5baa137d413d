"""What a sequence began with decides whether it goes on with t and epsilon 0."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from ktsafe.sequence import SequenceEngine, SequenceOptions
from ktsafe_lab.aligned_sequence import AlignedSequence
from lab.convert.sequence import converted_pages
from tests.ktsafe.sequence.world import PARAMS, SCHEMA, World

OPTIONS = SequenceOptions(effort="fast")


@pytest.mark.parametrize(
    ("kind", "reason"),
    [(AlignedSequence, "the package ktsafe_lab"), (SequenceEngine, "None of today's options")],
)
def test_a_sequence_that_cannot_go_on_is_refused(kind: type[SequenceEngine], reason: str) -> None:
    """Permanent groups, and a digest of other inputs."""
    params = PARAMS if kind is SequenceEngine else dataclasses.replace(PARAMS, n_hops=2)
    first = World(40, 50, 0).first
    sequence = kind.begin(SCHEMA, params, OPTIONS, first, np.random.default_rng(0))
    with pytest.raises(SystemExit, match=reason):
        converted_pages(dict(sequence.pages()), "another digest")
