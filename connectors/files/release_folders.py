"""Releases as folders, `<folder>/<release_id>/`: published, and read back.

Pauses and hints may be changed. A release appears whole under its name or not at all, with no time
but its own (tests/connectors/test_file_releases.py).
"""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

from ktsafe.connectors import bundles
from ktsafe.connectors.base import (
    MANIFEST,
    WITHDRAWN,
    Misconfigured,
    PublishedRelease,
    ReleaseBundle,
    SinkConflict,
    Unavailable,
)
from ktsafe.connectors.bundles import digest_regular, is_safe_name, read_regular

LOCK = ".lock"
TEMPORARY = ".tmp-"


class FileReleaseSink:
    """A folder of releases. Implements `ktsafe.connectors.base.ReleaseSink`.

    A release is written under a temporary name, synced, renamed and the parent synced, so it
    is there whole or not at all. One process publishes at a time (a lock on `.lock`). Times of
    files are the release's nominal time, since a true one would tell when it was built. Everybody
    may read a release, but a folder of releases that did not exist is its owner's only: to open it
    is the operator's decision.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock: int | None = None

    def open(self) -> None:
        """Create the folder, lock it and clear a crash's remains."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(self._folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
            leftovers = list(self._folder.glob(f"{TEMPORARY}*"))
        except OSError as error:
            hint = f"cannot be written ({error.strerror}). Check the path and its permissions."
            raise Misconfigured("open sink", str(self._folder), hint) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            hint = "another process publishes to this folder. Stop it, or use another folder."
            raise Unavailable("open sink", str(self._folder), hint) from None
        for leftover in leftovers:
            shutil.rmtree(leftover)

    def last(self) -> PublishedRelease | None:
        """Return the last complete release, by its id.

        Every byte of it is checked.
        """
        names = published(self._folder)
        if not names:
            return None
        return bundles.check_folder(self._folder / names[-1], names[-1])

    def present(self) -> list[PublishedRelease]:
        """Return every complete release, by its manifest alone."""
        try:
            return [
                PublishedRelease(name, digest_regular(self._folder / name / MANIFEST))
                for name in published(self._folder)
            ]
        except OSError as error:
            hint = f"could not be read ({error.strerror}). Restore access."
            raise Unavailable("read releases", str(self._folder), hint) from None

    def publish(self, bundle: ReleaseBundle) -> None:
        """Publish `bundle` unless it is there already."""
        release = bundles.check_bundle(bundle)
        target = self._folder / bundle.release_id
        temporary = self._folder / f"{TEMPORARY}{bundle.release_id}"
        try:
            if bundles.check_order(release, self.last(), str(self._folder)):
                # Renamed, but perhaps not synced before a crash.
                bundles.sync_folder(self._folder)
                return
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir()
            bundles.copy_files(bundle.files, bundle.folder, temporary)
            if bundles.check_folder(temporary, bundle.release_id) != release:
                raise bundles.damaged(bundle.release_id, MANIFEST)
            _open_to_readers(temporary, bundle)
            _set_times(temporary, bundle)
            bundles.sync_folder(temporary)
            temporary.rename(target)
            bundles.sync_folder(self._folder)
        except OSError as error:
            hint = f"could not be written ({error.strerror}). Free space or restore access."
            raise Unavailable("publish release", str(target), hint) from None

    def withdraw(self, release_id: str, marker: bytes) -> None:
        """Lay a marker into the folder of a release."""
        folder = self._folder / release_id
        if not is_safe_name(release_id) or not (folder / MANIFEST).is_file():
            raise bundles.not_there(release_id)
        try:
            bundles.lay_marker(folder, marker)
        except OSError as error:
            hint = f"could not be written ({error.strerror}). Free space or restore access."
            raise Unavailable("withdraw release", str(folder), hint) from None

    def close(self) -> None:
        """Give the lock back."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def published(folder: Path) -> list[str]:
    """Return the ids of complete releases in a folder, in order.

    Raises
    ------
    SinkConflict
        If a folder there is not a release: nothing else belongs there.
    """
    if not folder.is_dir():
        return []
    names = sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith("."))
    for name in names:
        if not (folder / name / MANIFEST).is_file():
            hint = f"{name} is not a release. Move it away: the folder is for releases only."
            raise SinkConflict("read releases", str(folder), hint)
    return names


def _open_to_readers(folder: Path, bundle: ReleaseBundle) -> None:
    """Give a release the same modes whatever this process may create."""
    for name in bundle.files:
        (folder / name).chmod(0o644)
    folder.chmod(0o755)


def _set_times(folder: Path, bundle: ReleaseBundle) -> None:
    time_ns = bundle.nominal_time_ms * 1_000_000
    for name in bundle.files:
        os.utime(folder / name, ns=(time_ns, time_ns))
    os.utime(folder, ns=(time_ns, time_ns))


_LOOK_S = 0.5
"""Pause between looks for further releases."""


class FileReleaseReader:
    """Reads complete releases of a folder. Implements `ktsafe.connectors.base.ReleaseReader`.

    The nominal time of a release is the modification time its files were given by the sink.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._closed = threading.Event()

    def read(self, into: Path, *, follow: bool = False) -> Iterator[ReleaseBundle]:
        """Yield every release, copied to `into/<release_id>/` and checked byte by byte."""
        if into.resolve() == self._folder.resolve():
            hint = "releases cannot be rebuilt in the folder they are read from; name another."
            raise Misconfigured("read releases", str(into), hint)
        if not follow:
            self._check_there()
        told: set[tuple[str, bool]] = set()
        while True:
            for release_id in published(self._folder):
                news = release_id, (self._folder / release_id / WITHDRAWN).exists()
                if news not in told:
                    told.add(news)
                    yield self._rebuild(release_id, into)
            if not follow or self._closed.wait(_LOOK_S):
                return

    def check(self) -> Iterator[PublishedRelease]:
        """Yield every release where it is, once compared byte by byte."""
        self._check_there()
        for release_id in published(self._folder):
            yield bundles.check_folder(self._folder / release_id, release_id)

    def _check_there(self) -> None:
        if not self._folder.is_dir():
            raise Misconfigured("read releases", str(self._folder), "there is no such folder.")

    def close(self) -> None:
        """End a `read` that follows, at its next look."""
        self._closed.set()

    def _rebuild(self, release_id: str, into: Path) -> ReleaseBundle:
        origin = self._folder / release_id
        release = bundles.check_folder(origin, release_id)
        sums = bundles.manifest_sums((origin / MANIFEST).read_bytes(), release_id)
        time_ms = (origin / MANIFEST).stat().st_mtime_ns // 1_000_000
        bundle = ReleaseBundle(release_id, time_ms, into / release_id, (MANIFEST, *sums))
        temporary = into / f".tmp-{release_id}"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        bundles.copy_files(bundle.files, origin, temporary)
        if bundles.check_folder(temporary, release_id) != release:
            raise bundles.damaged(release_id, MANIFEST)
        bundles.put_in_place(temporary, bundle.folder)
        if (origin / WITHDRAWN).exists():
            marker = read_regular(origin / WITHDRAWN, bundles.MANIFEST_BYTES_MAX)
            bundles.lay_marker(bundle.folder, marker)
        return bundle
