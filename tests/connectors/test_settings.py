"""Settings of a Kafka cluster, checked without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from connectors.errors import Misconfigured
from connectors.kafka_topics import client
from connectors.settings import KafkaSettings

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer  # isort: skip


def settings(**fields: Any) -> KafkaSettings:
    return msgspec.convert({"bootstrap_servers": ["a:9092", "b:9092"], **fields}, KafkaSettings)


SASL = {"security_protocol": "SASL_SSL", "sasl_mechanism": "SCRAM-SHA-512", "sasl_username": "u"}


def test_every_client_takes_the_options(tmp_path: Path) -> None:
    """Each kind of client of the installed kafka-python knows every option by name."""
    (tmp_path / "ca.pem").write_text("")
    (tmp_path / "password").write_text("secret\nsecond line\n")
    options = client.bootstrap_options(
        settings(
            **SASL,
            sasl_password_file=str(tmp_path / "password"),
            ssl_ca_file=str(tmp_path / "ca.pem"),
        )
    )
    for kind in (KafkaConsumer, KafkaProducer, KafkaAdminClient):
        assert set(options) <= set(kind.DEFAULT_CONFIG)
    assert options["sasl_plain_password"] == "secret"  # noqa: S105
    assert options["ssl_cafile"] == str(tmp_path / "ca.pem")
    assert options["bootstrap_servers"] == ["a:9092", "b:9092"]


def test_password_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """A password may come from an environment variable."""
    monkeypatch.setenv("BROKER_PASSWORD", "hidden")
    found = settings(**SASL, sasl_password_env="BROKER_PASSWORD")  # noqa: S106
    assert found.client_options()["sasl_plain_password"] == "hidden"  # noqa: S105
    assert "hidden" not in repr(found)


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"sasl_username": "u"}, "security_protocol"),
        ({"ssl_ca_file": "/ca.pem"}, "security_protocol"),
        ({"security_protocol": "SSL", "ssl_ca_file": "/no/such/ca.pem"}, "no file"),
        ({"security_protocol": "SASL_SSL"}, "sasl_mechanism"),
        ({**SASL}, "one of them"),
        ({**SASL, "sasl_password_env": "A", "sasl_password_file": "b"}, "one of them"),
        ({**SASL, "sasl_password_env": "NO_SUCH_VARIABLE"}, "no password"),
        ({**SASL, "sasl_password_file": "/no/such/file"}, "cannot be read"),
    ],
)
def test_contradictions_are_named(fields: dict[str, Any], word: str) -> None:
    """Options that cannot work are refused before anything is connected."""
    with pytest.raises(Misconfigured, match=word):
        settings(**fields).client_options()


@pytest.mark.parametrize(
    "fields",
    [
        {"bootstrap_servers": []},
        {"request_timeout_s": 0},
        {"security_protocol": "TLS"},
        {"password": "x"},
    ],
)
def test_impossible_values_are_refused(fields: dict[str, Any]) -> None:
    """Unknown keys and values out of range do not pass the configuration."""
    with pytest.raises(msgspec.ValidationError):
        settings(**fields)


@pytest.mark.parametrize("server", ["localhost", "localhost:port"])
def test_address_without_port(server: str) -> None:
    """A server that is not host:port is named."""
    with pytest.raises(Misconfigured, match="host:port"):
        client.connect(lambda: None, "connect", "t", settings(bootstrap_servers=[server]))
