"""A Kafka topic as event source, on a real broker."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import msgspec
import pytest

from ktsafe.connectors.base import (
    Misconfigured,
    OffsetLost,
    Source,
    SourceMismatch,
    TopicPartition,
    Unavailable,
)
from ktsafe.connectors.kafka_topics import KafkaSettings, KafkaSource
from ktsafe.connectors.kafka_topics import kafka_source as source_module
from ktsafe_lab.contracts.source_contract import (
    N_PARTITIONS,
    SourceContract,
    next_offsets,
    read_all,
    values_of,
)
from ops.broker.broker import Broker, free_ports
from tests.integration.cluster import Cluster

# After the connectors, which import kafka-python without its warnings.
from kafka.consumer.subscription_state import SubscriptionState  # isort: skip

pytestmark = pytest.mark.integration


class KafkaWorld:
    """A topic with three partitions."""

    def __init__(self, cluster: Cluster, kafka: KafkaSettings, topic: str) -> None:
        self.topic = topic
        self._cluster = cluster
        self._kafka = kafka

    def write(self, partition: int, values: list[bytes]) -> None:
        self._cluster.write(self.topic, partition, list(values))

    def source(self) -> KafkaSource:
        return KafkaSource(self._kafka, self.topic)

    def replace(self) -> None:
        self._cluster.recreate(self.topic, N_PARTITIONS)


@pytest.fixture
def world(cluster: Cluster, kafka: KafkaSettings, new_topic: Callable[..., str]) -> KafkaWorld:
    return KafkaWorld(cluster, kafka, new_topic(partitions=N_PARTITIONS))


@pytest.fixture
def source(world: KafkaWorld) -> Iterator[Source]:
    source = world.source()
    yield source
    source.close()


class TestKafkaSource(SourceContract):
    """A topic as a source."""


def at(world: KafkaWorld, partition: int) -> TopicPartition:
    return TopicPartition(world.topic, partition)


def poll_nothing(source: Source, seconds: float) -> None:
    """Poll for so long, or until the source gives up; no record may come."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert source.poll(0.1, 10) == []


def test_timestamps_keys_and_headers(cluster: Cluster, world: KafkaWorld, source: Source) -> None:
    """Key, timestamp and headers come as they were sent; a tombstone has no value."""
    cluster.write(
        world.topic,
        0,
        [b"v", None],
        key=b"k",
        timestamp_ms=1_500_000_000_123,
        headers=[("a", b"1")],
    )
    source.open({}, {})
    first, second = read_all(source)
    assert (first.key, first.timestamp_ms, first.headers) == (
        b"k",
        1_500_000_000_123,
        (("a", b"1"),),
    )
    assert (first.value, second.value) == (b"v", None)


def test_ten_megabyte_record(cluster: Cluster, world: KafkaWorld, source: Source) -> None:
    """A record far greater than a fetch comes whole, and reading goes on behind it."""
    cluster.configure(world.topic, max_message_bytes=str(12 * 1024 * 1024))
    cluster.write(world.topic, 0, [b"a", b"x" * 10_000_000, b"b"])
    source.open({}, {})
    assert [len(r.value or b"") for r in read_all(source)] == [1, 10_000_000, 1]


def test_aborted_and_open_transactions(cluster: Cluster, world: KafkaWorld, source: Source) -> None:
    """Only committed records come; control records neither come nor hold up the end."""
    producer = cluster.transactional(f"tx-{world.topic}")
    for value, commit in ((b"one", True), (b"two", False), (b"three", True), (b"four", False)):
        producer.begin_transaction()
        producer.send(world.topic, value=value, partition=0)
        producer.flush()
        if commit:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
    source.open({}, {})
    records = read_all(source)
    assert [r.value for r in records] == [b"one", b"three"]
    producer.begin_transaction()
    producer.send(world.topic, value=b"five", partition=0)
    producer.flush()
    assert source.poll(0.5, 10) == []
    assert source.at_end(at(world, 0))
    producer.commit_transaction()
    time.sleep(source_module.ENDS_AGE_S)
    assert [r.value for r in read_all(source)] == [b"five"]
    producer.close()
    source.close()
    again = world.source()
    again.open(next_offsets(records), {})
    assert [r.value for r in read_all(again)] == [b"five"]
    again.close()


