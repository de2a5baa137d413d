"""Kafka topics as event source, release sink and dead-letter sink, on kafka-python.

kafka-python 3.0 reads its message schemas with `importlib.resources.read_text`, which Python 3.11
calls deprecated; where warnings are errors, the import would fail. So it is imported first, without
its warnings.

Nothing else may import kafka before this package. Another version of kafka-python needs all of
tests/integration: several modules use names of it that are not public (`noqa: SLF001`).
"""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.admin
    import kafka.consumer
    import kafka.producer

from ktsafe.connectors.kafka_settings import KafkaSettings
from ktsafe.connectors.kafka_topics.dead_letter_topic import (
    KafkaDeadLetterSink,
    read_records,
    send_values,
)
from ktsafe.connectors.kafka_topics.kafka_source import KafkaSource
from ktsafe.connectors.kafka_topics.release_reader import KafkaReleaseReader
from ktsafe.connectors.kafka_topics.release_sink import KafkaReleaseSink
from ktsafe.connectors.kafka_topics.topics import Role, TopicSpec, check_topics, create_topics

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
