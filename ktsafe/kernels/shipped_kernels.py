"""Compiled kernels as one file of the wheel.

It is packed after `ktsafe.stream.warm`, and unpacked where no kernel is compiled yet.

The file lies beside this module, for one digest of the kernels
(`ktsafe.kernels.kernel_cache`), one system and one kind of processor. Compiled kernels are
code: nothing of the file is read before its sha256 is that of the note beside it, and only names
that a cache has are written, into a new folder of mode 0700 that takes its place at once. Anything
else means that kernels are compiled as always.

numba keeps the kernels of a folder of sources under its name and the sha1 of its path, and knows a
source by its content. In the file they stand under the path within the package.

    python -m ktsafe.kernels.shipped_kernels    packs kernels that NUMBA_CACHE_DIR holds
"""

from __future__ import annotations

import hashlib
import io
import os
import platform
import re
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).parent
_MEMBER: Final = re.compile(r"[a-z_]+(?:/[a-z_]+)*/\w+\.[\w<>-]+\.py\d+\.(?:nbi|\d+\.nbc)")
PORTABLE: Final = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
"""What kernels are compiled for that others run: any processor of the kind."""
SIZE_MAX: Final = 256 * 1024 * 1024
"""Bytes that a file may hold once it is unpacked; ours hold a tenth of it."""


class NotShipped(Exception):
    """The file is not what was packed: it is not used."""


def file_name(folder_name: str) -> str:
    """Return the file's name for kernels on this system and processor."""
    return f"{folder_name}-{platform.system().lower()}-{platform.machine().lower()}.tar.xz"


def is_shipped(name: str, source: Path | None = None) -> bool:
    """Whether there is a file for a folder of kernels."""
    return ((source or HERE) / file_name(name)).is_file()


def pack(cache: Path, name: str, root: Path, to: Path = HERE) -> Path:
    """Pack the kernels of a folder.

    Return the file. Those for other digests are removed.

    Parameters
    ----------
    cache:
        The folder in which numba keeps them.
    name:
        `kernels-<digest>` of these kernels alone; the folder may hold others besides.
    root:
        The folder that holds the package whose kernels these are.
    """
    for old in to.glob("kernels-*.tar.xz*"):
        old.unlink()
    target = to / file_name(name)
    with tarfile.open(target, "w:xz", preset=9) as archive:
        for source, folder in _folders(root):
            for path in sorted((cache / _cache_name(source)).glob("*.nb[ic]")):
                content = path.read_bytes()
                # Neither owner nor time: the same kernels make the same file.
                member = tarfile.TarInfo(f"{folder}/{path.name}")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    _note(target).write_text(f"{_digest(target)}\n", encoding="ascii")
    return target


def unpack(name: str, folder: Path, root: Path, source: Path | None = None) -> bool:
    """Fill an empty folder from the shipped file.

    Return whether there was one for these kernels.

    Parameters
    ----------
    name:
        `kernels-<digest>`.
    folder:
        Where they go: an empty folder of mode 0700.
    root:
        The folder of the package whose kernels these are.
    source:
        Where the file is, if there is one.

    Raises
    ------
    NotShipped
        If there is one that cannot be trusted. Nothing of it was kept.
    OSError
        If the folder cannot be written.
    """
    packed = (source or HERE) / file_name(name)
    if not packed.is_file():
        return False
    try:
        expected = _note(packed).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        raise NotShipped("the note of its sha256 is missing") from None
    if _digest(packed) != expected:
        raise NotShipped("its sha256 is another")
    room = Path(tempfile.mkdtemp(prefix="unpacking-", dir=folder.parent))  # of mode 0700
    try:
        _write(packed, room, {name: _cache_name(place) for place, name in _folders(root)})
        room.rename(folder)
    except OSError:
        if not any(folder.iterdir()):
            raise
        # Another process was faster.
    finally:
        shutil.rmtree(room, ignore_errors=True)
    return True


def _write(packed: Path, room: Path, cache_names: dict[str, str]) -> None:
    """Write the members of a file with the right digest.

    The folder is empty.
    """
    size = 0
    try:
        with tarfile.open(packed, "r:xz") as archive:
            for member in archive:
                folder, _, name = member.name.rpartition("/")
                size += member.size
                content = archive.extractfile(member) if member.isfile() else None
                if (
                    content is None
                    or not _MEMBER.fullmatch(member.name)
                    or folder not in cache_names
                    or size > SIZE_MAX
                ):
                    raise NotShipped("it holds what is no kernel")
                place = room / cache_names[folder]
                place.mkdir(mode=0o700, exist_ok=True)
                (place / name).write_bytes(content.read())
    except tarfile.TarError:
        raise NotShipped("it cannot be read") from None


def _folders(root: Path) -> Iterator[tuple[Path, str]]:
    """Yield the folders of sources, and their paths in the file."""
    for folder in sorted({path.parent for path in root.rglob("*_core.py")}):
        yield folder, folder.relative_to(root.parent).as_posix()


def _cache_name(source: Path) -> str:
    """Return numba's name for the kernels of a folder of sources."""
    path = os.path.abspath(source)  # noqa: PTH100 -- as numba does: links are not followed
    return f"{source.name}_{hashlib.sha1(path.encode()).hexdigest()}"  # noqa: S324 -- a name


def _note(packed: Path) -> Path:
    return packed.with_name(f"{packed.name}.sha256")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    from ktsafe.kernels import kernel_cache

    notice = kernel_cache.choose_kernel_folder()
    if notice:
        sys.exit(notice)
    digest = kernel_cache.digest_of(kernel_cache.kernel_files("ktsafe"))
    made = pack(
        Path(os.environ["NUMBA_CACHE_DIR"]),
        f"kernels-{digest}",
        kernel_cache.package_folder("ktsafe"),
    )
    sys.stdout.write(f"{made}: {made.stat().st_size:,} bytes\n")
