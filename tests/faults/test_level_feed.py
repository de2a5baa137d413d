"""A level network knows the graph that its events make."""

import json

from tests import feeds
from tests.faults import level_feed


def test_the_graph_of_a_level_network_is_the_fold_of_its_events():
    """At every thousandth event, and the number of people is held."""
    network, told = level_feed.Network(150, seed=1), []
    for event in level_feed.events(network, 4_000, step_us=1_000):
        told.append(json.loads(event))
        if len(told) % 1_000 == 0:
            graph = network.graph()
            assert graph == feeds.fold([told], level_feed.SCHEMA.attributes)
            assert 149 <= len(graph[0]) <= 150
