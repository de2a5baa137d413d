"""Fuzzed as well: what was stored elsewhere and is read back: a topic, a backup, Parquet files.

One input stands for several files or records, with 0x1e between them. Sums are put right where
they stand as `sum of NAME`, since a forger would compute them too.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

from ktsafe.connectors.base import ConnectorError
from ktsafe.connectors.kafka_settings import KafkaSettings
from ktsafe.connectors.kafka_topics import chunks
from ktsafe.connectors.kafka_topics.release_reader import KafkaReleaseReader
from ktsafe.errors import KtsafeError
from ktsafe.state.store_base import StateError
from ktsafe.stream.files.release_tables import holds_table, table_bytes
from ktsafe.stream.maintenance import backup

BETWEEN = b"\x1e"
WRITTEN_MAX = 1 << 20
"""Bytes that an input of some thousand may become on the disk."""

Mutate = Callable[[bytes, int], bytes]


def summed(text: bytes, parts: dict[str, bytes]) -> bytes:
    """Return a listing with the true sums of what it names."""
    for name, content in parts.items():
        text = text.replace(f"sum of {name}".encode(), hashlib.sha256(content).hexdigest().encode())
    return text


class Topic:
    """Records of a release topic: `release;seq;kind;` and the value; sums of all are right."""

    def __init__(self, folder: Path, json_mutated: Callable[[bytes, random.Random], bytes]) -> None:
        self._folder, self._json_mutated = folder, json_mutated
        self._reader = KafkaReleaseReader(KafkaSettings(bootstrap_servers=("nowhere:1",)), "t")

    def __call__(self, data: bytes) -> None:
        """Read all releases of a topic that holds these records."""
        records = []
        manifests = {"manifest": b""}
        for line in data.split(BETWEEN):
            release_id, seq, kind, value = (*line.split(b";", 3), b"", b"", b"", b"")[:4]
            if kind == b"chunk":
                manifests["a.csv"] = value.rstrip(b"\0")
            value = summed(value, manifests)
            if kind == b"manifest":
                manifests["manifest"] = value
            digest = hashlib.sha256(value).hexdigest().encode()
            headers = [("release_id", release_id), ("seq", seq), ("kind", kind), ("sha256", digest)]
            records.append(SimpleNamespace(headers=headers, value=value, timestamp=1))
        into = Path(tempfile.mkdtemp(dir=self._folder))
        self._reader._records = lambda *, follow: iter(records)  # type: ignore[method-assign, assignment]
        try:
            for bundle in self._reader.read(into):
                assert sum(f.stat().st_size for f in bundle.folder.iterdir()) < WRITTEN_MAX
        except ConnectorError as error:
            assert str(error)  # noqa: PT017 -- no test: a target
        finally:
            assert [path for path in self._folder.iterdir() if path != into] == []
            shutil.rmtree(into)

    def examples(self) -> list[bytes]:
        """Return a topic with one release, whole."""
        content = b"source,target\na,b\n"
        manifest = b'{"sha256": {"a.csv": "sum of a.csv"}}'
        marker = chunks.Marker(1, "000001", "sum of manifest", 1, 20, [("a.csv", len(content))])
        lines = [
            b"000001;0;chunk;" + content.ljust(20, b"\0"),
            b"000001;1;manifest;" + manifest,
            b"000001;2;marker;" + json.dumps(_fields(marker)).encode(),
        ]
        return [BETWEEN.join(lines)]

    def mutated(self, data: bytes, dice: random.Random) -> bytes:
        """Change a record's JSON or one of its headers; repeat, drop or move a record."""
        lines = data.split(BETWEEN)
        at = dice.randrange(len(lines))
        parts = lines[at].split(b";", 3)
        match dice.randrange(5):
            case 0 if len(lines) > 1:
                del lines[at]
            case 1:
                lines.insert(dice.randrange(len(lines)), lines[at])
            case 2 if len(parts) == 4:
                parts[dice.randrange(3)] = dice.choice(_HEADERS)
                lines[at] = b";".join(parts)
            case _ if len(parts) == 4:
                lines[at] = b";".join([*parts[:3], self._json_mutated(parts[3], dice)])
        return BETWEEN.join(lines)


