"""Access to the HTTP endpoints: for clients with the token.

Without a token only this machine has access.

The token comes as `Authorization: Bearer TOKEN`, or as the password of HTTP Basic with any user
name, which browsers ask for. It travels as it is: beyond loopback a proxy with TLS belongs in
front.

Without a token a server on loopback answers only requests that are addressed to loopback. A page
from elsewhere, open in a browser of this machine, could otherwise point its own name here and read
the answers.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from typing import Final

from ktsafe.stream.config.loopback import is_loopback

LOOPBACK: Final = "127.0.0.1"
TOKEN_CHARS_MIN: Final = 16
HEADER_CHARS_MAX: Final = 4096
CHALLENGE: Final = 'Basic realm="ktsafe", charset="UTF-8"'


class Gate:
    """Admits requests by their Authorization header.

    Parameters
    ----------
    token:
        None: every client that reaches the server is admitted.
    host:
        Where the server listens.
    """

    def __init__(self, token: str | None, host: str) -> None:
        self._digest = None if token is None else _digest(token.encode())
        self._is_local = token is None and is_loopback(host)

    def is_addressed(self, host_header: str) -> bool:
        """Whether a request with this Host header is meant for us.

        An empty text stands for none.
        """
        return not self._is_local or is_loopback(_without_port(host_header))

    def admits(self, authorization: str) -> bool:
        """Whether a request with this header (empty: none) may be answered.

        Digests of equal length are compared in constant time, so neither the token nor its
        length can be found by measuring.
        """
        if self._digest is None:
            return True
        shown = _shown(authorization)
        return hmac.compare_digest(_digest(shown), self._digest) and bool(shown)


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _shown(authorization: str) -> bytes:
    """Return the token that a header shows, empty if there is none."""
    scheme, _, rest = authorization[:HEADER_CHARS_MAX].partition(" ")
    match scheme.lower():
        case "bearer":
            return rest.strip().encode()
        case "basic":
            try:
                decoded = base64.b64decode(rest.strip(), validate=True)
            except (binascii.Error, ValueError):
                return b""
            return decoded.partition(b":")[2]
        case _:
            return b""


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()
