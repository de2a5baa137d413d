"""Backups of the private folder, taken while the service runs or not.

    running service ──freeze──▶ <store>/frozen/<token>/     hard links mostly: an instant
    command         ──copy────▶ DIR/backup.json             written last: sha256 of every file
                                DIR/store/  DIR/staging/<release>/  DIR/audit/<release>/

A frozen state is taken when no release is between its cut and STAGED, so that a backup knows every
release whose bytes are fixed. An erasure removes frozen states: who copies one then begins again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from state.database import RESTORE
from state.errors import StateCorrupted, StateUnusable
from state.folder import sync_folder, unusable
from state.ledger import ReleaseRecord, Status
from state.store import GraphStore
from stream.private_folder import AUDIT, RESTORING, STAGING, STORE

LISTING: Final = "backup.json"
FORMAT: Final = 1
_NOT_COPIED: Final = (".partial", "LOCK")


class Listing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a backup holds.

    Attributes
    ----------
    last_release:
        The last release that it knows, None before the first.
    files:
        Path in the backup to sha256.
    """

    format: int
    made_us: int
    last_release: str | None
    files: dict[str, str]


def freeze(store: GraphStore, staging_folder: Callable[[str], Path]) -> dict[str, Any]:
    """Freeze the store as of now, with the staged bytes of a release that is not confirmed.

    Parameters
    ----------
    staging_folder:
        Tells where the bytes of a release are staged.

    Returns
    -------
    dict
        `folder`, to be removed by whoever asked, and `last_release`.
    """
    frozen = store.freeze()
    last = store.ledger.last()
    if last is not None and last.status is Status.STAGED:
        target = frozen / STAGING / last.release_id
        target.parent.mkdir(mode=0o700)
        target.mkdir(mode=0o700)
        for name in last.files:
            os.link(staging_folder(last.release_id) / name, target / name)
    return {"folder": str(frozen), "last_release": last.release_id if last else None}


def copy(frozen: Path, private: Path, to: Path, *, last_release: str | None, now_us: int) -> int:
    """Copy a frozen state and the audits that belong to it to a new folder; return its bytes.

    Raises
    ------
    StateUnusable
        If something cannot be read or written; nothing is left then.
    """
    try:
        to.mkdir(mode=0o700, parents=True)
        files = {}
        for source, name in _to_copy(frozen, private, last_release):
            files[name] = _copied(source, to / name)
        if not frozen.is_dir():  # It goes as a whole, perhaps while it was listed.
            raise FileNotFoundError
        listing = Listing(FORMAT, now_us, last_release, files)
        _write_private(to / LISTING, msgspec.json.format(msgspec.json.encode(listing)))
        _settle_folders(to)
        return sum((to / name).stat().st_size for name in files)
    except FileNotFoundError as error:
        shutil.rmtree(to, ignore_errors=True)
        hint = "the frozen state is gone: an erasure came between. Begin again."
        raise StateUnusable("back up state", str(to), hint) from error
    except OSError as error:
        shutil.rmtree(to, ignore_errors=True)
        raise unusable("back up state", to, error) from error


def check_staged(releases: Sequence[ReleaseRecord], staging: Path) -> None:
    """Check the bytes of a last release that is not confirmed: no others may take their place.

    Raises
    ------
    StateCorrupted
        If they are gone or have changed.
    """
    last = releases[-1] if releases else None
    if last is None or last.status is Status.PUBLISHED:
        return
    for name, expected in last.files.items():
        path = staging / last.release_id / name
        if not path.is_file() or _digest(path) != expected:
            raise StateCorrupted("check staged bytes", str(path), RESTORE)


def read_listing(backup: Path) -> Listing:
    """Return what a backup holds, every byte of it checked.

    Raises
    ------
    StateUnusable
        If the folder is no finished backup, or cannot be read.
    StateCorrupted
        If a file is gone or has changed.
    """
    try:
        listing = msgspec.json.decode((backup / LISTING).read_bytes(), type=Listing)
        for name, expected in listing.files.items():
            if _digest(backup / name) != expected:
                raise _damaged(backup / name)
    except FileNotFoundError as error:
        if (backup / LISTING).exists():
            raise _damaged(backup) from error
        hint = "it is no finished backup. Name a folder that `ktsafe state backup` made."
        raise StateUnusable("read the backup", str(backup), hint) from error
    except OSError as error:
        raise unusable("read the backup", backup, error) from error
    except msgspec.DecodeError as error:
        raise _damaged(backup / LISTING) from error
    if listing.format != FORMAT:
        hint = f"it has format {listing.format}, this version reads {FORMAT}. Upgrade ktsafe."
        raise StateUnusable("read the backup", str(backup), hint)
    return listing


def restore(backup: Path, private: Path, check: Callable[[Path], object]) -> Listing:
    """Put a backup into an absent or empty private folder.

    The store gets its name last, once `check` has read it back; a service does not start beside a
    restoration that was interrupted.

    Raises
    ------
    StateUnusable
        If the folder is not empty or cannot be written, or the backup is none.
    StateCorrupted
        If the backup does not read back as it was made.
    """
    listing = read_listing(backup)
    restoring = private / RESTORING
    try:
        private.mkdir(mode=0o700, parents=True, exist_ok=True)
        private.chmod(0o700)
        if any(private.iterdir()):
            hint = "it is not empty. Move what is there away first, so that nothing is overwritten."
            raise StateUnusable("restore state", str(private), hint)
        restoring.mkdir(mode=0o700)
        for name, expected in listing.files.items():
            place, _, rest = name.partition("/")
            target = restoring / rest if place == STORE else private / name
            if _copied(backup / name, target) != expected:
                raise _damaged(backup / name)
        _settle_folders(private)
        check(restoring)
        restoring.rename(private / STORE)
        sync_folder(private)
    except OSError as error:
        raise unusable("restore state", private, error) from error
    return listing


def _to_copy(frozen: Path, private: Path, last_release: str | None) -> Iterator[tuple[Path, str]]:
    """Yield every file of a backup with its name in it."""
    for path in _files(frozen):
        inside = path.relative_to(frozen)
        place = inside if inside.parts[0] == STAGING else Path(STORE) / inside
        yield path, str(place)
    if last_release is None:
        return
    audits = private / AUDIT
    # Release ids sort in the order of publication; later ones are not in this backup's ledger.
    for folder in sorted(audits.iterdir()) if audits.is_dir() else ():
        if folder.name <= last_release:
            for path in _files(folder):
                yield path, str(Path(AUDIT) / path.relative_to(audits))


def _files(folder: Path) -> list[Path]:
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith(_NOT_COPIED)
    ]


def _copied(source: Path, target: Path) -> str:
    """Copy a file, durably and for its owner only; return its sha256."""
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    digest = hashlib.sha256()
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with source.open("rb") as reading, os.fdopen(descriptor, "wb") as writing:
        while block := reading.read(1 << 20):
            digest.update(block)
            writing.write(block)
        writing.flush()
        os.fsync(writing.fileno())
    return digest.hexdigest()


def _settle_folders(top: Path) -> None:
    """Make the folders below durable, and their owner's only, as `top` is already."""
    for folder in (path for path in top.rglob("*") if path.is_dir()):
        folder.chmod(0o700)
        sync_folder(folder)
    sync_folder(top)


def _write_private(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _damaged(path: Path) -> StateCorrupted:
    return StateCorrupted("read the backup", str(path), "It has changed. Use another backup.")