_HEADERS = [
    *(b"", b"0", b"1", b"-1", b"9999999", b"1000000", b"9" * 40, b"chunk", b"manifest"),
    *(b"marker", b"../x", b"/etc/x", b"000001", b"000002", b".hidden", b"a" * 300, b"\xff", b"\0"),
]


def _fields(marker: chunks.Marker) -> dict[str, object]:
    return {name: getattr(marker, name) for name in marker.__struct_fields__}


class Backup:
    """A backup's listing and two of its files, restored into a folder of its own."""

    NAMES = ("store/db/CURRENT", "audit/000001/mapping.csv")

    def __init__(self, folder: Path, json_mutated: Callable[[bytes, random.Random], bytes]) -> None:
        self._folder, self._json_mutated = folder, json_mutated

    def __call__(self, data: bytes) -> None:
        """Restore it; whatever it lists, nothing appears beside the private folder."""
        listing, *contents = data.split(BETWEEN)
        files = dict(zip(self.NAMES, [*contents, b"", b""], strict=False))
        here = Path(tempfile.mkdtemp(dir=self._folder))
        for name, content in files.items():
            (here / "backup" / name).parent.mkdir(parents=True, exist_ok=True)
            (here / "backup" / name).write_bytes(content)
        (here / "backup" / backup.LISTING).write_bytes(summed(listing, files))
        try:
            backup.restore(here / "backup", here / "private", lambda _: None)
        except StateError as error:
            assert str(error)  # noqa: PT017 -- no test: a target
        finally:
            made = {str(path.relative_to(here)) for path in here.rglob("*") if path.is_file()}
            within = {"backup/" + name for name in (*self.NAMES, backup.LISTING)}
            assert all(name.startswith("private/") for name in made - within)
            assert [path for path in self._folder.iterdir() if path != here] == []
            shutil.rmtree(here)

    def examples(self) -> list[bytes]:
        """Return a backup of two files."""
        sums = {name: f"sum of {name}" for name in self.NAMES}
        listing = {"format": 1, "made_us": 7, "last_release": "000001", "files": sums}
        return [BETWEEN.join([json.dumps(listing).encode(), b"MANIFEST-000005\n", b"id,person\n"])]

    def mutated(self, data: bytes, dice: random.Random) -> bytes:
        """Change one place of the listing, or name another file in it."""
        listing, between, rest = data.partition(BETWEEN)
        if dice.random() < 0.3:
            name = dice.choice(self.NAMES).encode()
            listing = listing.replace(b'"' + name + b'":', b'"' + dice.choice(_NAMES) + b'":')
        else:
            listing = self._json_mutated(listing, dice)
        return listing + between + rest


_NAMES = [
    *(b"../x", b"/etc/x", b"store/../../x", b"store//etc/x", b"store", b"store/", b"audit/x\\\\y"),
    *(b"", b".", b"..", b"store/./x", b"staging/x", b"store/\\u0000", b"backup.json", b"store/db"),
    b"store/" + b"a/" * 200 + b"x",
]


class Parquet:
    """The bytes of a Parquet file, compared with the table that it should hold."""

    HEADER = ("id", "gender")
    ROWS = (("a", "f"), ("b", "m"), ("c", "f"))

    def __init__(self, folder: Path, mutate: Mutate) -> None:
        self._path = folder / "vertices.parquet"
        self._mutate = mutate

    def __call__(self, data: bytes) -> None:
        """Compare; a file that is none is refused."""
        self._path.write_bytes(data)
        try:
            holds_table(self._path, self.HEADER, self.ROWS)
        except KtsafeError as error:
            assert str(error)  # noqa: PT017 -- no test: a target

    def examples(self) -> list[bytes]:
        """Return the table itself, and others."""
        return [
            table_bytes(self.HEADER, self.ROWS),
            table_bytes(self.HEADER, self.ROWS * 3),
            table_bytes(("id",), [("a",)]),
        ]

    def mutated(self, data: bytes, dice: random.Random) -> bytes:
        """Change bytes of the description at the end, whose length and marks stay right."""
        length = int.from_bytes(data[-8:-4], "little")
        if not 0 < length <= len(data) - 8 or dice.random() < 0.2:
            return self._mutate(data, len(data) + 8)
        told = self._mutate(data[-8 - length : -8], length + 16)
        return data[: -8 - length] + told + len(told).to_bytes(4, "little") + data[-4:]
