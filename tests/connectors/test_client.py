"""Bounds, retries and errors of the Kafka clients, without a broker."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from ktsafe.connectors.base import (
    DeadLetter,
    Misconfigured,
    Record,
    SinkConflict,
    TopicPartition,
    Unavailable,
)
from ktsafe.connectors.kafka_settings import KafkaSettings
from ktsafe.connectors.kafka_topics import (
    KafkaDeadLetterSink,
    KafkaSource,
    client,
    handshake,
    topics,
)
from ktsafe.connectors.kafka_topics.topics import Role, TopicSpec

from kafka import errors as kafka_errors  # isort: skip
from kafka.protocol.metadata import ApiVersionsRequest  # isort: skip


@pytest.fixture
def listening() -> int:
    """Give a port on which somebody listens, and nothing more."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def at(port: int, request_timeout_s: float = 2.0) -> KafkaSettings:
    servers = (f"127.0.0.1:{port}",)
    return KafkaSettings(bootstrap_servers=servers, request_timeout_s=request_timeout_s)


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
        client.connect(make, "open source", "feed", at(listening, request_timeout_s=0.05))
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


@contextmanager
def dripping(drop: bytes) -> Iterator[int]:
    """Give a port that answers whatever it is told with the same bytes, again and again."""
    ended = threading.Event()

    def drip(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            while not ended.wait(0.05):
                connection.sendall(drop)

    def serve() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=drip, args=(server.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        ended.set()
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    "drop", [b"\0\0\0\0", b"\0\0\0\1x", b"HTTP/1.1 400 Bad Request\r\n", b"\x7f\xff\xff\xff"]
)
def test_who_speaks_no_kafka_is_told_as_such(tmp_path: Path, drop: bytes) -> None:
    """Whatever comes in place of an answer: the other side is unusable, the program is not."""
    password = tmp_path / "password"
    password.touch(mode=0o600)
    password.write_text("pass")
    with dripping(drop) as port:
        settings = KafkaSettings(
            bootstrap_servers=(f"127.0.0.1:{port}",),
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="SCRAM-SHA-512",
            sasl_username="somebody",
            sasl_password_file=str(password),
            request_timeout_s=1.0,
        )
        with pytest.raises(Unavailable, match="gave no usable answer"):
            client.connect(lambda: None, "open source", "feed", settings)


def test_an_answer_that_never_ends_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time of an answer is bounded as a whole, not from byte to byte."""
    ticks = iter(range(1000))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(ticks)))
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"\0\0\1\0" + bytes(9))
        monkeypatch.setattr(handshake, "_BLOCK_BYTES", 1)
        conversation = handshake._Conversation(ours, 3.0)
        with pytest.raises(TimeoutError):
            conversation.ask(ApiVersionsRequest(version=0))
    assert next(ticks) < 8


def test_closing_never_raises_nor_hangs() -> None:
    """Whatever state a client is in, giving it up ends."""

    def fail() -> None:
        raise RuntimeError

    client.close_quietly(fail)
    client.close_quietly(threading.Event().wait, timeout_s=0.05)


RIGHTS_GONE = kafka_errors.TopicAuthorizationFailedError("t")


def test_rights_that_were_there_are_waited_for() -> None:
    """At a start they are a mistake of the settings; at work they may come back."""
    settings = at(1)
    for error in (RIGHTS_GONE, kafka_errors.TransactionalIdAuthorizationFailedError("x")):
        assert isinstance(client.translate(error, "write", "t", settings), Misconfigured)
        found = client.translate(error, "write", "t", settings, at_work=True)
        assert isinstance(found, Unavailable)
        assert "rights" in found.hint
    login = kafka_errors.SaslAuthenticationFailedError("x")
    assert isinstance(client.translate(login, "write", "t", settings, at_work=True), Misconfigured)


def test_dead_letters_wait_for_withdrawn_rights(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was allowed once is asked for again; what never was ends the service with a reason."""
    sink = KafkaDeadLetterSink(at(1), "letters")
    letter = DeadLetter(Record("t", 0, 0, None, None, b"x"), "malformed_json")
    refused: list[Exception] = [RIGHTS_GONE]

    class Producer:
        def send(self, *_: object, **__: object) -> object:
            if refused:
                raise refused[0]
            return SimpleNamespace(get=lambda **_: None)

        def flush(self, **_: object) -> None:
            """Nothing waits."""

    monkeypatch.setattr(sink, "_connected", Producer)
    with pytest.raises(Misconfigured):
        sink.write([letter])
    refused.clear()
    sink.write([letter])
    refused.append(RIGHTS_GONE)
    with pytest.raises(Unavailable):
        sink.write([letter])


def test_a_source_waits_for_withdrawn_rights(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is read, a line is logged once, and reading goes on when they are back."""
    source = KafkaSource(at(1), "events")
    answers: list[object] = [RIGHTS_GONE, RIGHTS_GONE, {}]

    def poll(*_: object) -> object:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    source._partitions = [TopicPartition("events", 0)]
    source._consumer = SimpleNamespace(poll=poll)
    assert [source._poll(0.0, 9) for _ in range(3)] == [{}, {}, {}]
    assert caplog.text.count("may no longer be read") == 1


def test_a_right_that_was_never_there_is_a_mistake_of_the_settings() -> None:
    """So far as the cluster says what this user may do; else the first use tells."""
    settings = at(1)
    info = client.TopicInfo("c", "t", (0,), 1, frozenset({"DESCRIBE", "READ"}))
    client.check_rights(info, ("READ",), "open source", "t", settings)
    client.check_rights(info._replace(operations=None), ("WRITE",), "open sink", "t", settings)
    with pytest.raises(Misconfigured, match="does not allow this user to WRITE it"):
        client.check_rights(info, ("READ", "WRITE"), "open sink", "t", settings)


def checked(role: Role, *, configs: dict[str, str], operations: set[str] | None) -> list[str]:
    info = client.TopicInfo(
        "c", "t", (0,), 1, None if operations is None else frozenset(operations)
    )
    return topics._problems(TopicSpec(name="t", role=role), info, configs, 1)


def test_settings_that_may_not_be_read_are_not_called_wrong() -> None:
    """Nobody is told to change what nobody has seen."""
    (problem,) = checked(Role.RELEASES, configs={}, operations={"READ", "WRITE", "DESCRIBE"})
    assert "DESCRIBE_CONFIGS" in problem
    assert "None" not in problem


@pytest.mark.parametrize("role", list(Role))
def test_missing_rights_are_named(role: Role) -> None:
    """A check finds the right that the service would miss, and asks for no other."""
    sound = {
        "cleanup.policy": "delete",
        "retention.ms": "-1",
        "message.timestamp.type": "CreateTime",
        "compression.type": "producer",
    }
    assert checked(role, configs=sound, operations={"READ", "WRITE"}) == []
    assert checked(role, configs=sound, operations=None) == []
    needed = topics.RIGHTS[role]
    told = " ".join(checked(role, configs=sound, operations={"DESCRIBE"}))
    assert [right for right in ("READ", "WRITE") if f"may not {right}" in told] == list(needed)
