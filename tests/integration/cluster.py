"""What tests do to a cluster besides what the connectors do."""

from __future__ import annotations

import time
from typing import Any

from ktsafe.connectors.kafka_topics import KafkaSettings, Role, TopicSpec, create_topics

# After the connectors, which import kafka-python without its warnings.
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition  # isort: skip
from kafka.admin import ConfigResource, ConfigResourceType  # isort: skip
from kafka.errors import CoordinatorNotAvailableError, NodeNotReadyError  # isort: skip
from kafka.net.inet import KafkaNetSocket  # isort: skip


def close_refused_sockets() -> None:
    """Have kafka-python close the socket of a connection that was refused.

    It leaves that to the garbage collector, which warns; and warnings are errors here.
    """
    original = KafkaNetSocket.sock_connect

    async def sock_connect(self: Any, net: Any, sock: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return await original(self, net, sock, *args, **kwargs)
        except BaseException:
            sock.close()
            raise

    KafkaNetSocket.sock_connect = sock_connect


class Admin:
    """Administers a cluster with a client of its own for every call, patient with a young one.

    A client that lived through a restart of its only broker knows no node for a while; tests that
    stop the broker would make others fail.
    """

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def __getattr__(self, name: str) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            deadline = time.monotonic() + 20
            while True:
                client = KafkaAdminClient(bootstrap_servers=self._bootstrap)
                try:
                    return getattr(client, name)(*args, **kwargs)
                except (NodeNotReadyError, CoordinatorNotAvailableError):
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(0.2)
                finally:
                    client.close()

        return call


class Cluster:
    """Clients of one broker."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.admin = Admin(bootstrap)
        self.producer = KafkaProducer(
            bootstrap_servers=bootstrap, max_request_size=12 * 1024 * 1024, metrics_enabled=False
        )

    def close(self) -> None:
        self.producer.close(timeout=5)

    def write(self, topic: str, partition: int, values: list[bytes | None], **fields: Any) -> None:
        """Append records."""
        sent = [
            self.producer.send(topic, value=value, partition=partition, **fields)
            for value in values
        ]
        self.producer.flush(timeout=20)
        for future in sent:
            future.get(timeout=1)

    def transactional(self, transactional_id: str) -> KafkaProducer:
        """Return a producer ready to begin a transaction."""
        producer = KafkaProducer(
            bootstrap_servers=self.bootstrap,
            transactional_id=transactional_id,
            metrics_enabled=False,
        )
        producer.init_transactions()
        return producer

    def recreate(self, topic: str, partitions: int, role: Role = Role.EVENTS) -> None:
        """Delete a topic and make another one of the same name."""
        self.admin.delete_topics([topic])
        deadline = time.monotonic() + 20
        while topic in self.admin.list_topics():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        settings = KafkaSettings(bootstrap_servers=(self.bootstrap,))
        create_topics(settings, [TopicSpec(name=topic, role=role, partitions=partitions)])

    def configure(self, topic: str, **configs: str) -> None:
        """Change settings of a topic."""
        values = {name.replace("_", "."): value for name, value in configs.items()}
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, values)
        self.admin.alter_configs([resource])

    def records(self, topic: str, *, committed: bool = True) -> list[Any]:
        """Return all records of partition 0."""
        consumer = KafkaConsumer(
            bootstrap_servers=self.bootstrap,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed" if committed else "read_uncommitted",
            metrics_enabled=False,
        )
        at = TopicPartition(topic, 0)
        consumer.assign([at])
        consumer.seek_to_beginning(at)
        end = consumer.end_offsets([at])[at]
        found: list[Any] = []
        while consumer.position(at) < end:
            found += consumer.poll(timeout_ms=200).get(at, [])
        consumer.close()
        return found
