"""Files, plain or gzipped."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

_GZIP: Final = b"\x1f\x8b"


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Yield a file's bytes, plain or gzipped, whatever its name."""
    with path.open("rb") as file:
        if file.peek(2)[:2] != _GZIP:
            yield file
            return
        with gzip.open(file) as unfolded:
            yield unfolded
