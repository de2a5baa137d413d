"""Wrong dates and wrong clocks: a few seeds of `python -m tests.faults.dates`."""

import pytest

from tests.faults.dates import run_seed


@pytest.mark.parametrize("first", range(0, 16, 8))
def test_wrong_dates_and_clocks_lose_nothing_and_date_no_release_ahead(first):
    """The graph is the fold of the good events; no release is early, late, or of the future."""
    for seed in range(first, first + 8):
        assert run_seed(seed).problems == []
