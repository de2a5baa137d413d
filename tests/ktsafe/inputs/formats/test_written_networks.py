"""What libraries write is read as the network that it is, or refused for a reason that is meant.

`python -m lab.trials.formats` runs many more.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ktsafe.inputs.formats.written_networks import WRITERS, written

SEEDS = range(20)


@pytest.mark.parametrize("writer", WRITERS)
def test_what_libraries_write_is_understood(tmp_path: Path, writer: str) -> None:
    """Ids, attributes, ties, repetitions, loops and directions of random networks."""
    outcomes = {"read": 0, "refused": 0, "not written": 0}
    for seed in SEEDS:
        outcome, told, path = written(writer, seed, tmp_path)
        assert outcome != "misread", (writer, seed, told, path)
        outcomes[outcome] += 1
    assert outcomes["read"] > len(SEEDS) / 2
