"""People of unlikely names are erased under kill -9."""

import pytest

from tests.faults.erasures import erase_all


@pytest.mark.faults
def test_nobody_who_was_erased_is_left_in_any_byte(tmp_path):
    """Neither in files as they lie, nor decoded."""
    erase_all(tmp_path, n_people=200, n_kills=20, seed=1)