def test_added_partitions_are_read_from_their_beginning(
    cluster: Cluster, world: KafkaWorld, source: Source
) -> None:
    """Partitions added while reading are noticed, and their first records are not missed."""
    world.write(0, [b"old"])
    source.open({}, {})
    identity = source.identity()
    first = read_all(source)
    cluster.admin.create_partitions({world.topic: N_PARTITIONS + 2})
    deadline = time.monotonic() + 60  # Metadata are as old as a request may take.
    while True:
        try:
            cluster.write(world.topic, N_PARTITIONS + 1, [b"new"])
            break
        except ValueError:  # The producer has not noticed the partition yet.
            assert time.monotonic() < deadline
            cluster.producer._metadata.request_update()
            time.sleep(0.1)
    later = []
    while not later:
        assert time.monotonic() < deadline
        later = source.poll(0.2, 10)
    assert [(r.partition, r.value) for r in later] == [(N_PARTITIONS + 1, b"new")]
    assert len(source.partitions()) == N_PARTITIONS + 2
    assert source.identity() == identity
    source.close()
    again = world.source()
    again.open(next_offsets(first), identity)
    assert [r.value for r in read_all(again)] == [b"new"]
    again.close()


def test_offset_below_the_beginning_is_refused(
    cluster: Cluster, world: KafkaWorld, source: Source
) -> None:
    """Records that retention removed unread are not passed over in silence."""
    from kafka import TopicPartition as KafkaTopicPartition  # noqa: PLC0415

    world.write(1, [b"%d" % i for i in range(10)])
    cluster.admin.delete_records({KafkaTopicPartition(world.topic, 1): 5})
    with pytest.raises(OffsetLost):
        source.open({at(world, 1): 4}, {})
    source.close()
    again = world.source()
    again.open({at(world, 1): 5}, {})
    assert values_of(read_all(again), 1) == [b"%d" % i for i in range(5, 10)]
    again.close()
    fresh = world.source()
    fresh.open({}, {})
    with pytest.raises(OffsetLost):
        read_all(fresh)
    fresh.close()


def test_retention_overtakes_a_running_reader(
    cluster: Cluster, world: KafkaWorld, source: Source
) -> None:
    """A reader whose next record was removed stops instead of jumping."""
    from kafka import TopicPartition as KafkaTopicPartition  # noqa: PLC0415

    world.write(0, [b"%d" % i for i in range(10)])
    source.open({}, {})
    source.pause(at(world, 0), 2)
    source.poll(0.3, 10)
    cluster.admin.delete_records({KafkaTopicPartition(world.topic, 0): 8})
    source.resume(at(world, 0))
    with pytest.raises(OffsetLost):
        poll_nothing(source, 10)


