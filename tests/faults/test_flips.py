"""Single changed bits: a few, and a thousand of a longer sequence by `make faults`."""

import pytest

from tests.faults.flips import flip_all, make_bases


@pytest.mark.parametrize(
    ("releases", "flips"), [(2, 16), pytest.param(5, 1_000, marks=pytest.mark.faults)]
)
def test_a_changed_bit_is_named_or_nothing_reads_it(tmp_path, releases, flips):
    """`config --state` names it, or the service goes on to the bytes of the undisturbed run."""
    seen = flip_all(tmp_path, make_bases(tmp_path, releases, seed=1), flips, seed=1)
    assert sum(seen.named.values()) + sum(seen.dead.values()) == flips
    assert sum(seen.named.values()) >= flips // 2
