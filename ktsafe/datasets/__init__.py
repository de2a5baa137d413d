"""Synthetic graphs and feeds, each a function of its random generator alone."""

from ktsafe.datasets.social_feed import SOCIAL_FEED_SCHEMA, FeedRates, social_feed
from ktsafe.datasets.synthetic import SYNTHETIC_SCHEMA, gaussian, uniform, zipf

__all__ = [
    "SOCIAL_FEED_SCHEMA",
    "SYNTHETIC_SCHEMA",
    "FeedRates",
    "gaussian",
    "social_feed",
    "uniform",
    "zipf",
]
