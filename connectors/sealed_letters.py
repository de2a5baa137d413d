"""Dead letters without the personal data that came with them, or with it encrypted.

    full       the record as it came
    none       where it came from, why it was refused, how long it was; nothing of its content
    encrypted  key, value and headers as one Fernet token in the place of the value

A sealed letter has the header `ktsafe.payload` and no other of its record, and no key. The token
holds a MessagePack map of `key`, `value`, `headers` and `length`, and of `sha256` where the value
was cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from connectors.base import DeadLetter, DeadLetterSink, Record
from connectors.errors import Misconfigured
from connectors.letters import keep
from connectors.secrets import SecretUnreadable, read_secret

Payload = Literal["full", "none", "encrypted"]

PAYLOAD: Final = "ktsafe.payload"
"""Header of a sealed letter: what became of the record's content."""
LENGTH: Final = "ktsafe.length"
"""Header of a letter without content: how many bytes the value had."""
SEALED_BYTES_MIN: Final = 16_384
"""Least bound of a letter that a sealed one fits in."""
_FRAME_BYTES: Final = 4_096
_HEADER_FRAME_BYTES: Final = 16
_KEY_BYTES_MAX: Final = 1_024

Seal = Callable[[Record], Record]


class SealedLetters:
    """A `connectors.base.DeadLetterSink` that seals every letter on its way to another sink."""

    def __init__(self, sink: DeadLetterSink, seal: Seal) -> None:
        self._sink = sink
        self._seal = seal

    def write(self, letters: Sequence[DeadLetter]) -> None:
        """Append sealed letters to the sink behind."""
        self._sink.write(
            [DeadLetter(self._seal(item.record), item.reason, item.detail) for item in letters]
        )

    def close(self) -> None:
        """Close the sink behind."""
        self._sink.close()


def without_content(record: Record) -> Record:
    """Return the record without key, value and headers."""
    length = str(len(record.value or b"")).encode()
    headers = ((PAYLOAD, b"none"), (LENGTH, length))
    return msgspec.structs.replace(record, key=None, value=b"", headers=headers)


class Sealer:
    """Encrypts and decrypts the content of records with one key.

    Parameters
    ----------
    key:
        A Fernet key: 32 random bytes in URL-safe base64.
    letter_bytes_max:
        Bound of the token; what is sealed is cut so that it fits.

    Raises
    ------
    Misconfigured
        If it is no key, or the library for it is not installed.
    """

    def __init__(self, key: str, letter_bytes_max: int) -> None:
        try:
            from cryptography.fernet import Fernet  # noqa: PLC0415 -- an optional extra
        except ImportError:
            raise _wrong("needs the extra: pip install 'ktsafe[encryption]'.") from None
        try:
            self._fernet = Fernet(key)
        except ValueError:
            raise _wrong("the key must be 32 random bytes in URL-safe base64.") from None
        # A token is base64 of what is sealed, and a frame around it.
        self._room = letter_bytes_max * 3 // 4 - _FRAME_BYTES

    def seal(self, record: Record) -> Record:
        """Return the record with a token in the place of its content."""
        headers, size = [], 0
        for name, value in record.headers:
            size += len(name) + len(value) + _HEADER_FRAME_BYTES
            if size <= self._room // 2:
                headers.append((name, value))
        kept = keep(record, self._room // 2)
        content: dict[str, Any] = {
            "key": None if record.key is None else record.key[:_KEY_BYTES_MAX],
            "value": None if kept is None else kept.data,
            "length": None if kept is None else kept.length,
            "sha256": None if kept is None else kept.sha256,
            "headers": headers,
        }
        token = self._fernet.encrypt(msgspec.msgpack.encode(content))
        return msgspec.structs.replace(
            record, key=None, value=token, headers=((PAYLOAD, b"encrypted"),)
        )

    def unseal(self, token: bytes) -> dict[str, Any]:
        """Return the content of a token.

        Raises
        ------
        Misconfigured
            If it was not made with this key.
        """
        from cryptography.fernet import InvalidToken  # noqa: PLC0415 -- an optional extra

        try:
            content: dict[str, Any] = msgspec.msgpack.decode(self._fernet.decrypt(token))
        except InvalidToken:
            raise _wrong("a letter was sealed with another key.") from None
        return content


def sealer(key_file: str | None, key_env: str | None, letter_bytes_max: int) -> Sealer:
    """Return the sealer whose key is in a private file or an environment variable.

    Raises
    ------
    Misconfigured
        If there is no sound key.
    """
    if letter_bytes_max < SEALED_BYTES_MIN:
        raise _wrong(f"dead_letter_bytes_max must be at least {SEALED_BYTES_MIN}.")
    try:
        key = read_secret("key", key_file, key_env)
    except SecretUnreadable as error:
        raise _wrong(str(error)) from None
    return Sealer(key, letter_bytes_max)


def new_key(path: Path) -> None:
    """Write a new key to a new file of mode 0600.

    Raises
    ------
    Misconfigured
        If the library for it is not installed.
    FileExistsError
        If there is such a file: letters may be sealed with its key.
    """
    try:
        from cryptography.fernet import Fernet  # noqa: PLC0415 -- an optional extra
    except ImportError:
        raise _wrong("needs the extra: pip install 'ktsafe[encryption]'.") from None
    path.touch(mode=0o600, exist_ok=False)
    path.write_bytes(Fernet.generate_key() + b"\n")


def _wrong(hint: str) -> Misconfigured:
    return Misconfigured("seal dead letters", "[dead_letters] key", hint)
