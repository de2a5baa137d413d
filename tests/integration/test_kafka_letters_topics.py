"""Dead letters and topic checks on a real broker."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from ktsafe.connectors.base import Misconfigured, Unavailable
from ktsafe.connectors.kafka_topics import (
    KafkaDeadLetterSink,
    KafkaSettings,
    Role,
    TopicSpec,
    check_topics,
    create_topics,
)
from ktsafe.connectors.letters import PREFIX
from ktsafe_lab.contracts.letter_contract import BYTES_MAX, Found, LetterContract, letter
from ops.broker.broker import Broker
from tests.integration.cluster import Cluster

pytestmark = pytest.mark.integration


class KafkaLetterWorld:
    """A topic of dead letters."""

    def __init__(self, cluster: Cluster, kafka: KafkaSettings, topic: str) -> None:
        self._cluster = cluster
        self.kafka = kafka
        self._topic = topic

    def sink(self) -> KafkaDeadLetterSink:
        return KafkaDeadLetterSink(self.kafka, self._topic, dead_letter_bytes_max=BYTES_MAX)

    def letters(self) -> list[Found]:
        return [parse(record) for record in self._cluster.records(self._topic)]


def parse(record: object) -> Found:
    headers = dict(record.headers)
    fields = {
        name.removeprefix(PREFIX): value.decode()
        for name, value in headers.items()
        if name.startswith(PREFIX)
    }
    value = record.value
    length = fields.get("length", None if value is None else len(value))
    return Found(
        fields["topic"],
        int(fields["partition"]),
        int(fields["offset"]),
        fields["exception.class.name"],
        fields["exception.message"],
        record.key,
        value,
        None if length is None else int(length),
        fields.get("sha256"),
        tuple(record.headers),
    )


@pytest.fixture
def world(
    cluster: Cluster, kafka: KafkaSettings, new_topic: Callable[..., str]
) -> KafkaLetterWorld:
    return KafkaLetterWorld(cluster, kafka, new_topic(Role.DEAD_LETTERS))


class TestKafkaLetters(LetterContract):
    """A topic of letters, written and read."""


def test_outage(outage: Broker, world: KafkaLetterWorld) -> None:
    """Letters that the broker did not confirm are `Unavailable`, and arrive when tried again."""
    world.kafka = msgspec.structs.replace(world.kafka, request_timeout_s=2)
    sink = world.sink()
    sink.write([letter(1, b"a")])
    outage.stop(kill=True)
    for _ in range(2):
        with pytest.raises(Unavailable):
            sink.write([letter(2, b"b")])
    outage.start()
    sink.write([letter(2, b"b")])
    sink.close()
    offsets = [found.offset for found in world.letters()]
    assert offsets[0] == 1
    assert set(offsets[1:]) == {2}


def test_large_headers_are_left_out(world: KafkaLetterWorld) -> None:
    """Headers beyond the bound do not make a letter undeliverable; their number is told."""
    sink = world.sink()
    headers = (("small", b"1"), *((f"large-{i}", b"x" * 500_000) for i in range(4)))
    sink.write([letter(1, b"v", headers=headers)])
    sink.close()
    (found,) = world.letters()
    assert ("small", b"1") in found.headers
    assert (f"{PREFIX}headers.dropped", b"4") in found.headers


def test_topic_for_smaller_records(
    cluster: Cluster, kafka: KafkaSettings, new_topic: Callable[..., str]
) -> None:
    """A topic that can never take a letter is named, instead of being tried for ever."""
    topic = new_topic(Role.DEAD_LETTERS)
    cluster.configure(topic, max_message_bytes="1000")
    sink = KafkaDeadLetterSink(kafka, topic)
    with pytest.raises(Misconfigured, match=r"max\.message\.bytes"):
        sink.write([letter(1, b"x" * 5000)])
    sink.close()


def test_missing_letter_topic(kafka: KafkaSettings) -> None:
    """A topic that does not exist is named."""
    with pytest.raises(Misconfigured, match="no such topic"):
        KafkaDeadLetterSink(kafka, "no-such-topic").write([letter(1, b"x")])


def test_create_and_check(cluster: Cluster, kafka: KafkaSettings) -> None:
    """Created topics have no problems; creating again leaves them alone."""
    specs = [
        TopicSpec(name="check-events", role=Role.EVENTS, partitions=3),
        TopicSpec(name="check-releases", role=Role.RELEASES, partitions=3),
        TopicSpec(name="check-letters", role=Role.DEAD_LETTERS, retention_ms=86_400_000),
    ]
    (missing, *_) = check_topics(kafka, specs)
    assert "no such topic" in missing
    assert create_topics(kafka, specs) == [spec.name for spec in specs]
    assert check_topics(kafka, specs) == []
    assert create_topics(kafka, specs) == []
    cluster.configure(
        "check-releases",
        cleanup_policy="compact",
        retention_ms="1000",
        message_timestamp_type="LogAppendTime",
        compression_type="gzip",
        max_message_bytes="1000",
    )
    problems = check_topics(kafka, specs)
    for word in ("compaction", "retention.ms", "CreateTime", "compression", "max.message.bytes"):
        assert any(word in problem for problem in problems), word
    assert all(problem.startswith("check-releases: ") for problem in problems)


def test_impossible_topic(kafka: KafkaSettings) -> None:
    """A name or a replication that the cluster refuses is said so."""
    for spec in (
        TopicSpec(name="no spaces please", role=Role.EVENTS),
        TopicSpec(name="too-many", role=Role.EVENTS, replication_factor=5),
    ):
        with pytest.raises(Misconfigured, match="refused"):
            create_topics(kafka, [spec])
