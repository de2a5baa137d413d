"""Wrong dates and wrong clocks: a few seeds, and many of them by `make faults`."""

import pytest

from tests.faults.dates import run_seed


def _blocks(first, last):
    return range(first, last, 8)


@pytest.mark.parametrize(
    "first",
    [*_blocks(0, 16), *(pytest.param(n, marks=pytest.mark.faults) for n in _blocks(16, 4_000))],
)
def test_wrong_dates_and_clocks_lose_nothing_and_date_no_release_ahead(first):
    """The graph is the fold of the good events; no release is early, late, or of the future."""
    for seed in range(first, first + 8):
        assert run_seed(seed) == []
