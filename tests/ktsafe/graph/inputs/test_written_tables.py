"""Tables that libraries write of random networks are read as what they say, or refused."""

from collections import Counter
from pathlib import Path

import pytest

from tests.ktsafe.graph.inputs import written_lists
from tests.ktsafe.graph.inputs.written_tables import WRITERS, outcome

SEEDS = 40
LISTS = 800


@pytest.mark.parametrize("writer", WRITERS)
def test_tables_of_random_networks(writer: str, tmp_path: Path) -> None:
    """People, values and ties are what the file says; what cannot be is refused for its reason."""
    outcomes: Counter[str] = Counter()
    for seed in range(SEEDS):
        what, why = outcome(writer, seed, tmp_path)
        assert what != "misread", (seed, why)
        outcomes[what] += 1
    assert outcomes["read"] > SEEDS / 3


def test_lists_without_a_header(tmp_path: Path) -> None:
    """Ids, ties, loops and repetitions are those of the list, or it is refused for a reason."""
    outcomes: Counter[str] = Counter()
    for seed in range(LISTS):
        what, why = written_lists.outcome(seed, tmp_path)
        assert what != "misread", (seed, why)
        outcomes[what] += 1
    assert outcomes["read"] > LISTS / 3


def test_plain_lists_without_a_header(tmp_path: Path) -> None:
    """Lists whose first two columns hold the ids, and others clearly none, are nearly all read."""
    outcomes = Counter(written_lists.plain_outcome(seed, tmp_path)[0] for seed in range(LISTS // 4))
    assert outcomes["read"] > 0.9 * LISTS / 4
    assert not outcomes["misread"]
