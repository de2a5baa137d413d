"""Where compiled kernels are kept. Must be settled before any module with a kernel is imported.

numba runs what it finds in its cache, and finds it by the source of one kernel alone: a kernel
whose callee has changed in another file would run as it was. So the folder's name carries a digest
of all kernels. Folders of other digests lie beside it and may be removed.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import platform
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

COLD_NOTICE = "kernels are compiled once now, which takes some minutes"

_VARIABLE: Final = "NUMBA_CACHE_DIR"
_OWN_NAME: Final = re.compile(r"kernels-[0-9a-f]{16}")
_COMPILES: Final = re.compile(rb"^from (numba|[\w.]+\.kernels) import ", re.MULTILINE)
"""What a file of kernels holds; the options of the compiler are in a file of kernels, too."""


def settle_cache(package: str = "ktsafe") -> str:
    """Give numba a folder for the compiled kernels of `package`, and return what to tell the user.

    It lies in the folder that NUMBA_CACHE_DIR names, or else in the user's cache folder. Compiled
    kernels are code: only a folder that belongs to this user, and to nobody else, is used. Where
    there is none, kernels go to a new temporary folder and are forgotten at the end; only then
    the answer is not empty.
    """
    name = f"kernels-{digest_of(kernel_files(package))}"
    base, problem = _base(), "there is no home folder"
    if base is not None:
        problem = _made_private(base / name)
        if not problem:
            os.environ[_VARIABLE] = str(base / name)
            return ""
    folder = tempfile.mkdtemp(prefix="ktsafe-kernels-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ[_VARIABLE] = folder
    return (
        f"compiled kernels are not kept ({problem}), and each start takes some minutes. "
        f"Name a folder of your own in {_VARIABLE}."
    )


def is_cold() -> bool:
    """Whether no kernel was compiled before, so that the first release takes a while longer."""
    folder = os.environ.get(_VARIABLE)
    return folder is None or next(Path(folder).rglob("*.nbi"), None) is None


def kernel_files(package: str) -> list[Path]:
    """Return the files of a package that hold kernels, without importing any, by name."""
    spec = find_spec(package)
    folders = [] if spec is None else spec.submodule_search_locations or []
    files = sorted(path for folder in folders for path in Path(folder).rglob("*.py"))
    return [path for path in files if _COMPILES.search(path.read_bytes())]


def digest_of(files: Iterable[Path]) -> str:
    """Return a digest of kernels and of everything that compiles them, 16 hexadecimal digits."""
    digest = hashlib.sha256(
        repr((version("numba"), version("llvmlite"), platform.python_version())).encode()
    )
    for path in files:
        digest.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _base() -> Path | None:
    """Return the folder in which the folder for kernels lies."""
    if named := os.environ.get(_VARIABLE):
        # A process that this one started was given the folder itself.
        return Path(named).parent if _OWN_NAME.fullmatch(Path(named).name) else Path(named)
    if named := os.environ.get("XDG_CACHE_HOME"):
        return Path(named) / "ktsafe" / "numba"
    try:
        return Path.home() / ".cache" / "ktsafe" / "numba"
    except RuntimeError:
        return None


def _made_private(folder: Path) -> str:
    """Make a folder unless it is there; return why it cannot be used, empty if it can."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        return f"{folder} cannot be made: {error.strerror}"
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        return f"{folder} belongs to somebody else"
    if found.st_mode & 0o077:
        return f"{folder} is open to others"
    return "" if os.access(folder, os.W_OK | os.X_OK) else f"{folder} cannot be written"
