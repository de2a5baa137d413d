"""The long run: when it kills, and what it says of memory."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.faults import long_run, memory


@given(st.integers(10, 10_000), st.integers(1, 50), st.integers(0, 9))
@settings(deadline=None, max_examples=50)
def test_faults_are_spread_over_the_run(length: int, count: int, seed: int) -> None:
    """Each lies in its own part of the first nine tenths."""
    points = long_run.spread(length, count, seed)
    assert len(points) == count
    assert points == sorted(points)
    for part, point in enumerate(points):
        assert int(0.9 * length * part / count) <= point <= 0.9 * length * (part + 1) / count


def test_memory_is_summed_up() -> None:
    """A level that rises by a tenth in the second half is told, teeth of releases apart."""
    sizes = [50, 80, *[100] * 4, 300, *[110] * 4, 270]
    samples = [memory.Sample(float(i), size * 2**20) for i, size in enumerate(sizes)]
    told = memory.drift(samples)
    assert told == (
        "between releases 100 MiB, then 110 MiB (+10.0%); at most 300 MiB, then 270 MiB (-10.0%)"
    )
