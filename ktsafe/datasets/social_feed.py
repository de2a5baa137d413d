"""A made-up social network as a feed of events.

People join, tie, change, part and leave.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import Final

import numpy as np

from ktsafe.datasets.social_network import Event, FeedRates, SocialNetwork

START: Final = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
"""When feeds begin unless told otherwise."""


def social_feed(
    *,
    people: int,
    days: int,
    rng: np.random.Generator,
    start: datetime.datetime = START,
    rates: FeedRates | None = None,
) -> Iterator[Event]:
    """Yield the events of a network that grows from nothing, by time.

    Parameters
    ----------
    people, days, start, rates:
        As in `life`.
    rng:
        Source of all randomness: equal generators give equal feeds.

    Yields
    ------
    dict
        As `life` does.

    Examples
    --------
    >>> feed = social_feed(people=3, days=30, rng=np.random.default_rng(1))
    >>> next(feed)["type"]
    'vertex.upsert'
    """
    yield from life(SocialNetwork(rng), people=people, days=days, start=start, rates=rates)


def life(
    network: SocialNetwork,
    *,
    people: int,
    days: int,
    start: datetime.datetime = START,
    rates: FeedRates | None = None,
) -> Iterator[Event]:
    """Let a network live on, in place, and yield its events.

    Parameters
    ----------
    network:
        The initial people and ties; its generator is the source of all randomness.
    people:
        Newcomers in all, at uniformly random times.
    days:
        Length of the simulated period.
    start:
        Beginning of the period, with a time zone.
    rates:
        How lively the network is; None means the defaults.

    Yields
    ------
    dict
        `{"type": "vertex.upsert" | "vertex.delete" | "edge.add" | "edge.remove", ..., "time": ...}`
        with RFC 3339 times, as the service reads them. The memory needed is that of the graph.

    Examples
    --------
    >>> network = SocialNetwork(np.random.default_rng(1))
    >>> network.grow(50, FeedRates())
    >>> len(list(life(network, people=0, days=30, rates=FeedRates(ties=3, tie_removals=0))))
    2
    """
    dice, rates = network.dice, rates or FeedRates()

    def spread(events: list[Event], begin_s: float, end_s: float) -> Iterator[Event]:
        """Spread events over a stretch of time, keeping their order."""
        moments = sorted(begin_s + (end_s - begin_s) * dice.random() for _ in events)
        for event, moment in zip(events, moments, strict=True):
            time = (start + datetime.timedelta(seconds=moment)).astimezone(datetime.UTC)
            event["time"] = time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            yield event

    length_s = days * 86_400.0
    elapsed_s = 0.0
    for joined in range(people):
        # The next of the order statistics of the joins that are still to come.
        gap = 1.0 - (1.0 - dice.random()) ** (1.0 / (people - joined))
        joins_s = elapsed_s + (length_s - elapsed_s) * gap
        yield from spread(network.between_joins(rates), elapsed_s, joins_s)
        yield from spread([network.join()], joins_s, joins_s)
        elapsed_s = joins_s
    yield from spread(network.between_joins(rates), elapsed_s, length_s)
