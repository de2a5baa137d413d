"""Listeners with TLS and SASL for the broker of tests.

Certificates, users, settings.

    SSL        TLS, and the client shows a certificate of its own
    SASL_SSL   TLS, and a user with PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512

Everything is made anew by OpenSSL and lies under one folder; nothing of it is worth keeping.
"""

from __future__ import annotations

import dataclasses
import subprocess
from pathlib import Path
from typing import ClassVar

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_LOGIN = "org.apache.kafka.common.security"
_KEY = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")


@dataclasses.dataclass(frozen=True)
class Secured:
    """What listeners with TLS and SASL are made of.

    Attributes
    ----------
    folder:
        Where certificates go: `ca.pem`, `broker-store.pem` and `client-store.pem` with their keys,
        and `other-ca.pem` with `other-store.pem`, of an authority that the broker does not know.
    user, password:
        Of the one user there is.
    """

    LISTENERS: ClassVar = ("SSL", "SASL_SSL")

    folder: Path
    user: str
    password: str

    def make_certificates(self) -> None:
        """Make two authorities, broker's and clients' certificates, if missing.

        The broker knows the first authority only.
        """
        if (self.folder / "other-store.pem").exists():
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        for authority, owners in (("ca", ("broker", "client")), ("other-ca", ("other",))):
            self._authority(authority)
            for owner in owners:
                self._certificate(owner, authority)

    def properties(self) -> dict[str, str]:
        """Return the broker's settings, but for names and addresses of listeners."""
        prefix = "listener.name.sasl_ssl"
        plain = f'{_LOGIN}.plain.PlainLoginModule required user_{self.user}="{self.password}";'
        scram = f"{_LOGIN}.scram.ScramLoginModule required;"
        return {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.folder / "broker-store.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.folder / "ca.pem"),
            "listener.name.ssl.ssl.client.auth": "required",
            f"{prefix}.sasl.enabled.mechanisms": ",".join(MECHANISMS),
            f"{prefix}.plain.sasl.jaas.config": plain,
            f"{prefix}.scram-sha-256.sasl.jaas.config": scram,
            f"{prefix}.scram-sha-512.sasl.jaas.config": scram,
        }

    def format_arguments(self) -> list[str]:
        """Return a new data folder's options that make the user known."""
        users = f"name={self.user},password={self.password}"
        scram = [name for name in MECHANISMS if name.startswith("SCRAM")]
        return [word for name in scram for word in ("--add-scram", f"{name}=[{users}]")]

    def _authority(self, name: str) -> None:
        self._openssl(
            *("req", "-x509", *_KEY, "-nodes", "-days", "2", "-subj", f"/CN={name}"),
            *("-keyout", f"{name}.key", "-out", f"{name}.pem"),
        )

    def _certificate(self, owner: str, authority: str) -> None:
        """Make a certificate for 127.0.0.1 and no other name."""
        subject = ("-subj", f"/CN={owner}", "-addext", "subjectAltName=IP:127.0.0.1")
        self._openssl(
            *("req", *_KEY, "-nodes", *subject),
            *("-keyout", f"{owner}.key", "-out", f"{owner}.csr"),
        )
        self._openssl(
            *("x509", "-req", "-in", f"{owner}.csr", "-days", "2", "-copy_extensions", "copy"),
            *("-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", "-out", f"{owner}.pem"),
        )
        parts = [(self.folder / f"{owner}.{end}").read_text() for end in ("key", "pem")]
        (self.folder / f"{owner}-store.pem").write_text("".join(parts))

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)
