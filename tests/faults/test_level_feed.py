"""The long feed's own truth is the graph that its events make."""

import json

import pytest

from tests import feeds
from tests.faults import level_feed


@pytest.mark.parametrize(
    ("seed", "every_us", "step_us", "slots"),
    [(1, 1_000_000, 1_000, 5), (2, 79_000_000, 100_000, 6)],
)
def test_the_truth_at_every_slot_is_the_fold_of_its_events(
    tmp_path, seed, every_us, step_us, slots
):
    """At every slot offsets and graph agree with a fold; the number of people is held."""
    truths = level_feed.write_feed(tmp_path, 4_500, 150, seed, every_us=every_us, step_us=step_us)
    partitions = [
        [json.loads(records.value(offset)) for offset in range(len(records))]
        for records in level_feed.mapped(tmp_path)
    ]
    assert sum(map(len, partitions)) == 4_500
    assert len(truths) == slots
    assert not any(truth.slot_us % every_us for truth in truths)
    for truth in truths:
        known = [events[:offset] for events, offset in zip(partitions, truth.offsets, strict=True)]
        assert all(feeds.time_us(e) <= truth.slot_us for events in known for e in events)
        assert truth.graph == feeds.fold(known, level_feed.SCHEMA.attributes)
        assert 149 <= len(truth.graph[0]) <= 150
    assert truths[-1].offsets == tuple(map(len, partitions))
