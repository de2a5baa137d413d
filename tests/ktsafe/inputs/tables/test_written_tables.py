"""Tables that libraries write of random networks are read as what they say, or refused."""

from collections import Counter
from pathlib import Path

import pytest

from tests.ktsafe.inputs.tables.written_tables import WRITERS, outcome

SEEDS = 40


@pytest.mark.parametrize("writer", WRITERS)
def test_tables_of_random_networks(writer: str, tmp_path: Path) -> None:
    """People, values and ties are what the file says; what cannot be is refused for its reason."""
    outcomes: Counter[str] = Counter()
    for seed in range(SEEDS):
        what, why = outcome(writer, seed, tmp_path)
        assert what != "misread", (seed, why)
        outcomes[what] += 1
    assert outcomes["read"] > SEEDS / 3
