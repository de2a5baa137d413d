"""What a topic keeps: heads that are gone, marks of transactions, compaction, compression."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ktsafe.connectors.base import Misconfigured, OffsetLost, SinkConflict, TopicPartition
from ktsafe.connectors.kafka_topics import (
    KafkaReleaseReader,
    KafkaReleaseSink,
    KafkaSettings,
    KafkaSource,
    Role,
)
from ktsafe_lab.contracts.release_contract import stage
from ktsafe_lab.contracts.source_contract import read_all
from tests.integration.cluster import Cluster

# After the connectors, which import kafka-python without its warnings.
from kafka import TopicPartition as KafkaTopicPartition  # isort: skip
from kafka import codec  # isort: skip

pytestmark = pytest.mark.integration
Open = Callable[..., KafkaSource]


@pytest.fixture
def topic(new_topic: Callable[..., str]) -> str:
    return new_topic()


@pytest.fixture
def opened(kafka: KafkaSettings, topic: str) -> Iterator[Open]:
    """Give what opens a source of the topic."""
    sources = []

    def open_source(
        positions: dict[TopicPartition, int] | None = None, *, begins_anywhere: bool = False
    ) -> KafkaSource:
        source = KafkaSource(kafka, topic, begins_anywhere=begins_anywhere)
        sources.append(source)
        source.open(positions or {}, {})
        return source

    yield open_source
    for source in sources:
        source.close()


def poll_long(source: KafkaSource) -> None:
    """Poll for ten seconds, whatever comes."""
    for _ in range(100):
        source.poll(0.1, 10)


def cut(cluster: Cluster, topic: str, offset: int, partition: int = 0) -> None:
    """Remove records as retention does."""
    cluster.admin.delete_records({KafkaTopicPartition(topic, partition): offset})


@pytest.mark.parametrize("is_committed", [True, False])
def test_what_is_no_record_may_be_gone(
    cluster: Cluster, topic: str, opened: Open, *, is_committed: bool
) -> None:
    """A source goes on where it stood, though retention removed all up to there."""
    cluster.write(topic, 0, [b"1", b"2"])
    producer = cluster.transactional(f"tx-{topic}")
    producer.begin_transaction()
    producer.send(topic, value=b"3", partition=0)
    producer.flush()
    first = opened()
    at = TopicPartition(topic, 0)
    assert [r.value for r in read_all(first)] == [b"1", b"2"]
    assert first.has_open_transaction(at)
    assert opened({at: 2}).has_open_transaction(at), "known before anything was fetched"
    if is_committed:
        producer.commit_transaction()
    else:
        producer.abort_transaction()
    producer.close()
    while not first.at_end(at) or first.has_open_transaction(at):
        first.poll(0.1, 10)
    assert first.passed(at) == 4  # The mark, too.
    cluster.write(topic, 0, [b"4"])
    cut(cluster, topic, 4)
    with pytest.raises(OffsetLost, match="not retained"):
        opened({at: 3})
    assert [r.value for r in read_all(opened({at: first.passed(at)}))] == [b"4"]


def test_a_topic_that_has_lost_its_beginning_is_refused(
    cluster: Cluster, topic: str, opened: Open
) -> None:
    """Unless its owner says that nothing is missing; its ends are known all the same."""
    cluster.write(topic, 0, [b"1", b"2", b"3"])
    cut(cluster, topic, 2)
    source = opened()
    assert source.ends() == {TopicPartition(topic, 0): 3}
    with pytest.raises(OffsetLost, match="earliest kept") as caught:
        source.poll(0.1, 10)
    assert "partition 0 was never read, and begins at offset 2" in caught.value.hint
    assert "ktsafe state import" in caught.value.hint
    assert [r.value for r in read_all(opened(begins_anywhere=True))] == [b"3"]
    assert [r.value for r in read_all(opened({TopicPartition(topic, 0): 2}))] == [b"3"]


def test_an_added_partition_without_its_beginning_is_refused(
    cluster: Cluster, topic: str, opened: Open
) -> None:
    """Whether it is met at a start, or by a reader that runs."""
    at = TopicPartition(topic, 0)
    running = opened()
    cluster.admin.create_partitions({topic: 2})
    later = cluster.transactional(f"tx-{topic}")  # The others do not know of it yet.
    later.begin_transaction()
    for value in (b"1", b"2"):
        later.send(topic, value=value, partition=1)
    later.commit_transaction()
    later.close()
    cut(cluster, topic, 1, partition=1)
    with pytest.raises(OffsetLost, match="partition 1"):
        poll_long(running)
    with pytest.raises(OffsetLost, match="partition 1"):
        opened({at: 0}).poll(0.1, 10)
    assert [r.value for r in read_all(opened({at: 0}, begins_anywhere=True))] == [b"2"]


def test_a_topic_that_compacts_is_refused(cluster: Cluster, topic: str, opened: Open) -> None:
    """What earlier events of a key said would be gone; unless its owner says otherwise."""
    cluster.write(topic, 0, [b"1"], key=b"k")
    for policy in ("compact", "compact,delete"):
        cluster.configure(topic, cleanup_policy=policy)
        with pytest.raises(Misconfigured, match="earliest kept") as caught:
            opened()
        assert policy in caught.value.hint
    assert [r.value for r in read_all(opened(begins_anywhere=True))] == [b"1"]


@pytest.mark.parametrize("compression", ["snappy", "zstd", "lz4", "gzip"])
def test_what_brokers_compress_is_read(
    cluster: Cluster,
    kafka: KafkaSettings,
    new_topic: Callable[..., str],
    tmp_path: Path,
    compression: str,
) -> None:
    """Events and releases, however the topic has them compressed."""
    events, releases = new_topic(), new_topic(Role.RELEASES)
    for name in (events, releases):
        cluster.configure(name, compression_type=compression)
    values = [b"%d" % (i % 10) * 100 for i in range(500)]
    cluster.write(events, 0, list(values))
    source = KafkaSource(kafka, events)
    source.open({}, {})
    assert [r.value for r in read_all(source)] == values
    source.close()
    sink = KafkaReleaseSink(kafka, releases, transactional_id=f"tx-{releases}")
    sink.open()
    bundle = stage(tmp_path / "staging", "s-0001", {"a.csv": b"1,2\n" * 5_000})
    sink.publish(bundle)
    sink.close()
    (found,) = KafkaReleaseReader(kafka, releases).read(tmp_path / "read")
    assert found.digest() == bundle.digest()


def test_a_codec_that_is_not_installed_is_named(
    cluster: Cluster,
    kafka: KafkaSettings,
    new_topic: Callable[..., str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It cannot be read, however often that is tried: a mistake of the installation."""
    events, releases = new_topic(), new_topic(Role.RELEASES)
    for name in (events, releases):
        cluster.configure(name, compression_type="snappy")
    cluster.write(events, 0, [b"1" * 1_000])
    monkeypatch.setattr(codec, "snappy", None)
    source = KafkaSource(kafka, events)
    source.open({}, {})
    with pytest.raises(Misconfigured, match="snappy"):
        read_all(source)
    source.close()
    sink = KafkaReleaseSink(kafka, releases, transactional_id=f"tx-{releases}")
    sink.open()
    sink.publish(stage(tmp_path / "staging", "s-0001", {"a.csv": b"1,2\n" * 5_000}))
    with pytest.raises(Misconfigured, match="snappy"):
        sink.publish(stage(tmp_path / "staging", "s-0002", {"a.csv": b"1,2\n" * 5_000}))
    sink.close()


@pytest.mark.parametrize("n_after", [0, 3])
def test_a_reader_of_a_topic_that_was_made_again_says_so(
    cluster: Cluster,
    kafka: KafkaSettings,
    new_topic: Callable[..., str],
    tmp_path: Path,
    n_after: int,
) -> None:
    """Whether the new one is shorter than where the reader stood, or longer."""
    topic = new_topic(Role.RELEASES)

    def publish(name: str) -> None:
        sink = KafkaReleaseSink(kafka, topic, transactional_id=f"tx-{topic}")
        sink.open()
        sink.publish(stage(tmp_path / "staging", name, {"a.csv": name.encode()}))
        sink.close()

    publish("s-0001")
    reader = KafkaReleaseReader(kafka, topic)
    releases = reader.read(tmp_path / "read", follow=True)
    assert next(releases).release_id == "s-0001"
    stop = threading.Timer(30, reader.close)
    stop.start()
    cluster.recreate(topic, 1, Role.RELEASES)
    for number in range(n_after):
        publish(f"t-000{number}")
    with pytest.raises(SinkConflict, match="made again"):
        next(releases)
    stop.cancel()
