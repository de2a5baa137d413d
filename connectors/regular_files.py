"""Opens regular files only, where others may have put something else.

A pipe would keep a reader waiting for ever, and a device (or a link to one) would never end.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import stat
from pathlib import Path
from typing import TypeGuard

_PASSING = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


def is_safe_name(name: str) -> bool:
    """Whether `name` is a plain, visible file name on all platforms."""
    return _SAFE_NAME.fullmatch(name) is not None


def is_passing(error: BaseException | None) -> TypeGuard[OSError]:
    """Whether a file failed to open for a passing reason."""
    return isinstance(error, OSError) and error.errno in _PASSING


def open_regular(path: Path) -> io.BufferedReader:
    """Open a regular file for reading.

    Raises
    ------
    OSError
        If it cannot be opened, or is no regular file.
    """
    # Looked at before, since opening a device may act on it; and after, since it may be swapped.
    _check_regular(path, path.stat())
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _check_regular(path, os.fstat(descriptor))
        return os.fdopen(descriptor, "rb")
    except OSError:
        os.close(descriptor)
        raise


def read_regular(path: Path, bytes_max: int) -> bytes:
    """Return the bytes of a regular file.

    Raises
    ------
    OSError
        If it cannot be read, is no regular file, or has more than `bytes_max` bytes.
    """
    with open_regular(path) as file:
        data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), str(path))
    return data


def digest_regular(path: Path) -> str:
    """Return the sha256 of a regular file, hexadecimal.

    Raises
    ------
    OSError
        If it cannot be read, or is no regular file.
    """
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_regular(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "Not a regular file", str(path))
