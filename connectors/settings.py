"""Settings of a Kafka cluster, as a configuration file gives them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from connectors.errors import Misconfigured

_Seconds = Annotated[float, msgspec.Meta(gt=0, le=3600)]


class KafkaSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How to reach a Kafka cluster, and how long to wait for it.

    Attributes
    ----------
    bootstrap_servers:
        "host:port" of some brokers.
    client_id:
        Name that brokers log. Constant, since it is visible beside releases.
    group_id:
        Consumer group whose offsets are committed for lag tools only; empty: none are.
    security_protocol, sasl_mechanism, sasl_username:
        As Kafka names them.
    sasl_password_file, sasl_password_env:
        Where the password is: a file (its first line) or an environment variable. The password
        itself does not belong in a configuration file.
    ssl_ca_file, ssl_cert_file, ssl_key_file, ssl_check_hostname:
        TLS; without `ssl_ca_file` the system's authorities are trusted.
    request_timeout_s:
        Wait for one answer.
    retry_for_s:
        How long a start tries to reach the cluster before it gives up.
    silence_max_s:
        How long a running source may go without an answer before it gives up.
    metadata_max_age_s:
        How soon added partitions are noticed.
    """

    bootstrap_servers: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    client_id: str = "ktsafe"
    group_id: str = "ktsafe"
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = None
    sasl_username: str | None = None
    sasl_password_file: str | None = None
    sasl_password_env: str | None = None
    ssl_ca_file: str | None = None
    ssl_cert_file: str | None = None
    ssl_key_file: str | None = None
    ssl_check_hostname: bool = True
    request_timeout_s: _Seconds = 30.0
    retry_for_s: _Seconds = 60.0
    silence_max_s: _Seconds = 300.0
    metadata_max_age_s: _Seconds = 30.0

    @property
    def address(self) -> str:
        """The brokers, for messages."""
        return ",".join(self.bootstrap_servers)

    def client_options(self) -> dict[str, Any]:
        """Return the options that every client of kafka-python takes.

        Raises
        ------
        Misconfigured
            If options contradict each other, or a password cannot be read.
        """
        options: dict[str, Any] = {
            "bootstrap_servers": list(self.bootstrap_servers),
            "client_id": self.client_id,
            "request_timeout_ms": int(self.request_timeout_s * 1000),
            "metadata_max_age_ms": int(self.metadata_max_age_s * 1000),
            "reconnect_backoff_max_ms": 1000,
            "security_protocol": self.security_protocol,
        }
        if self.security_protocol.startswith("SASL"):
            options |= {
                "sasl_mechanism": self.sasl_mechanism,
                "sasl_plain_username": self.sasl_username,
                "sasl_plain_password": self._password(),
            }
        elif self.sasl_mechanism or self.sasl_username:
            raise self._wrong("sasl_* needs security_protocol SASL_SSL or SASL_PLAINTEXT.")
        if self.security_protocol.endswith("SSL"):
            files = {
                "ssl_cafile": self.ssl_ca_file,
                "ssl_certfile": self.ssl_cert_file,
                "ssl_keyfile": self.ssl_key_file,
            }
            for name, path in files.items():
                if path is not None and not Path(path).is_file():
                    raise self._wrong(f"{name}: there is no file {path}.")
            options |= {**files, "ssl_check_hostname": self.ssl_check_hostname}
        elif self.ssl_ca_file or self.ssl_cert_file or self.ssl_key_file:
            raise self._wrong("ssl_* needs security_protocol SSL or SASL_SSL.")
        return options

    def _password(self) -> str:
        if not (self.sasl_mechanism and self.sasl_username):
            raise self._wrong("SASL needs sasl_mechanism and sasl_username.")
        if (self.sasl_password_file is None) == (self.sasl_password_env is None):
            raise self._wrong("SASL needs sasl_password_file or sasl_password_env, one of them.")
        if self.sasl_password_env is not None:
            password = os.environ.get(self.sasl_password_env, "")
            where = f"environment variable {self.sasl_password_env}"
        else:
            assert self.sasl_password_file is not None
            where = self.sasl_password_file
            try:
                lines = Path(where).read_text(encoding="utf-8").splitlines()
            except (OSError, UnicodeDecodeError):
                raise self._wrong(f"{where} cannot be read.") from None
            password = lines[0] if lines else ""
        if not password:
            raise self._wrong(f"{where} holds no password.")
        return password

    def _wrong(self, hint: str) -> Misconfigured:
        return Misconfigured("connect", self.address, hint)
