"""What becomes of the personal data in dead letters, as `[dead_letters] payload` says."""

from __future__ import annotations

from collections.abc import Callable

from connectors.errors import Misconfigured
from connectors.sealed_letters import Seal, Sealer, sealer, without_content
from stream.config.settings import Settings


def check_sealing(settings: Settings) -> None:
    """Refuse keys and payload that do not fit together.

    Raises
    ------
    Misconfigured
        If a key is missing, unreadable or not asked for.
    """
    seal_of(settings)


def seal_of(settings: Settings) -> Seal | None:
    """Return what is done to a refused record before it is written; None for nothing."""
    table = settings.config.dead_letters
    if (found := sealer_of(settings)) is not None:
        return found.seal
    return without_content if table.payload == "none" else None


def unseal_of(settings: Settings) -> Callable[[bytes], bytes] | None:
    """Return what gives all text of a sealed letter, for a search; None where none is sealed."""
    found = sealer_of(settings)
    if found is None:
        return None

    def text(token: bytes) -> bytes:
        content = found.unseal(token)
        parts = [content["key"], content["value"], *(value for _, value in content["headers"])]
        return b"\n".join(part for part in parts if part)

    return text


def sealer_of(settings: Settings) -> Sealer | None:
    """Return what encrypts and decrypts letters; None where they are not encrypted."""
    table = settings.config.dead_letters
    if table.payload != "encrypted":
        if table.key_file or table.key_env:
            hint = 'key_file and key_env are for payload = "encrypted".'
            raise Misconfigured("seal dead letters", "[dead_letters] key", hint)
        return None
    key_file = None if table.key_file is None else str(settings.path(table.key_file))
    return sealer(key_file, table.key_env, table.dead_letter_bytes_max)
