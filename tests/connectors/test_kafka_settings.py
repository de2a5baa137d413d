"""Settings of a Kafka cluster, checked without one."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ktsafe.connectors.base import Misconfigured
from ktsafe.connectors.kafka_settings import KafkaSettings
from ktsafe.connectors.kafka_topics import client

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer  # isort: skip


def settings(**fields: Any) -> KafkaSettings:
    return msgspec.convert({"bootstrap_servers": ["a:9092", "b:9092"], **fields}, KafkaSettings)


SASL = {"security_protocol": "SASL_SSL", "sasl_mechanism": "SCRAM-SHA-512", "sasl_username": "u"}


def private(path: Path, text: str) -> str:
    """Write a file for its owner only."""
    path.touch(mode=0o600)
    path.write_text(text)
    return str(path)


def test_every_client_takes_the_options(tmp_path: Path) -> None:
    """Each kind of client of the installed kafka-python knows every option by name."""
    password = private(tmp_path / "password", "secret\nsecond line\n")
    options = client.bootstrap_options(settings(**SASL, sasl_password_file=password))
    for kind in (KafkaConsumer, KafkaProducer, KafkaAdminClient):
        assert set(options) <= set(kind.DEFAULT_CONFIG)
    assert options["sasl_plain_password"] == "secret"  # noqa: S105
    assert options["bootstrap_servers"] == ["a:9092", "b:9092"]


def test_certificates_are_checked() -> None:
    """TLS 1.2 or later, the chain and the host's name."""
    context = settings(security_protocol="SSL").client_options()["ssl_context"]
    assert context.minimum_version >= ssl.TLSVersion.TLSv1_2
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname


def test_paths_start_from_the_folder_of_the_configuration(tmp_path: Path) -> None:
    """Relative paths are resolved, absolute ones and absent ones stay."""
    found = settings(sasl_password_file="p", ssl_ca_file="/ca.pem").resolved(tmp_path)  # noqa: S106
    assert found.sasl_password_file == str(tmp_path / "p")
    assert found.ssl_ca_file == "/ca.pem"
    assert found.ssl_cert_file is None


@pytest.mark.parametrize("mode", [0o644, 0o606, 0o601])
def test_a_secret_that_everybody_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    """The error names the file and the command that helps, and not what is in it."""
    path = tmp_path / "password"
    path.write_text("hidden")
    path.chmod(mode)
    with pytest.raises(Misconfigured, match="chmod 600") as caught:
        settings(**SASL, sasl_password_file=str(path)).client_options()
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"sasl_username": "u"}, "security_protocol"),
        ({"ssl_ca_file": "/ca.pem"}, "security_protocol"),
        ({"security_protocol": "SSL", "ssl_ca_file": "/no/such/ca.pem"}, "No such file"),
        ({"security_protocol": "SSL", "ssl_ca_file": __file__}, "ssl_ca_file cannot be used"),
        ({"ssl_cert_file": "/client.pem"}, "security_protocol"),
        ({"security_protocol": "SSL", "ssl_cert_file": "/no/such"}, "No such file"),
        ({"security_protocol": "SASL_SSL"}, "sasl_mechanism"),
        ({**SASL}, "sasl_password_file"),
        ({**SASL, "sasl_mechanism": "PLAIN", "security_protocol": "SASL_PLAINTEXT"}, "SASL_SSL"),
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
