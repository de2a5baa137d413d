"""Secrets and signing keys in private files, never a setting's text.

What goes wrong is said with the place of the secret and what to do; never with what was found.

Hints may be reworded. No message may hold a secret or a part of it, and what everybody may read is
refused (tests/security/test_configured_secrets.py, tests/connectors/test_kafka_settings.py).
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Final, Protocol

from ktsafe.connectors.base import Misconfigured

WORLD: Final = stat.S_IRWXO


class SecretUnreadable(Exception):
    """No secret at the place in the settings; the text helps."""


def read_secret(key: str, file: str) -> str:
    """Return the secret in the file that `<key>_file` names.

    Raises
    ------
    SecretUnreadable
        If it holds nothing, or everybody can read it.
    """
    secret = _first_line(Path(file))
    if not secret:
        raise SecretUnreadable(f"{file} holds no secret. Put the one that {key} needs there.")
    return secret


def check_private(path: Path) -> None:
    """Refuse a file that others than its owner and group may use.

    Raises
    ------
    SecretUnreadable
        If they may, or there is no such file.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise SecretUnreadable(f"{path} cannot be read ({error.strerror}).") from None
    if mode & WORLD:
        msg = f"{path} can be read by everybody on this machine. Run: chmod 600 {path}"
        raise SecretUnreadable(msg)


def _first_line(path: Path) -> str:
    check_private(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SecretUnreadable(f"{path} cannot be read ({type(error).__name__}).") from None
    return lines[0] if lines else ""


# Signs releases with the owner's key: Ed25519, from a private file.
#
# A key in hardware or at a key service comes with an installed package: see docs/plug-ins.md.


class Signer(Protocol):
    """A private key that signs by Ed25519 (RFC 8032)."""

    def public_key(self) -> bytes:
        """Return the public key, 32 bytes."""

    def sign(self, message: bytes) -> bytes:
        """Return the signature, 64 bytes.

        Raises
        ------
        OSError
            If the key cannot be reached now: the release is built again later.
        """


class FileSigner:
    """A private PEM key, not encrypted, in a file for its owner.

    Raises
    ------
    Misconfigured
        If there is none, everybody can read it, or it is of another kind.
    """

    def __init__(self, path: Path) -> None:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415
            Ed25519PrivateKey,
        )
        from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415
            load_pem_private_key,
        )

        try:
            check_private(path)
            key = load_pem_private_key(path.read_bytes(), password=None)
        except SecretUnreadable as error:
            raise Misconfigured("read the signing key", str(path), str(error)) from None
        except (OSError, ValueError, TypeError):
            key = None
        if not isinstance(key, Ed25519PrivateKey):
            hint = (
                "it holds no Ed25519 private key in PEM without a passphrase. Make one: "
                "openssl genpkey -algorithm ed25519 -out FILE"
            )
            raise Misconfigured("read the signing key", str(path), hint)
        self._key = key

    def public_key(self) -> bytes:
        """Return the public key."""
        return self._key.public_key().public_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        """Return the signature, the same for the same message."""
        return self._key.sign(message)
