"""Secrets do not stand in configurations, and messages about them do not repeat them."""

from __future__ import annotations

import pytest

from ktsafe.stream.cli import run_command
from ktsafe.stream.config import settings
from ktsafe.stream.errors import ConfigError, Exit
from tests.configurations import KEPT_IN_FILES

BASE = (
    KEPT_IN_FILES
    + """
[attributes]
quasi_identifiers = ["password_policy"]
sensitive = "secret"
sensitive_values = ["token"]
[source]
kind = "kafka"
topic = "events"
[kafka]
bootstrap_servers = ["127.0.0.1:1"]
"""
)
SASL = """
security_protocol = "SASL_SSL"
sasl_mechanism = "SCRAM-SHA-512"
sasl_username = "ktsafe"
"""


@pytest.mark.parametrize(
    ("more", "key"),
    [
        ('sasl_password = "hidden"', "kafka.sasl_password"),
        ('[metrics]\ntoken = "hidden"', "metrics.token"),
        ('[dead_letters.more]\nsecret = "hidden"', "dead_letters.more.secret"),
    ],
)
def test_a_secret_in_the_file_is_refused_with_the_way_out(tmp_path, more, key):
    """The key is named, and the key to use instead; the secret is not repeated."""
    path = tmp_path / "ktsafe.toml"
    path.write_text(BASE + more)
    for read in (
        (settings.load, settings.load_kafka) if key.startswith("kafka") else (settings.load,)
    ):
        with pytest.raises(ConfigError) as caught:
            read(path)
        assert f"{key}:" in str(caught.value)
        assert f"{key}_file" in str(caught.value)
        assert "hidden" not in str(caught.value)


def test_attributes_may_have_any_name(tmp_path):
    """What the feed calls its attributes is no matter of secrets."""
    (tmp_path / "ktsafe.toml").write_text(BASE)
    assert settings.load(tmp_path / "ktsafe.toml").schema.sensitive == "secret"


def test_config_check_reads_the_secret(tmp_path, capsys, monkeypatch):
    """`ktsafe config` refuses a secret that is missing or open, and passes a private one."""
    path, password = tmp_path / "ktsafe.toml", tmp_path / "password"
    path.write_text(BASE + SASL + 'sasl_password_file = "password"\n')
    monkeypatch.chdir("/")
    assert run_command(["config", str(path)]) == Exit.USAGE
    assert "password cannot be read" in capsys.readouterr().err
    password.write_text("hidden\n")
    password.chmod(0o644)
    assert run_command(["config", str(path)]) == Exit.USAGE
    assert f"chmod 600 {password}" in capsys.readouterr().err
    password.chmod(0o600)
    assert run_command(["config", str(path)]) == Exit.OK
    assert "hidden" not in "".join(capsys.readouterr())
