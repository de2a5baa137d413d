"""Backups of the private folder, taken while the service runs or not.

Hints may be reworded. `backup.json` and the folders are a format: backups outlive the program that
wrote them, so a change needs another `FORMAT`. What is not to be copied is named in `_NOT_COPIED`
(tests/stream/maintenance/test_backup.py).

    running service ──freeze──▶ <store>/frozen/<token>/     hard links mostly: an instant
    none running    ──hold────▶ <store>/                    locked, not opened
    command         ──copy────▶ DIR/backup.json             written last: sha256 of every file
                                DIR/store/  DIR/staging/<release>/  DIR/audit/<release>/

A backup may come from anywhere: `restore` reads only regular files inside it and writes only into
the three folders above, whatever `backup.json` lists. Its sums tell of rot, not of a forger.

A frozen state is taken when no release is between its cut and STAGED, so a backup knows every
release whose bytes are fixed. An erasure removes frozen states: a running copy starts again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Final

import msgspec

from ktsafe.connectors.bundles import digest_regular, open_regular, read_regular
from ktsafe.state.folder import FROZEN, WITNESS, sync_folder, unusable, usable
from ktsafe.state.inspection import overview
from ktsafe.state.ledger import ReleaseRecord, Status
from ktsafe.state.store import GraphStore
from ktsafe.state.store_base import StateCorrupted, StateUnusable
from ktsafe.stream.config.places import AUDIT, RESTORING, STAGING, STORE
from ktsafe.stream.files.releases_write import write_synced

LISTING: Final = "backup.json"
FORMAT: Final = 1
_NOT_COPIED: Final = ("LOCK", WITNESS)
"""A backup is taken as it is: the count of commits beside the store is no part of it."""
_NOT_OF_THE_STORE: Final = (FROZEN, STAGING)
_PLACES: Final = (STORE, STAGING, AUDIT)
"""The folders of a backup; nothing is restored beside them."""
_LISTING_BYTES_MAX: Final = 1 << 30


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


@dataclasses.dataclass(frozen=True, slots=True)
class Parts:
    """The places of the parts of a state that is not changing.

    `releases` are those of its ledger.
    """

    store: Path
    staging: Path
    audits: Path
    releases: list[ReleaseRecord]

    @property
    def last_release(self) -> str | None:
        """The last release that it knows, None before the first."""
        return self.releases[-1].release_id if self.releases else None


def freeze(store: GraphStore, staging_folder: Callable[[str], Path]) -> Path:
    """Freeze the store, with staged bytes of an unconfirmed release.

    Parameters
    ----------
    staging_folder:
        Tells where the bytes of a release are staged.

    Returns
    -------
    Path
        The frozen store, its staged bytes inside; the caller removes it.
    """
    frozen = store.freeze()
    last = store.ledger.last()
    if last is not None and last.status is Status.STAGED:
        target = frozen / STAGING / last.release_id
        target.parent.mkdir(mode=0o700)
        target.mkdir(mode=0o700)
        for name in last.files:
            os.link(staging_folder(last.release_id) / name, target / name)
    return frozen


def parts_of(store: Path, private: Path, *, frozen: bool) -> Parts:
    """Return the parts of a frozen store, or of one held closed.

    Raises
    ------
    StateUnusable, StateCorrupted, StateMismatch
        If the store cannot be read.
    """
    staging = store / STAGING if frozen else private / STAGING
    return Parts(store, staging, private / AUDIT, overview(store).releases)


def copy(parts: Parts, to: Path, *, now_us: int) -> int:
    """Copy a state to a new folder; return its bytes.

    Raises
    ------
    StateUnusable
        If something cannot be read or written; nothing is left then.
    """
    try:
        to.mkdir(mode=0o700, parents=True)
        files = {name: _copied(source, to / name) for source, name in _to_copy(parts)}
        if not parts.store.is_dir():  # A frozen one goes as a whole, perhaps while it was listed.
            raise FileNotFoundError
        listing = Listing(FORMAT, now_us, parts.last_release, files)
        write_synced(to / LISTING, [msgspec.json.format(msgspec.json.encode(listing))])
        _sync_folders(to)
        return sum((to / name).stat().st_size for name in files)
    except FileNotFoundError as error:
        shutil.rmtree(to, ignore_errors=True)
        raise gone_meanwhile(parts.store) from error
    except OSError as error:
        shutil.rmtree(to, ignore_errors=True)
        raise unusable("back up state", to, error) from error


def gone_meanwhile(frozen: Path) -> StateUnusable:
    """Return the error of a frozen state removed while read."""
    hint = "the frozen state is gone: an erasure came between. Give the command again."
    return StateUnusable("read the state", str(frozen), hint)


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
        data = read_regular(backup / LISTING, _LISTING_BYTES_MAX)
        listing = msgspec.json.decode(data, type=Listing)
        if not all(map(_is_inside, listing.files)):
            raise _damaged(backup / LISTING)
        for name, expected in listing.files.items():
            if digest_regular(backup / name) != expected:
                raise _damaged(backup / name)
    except FileNotFoundError as error:
        if (backup / LISTING).exists():
            raise _damaged(backup) from error
        hint = "it is no finished backup. Name a folder that `ktsafe state backup` made."
        raise StateUnusable("read the backup", str(backup), hint) from error
    except OSError as error:
        raise unusable("read the backup", backup, error) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
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
    with usable("restore state", private):
        private.mkdir(mode=0o700, parents=True, exist_ok=True)
        private.chmod(0o700)
        if any(private.iterdir()):
            hint = "it is not empty. Move what is there away first, so nothing is overwritten."
            raise StateUnusable("restore state", str(private), hint)
        restoring.mkdir(mode=0o700)
        for name, expected in listing.files.items():
            place, _, rest = name.partition("/")
            target = restoring / rest if place == STORE else private / name
            if _copied(backup / name, target) != expected:
                raise _damaged(backup / name)
        _sync_folders(private)
        check(restoring)
        restoring.rename(private / STORE)
        sync_folder(private)
    return listing


def _to_copy(parts: Parts) -> Iterator[tuple[Path, str]]:
    """Yield every file of a backup with its name in it."""
    for path in _files(parts.store):
        inside = path.relative_to(parts.store)
        if inside.parts[0] not in _NOT_OF_THE_STORE:
            yield path, str(Path(STORE) / inside)
    for release in unconfirmed(parts.releases):
        for name in release.files:
            inside = Path(release.release_id) / name
            yield parts.staging / inside, str(Path(STAGING) / inside)
    # Release ids sort in the order of publication; later ones are not in this ledger.
    for folder in sorted(parts.audits.iterdir()) if parts.audits.is_dir() else ():
        if folder.name <= (parts.last_release or ""):
            for path in _files(folder):
                yield path, str(Path(AUDIT) / path.relative_to(parts.audits))


def unconfirmed(releases: list[ReleaseRecord]) -> list[ReleaseRecord]:
    """Return the last release if no sink has confirmed it.

    No other bytes may take its place.
    """
    return [release for release in releases[-1:] if release.status is Status.STAGED]


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
    with open_regular(source) as reading, os.fdopen(descriptor, "wb") as writing:
        while block := reading.read(1 << 20):
            digest.update(block)
            writing.write(block)
        writing.flush()
        os.fsync(writing.fileno())
    return digest.hexdigest()


def _sync_folders(top: Path) -> None:
    """Make the folders below durable, private like `top`."""
    for folder in (path for path in top.rglob("*") if path.is_dir()):
        folder.chmod(0o700)
        sync_folder(folder)
    sync_folder(top)


def _is_inside(name: str) -> bool:
    """Whether `name` is a plain path in a backup's folders."""
    path = PurePosixPath(name)
    is_plain = str(path) == name and ".." not in path.parts and not {"\0", "\\"} & set(name)
    return is_plain and len(path.parts) > 1 and path.parts[0] in _PLACES


def _damaged(path: Path) -> StateCorrupted:
    return StateCorrupted("read the backup", str(path), "It has changed. Use another backup.")
