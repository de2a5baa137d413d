"""Secrets: the first line of a private file, never a setting's text.

What goes wrong is said with the place of the secret and what to do; never with what was found.
"""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Final

WORLD: Final = stat.S_IRWXO


class SecretUnreadable(Exception):
    """No secret at the place in the settings; the text helps."""


def read_secret(key: str, file: str) -> str:
    """Return the secret in the file that `<key>_file` names.

    Raises
    ------
    SecretUnreadable
        If it holds nothing, or everybody can read it.
    """
    secret = _first_line(Path(file))
    if not secret:
        raise SecretUnreadable(f"{file} holds no secret. Put the one that {key} needs there.")
    return secret


def check_private(path: Path) -> None:
    """Refuse a file that others than its owner and group may use.

    Raises
    ------
    SecretUnreadable
        If they may, or there is no such file.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise SecretUnreadable(f"{path} cannot be read ({error.strerror}).") from None
    if mode & WORLD:
        msg = f"{path} can be read by everybody on this machine. Run: chmod 600 {path}"
        raise SecretUnreadable(msg)


def _first_line(path: Path) -> str:
    check_private(path)
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SecretUnreadable(f"{path} cannot be read ({type(error).__name__}).") from None
    return lines[0] if lines else ""
