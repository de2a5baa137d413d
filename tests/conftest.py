"""Tests run the kernels of this very source: see `ktsafe.kernels.kernel_cache`.

No example is timed: the first one may compile a kernel, beside other busy processes. Files of tests
lie in memory where there is room: else a third of all time goes by waiting for the disk. Modules
are compiled once, wherever bytecode is forbidden: tests start hundreds of processes.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Final

from hypothesis import settings

from ktsafe.kernels.kernel_cache import choose_kernel_folder

choose_kernel_folder()
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

IN_MEMORY: Final = Path("/dev/shm")
ROOM_BYTES: Final = 4 * 2**30
"""Several times of what the whole suite writes."""
if IN_MEMORY.is_dir() and shutil.disk_usage(IN_MEMORY).free > ROOM_BYTES:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(IN_MEMORY))
