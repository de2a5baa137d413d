"""Signs releases with the owner's key: Ed25519, from a private file.

A key in hardware or at a key service comes with an installed package: see docs/plug-ins.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from ktsafe.connectors.errors import Misconfigured
from ktsafe.connectors.secrets import SecretUnreadable, check_private


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
