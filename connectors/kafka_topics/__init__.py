"""Kafka topics as event source, release sink and dead-letter sink, on kafka-python."""

from connectors.kafka_settings import KafkaSettings
from connectors.kafka_topics import _quiet_import
from connectors.kafka_topics.dead_letter_topic import KafkaDeadLetterSink
from connectors.kafka_topics.kafka_source import KafkaSource
from connectors.kafka_topics.plain_records import read_records, send_values
from connectors.kafka_topics.release_reader import KafkaReleaseReader
from connectors.kafka_topics.release_sink import KafkaReleaseSink
from connectors.kafka_topics.topics import Role, TopicSpec, check_topics, create_topics

__all__ = [
    "KafkaDeadLetterSink",
    "KafkaReleaseReader",
    "KafkaReleaseSink",
    "KafkaSettings",
    "KafkaSource",
    "Role",
    "TopicSpec",
    "check_topics",
    "create_topics",
    "read_records",
    "send_values",
]
