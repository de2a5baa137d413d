"""What a network with much coming and going tells of who comes and who goes."""

from __future__ import annotations

from lab.benchmarks.bench_turnover import PARAMS, came_and_went

SEEDS = range(2)


def test_coming_and_going_tells_nobody() -> None:
    """Ids that vanish were people's, and newcomers are among k.

    The network loses and gains an eighth of its people in each release.
    """
    promise = 1 / PARAMS.k
    for seed in SEEDS:
        results = came_and_went(seed)
        assert results["arrival.named"].value <= promise
        assert results["departure.named"].value <= promise
        assert results["departure.vanished"].figures["vanished"] > 50
        assert results["departure.vanished"].figures["vanished_people"] > 0.9
