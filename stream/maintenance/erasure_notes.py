"""Erasures by command, noted beside the private folder, against older backups.

The folder itself may be lost, which is why it is restored. A line holds the keyed hash of an id, by
the secret that the store shares with its backups, and when the erasure was: it names nobody else.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from ktsafe.state.folder import sync_folder


class Note(msgspec.Struct, frozen=True):
    """An erasure: the id's keyed hash, and its wall-clock time."""

    alias: str
    at_us: int


def notes_of(private: Path) -> Path:
    """Return where the erasures of a private folder are noted."""
    return private.with_name(f"{private.name}.erased")


def note(private: Path, aliases: Sequence[bytes]) -> bool:
    """Note erasures before they are done; return whether that was possible."""
    at_us = time.time_ns() // 1000
    lines = [msgspec.json.encode(Note(alias.hex(), at_us)) + b"\n" for alias in aliases]
    path = notes_of(private)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(b"".join(lines))
            file.flush()
            os.fsync(file.fileno())
        sync_folder(path.parent)
    except OSError:
        return False
    return True


def noted_since(private: Path, at_us: int) -> list[bytes] | None:
    """Return the keyed hashes of later erasures; None where none was noted."""
    try:
        lines = notes_of(private).read_bytes().splitlines()
        notes = [msgspec.json.decode(line, type=Note) for line in lines]
        found = dict.fromkeys(bytes.fromhex(each.alias) for each in notes if each.at_us >= at_us)
    except (OSError, ValueError, msgspec.DecodeError):
        return None
    return list(found)
