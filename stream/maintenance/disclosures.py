"""Recipients of a release, dates and terms; and its withdrawal: `disclosures.jsonl`.

It lies in the private audit of the release, only ever grows, and is never published. Each line has
the sha256 of all before it and of itself, so one that was changed is noticed.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from ktsafe.seals import reason_of
from ktsafe.stream.files.releases_write import write_synced

DISCLOSURES: Final = "disclosures.jsonl"


class Disclosure(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line: a copy that was handed out, or the withdrawal.

    Attributes
    ----------
    time:
        When it was noted, RFC 3339.
    to, terms:
        The recipient of the release, and the terms.
    withdrawn:
        Why it was withdrawn; then there is no recipient.
    sum:
        The sha256 of the lines before and of this one without it; older versions wrote none.
    """

    time: str
    to: str = ""
    terms: str = ""
    withdrawn: str = ""
    sum: str = ""


def note(audit: Path, entry: Disclosure) -> None:
    """Append an entry to the log in the private audit of a release, synced.

    Raises
    ------
    OSError
        If it cannot be written.
    """
    path = audit / DISCLOSURES
    folder = os.open(audit, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)  # Two commands at once would lose a line.
        before = path.read_bytes() if path.exists() else b""
        # Older versions appended: a line that a crash cut off stays, and ends here.
        before += b"\n" * (before != b"" and not before.endswith(b"\n"))
        line = msgspec.json.encode(msgspec.structs.replace(entry, sum=_sum(before, entry)))
        # Written beside it and put in its place: whole, whatever happens.
        beside = path.with_name(f".{DISCLOSURES}")
        write_synced(beside, [before, line, b"\n"])
        beside.replace(path)
        os.fsync(folder)
    finally:
        os.close(folder)


def noted(audit: Path) -> list[Disclosure]:
    """Return what the private audit of a release says of its copies; cut lines are ignored."""
    return [entry for _, entry in _lines(audit / DISCLOSURES) if entry is not None]


def are_as_written(audit: Path) -> bool:
    """Whether no line of the log was changed; lines of older versions have no sum to tell."""
    before = b""
    for line, entry in _lines(audit / DISCLOSURES):
        if entry is None:
            if b'"sum":"' in line or line.rstrip().endswith(b"}"):
                return False  # Not cut by a crash of an older version.
        elif entry.sum and (entry.sum != _sum(before, entry) or not line.endswith(b"\n")):
            return False
        before += line
    return True


def _lines(path: Path) -> Iterator[tuple[bytes, Disclosure | None]]:
    """Yield every line with what it says; None if it is cut."""
    for line in path.read_bytes().splitlines(keepends=True) if path.exists() else ():
        try:
            yield line, msgspec.json.decode(line, type=Disclosure)
        except (msgspec.DecodeError, UnicodeDecodeError):
            yield line, None


def _sum(before: bytes, entry: Disclosure) -> str:
    line = msgspec.json.encode(msgspec.structs.replace(entry, sum=""))
    return hashlib.sha256(before + line).hexdigest()


def withdrawal(text: bytes) -> Disclosure:
    """Return what there is to note of a release whose marker is `text`; a damaged one counts, too.

    Examples
    --------
    >>> withdrawal(marker("000001-x", "2026-01-01T00:00:00Z", "It names people.")).withdrawn
    'It names people.'
    """
    why = reason_of(text)
    try:
        return Disclosure(str(json.loads(text)["withdrawn"]), withdrawn=why)
    except (ValueError, KeyError, TypeError, RecursionError):
        return Disclosure("", withdrawn=why)


def marker(release_id: str, time: str, why: str) -> bytes:
    """Return the public marker of a withdrawn release."""
    told = {"release_id": release_id, "withdrawn": time, "why": why}
    return (json.dumps(told, indent=2) + "\n").encode()
