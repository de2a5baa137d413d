"""New folders that appear whole or not at all: written beside their place, then renamed."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ktsafe.connectors.bundles import sync_folder
from ktsafe.errors import InvalidGraph


@contextmanager
def atomic_folder(folder: Path) -> Iterator[Path]:
    """Give a path to write a new folder at, which takes its place when the block ends.

    An error removes what was written. A kill leaves a hidden folder beside, `.NAME.unfinished-*`,
    with what was written one level down, where no command looks for releases.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    room = Path(tempfile.mkdtemp(prefix=f".{folder.name}.unfinished-", dir=folder.parent))
    try:
        yield room / folder.name
        (room / folder.name).rename(folder)
        sync_folder(folder.parent)
    finally:
        shutil.rmtree(room)


def check_folders(out: Path, audit: Path) -> None:
    """Refuse folders that exist, and a private audit that would be handed out with the release."""
    for folder in (out, audit):
        if folder.exists():
            msg = f"{folder} exists already."
            raise InvalidGraph(msg, hint="Name a new folder: releases are never overwritten.")
    if audit.resolve().is_relative_to(out.resolve()):
        msg = f"{audit} lies in {out}."
        raise InvalidGraph(
            msg, hint="The audit folder holds the mapping: name a folder that is not published."
        )
    if out.resolve().is_relative_to(audit.resolve()):
        msg = f"{out} lies in {audit}."
        raise InvalidGraph(msg, hint="What is published needs a folder of its own.")
