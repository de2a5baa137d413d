"""New files of reports and tables."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from ktsafe.stream.errors import ConfigError


def now() -> str:
    """Return this moment as text, in UTC, to the minute."""
    return f"{datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC"


def check_page(path: Path) -> None:
    """Refuse an existing file before hours of work on it.

    Raises
    ------
    ConfigError
        If it exists, or its folder does not.
    """
    if path.exists() or not path.parent.is_dir():
        why = "exists already" if path.exists() else "lies in no folder"
        raise ConfigError(f"{path} {why}.", hint="Name a new file in a folder that is there.")


@contextmanager
def new_file(path: Path, *, is_private: bool = True) -> Iterator[TextIO]:
    """Yield a new file to write, private ones for their owner.

    Raises
    ------
    ConfigError
        If the file exists already, or cannot be written.
    """
    mode = 0o600 if is_private else 0o644
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except OSError as error:
        msg = f"{path} cannot be created ({error.strerror})."
        raise ConfigError(msg, hint="Name a new file in a folder that is writable.") from error
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
        yield file
