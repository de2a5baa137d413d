"""Headers of consumed records, without a broker."""

from __future__ import annotations

from ktsafe.connectors.kafka_topics.kafka_source import headers_of


def test_a_header_without_a_value_is_an_empty_one() -> None:
    """Kafka allows null there; dead letters and whoever reads them know bytes only."""
    found = headers_of([("trace", b"t-1"), ("baggage", None), ("trace", b"")])
    assert found == (("trace", b"t-1"), ("baggage", b""), ("trace", b""))
    assert headers_of([]) == ()
