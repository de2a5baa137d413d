"""Withdrawn releases of a state.

The private audit of each has a copy of its marker.

The owner may delete a withdrawn release at the sink, with its marker. By the copy a service knows
that it must not send the release again. Behind the marker stands its sha256, so that a damaged copy
is told without the sink.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Final

from ktsafe.connectors.base import WITHDRAWN
from ktsafe.connectors.bundles import sync_folder
from ktsafe.state.errors import StateCorrupted
from ktsafe.stream.files.releases_write import write_synced

_SUM_BYTES: Final = 65
"""Of a sha256 in hexadecimal, and the end of its line."""


def note(audit: Path, marker: bytes) -> None:
    """Keep a release's marker in its private audit, synced.

    It replaces an earlier one.

    The folder is made where the audit was let go.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    audit.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Written beside it and put in its place: whole, whatever happens.
    beside = audit / f".{WITHDRAWN}"
    write_synced(beside, [marker, _sum(marker)])
    beside.replace(audit / WITHDRAWN)
    sync_folder(audit)


def noted(audit: Path) -> bytes | None:
    """Return the marker in the private audit of a release.

    None if it was not withdrawn.

    Raises
    ------
    StateCorrupted
        If it is not as it was noted.
    """
    path = audit / WITHDRAWN
    if not path.exists():
        return None
    told = path.read_bytes()
    if told.endswith(b"}\n"):
        return told  # An older version noted no sum.
    marker, told_sum = told[:-_SUM_BYTES], told[-_SUM_BYTES:]
    if told_sum != _sum(marker):
        raise StateCorrupted("check the audit", str(path), "Withdraw the release again.")
    return marker


def _sum(marker: bytes) -> bytes:
    return hashlib.sha256(marker).hexdigest().encode() + b"\n"


def marker(release_id: str, time: str, why: str) -> bytes:
    """Return the public marker of a withdrawn release."""
    told = {"release_id": release_id, "withdrawn": time, "why": why}
    return (json.dumps(told, indent=2) + "\n").encode()
