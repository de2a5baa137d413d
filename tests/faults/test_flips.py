"""Single changed bits: a few of `python -m tests.faults.flips`."""

from pathlib import Path

from tests.faults.flips import flip_all, make_bases


def test_a_changed_bit_is_named_or_nothing_reads_it(tmp_path: Path) -> None:
    """`state check` names it, or the service goes on to the bytes of the undisturbed run."""
    seen = flip_all(tmp_path, make_bases(tmp_path, n_releases=2, seed=1), n_flips=16, seed=1)
    assert sum(seen.named.values()) + sum(seen.dead.values()) == 16
    assert sum(seen.named.values()) >= 8
