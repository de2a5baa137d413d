"""Who got a release, when and under which terms; and its withdrawal: `disclosures.jsonl`.

It lies in the private audit of the release, is only ever appended to, and is never published.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

import msgspec

from ktsafe.connectors.bundles import sync_folder

DISCLOSURES: Final = "disclosures.jsonl"


class Disclosure(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line: a copy that was handed out, or the withdrawal.

    Attributes
    ----------
    time:
        When it was noted, RFC 3339.
    to, terms:
        Who got the release, and under which terms.
    withdrawn:
        Why it was withdrawn; then there is no recipient.
    """

    time: str
    to: str = ""
    terms: str = ""
    withdrawn: str = ""


def note(audit: Path, entry: Disclosure) -> None:
    """Append an entry to the log in the private audit of a release, synced.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    path = audit / DISCLOSURES
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "ab") as file:
        # A line that a crash cut off stays, and ends here.
        ends_open = path.stat().st_size > 0 and not path.read_bytes().endswith(b"\n")
        file.write(b"\n" * ends_open + msgspec.json.encode(entry) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    sync_folder(audit)


def noted(audit: Path) -> list[Disclosure]:
    """Return what the private audit of a release says of its copies; cut lines are passed over."""
    path = audit / DISCLOSURES
    entries = []
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            entries.append(msgspec.json.decode(line, type=Disclosure))
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
    return entries


def marker(release_id: str, time: str, why: str) -> bytes:
    """Return the public marker of a withdrawn release."""
    told = {"release_id": release_id, "withdrawn": time, "why": why}
    return (json.dumps(told, indent=2) + "\n").encode()
