"""Remains of persons and values in a private folder, byte by byte.

Bytes are read as they are; tables of the database decompressed, row by row, also what was
overwritten; its log without the headers that cut texts in pieces; and all of it as JSON, CSV and
base64 would be read. What is stored as a keyed hash is not found: it names nobody.

Digests, published ids and what is encrypted are random letters, and a short id stands among them
now and then; so it does in what becomes of a word that is read as base64. Such a place is told
apart, since it says nothing of the person.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ktsafe.connectors.letters import unescaped
from ktsafe.state.database import table_rows
from ktsafe.state.log_records import log_text

_BASE64: Final = re.compile(rb"[A-Za-z0-9+/]{8,}={0,2}")
DEPTH_MAX: Final = 3
"""So many encodings inside each other are undone."""
SHORT_BYTES: Final = 8
"""A longer text does not stand among random letters by chance."""
_RUN: Final = re.compile(rb"[A-Za-z0-9+/]{16,}")
_HEX: Final = re.compile(rb"[0-9a-f]+")
_MIXED: Final = (re.compile(rb"[A-Z]"), re.compile(rb"[a-z]"), re.compile(rb"[0-9]"))
_MIXED_BYTES: Final = 64
_READABLE: Final = re.compile(rb"[\t\n\r\x20-\x7e]")


class Remains(NamedTuple):
    """How many of some ids or values are left, by file.

    Finds that chance explains are counted apart.
    """

    left: dict[str, int]
    chance: dict[str, int]


def remains(texts: Sequence[str], folders: Iterable[Path]) -> Remains:
    """Return how many of some ids or values are left, by file.

    Parameters
    ----------
    folders:
        Folders that are read with all below them, or single files.

    Raises
    ------
    OSError
        If a file cannot be read.
    StateCorrupted
        If a table does not read back as written.
    """
    words = {text.encode(errors="surrogatepass") for text in texts}
    found: Remains = Remains({}, {})
    for path in (path for folder in folders for path in _files(folder)):
        seen: set[bytes] = set()
        left: set[bytes] = set()
        for data in _contents(path):
            for reading, is_noise in _readings(data):
                here = {word for word in words - left if word in reading}
                seen |= here
                left |= {word for word in here if len(word) > SHORT_BYTES}
                if here - left and not is_noise:
                    sense = _without_noise(reading, here)
                    left |= {word for word in here if word in sense}
        if left:
            found.left[str(path)] = len(left)
        if by_chance := seen - left:
            found.chance[str(path)] = len(by_chance)
    return found


def _readings(
    data: bytes, depth: int = DEPTH_MAX, *, is_noise: bool = False
) -> Iterator[tuple[bytes, bool]]:
    """Yield bytes as they are and decoded, and whether each is noise.

    JSON, CSV and base64 are decoded.
    """
    yield data, is_noise
    if not depth:
        return
    for inner in {unescaped(data), data.replace(b'""', b'"')} - {data}:
        yield from _readings(inner, depth - 1, is_noise=is_noise)
    for run in set(_runs(data)):
        inner = b64decode(run + b"=" * (-len(run) % 4))
        is_none = is_noise or not _is_base64(run, inner)
        yield from _readings(inner, depth - 1, is_noise=is_none)


def _without_noise(data: bytes, words: set[bytes]) -> bytes:
    """Return bytes without runs of random letters.

    Words are a part of those only by chance.
    """

    def kept(found: re.Match[bytes]) -> bytes:
        run = found[0]
        return run if run in words or not _is_random(run) else b"\n"

    return _RUN.sub(kept, data)


def _is_random(run: bytes) -> bool:
    """Whether a run looks like a digest, published id, or ciphertext."""
    is_mixed = len(run) >= _MIXED_BYTES and all(kind.search(run) for kind in _MIXED)
    return is_mixed or _HEX.fullmatch(run) is not None


def _is_base64(run: bytes, undone: bytes) -> bool:
    """Whether a run was encoded text, not a word or digest.

    Nor something encrypted.
    """
    if not all(kind.search(run) for kind in _MIXED[:2]):
        return False
    return 2 * len(_READABLE.findall(undone)) >= len(undone)


def _runs(data: bytes) -> Iterator[bytes]:
    """Yield what may be base64."""
    for run in _BASE64.findall(data):
        bare = run.rstrip(b"=")
        if len(bare) % 4 != 1:
            yield bare


def _files(folder: Path) -> list[Path]:
    if folder.is_file():
        return [folder]
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


def _contents(path: Path) -> Iterator[bytes]:
    """Yield what a file holds, in parts that are whole texts."""
    if path.suffix == ".sst":
        for key, value in table_rows(path):
            yield key
            yield value
        return
    data = path.read_bytes()
    yield data
    if path.suffix == ".log" and path.stem.isdigit():
        yield log_text(data)
