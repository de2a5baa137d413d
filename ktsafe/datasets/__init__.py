"""Synthetic graphs and feeds, and networks in files."""

from ktsafe.datasets.social_feed import life, social_feed
from ktsafe.datasets.social_network import SOCIAL_FEED_SCHEMA, FeedRates, SocialNetwork
from ktsafe.datasets.synthetic import SYNTHETIC_SCHEMA, uniform
from ktsafe.inputs import read_network

__all__ = [
    "SOCIAL_FEED_SCHEMA",
    "SYNTHETIC_SCHEMA",
    "FeedRates",
    "SocialNetwork",
    "life",
    "read_network",
    "social_feed",
    "uniform",
]
