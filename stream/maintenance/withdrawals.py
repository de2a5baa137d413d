"""What a state knows of withdrawn releases.

A copy of the marker, in the private audit of each.

The owner may delete a withdrawn release at the sink, with its marker. By the copy a service knows
that it must not send the release again.
"""

from __future__ import annotations

import json
from pathlib import Path

from ktsafe.connectors.base import WITHDRAWN
from ktsafe.connectors.bundles import sync_folder
from ktsafe.stream.files.releases_write import write_synced


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
    write_synced(beside, [marker])
    beside.replace(audit / WITHDRAWN)
    sync_folder(audit)


def noted(audit: Path) -> bytes | None:
    """Return the marker in the private audit of a release.

    None if it was not withdrawn.
    """
    path = audit / WITHDRAWN
    return path.read_bytes() if path.exists() else None


def marker(release_id: str, time: str, why: str) -> bytes:
    """Return the public marker of a withdrawn release."""
    told = {"release_id": release_id, "withdrawn": time, "why": why}
    return (json.dumps(told, indent=2) + "\n").encode()
