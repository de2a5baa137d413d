"""TLS and SASL with the real broker: who is let in, who is not, and what is said about it."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ktsafe.connectors.base import ConnectorError, Misconfigured, Unavailable
from ktsafe.connectors.kafka_topics import KafkaSettings, Role, TopicSpec, create_topics
from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from ops.broker.secured import MECHANISMS, Secured
from tests import running, services
from tests.integration.cluster import close_refused_sockets
from tests.integration.conftest import ROOT, new_broker

pytestmark = pytest.mark.integration

PASSWORD = secrets.token_hex(12)
WRONG = secrets.token_hex(12)


class Site(NamedTuple):
    """A broker with TLS, and what clients need."""

    ports: dict[str, int]
    plain: str
    certificates: Path

    def settings(self, protocol: str, **fields: Any) -> dict[str, Any]:
        """Return settings for a listener; `fields` override, None leaves one out."""
        named = {
            "bootstrap_servers": [f"127.0.0.1:{self.ports[protocol]}"],
            "security_protocol": protocol,
            "ssl_ca_file": self.file("ca.pem"),
            "request_timeout_s": 3,
        }
        if protocol == "SSL":
            named |= {"ssl_cert_file": self.file("client-store.pem")}
        else:
            named |= {"sasl_mechanism": "SCRAM-SHA-512", "sasl_username": "ktsafe"}
            named |= {"sasl_password_file": self.file("password")}
        return {name: value for name, value in (named | fields).items() if value is not None}

    def file(self, name: str) -> str:
        """Return the path of a certificate, key or password."""
        return str(self.certificates / name)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    """Give a broker with listeners that ask who comes."""
    home = ROOT / f"var/broker/secured-{os.getpid()}"
    certificates = home / "certificates"
    broker = new_broker(home, Secured(certificates, "ktsafe", PASSWORD))
    try:
        running_broker = broker.start()
        for name, text in (("password", PASSWORD), ("wrong-password", WRONG)):
            (certificates / name).touch(mode=0o600)
            (certificates / name).write_text(text + "\n")
        for key in certificates.glob("*-store.pem"):
            key.chmod(0o600)
        close_refused_sockets()
        yield Site(running_broker.secured_ports, running_broker.bootstrap, certificates)
    finally:
        broker.stop()
        shutil.rmtree(home, ignore_errors=True)


def kafka(fields: dict[str, Any]) -> KafkaSettings:
    """Return settings as a configuration would give them."""
    return KafkaSettings(**{**fields, "bootstrap_servers": tuple(fields["bootstrap_servers"])})


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_known_user_is_let_in(site: Site, mechanism: str) -> None:
    """Every mechanism works over TLS."""
    fields = site.settings("SASL_SSL", sasl_mechanism=mechanism)
    topic = f"by-{mechanism.lower()}"
    spec = TopicSpec(name=topic, role=Role.EVENTS, partitions=1)
    assert create_topics(kafka(fields), [spec]) == [topic]


REFUSED = [
    ("SASL_SSL", {"sasl_password_file": "wrong-password"}, "Check user, password"),
    ("SASL_SSL", {"sasl_username": "nobody"}, "Check user, password"),
    (
        "SASL_SSL",
        {"sasl_mechanism": "PLAIN", "sasl_password_file": "wrong-password"},
        "Check user, password",
    ),
    ("SASL_SSL", {"ssl_ca_file": "other-ca.pem"}, "certificate is not trusted"),
    ("SASL_SSL", {"ssl_ca_file": None}, "certificate is not trusted"),
    ("SSL", {"ssl_cert_file": None}, "asks for a client certificate"),
    ("SSL", {"ssl_cert_file": "other-store.pem"}, "asks for a client certificate"),
]


@pytest.mark.parametrize(("protocol", "changed", "words"), REFUSED)
def test_who_is_not_trusted_is_told_why_at_once(
    site: Site, protocol: str, changed: dict[str, str | None], words: str
) -> None:
    """No retries, no timeout, no secret: what is wrong, and where to look."""
    fields = site.settings(protocol) | {
        name: site.file(value) if value is not None and name.endswith("_file") else value
        for name, value in changed.items()
    }
    settings = kafka({name: value for name, value in fields.items() if value is not None})
    with pytest.raises(Misconfigured, match=words) as caught:
        create_topics(settings, [TopicSpec(name="never", role=Role.EVENTS, partitions=1)])
    assert_silent(caught.value)


def test_a_certificate_of_another_host_is_not_trusted(site: Site) -> None:
    """The broker's certificate is good for 127.0.0.1 alone."""
    fields = site.settings("SSL", bootstrap_servers=[f"localhost:{site.ports['SSL']}"])
    with pytest.raises(Misconfigured, match="not valid for 'localhost'"):
        create_topics(kafka(fields), [TopicSpec(name="never", role=Role.EVENTS, partitions=1)])


def test_a_port_of_another_protocol_is_named(site: Site) -> None:
    """TLS to a port without it: the hint names the protocol that was tried."""
    fields = site.settings("SSL", bootstrap_servers=[site.plain])
    with pytest.raises(Unavailable, match="speak SSL there"):
        create_topics(kafka(fields), [TopicSpec(name="never", role=Role.EVENTS, partitions=1)])


def assert_silent(error: ConnectorError) -> None:
    """Neither password is in the error, nor in what it came from."""
    told = repr(error) + str(error) + repr(error.__cause__)
    assert PASSWORD not in told
    assert WRONG not in told


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL"])
def test_the_service_runs_over_tls(site: Site, tmp_path: Path, capsys, protocol: str) -> None:
    """Events in, releases and dead letters out, releases read back, all of it encrypted."""
    names = {role: f"{role}-{protocol.lower()}" for role in Role}
    specs = [TopicSpec(name=names[role], role=role, partitions=1) for role in Role]
    create_topics(KafkaSettings(bootstrap_servers=(site.plain,)), specs)
    feed = services.small_feed(people=60)
    running.send(site.plain, names[Role.EVENTS], [[*feed, {"type": "nonsense"}]])
    table = [f"{name} = {json.dumps(value)}" for name, value in site.settings(protocol).items()]
    place = running.site(
        tmp_path / "site",
        attributes=services.ATTRIBUTES,
        source=f'kind = "kafka"\ntopic = "{names[Role.EVENTS]}"',
        sink=f'kind = "kafka"\ntopic = "{names[Role.RELEASES]}"',
        every="month",
        kafka="\n".join(["", "[kafka]", *table, ""]),
    )
    letters = 'kind = "files"\npath = "dead-letters.jsonl"'
    text = place.config.read_text()
    assert letters in text
    letters_topic = f'kind = "kafka"\ntopic = "{names[Role.DEAD_LETTERS]}"'
    place.config.write_text(text.replace(letters, letters_topic))
    config = str(place.config)
    assert run_command(["config", config]) == Exit.OK
    assert run_command(["config", config, "--topics"]) == Exit.OK
    place.drain()
    into = ["--into", str(tmp_path / "read"), "--all"]
    where = ["--kafka-settings", config, "--topic", names[Role.RELEASES]]
    assert run_command(["releases", "read", *where, *into]) == Exit.OK
    assert len(list((tmp_path / "read").iterdir())) >= 3
    running.verify_releases([tmp_path / "read"])
    told = (place.folder / "log.txt").read_text() + "".join(capsys.readouterr())
    assert "release published" in told
    assert PASSWORD not in told
