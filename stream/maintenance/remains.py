"""What is left of persons and values in a private folder, by reading every byte of it.

Bytes are read as they are; tables of the database decompressed, row by row, also what was
overwritten; its log without the headers that cut texts in pieces; and all of it as JSON, CSV and
base64 would be read. What is stored as a keyed hash is not found: it names nobody.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from ktsafe.connectors.letters import unescaped
from ktsafe.state.database import table_rows
from ktsafe.state.log_records import log_text

_BASE64: Final = re.compile(rb"[A-Za-z0-9+/]{8,}={0,2}")
DEPTH_MAX: Final = 3
"""So many encodings inside each other are undone."""


def remains(texts: Sequence[str], folders: Iterable[Path]) -> dict[str, int]:
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
    wanted = [(text, text.encode(errors="surrogatepass")) for text in texts]
    found: Counter[str] = Counter()
    for path in (path for folder in folders for path in _files(folder)):
        left: set[str] = set()
        for data in _contents(path):
            for reading in readings(data):
                left |= {text for text, word in wanted if word in reading}
        if left:
            found[str(path)] += len(left)
    return dict(found)


def readings(data: bytes, depth: int = DEPTH_MAX) -> Iterator[bytes]:
    """Yield bytes as they are, and with JSON, CSV and base64 undone."""
    yield data
    if not depth:
        return
    undone = {unescaped(data), data.replace(b'""', b'"')} - {data}
    undone |= {b64decode(run + b"=" * (-len(run) % 4)) for run in _runs(data)}
    for inner in undone:
        yield from readings(inner, depth - 1)


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
