"""Tables of a configuration, and secrets that none of them may hold."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import msgspec

from ktsafe.stream.errors import ConfigError

Positive = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=31_536_000)]
Name = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9._-]{1,249}$")]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of every table: frozen, unknown keys refused."""


# Addresses for this machine only, and what stays there.


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


# No secret stands in a configuration file.
#
# What looks like one is refused, with the way out.

WORDS: Final = ("password", "passphrase", "secret", "token")
PLACES: Final = ("_file", "_env")
"""Ends of keys that say where a secret is."""


def refuse_secrets(document: Mapping[str, Any], name: str) -> None:
    """Refuse a key for a secret itself, without its value.

    Raises
    ------
    ConfigError
        With the key that says where the secret is instead.
    """
    # Attributes have the names that the feed gives them.
    tables = {key: value for key, value in document.items() if key != "attributes"}
    for key in _keys(tables, ""):
        if any(word in key for word in WORDS) and not key.endswith(PLACES):
            msg = f"{name}: {key}: a secret does not belong in a configuration file."
            raise ConfigError(
                msg, hint=f"Put it in a file of mode 0600 and name that in {key}_file."
            )


def _keys(table: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """Yield the dotted key of every value that is no table."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _keys(value, f"{prefix}{name}.")
        else:
            yield prefix + name
