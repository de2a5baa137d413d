"""Folders for a release and its private audit, named by their owner."""

from __future__ import annotations

from pathlib import Path

from ktsafe.errors import InvalidGraph


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
