"""Synthetic graphs and feeds, each a function of its random generator alone."""

from ktsafe.datasets.social_feed import life, social_feed
from ktsafe.datasets.social_network import SOCIAL_FEED_SCHEMA, FeedRates, SocialNetwork
from ktsafe.datasets.synthetic import SYNTHETIC_SCHEMA, gaussian, uniform, zipf

__all__ = [
    "SOCIAL_FEED_SCHEMA",
    "SYNTHETIC_SCHEMA",
    "FeedRates",
    "SocialNetwork",
    "gaussian",
    "life",
    "social_feed",
    "uniform",
    "zipf",
]
