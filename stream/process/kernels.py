"""Where compiled kernels are kept. Must be settled before any module with a kernel is imported."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

COLD_NOTICE = "kernels are compiled once now, which takes some minutes"


def settle_cache() -> None:
    """Give numba a writable place for compiled kernels, unless the environment names one.

    `njit(cache=True)` raises at import where it finds none, as in a read-only container.
    """
    if "NUMBA_CACHE_DIR" in os.environ:
        return
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    for candidate in (base / "ktsafe" / "numba", Path(tempfile.gettempdir()) / "ktsafe-numba"):
        try:
            candidate.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(candidate, os.W_OK):
            os.environ["NUMBA_CACHE_DIR"] = str(candidate)
            return


def is_cold() -> bool:
    """Whether no kernel was compiled before, so that the first release takes a while longer."""
    folder = os.environ.get("NUMBA_CACHE_DIR")
    return folder is None or next(Path(folder).rglob("*.nbi"), None) is None
