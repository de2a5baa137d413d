"""Encoding of a release as records of a topic.

All files but the manifest, in published order, are one stream of bytes, cut into chunks of equal
size, the last one padded with zeros: neither the number of bytes of a record nor its order tells
anything about a vertex. Every record has the headers `release_id`, `seq`, `kind` and `sha256` (of
its value) and no others, and the release's nominal time as its timestamp.

    kind      seq    value
    chunk     0..n-1 `chunk_bytes` bytes
    manifest  n      manifest.json
    marker    n+1    a `Marker` as JSON: the release is complete
    withdrawn 0      why its owner has withdrawn it, at any time later

Chunks may be spread over several transactions; manifest and marker come in the last. A release that
is sent again after a failure begins again at seq 0 with the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

CHUNK: Final = "chunk"
MANIFEST: Final = "manifest"
MARKER: Final = "marker"
WITHDRAWN: Final = "withdrawn"
FORMAT: Final = 1
SEQ_MAX: Final = 1_000_000
"""Half a terabyte of the chunks that are published; their numbers take a reader 100 MB."""


class Marker(msgspec.Struct, frozen=True):
    """The last record of a release.

    Attributes
    ----------
    manifest_sha256:
        Fixes every byte of the release.
    files:
        Name and length of each file in the stream of chunks, in order.
    """

    format: int
    release_id: str
    manifest_sha256: str
    chunks: int
    chunk_bytes: int
    files: list[tuple[str, int]]


class ReleasePart(NamedTuple):
    """One record of a release."""

    release_id: str
    seq: int
    kind: str
    sha256: str
    value: bytes

    def headers(self) -> list[tuple[str, bytes]]:
        """Return the headers as they are published: these four and no others."""
        return [
            ("release_id", self.release_id.encode()),
            ("seq", str(self.seq).encode()),
            ("kind", self.kind.encode()),
            ("sha256", self.sha256.encode()),
        ]


def part(release_id: str, seq: int, kind: str, value: bytes) -> ReleasePart:
    """Return a record of a release."""
    return ReleasePart(release_id, seq, kind, hashlib.sha256(value).hexdigest(), value)


def cut(folder: Path, names: Sequence[str], chunk_bytes: int) -> Iterator[bytes]:
    """Yield the files' bytes as equal chunks, the last one padded."""
    rest = b""
    for name in names:
        with (folder / name).open("rb") as file:
            while block := file.read(chunk_bytes - len(rest)):
                rest += block
                if len(rest) == chunk_bytes:
                    yield rest
                    rest = b""
    if rest:
        yield rest.ljust(chunk_bytes, b"\0")


def decode(record: Any) -> ReleasePart | None:
    """Return the release part in a consumed record, else None.

    The sha256 is not checked here.
    """
    headers = {name: value for name, value in record.headers if value is not None}
    try:
        found = ReleasePart(
            release_id=headers["release_id"].decode(),
            seq=int(headers["seq"]),
            kind=headers["kind"].decode(),
            sha256=headers["sha256"].decode(),
            value=record.value or b"",
        )
    except (KeyError, ValueError):
        return None
    return found if 0 <= found.seq < SEQ_MAX else None


def intact(found: ReleasePart) -> bool:
    """Whether the value is what its sha256 says."""
    return hashlib.sha256(found.value).hexdigest() == found.sha256


def decode_marker(found: ReleasePart) -> Marker | None:
    """Return a part's marker, None if damaged or of a later format."""
    if found.kind != MARKER or not intact(found):
        return None
    try:
        marker = msgspec.json.decode(found.value, type=Marker)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return marker if marker.format == FORMAT and marker.release_id == found.release_id else None
