"""Synthetic graphs and feeds, and networks in files.

Tests, the demo and docs/results.md show figures of these networks: equal generators must go on
giving equal networks (tests/ktsafe/graph/datasets/test_datasets.py).
"""

from ktsafe.graph.datasets.social_network import (
    SOCIAL_FEED_SCHEMA,
    FeedRates,
    SocialNetwork,
    life,
    social_feed,
)
from ktsafe.graph.datasets.synthetic import SYNTHETIC_SCHEMA, uniform
from ktsafe.graph.inputs import read_network

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
