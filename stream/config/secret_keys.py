"""No secret stands in a configuration file.

What looks like one is refused, with the way out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ktsafe.stream.errors import ConfigError

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
            hint = (
                f"Put it in a file of mode 0600 and name that in {key}_file, or name an "
                f"environment variable in {key}_env."
            )
            raise ConfigError(msg, hint=hint)


def _keys(table: Mapping[str, Any], prefix: str) -> Iterator[str]:
    """Yield the dotted key of every value that is no table."""
    for name, value in table.items():
        if isinstance(value, Mapping):
            yield from _keys(value, f"{prefix}{name}.")
        else:
            yield prefix + name
