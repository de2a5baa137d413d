"""Synthetic graphs and feeds, functions of their random generator."""

from ktsafe.datasets.social_feed import life, social_feed
from ktsafe.datasets.social_network import SOCIAL_FEED_SCHEMA, FeedRates, SocialNetwork
from ktsafe.datasets.synthetic import SYNTHETIC_SCHEMA, uniform

__all__ = [
    "SOCIAL_FEED_SCHEMA",
    "SYNTHETIC_SCHEMA",
    "FeedRates",
    "SocialNetwork",
    "life",
    "social_feed",
    "uniform",
]
