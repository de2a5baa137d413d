"""A broker of the session's own, topics of each test's own."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import pytest

from ktsafe.connectors.kafka_topics import KafkaSettings, Role, TopicSpec, create_topics
from ops.broker.broker import Broker, BrokerError
from ops.broker.secured import Secured
from tests.integration.cluster import Cluster, close_refused_sockets

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {
    # A killed broker's registration ends soon, so that it can come back soon.
    "broker.session.timeout.ms": "1500",
    "broker.heartbeat.interval.ms": "300",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    "message.max.bytes": str(12 * 1024 * 1024),
}
B = TypeVar("B", bound=Broker)
_numbers = itertools.count(1)


def new_broker(
    home: Path,
    secured: Secured | None = None,
    further: Mapping[str, str] | None = None,
    kind: Callable[..., B] = Broker,
) -> B:
    """Return a broker in `home` that shares the downloaded server; skip where it cannot run."""
    settings = {**SETTINGS, **(further or {})}
    broker = kind(home, libs=ROOT / "var/broker/libs", settings=settings, secured=secured)
    problem = broker.missing()
    if problem is None:
        try:
            broker.fetch()
        except BrokerError as error:
            problem = str(error)
    if problem is not None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no Kafka broker for the integration tests: {problem}", pytrace=False)
        pytest.skip(f"no Kafka broker: {problem}")
    return broker


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """Give a running broker; its data are removed at the end."""
    home = ROOT / f"var/broker/session-{os.getpid()}"
    broker = new_broker(home)
    try:
        broker.start()
        yield broker
    finally:
        broker.stop()
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def outage(broker: Broker) -> Iterator[Broker]:
    """Give the session's broker to a test that stops it; it runs again afterwards."""
    yield broker
    broker.start()


@pytest.fixture(scope="session")
def cluster(broker: Broker) -> Iterator[Cluster]:
    """Give clients of the session's broker."""
    running = broker.running()
    assert running is not None
    close_refused_sockets()
    cluster = Cluster(running.bootstrap)
    yield cluster
    cluster.close()


@pytest.fixture
def kafka(cluster: Cluster) -> KafkaSettings:
    """Give settings for the session's broker, with short waits."""
    return KafkaSettings(
        bootstrap_servers=(cluster.bootstrap,),
        request_timeout_s=10,
    )


@pytest.fixture
def new_topic(kafka: KafkaSettings) -> Callable[..., str]:
    """Give a function that creates a topic with a name of its own."""

    def create(role: Role = Role.EVENTS, partitions: int = 1) -> str:
        name = f"{role}-{os.getpid()}-{next(_numbers)}"
        create_topics(kafka, [TopicSpec(name=name, role=role, partitions=partitions)])
        return name

    return create
