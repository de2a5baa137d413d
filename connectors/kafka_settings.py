"""Settings of a Kafka cluster, as a configuration file gives them.

A field is a key: it stands as a comment in stream/example.toml (`make reference`). Secrets are
named by files only, TLS checks certificates, and `CLIENT_ID` tells nothing:
tests/connectors/test_kafka_settings.py.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec

from ktsafe.connectors.base import Misconfigured
from ktsafe.connectors.secrets import SecretUnreadable, check_private, read_secret

_Seconds = Annotated[float, msgspec.Meta(gt=0, le=3600)]

FILES: Final = (
    "sasl_password_file",
    "ssl_ca_file",
    "ssl_cert_file",
)
"""Settings that name files."""
GROUP: Final = "ktsafe"
"""Consumer group whose offsets are committed, for lag tools only; a refusal harms nothing."""
CLIENT_ID: Final = "ktsafe"
"""Name that brokers log: constant, since it is visible beside releases."""


class KafkaSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Access to a Kafka cluster, and patience with it.

    Attributes
    ----------
    bootstrap_servers:
        "host:port" of some brokers.
    security_protocol, sasl_mechanism, sasl_username:
        As Kafka names them.
    sasl_password_file:
        Holds the password in its first line; not readable by everybody. The password itself does
        not belong in a configuration file.
    ssl_ca_file:
        TLS; without `ssl_ca_file` the system's authorities are trusted.
    ssl_cert_file:
        The certificate by which this client authenticates, and its key, unencrypted: a password in
        a second private file would protect it from nobody.
    request_timeout_s:
        Wait for one answer; added partitions are noticed as soon.
    """

    bootstrap_servers: Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] | None = None
    sasl_username: str | None = None
    sasl_password_file: str | None = None
    ssl_ca_file: str | None = None
    ssl_cert_file: str | None = None
    request_timeout_s: _Seconds = 30.0

    @property
    def retry_for_s(self) -> float:
        """Seconds that a start tries to connect."""
        return 2 * self.request_timeout_s

    @property
    def silence_max_s(self) -> float:
        """Seconds without an answer that end a source: rolling restarts take minutes."""
        return 10 * self.request_timeout_s

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
            "client_id": CLIENT_ID,
            "request_timeout_ms": int(self.request_timeout_s * 1000),
            "metadata_max_age_ms": int(self.request_timeout_s * 1000),
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
        if self.uses_tls:
            options["ssl_context"] = self.tls_context()
        elif self.ssl_ca_file or self.ssl_cert_file:
            raise self._wrong("ssl_* needs security_protocol SSL or SASL_SSL.")
        return options

    @property
    def uses_tls(self) -> bool:
        """Whether connections are encrypted."""
        return self.security_protocol.endswith("SSL")

    def tls_context(self) -> ssl.SSLContext:
        """Return what connections are encrypted with: TLS 1.2 or later, certificates checked.

        Raises
        ------
        Misconfigured
            If a file is missing, is not what it should be, or its password cannot be read.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            if self.ssl_ca_file is None:
                context.load_default_certs()
            else:
                context.load_verify_locations(self.ssl_ca_file)
        except OSError as error:
            raise self._wrong(f"ssl_ca_file cannot be used ({_reason(error)}).") from None
        if self.ssl_cert_file is not None:
            self._load_own_certificate(context, self.ssl_cert_file)
        return context

    def resolved(self, base: Path) -> KafkaSettings:
        """Return these settings with relative paths of files starting from `base`."""
        named = {name: getattr(self, name) for name in FILES}
        return msgspec.structs.replace(
            self,
            **{
                name: str(base / Path(path).expanduser())
                for name, path in named.items()
                if path is not None
            },
        )

    def _load_own_certificate(self, context: ssl.SSLContext, certificate: str) -> None:
        def password() -> str:
            raise SecretUnreadable(
                "The key is encrypted. Decrypt it: openssl pkey -in KEY -out NEW"
            )

        try:
            check_private(Path(certificate))
            # Without this function OpenSSL would ask for a password on the terminal.
            context.load_cert_chain(certificate, password=password)
        except SecretUnreadable as error:
            raise self._wrong(str(error)) from None
        except OSError as error:
            hint = f"ssl_cert_file cannot be used ({_reason(error)}): it holds certificate and key."
            raise self._wrong(hint) from None

    def _password(self) -> str:
        if not (self.sasl_mechanism and self.sasl_username):
            raise self._wrong("SASL needs sasl_mechanism and sasl_username.")
        if self.sasl_mechanism == "PLAIN" and not self.uses_tls:
            hint = "PLAIN without TLS shows the password to everybody on the way. Use SASL_SSL."
            raise self._wrong(hint)
        if self.sasl_password_file is None:
            raise self._wrong("SASL needs sasl_password_file.")
        try:
            return read_secret("sasl_password", self.sasl_password_file)
        except SecretUnreadable as error:
            raise self._wrong(str(error)) from None

    def _wrong(self, hint: str) -> Misconfigured:
        return Misconfigured("connect", self.address, hint)


def _reason(error: OSError) -> str:
    """Return why a TLS file was refused, by OpenSSL or the system."""
    if isinstance(error, ssl.SSLError):
        return error.reason or "not a PEM file of the right kind"
    return error.strerror or type(error).__name__
