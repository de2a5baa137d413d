"""Reads releases back from a folder."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

from ktsafe.connectors import bundles
from ktsafe.connectors.base import MANIFEST, WITHDRAWN, ReleaseBundle
from ktsafe.connectors.errors import Misconfigured
from ktsafe.connectors.files.sink import published
from ktsafe.connectors.regular_files import read_regular

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
        if not follow and not self._folder.is_dir():
            raise Misconfigured("read releases", str(self._folder), "there is no such folder.")
        told: set[tuple[str, bool]] = set()
        while True:
            for release_id in published(self._folder):
                news = release_id, (self._folder / release_id / WITHDRAWN).exists()
                if news not in told:
                    told.add(news)
                    yield self._rebuild(release_id, into)
            if not follow or self._closed.wait(_LOOK_S):
                return

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
