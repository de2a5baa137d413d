"""What is fuzzed, with valid examples and mutations that keep their structure.

Run by `tests.faults.fuzz`, in a process per target: libFuzzer ends the process it runs in.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import atheris

from ktsafe.kernels.kernel_cache import choose_kernel_folder

choose_kernel_folder()

# Before: what is inside of `ktsafe` is instrumented, and numba cannot compile that.
from ktsafe.verify import verify  # noqa: E402

with atheris.instrument_imports(
    include=[
        "ktsafe.connectors.kafka_settings",
        "ktsafe.stream.ingest.judge",
        "ktsafe.stream.config.settings",
        "ktsafe.stream.ingest.judge",
        "ktsafe.stream.ingest.events",
        "ktsafe.stream.files.graphs",
        "ktsafe.stream.files.releases_read",
        "ktsafe.stream.slots",
        "ktsafe.connectors.bundles",
        "ktsafe.connectors.kafka_topics.chunks",
        "ktsafe.connectors.kafka_topics.release_reader",
        "ktsafe.stream.files.release_tables",
        "ktsafe.stream.maintenance.backup",
    ]
):
    from ktsafe.connectors.base import Record
    from ktsafe.errors import KtsafeError
    from ktsafe.state.store_base import Position
    from ktsafe.stream.config import settings
    from ktsafe.stream.files.releases_read import read_release
    from ktsafe.stream.ingest.events import REASONS
    from ktsafe.stream.ingest.judge import Judge
    from tests import bad_input  # not before: it imports what is to be instrumented
    from tests.faults import fuzz_stored
    from tests.memory_store import MemoryStore

STORE_INPUTS = 5_000
"""Inputs that one store takes in: its memory is bounded so."""
INTERESTING = [
    None, True, 0, -1, 2**63, 10**30, 1e308, "", "-", "\x00", "ann", "ill", "vertex.delete",
    "edge.add", "9" * 400, "1970-01-01T00:00:09Z", "9999-12-31T23:59:59Z", [], {}, [[[[]]]],
]  # fmt: skip

Target = Callable[[bytes], None]


class Events:
    """A record's value, wrapped in one of three ways, judged and merged into a graph."""

    def __init__(self) -> None:
        self._count = 0
        self._store = MemoryStore(bad_input.SCHEMA)
        self._judge = Judge(bad_input.SCHEMA, record_bytes_max=4_096)

    def __call__(self, data: bytes) -> None:
        """Judge one input: its first byte says how it is wrapped."""
        self._count += 1
        if self._count % STORE_INPUTS == 0:
            self._store = MemoryStore(bad_input.SCHEMA)
        way, value = data[:1], data[1:]
        headers: list[tuple[str, bytes]] = []
        if way == b"b":
            head, _, value = value.partition(b"\n")
            names = ("ce_specversion", "ce_type", "ce_time")
            headers = list(zip(names, head.split(b";"), strict=False))
        record = Record("t", 0, self._count, None if way == b"n" else 9_000, None, value, headers)
        judged = self._judge.judge([record])
        changes = [change for change in judged.changes if change is not None]
        if changes:
            self._store.commit(changes, {("t", 0): Position(self._count, None)})
        for letter in judged.letters.values():
            assert letter.reason in REASONS
            assert "SECRET" not in letter.detail, "a value of the record is told"

    def examples(self) -> list[bytes]:
        """Return valid and invalid records, wrapped in every way."""
        plain = [bad_input.wire(item) for item in (*bad_input.EARLY, *bad_input.LATE)]
        plain += [bad.value for bad in bad_input.BAD if len(bad.value) < 4_000]
        found = [b"p" + value for value in plain]
        for item in (*bad_input.EARLY, *bad_input.LATE):
            fields = {key: value for key, value in item.items() if key not in {"type", "time"}}
            envelope = {"specversion": "1.0", "type": item["type"], "time": item["time"]}
            found.append(b"s" + json.dumps({**envelope, "data": fields}).encode())
            head = f"1.0;org.example.{item['type']};{item['time']}\n"
            found.append(b"b" + (head + json.dumps(fields)).encode())
        return found

    def mutated(self, data: bytes, dice: random.Random) -> bytes:
        """Change one place of the JSON behind the first byte."""
        head, newline, body = (
            data.partition(b"\n") if data[:1] == b"b" else (data[:1], b"", data[1:])
        )
        return head + newline + json_mutated(body, dice)


