"""Addresses for this machine only, and what stays there."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from ktsafe.stream.errors import ConfigError


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server that listens on `host`."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_scheduler(address: str) -> None:
    """Refuse to send the true graph openly to Dask's workers.

    Raises
    ------
    ConfigError
        Unless the address begins with tls://, or is of this machine.
    """
    parts = urlsplit(address)
    if parts.scheme == "tls" or (parts.scheme == "tcp" and is_loopback(parts.hostname or "")):
        return
    msg = f"workers.dask = {address!r}: tasks hold the true graph, and go by TLS only."
    raise ConfigError(msg, hint='Name a scheduler that speaks TLS, as in "tls://host:8786".')
