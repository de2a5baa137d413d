"""Cache folder of compiled kernels.

numba runs what it finds in its cache, and finds it by the source of one kernel alone: a kernel
whose callee has changed in another file would run as it was. So the folder's name carries a digest
of all kernels, those of the laboratory among them where it is installed. Folders of other digests
lie beside it and may be removed.

Where the folder lies may be changed; that its name tells all kernels, and that code others may have
written is not run, may not (tests/ktsafe/kernels/test_kernel_cache.py).
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ktsafe.errors import InvalidParams

_VARIABLE: Final = "NUMBA_CACHE_DIR"
LABORATORY: Final = "ktsafe_lab"
"""A package that may be installed besides; its kernels call ours, and are kept beside them."""
_OWN_NAME: Final = re.compile(r"kernels-[0-9a-f]{16}")
_COMPILES: Final = re.compile(rb"^from (numba|[\w.]+\.kernels\.compiler) import ", re.MULTILINE)
"""What a file of kernels holds; the options of the compiler are in a file of kernels, too."""


def choose_kernel_folder(package: str = "ktsafe") -> str:
    """Give this process and those that it starts the folder.

    Return what to tell the user.

    Commands do so before a module with a kernel is imported. The library uses the same folder for
    its own kernels alone (`ktsafe.kernels.compiler`). The answer is empty if all is as it should
    be.
    """
    folder, notice = kernel_folder(package)
    os.environ[_VARIABLE] = str(folder)
    return notice


def check_compiles(*, disabled: bool) -> None:
    """Refuse a process in which numba is told to compile nothing.

    Raises
    ------
    InvalidParams
        With the variable that says so.
    """
    if disabled:
        msg = "NUMBA_DISABLE_JIT is set: ktsafe needs its kernels compiled."
        raise InvalidParams(msg, hint="Unset it in the environment of this process.")


def kernel_folder(package: str = "ktsafe") -> tuple[Path, str]:
    """Return the folder of `package`'s compiled kernels, and a note.

    It lies in the folder that NUMBA_CACHE_DIR names, or else in the user's cache folder. Compiled
    kernels are code: only a folder that belongs to this user, and to nobody else, is used. Where
    there is none, kernels go to a new temporary folder and are forgotten at the end.
    """
    files = kernel_files(package)
    if find_spec(LABORATORY) is not None:
        files += kernel_files(LABORATORY)
    name = f"kernels-{digest_of(files)}"
    base, problem = _base(), "there is no home folder"
    if base is not None:
        problem = _made_private(base / name)
        if not problem:
            return base / name, ""
    folder = tempfile.mkdtemp(prefix="ktsafe-kernels-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder), (
        f"compiled kernels are not kept ({problem}), and each start takes longer. "
        f"Name a folder of your own in {_VARIABLE}."
    )


def is_cold(room: str) -> bool:
    """Whether no kernel of a folder of the package was compiled before.

    Its first use takes longer.

    numba keeps them under that folder's name with a digest of its path.
    """
    folder = os.environ.get(_VARIABLE)
    return folder is None or next(Path(folder).glob(f"{room}_*/*.nbi"), None) is None


def package_folder(package: str) -> Path:
    """Return the folder of a package, without importing it."""
    spec = find_spec(package)
    assert spec is not None, package
    (folder,) = spec.submodule_search_locations or []
    return Path(folder)


def kernel_files(package: str) -> list[Path]:
    """Return the files of a package that hold kernels, by name.

    Nothing is imported.
    """
    files = sorted(package_folder(package).rglob("*.py"))
    return [path for path in files if _COMPILES.search(path.read_bytes())]


def digest_of(files: Iterable[Path]) -> str:
    """Return a digest of kernels and their compiler, 16 hexadecimal digits."""
    digest = hashlib.sha256(
        repr((version("numba"), version("llvmlite"), sys.version_info[:2])).encode()
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
    """Make a folder unless it is there.

    Return why it cannot be used, empty if it can.
    """
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
