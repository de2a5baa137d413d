"""`[sink] kind = "sqlite"`: releases in the tables of a SQLite file."""

import sqlite3
import threading
import time
from contextlib import closing
from hashlib import sha256
from pathlib import Path

from ktsafe.connectors import bundles
from ktsafe.connectors.base import MANIFEST, WITHDRAWN, PublishedRelease, ReleaseBundle
from ktsafe.stream.config.connector_kinds import SinkTable

TABLES = "CREATE TABLE IF NOT EXISTS files (release_id, place INT, name, data BLOB, time_ms INT)"


class SqliteSinkTable(SinkTable, frozen=True, tag="sqlite"):
    path: str

    def place(self, site):
        return str(site.path(self.path))

    def release_sink(self, site):
        return SqliteSink(site.path(self.path))

    def release_reader(self, site):
        return SqliteReader(site.path(self.path))


class SqliteSink:
    def __init__(self, path: Path):
        self._path, self._db = path, None

    def open(self):
        self._db = sqlite3.connect(self._path, check_same_thread=False)
        self._db.execute(TABLES)

    def present(self):
        query = "SELECT release_id, data FROM files WHERE name = ? ORDER BY release_id"
        found = self._db.execute(query, [MANIFEST]).fetchall()
        return [PublishedRelease(name, sha256(data).hexdigest()) for name, data in found]

    def last(self):
        return next(reversed(self.present()), None)

    def publish(self, bundle):
        release = bundles.check_bundle(bundle)
        if bundles.check_order(release, self.last(), str(self._path)):
            return
        with self._db:  # One transaction: the whole release, or nothing of it.
            for place, name in enumerate(bundle.files):
                row = [bundle.release_id, place, name, (bundle.folder / name).read_bytes()]
                time_ms = bundle.nominal_time_ms
                self._db.execute("INSERT INTO files VALUES (?, ?, ?, ?, ?)", [*row, time_ms])

    def withdraw(self, release_id, marker):
        with closing(sqlite3.connect(self._path)) as db, db:
            query = "SELECT time_ms FROM files WHERE release_id = ?"
            found = db.execute(query, [release_id]).fetchone()
            if found is None:
                raise bundles.not_there(release_id)
            db.execute(
                "INSERT INTO files VALUES (?, ?, ?, ?, ?)",
                [release_id, time.time_ns(), WITHDRAWN, marker, *found],
            )

    def close(self):
        if self._db is not None:
            self._db.close()


class SqliteReader:
    def __init__(self, path: Path):
        self._path, self._closed = path, threading.Event()

    def read(self, into: Path, *, follow=False):
        told, query = set(), "SELECT * FROM files ORDER BY release_id, place"
        while True:
            with closing(sqlite3.connect(self._path)) as db:
                rows = db.execute(query).fetchall()
            for release_id in sorted({row[0] for row in rows}):
                files = {name: data for one, _, name, data, _ in rows if one == release_id}
                marker = files.pop(WITHDRAWN, None)
                if (release_id, marker) in told:
                    continue
                told.add((release_id, marker))
                folder = bundles.rebuild(files, release_id, into)
                if marker is not None:
                    bundles.lay_marker(folder, marker)
                time_ms = next(row[4] for row in rows if row[0] == release_id)
                yield ReleaseBundle(release_id, time_ms, folder, tuple(files))
            if not follow or self._closed.wait(0.5):
                return

    def check(self):
        return bundles.checked(self)

    def close(self):
        self._closed.set()
