"""Checks of release bundles and their files, for every sink and reader.

Hints may be reworded. Whatever a sink or reader gives on is compared with its sha256 first, names
are plain and files regular: tests/connectors/test_file_releases.py and test_chunks.py offer what is
not.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeGuard

import msgspec

from ktsafe.connectors.base import (
    MANIFEST,
    WITHDRAWN,
    Misconfigured,
    PublishedRelease,
    ReleaseBundle,
    ReleaseReader,
    SinkConflict,
)

MANIFEST_BYTES_MAX = 16 * 1024 * 1024
"""A manifest lists a few files and the schema; a greater one is none."""


class _Manifest(msgspec.Struct, frozen=True):
    """What a connector knows of a manifest.

    The sha256 of every other file, by name.
    """

    sha256: dict[str, str]


def manifest_sums(manifest: bytes, release_id: str) -> dict[str, str]:
    """Return the sha256 by file name that a manifest lists.

    Raises
    ------
    SinkConflict
        If it is no manifest, or lists a name that is no plain file name.
    """
    try:
        sums = msgspec.json.decode(manifest, type=_Manifest).sha256
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise damaged(release_id, MANIFEST) from None
    for name in sums:
        if not is_safe_name(name) or name == MANIFEST:
            raise damaged(release_id, MANIFEST)
    return sums


def damaged(release_id: str, name: str) -> SinkConflict:
    """Return the error for bytes that are not those of the release."""
    hint = (
        f"the bytes of {name} do not match their sha256. They were damaged or replaced; do not use "
        "this copy."
    )
    return SinkConflict("check release", f"release {release_id}", hint)


def check_folder(folder: Path, release_id: str) -> PublishedRelease:
    """Return the release in `folder`, with every byte checked.

    Raises
    ------
    SinkConflict
        If a file is missing or its bytes are not those the manifest lists.
    """
    try:
        manifest = read_regular(folder / MANIFEST, MANIFEST_BYTES_MAX)
    except OSError:
        raise damaged(release_id, MANIFEST) from None
    for name, expected in manifest_sums(manifest, release_id).items():
        if file_sum(folder / name) != expected:
            raise damaged(release_id, name)
    return PublishedRelease(release_id, hashlib.sha256(manifest).hexdigest())


def check_bundle(bundle: ReleaseBundle) -> PublishedRelease:
    """Check a staged bundle before it leaves.

    Only what the manifest lists is ever published.
    """
    if not is_safe_name(bundle.release_id):
        hint = "a release id must be a plain file name: letters, digits, '.', '_' and '-'."
        raise SinkConflict("publish release", "release id", hint)
    release = check_folder(bundle.folder, bundle.release_id)
    sums = manifest_sums((bundle.folder / MANIFEST).read_bytes(), bundle.release_id)
    if bundle.files[:1] != (MANIFEST,) or set(bundle.files[1:]) != set(sums):
        hint = "the files to publish are not those that its manifest lists."
        raise SinkConflict("publish release", f"release {bundle.release_id}", hint)
    if bundle.recorded not in {None, release.digest}:
        # A manifest fits whatever files it was forged with; the ledger's record does not.
        raise damaged(bundle.release_id, MANIFEST)
    return release


def check_order(release: PublishedRelease, last: PublishedRelease | None, subject: str) -> bool:
    """Whether `release` is at the sink already.

    Raises
    ------
    SinkConflict
        If the sink holds this release id with other bytes, or a later release.
    """
    if last is None or last.release_id < release.release_id:
        return False
    if last == release:
        return True
    what = "with other bytes" if last.release_id == release.release_id else "and is ahead of us"
    hint = (
        f"it already holds release {last.release_id} {what}. Another service wrote there, or the "
        "state is an old copy: restore the state that belongs to this sink, or use a new sink."
    )
    raise SinkConflict("publish release", subject, hint)


def fenced(subject: str) -> SinkConflict:
    """Return the error for a sink that another instance took over."""
    hint = (
        "another instance of this service has taken over publishing. Only one may run; this one "
        "stops publishing."
    )
    return SinkConflict("publish release", subject, hint)


def file_sum(path: Path) -> str | None:
    """Return the sha256 of a file, hexadecimal.

    None if it cannot be read or is no regular file.
    """
    try:
        return digest_regular(path)
    except OSError:
        return None


def copy_files(names: tuple[str, ...], source: Path, target: Path) -> None:
    """Copy files into the existing folder `target`, each synced to the disk."""
    for name in names:
        with open_regular(source / name) as old, (target / name).open("xb") as new:
            shutil.copyfileobj(old, new, 1024 * 1024)
            new.flush()
            os.fsync(new.fileno())


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def rebuild(files: Mapping[str, bytes], release_id: str, into: Path) -> Path:
    """Write the files of a release that was read to `into/<release_id>`, checked.

    Return it.

    Raises
    ------
    SinkConflict
        If the bytes are not those that the manifest lists, or others stand there already.
    """
    if not all(map(is_safe_name, (release_id, *files))):
        raise damaged(release_id, MANIFEST)
    temporary = into / f".tmp-{release_id}"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    for name, data in files.items():
        (temporary / name).write_bytes(data)
    check_folder(temporary, release_id)
    put_in_place(temporary, into / release_id)
    return into / release_id


def checked(reader: ReleaseReader) -> Iterator[PublishedRelease]:
    """Yield every release that `reader` has, once it is read and compared.

    None is kept.
    """
    with tempfile.TemporaryDirectory(prefix="ktsafe-check-") as folder:
        for bundle in reader.read(Path(folder)):
            found = PublishedRelease(bundle.release_id, bundle.digest())
            shutil.rmtree(bundle.folder)
            yield found


def lay_marker(folder: Path, marker: bytes) -> None:
    """Mark a release's folder as withdrawn, whole or not at all."""
    temporary = folder / f".{WITHDRAWN}"
    with temporary.open("wb") as file:
        file.write(marker)
        file.flush()
        os.fsync(file.fileno())
    temporary.chmod(0o644)
    temporary.rename(folder / WITHDRAWN)
    sync_folder(folder)


def not_there(release_id: str) -> Misconfigured:
    """Return the error for withdrawing a release never published."""
    hint = "the sink has no such release. `ktsafe status` names those that are out."
    return Misconfigured("withdraw release", f"release {release_id}", hint)


def put_in_place(temporary: Path, target: Path) -> None:
    """Rename a checked, rebuilt release, unless the same bytes stand there already.

    Raises
    ------
    SinkConflict
        If another release stands there under this id.
    """
    if target.exists():
        if check_folder(target, target.name) != check_folder(temporary, target.name):
            hint = "it holds other bytes under this release id. Move it away and read again."
            raise SinkConflict("read releases", str(target), hint)
        shutil.rmtree(temporary)
        return
    temporary.rename(target)
    sync_folder(target.parent)


# Opens regular files only, where others may have put something else.
#
# A pipe would keep a reader waiting for ever, and a device (or a link to one) would never end.

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