class Config:
    """A service's configuration file."""

    def __init__(self) -> None:
        self._path = folder_of("config") / "ktsafe.toml"

    def __call__(self, data: bytes) -> None:
        """Load one file; only the errors that name their remedy may come out."""
        self._path.write_bytes(data)
        try:
            settings.load(self._path)
        except KtsafeError as error:
            assert str(error)  # noqa: PT017 -- no test: a target

    def examples(self) -> list[bytes]:
        """Return the configurations that we ship."""
        root = Path(__file__).resolve().parents[2]
        paths = [root / "stream/example.toml", *sorted((root / "ops/examples").glob("*.toml"))]
        return [path.read_bytes() for path in paths]

    def mutated(self, data: bytes, dice: random.Random) -> bytes:
        """Drop, repeat or move a line, or give a key another value."""
        lines = data.split(b"\n")
        at = dice.randrange(len(lines))
        key, equals, _ = lines[at].partition(b" = ")
        match dice.randrange(4):
            case 0:
                del lines[at]
            case 1:
                lines.insert(dice.randrange(len(lines)), lines[at])
            case _ if equals:
                lines[at] = key + equals + json.dumps(dice.choice(INTERESTING)).encode()
            case _:
                lines[at] += atheris.Mutate(lines[at], 64)
        return b"\n".join(lines)


class Release:
    """A release folder: manifest, vertices and edges, one input for all three."""

    def __init__(self) -> None:
        self._folder = folder_of("release")
        # Kernels that were never compiled take longer than an input may.
        self(self.examples()[0])

    def __call__(self, data: bytes) -> None:
        """Write the three parts, the manifest with their true sums, read them and judge them."""
        manifest, _, rest = data.partition(b"\x1e")
        vertices, _, edges = rest.partition(b"\x1e")
        files = {"vertices.csv": vertices, "edges.csv": edges}
        for name, content in files.items():
            (self._folder / name).write_bytes(content)
            manifest = manifest.replace(
                f"sum of {name}".encode(), hashlib.sha256(content).hexdigest().encode()
            )
        (self._folder / "manifest.json").write_bytes(manifest)
        try:
            release = read_release(self._folder)
            parts = release.quasi_identifiers(), release.is_sensitive(), release.edges
            verify(*parts, release.params).failures(10)
        except KtsafeError as error:
            assert str(error)  # noqa: PT017 -- no test: a target

    def examples(self) -> list[bytes]:
        """Return a release of four people."""
        manifest = {
            "format": 1,
            "release_id": "000001-19700101T000010Z",
            "sequence_id": "a" * 32,
            "nominal_time": "1970-01-01T00:00:10Z",
            "params": {"k": 2, "t": "1/10", "alpha": "1/2", "epsilon": 5, "n_hops": 1,
                       "reading": "walk"},
            "guarantee": {"w": 1, "text": "by itself"},
            "schema": {"quasi_identifiers": ["gender"], "sensitive": "health",
                       "sensitive_values": ["ill"]},
            "vertices": 4,
            "edges": 2,
            "sha256": {name: f"sum of {name}" for name in ("vertices.csv", "edges.csv")},
        }  # fmt: skip
        vertices = b"id,gender,health\na,f,well\nb,f,ill\nc,m,-\nd,m,well\n"
        parts = [json.dumps(manifest).encode(), vertices, b"source,target\na,b\nc,d\n"]
        return [b"\x1e".join(parts)]

    def mutated(self, data: bytes, dice: random.Random) -> bytes:
        """Change one place of the manifest, or one row of a file."""
        parts = data.split(b"\x1e")
        at = dice.randrange(len(parts))
        if at == 0:
            parts[0] = json_mutated(parts[0], dice)
        else:
            rows = parts[at].split(b"\n")
            row = dice.randrange(len(rows))
            other = rows[dice.randrange(len(rows))]
            rows[row] = dice.choice([b"", other, rows[row] + b"," + other, b'"' + rows[row]])
            parts[at] = b"\n".join(rows)
        return b"\x1e".join(parts)