def test_no_partition_has_all_others_looked_at(
    world: KafkaWorld, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where partitions are, and where they go on, is known without a walk over all of them each."""
    for number in range(3):
        world.write(number, [b"x"])
    walks = []
    for name in ("assigned_partitions", "partitions_needing_validation"):
        walk = getattr(SubscriptionState, name)
        monkeypatch.setattr(
            SubscriptionState, name, lambda state, walk=walk: (walks.append(1), walk(state))[1]
        )
    source.open({}, {})
    records = []
    while len(records) < 3:
        records += source.poll(0.3, 100)
    walks.clear()
    assert all(source.at_end(at(world, number)) for number in range(3))
    assert set(source.lag().values()) == {0}
    for number in range(3):
        source.pause(at(world, number), 0)
        source.resume(at(world, number))
    source._assign_active()
    assert walks == []
    assert set(source.lag().values()) == {1}


def test_many_pauses_are_one_assignment(
    world: KafkaWorld, source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes all partitions, so that they are told once, before the next poll.

    One that goes on before it was told to stop is where it was paused.
    """
    for number in range(3):
        world.write(number, [b"%d" % i for i in range(4)])
    source.open({}, {})
    assigned = []
    assign = source._consumer.assign
    monkeypatch.setattr(
        source._consumer, "assign", lambda given: (assigned.append(len(given)), assign(given))
    )
    for number in range(3):
        source.pause(at(world, number), 1)
    source.resume(at(world, 0))
    source.resume(at(world, 2))
    assert source.lag()[at(world, 0)] == source.lag()[at(world, 1)] == 3
    assert assigned == []
    records = []
    while len(records) < 6:
        records += source.poll(0.3, 100)
    assert assigned == [2]
    assert {(r.partition, r.offset) for r in records} == {(n, o) for n in (0, 2) for o in (1, 2, 3)}


def test_a_topic_made_again_stops_a_running_reader(world: KafkaWorld, source: Source) -> None:
    """Records of a topic that took the place of the opened one are never returned."""
    world.write(0, [b"old"] * 3)
    source.open({}, {})
    assert len(read_all(source)) == 3
    world.replace()
    world.write(0, [b"new"] * 10)
    time.sleep(source_module.VERIFY_S)
    with pytest.raises((SourceMismatch, OffsetLost)):
        poll_nothing(source, 20)


def test_group_offsets_are_told(cluster: Cluster, world: KafkaWorld, source: Source) -> None:
    """Lag tools see the offsets acknowledged last, at the latest when the source is closed."""
    world.write(0, [b"x"] * 10)
    source.open({}, {})
    read_all(source)
    for offset in range(1, 8):
        source.acknowledge({at(world, 0): offset})
    source.close()
    committed = cluster.admin.list_group_offsets("ktsafe")["ktsafe"]
    offsets = {(p.topic, p.partition): found.offset for p, found in committed.items()}
    assert offsets[world.topic, 0] == 7


def test_missing_topic_is_named(kafka: KafkaSettings) -> None:
    """A topic that does not exist is refused with a hint, and not created."""
    for _ in range(2):
        with pytest.raises(Misconfigured, match="no such topic"):
            KafkaSource(kafka, "no-such-topic").open({}, {})


def test_unreachable_broker_gives_up(kafka: KafkaSettings) -> None:
    """Where nobody listens, opening gives up after its bounded retries, with a hint."""
    (port,) = free_ports(1)
    settings = KafkaSettings(bootstrap_servers=(f"127.0.0.1:{port}",), request_timeout_s=1)
    with pytest.raises(Unavailable) as caught:
        KafkaSource(settings, "feed").open({}, {})
    assert str(port) in caught.value.hint


def test_killed_broker(
    outage: Broker, world: KafkaWorld, kafka: KafkaSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader outlives a broker that comes back, and misses nothing; an impatient one gives up."""
    monkeypatch.setattr(source_module, "PROBE_S", 0.5)
    world.write(0, [b"%d" % i for i in range(1000)])
    source = world.source()
    source.open({}, {})
    records = source.poll(5.0, 100)
    settings = msgspec.structs.replace(kafka, request_timeout_s=0.5)
    impatient = KafkaSource(settings, world.topic)
    impatient.open({at(world, 0): 1000}, {})
    outage.stop(kill=True)
    with pytest.raises(Unavailable):
        poll_nothing(impatient, 30)
    impatient.close()
    for _ in range(3):
        records += source.poll(0.2, 100)
    assert source.lag()[at(world, 0)] is None
    outage.start()
    records += read_all(source, seconds=40)
    assert [r.value for r in records] == [b"%d" % i for i in range(1000)]
    source.close()
