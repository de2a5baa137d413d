"""Bounds, retries and errors of the Kafka clients, without a broker."""

from __future__ import annotations

import socket
import threading

import pytest

from connectors.errors import Misconfigured, SinkConflict, Unavailable
from connectors.kafka_topics import client
from connectors.settings import KafkaSettings

from kafka import errors as kafka_errors  # isort: skip


@pytest.fixture
def listening() -> int:
    """Give a port on which somebody listens, and nothing more."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def at(port: int, retry_for_s: float = 5.0) -> KafkaSettings:
    return KafkaSettings(
        bootstrap_servers=(f"127.0.0.1:{port}",), retry_for_s=retry_for_s, request_timeout_s=1.0
    )


def test_bounded_returns_and_raises() -> None:
    """Result and error of the call are those of `bounded`."""
    assert client.bounded(lambda: 7, 5, "call") == 7

    def fail() -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        client.bounded(fail, 5, "call")


def test_bounded_gives_up() -> None:
    """A call that does not return is given up."""
    release = threading.Event()
    with pytest.raises(kafka_errors.KafkaTimeoutError):
        client.bounded(lambda: release.wait(60), 0.2, "call")
    release.set()


def test_connect_tries_again(listening: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that cannot be made at first is made later, within `retry_for_s`."""
    monkeypatch.setattr(client, "RETRY_PAUSE_S", 0.01)
    failures = [kafka_errors.KafkaTimeoutError(), kafka_errors.NodeNotReadyError()]

    def make() -> str:
        if failures:
            raise failures.pop()
        return "client"

    assert client.connect(make, "open", "t", at(listening)) == "client"


def test_connect_gives_up(listening: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """After `retry_for_s` the error says what was tried and where."""
    monkeypatch.setattr(client, "RETRY_PAUSE_S", 0.01)
    calls = []

    def make() -> None:
        calls.append(1)
        raise kafka_errors.KafkaTimeoutError

    with pytest.raises(Unavailable) as caught:
        client.connect(make, "open source", "feed", at(listening, retry_for_s=0.1))
    assert len(calls) > 1
    assert caught.value.op == "open source"
    assert str(listening) in caught.value.hint


def test_a_refusal_is_not_tried_again(listening: int) -> None:
    """Wrong credentials are the operator's to correct, not to retry."""
    calls = []

    def make() -> None:
        calls.append(1)
        raise kafka_errors.SaslAuthenticationFailedError

    with pytest.raises(Misconfigured):
        client.connect(make, "open", "t", at(listening))
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (kafka_errors.TopicAuthorizationFailedError("t"), Misconfigured),
        (kafka_errors.UnsupportedVersionError(), Misconfigured),
        (kafka_errors.NotLeaderForPartitionError(), Unavailable),
        (ConnectionResetError(), Unavailable),
        (SinkConflict("a", "b", "c"), SinkConflict),
    ],
)
def test_errors_are_named_by_their_remedy(error: Exception, expected: type[Exception]) -> None:
    """What the operator must correct is told from what will pass."""
    assert type(client.translate(error, "op", "t", at(1))) is expected


def test_messages_of_kafka_are_not_passed_on() -> None:
    """The library's own messages may quote records; only the kind of error is told."""
    error = kafka_errors.InvalidRecordError("value alice is malformed")
    assert "alice" not in str(client.translate(error, "op", "t", at(1)))


def test_closing_never_raises_nor_hangs() -> None:
    """Whatever state a client is in, giving it up ends."""

    def fail() -> None:
        raise RuntimeError

    client.close_quietly(fail)
    client.close_quietly(threading.Event().wait, timeout_s=0.05)