class Fails:
    """What reads nothing without an error: for tests of the fuzzer."""

    def __call__(self, _data: bytes) -> None:
        """Fail."""
        raise RuntimeError("planned by a test")

    def examples(self) -> list[bytes]:
        """Return one input."""
        return [b"x"]


def json_mutated(body: bytes, dice: random.Random) -> bytes:
    """Put something else at one place of a JSON text, at any depth; change bytes of another."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return atheris.Mutate(body, 4_096)
    root = [document]
    holder: Any = root
    key: Any = 0
    while isinstance(holder[key], dict | list) and holder[key] and dice.random() < 0.8:
        holder = holder[key]
        key = dice.choice(list(holder)) if isinstance(holder, dict) else dice.randrange(len(holder))
    match dice.randrange(5):
        case 0 if holder is not root:
            del holder[key]
        case 1 if isinstance(holder, dict):
            holder[dice.choice([*holder, "id", "time", "type", "x"])] = holder[key]
        case 2 if isinstance(holder[key], str):
            holder[key] = atheris.Mutate(holder[key].encode("utf-8", "surrogatepass"), 256).decode(
                "utf-8", "replace"
            )
        case 3:
            holder[key] = [holder[key]] if dice.random() < 0.5 else {"x": holder[key]}
        case _:
            holder[key] = dice.choice(INTERESTING)
    return json.dumps(root[0]).encode()


def folder_of(name: str) -> Path:
    """Return an empty folder of a target's own."""
    return Path(tempfile.mkdtemp(prefix=f"{name}-"))


TARGETS: dict[str, Callable[[], Any]] = {
    "events": Events,
    "config": Config,
    "release": Release,
    "topic": lambda: fuzz_stored.Topic(folder_of("topic"), json_mutated),
    "backup": lambda: fuzz_stored.Backup(folder_of("backup"), json_mutated),
    "fails": Fails,
    "parquet": lambda: fuzz_stored.Parquet(
        folder_of("parquet"),
        lambda data, size: bytes(atheris.Mutate(data, size)),  # There is none before `Fuzz`.
    ),
}


def main() -> None:
    """Fuzz the target that is named first, with libFuzzer's options behind it; or `--each`."""
    if sys.argv[1] == "--each":
        for target, options in json.load(sys.stdin):
            fuzz_apart(target, options, Path(sys.argv[2]) / target)
    else:
        fuzz(*sys.argv[1:])


def fuzz_apart(target: str, options: list[str], folder: Path) -> None:
    """Fuzz in a copy of this process, since libFuzzer ends its own; to import takes seconds.

    The folder keeps what it tells, its exit status, its inputs and its temporary files.
    """
    for name in ("corpus", "files"):
        (folder / name).mkdir(parents=True)
    if child := os.fork():
        _, status = os.waitpid(child, 0)
        (folder / "status").write_text(str(os.waitstatus_to_exitcode(status)), encoding="ascii")
        return
    told = os.open(folder / "told", os.O_CREAT | os.O_WRONLY)
    os.dup2(told, 1)
    os.dup2(told, 2)
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder / "files")
    fuzz(target, *options, str(folder / "corpus"))


def fuzz(name: str, *options: str) -> None:
    """Fuzz a target with libFuzzer; does not return."""
    target = TARGETS[name]()
    corpus = Path(options[-1])
    if corpus.is_dir():
        for number, example in enumerate(target.examples()):
            (corpus / f"example-{number:03d}").write_bytes(example)

    def mutate(data: bytes, bytes_max: int, seed: int) -> bytes:
        dice = random.Random(seed)
        if dice.random() < 0.25:
            return atheris.Mutate(data, bytes_max)
        return target.mutated(data, dice)[:bytes_max]

    atheris.Setup([sys.argv[0], *options], target, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
