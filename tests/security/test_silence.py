"""Nothing that the program says of itself holds an id of a person or a value of an attribute.

All ids and values carry a mark; logs, metrics, errors, crash reports and output of commands are
searched for it. Releases show values, by their purpose, but no ids.
"""

from __future__ import annotations

import io
import itertools
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ktsafe import Schema
from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from ktsafe.stream.monitoring.metrics import PrometheusMetrics
from ktsafe.stream.process import logs
from tests import bad_input, feeds, running
from tests.stream.ingest.test_debezium import BAD as BAD_ROWS
from tests.stream.service.simulation import World, event

MARK = "zqx"
ILL = frozenset({f"{MARK}-ill"})
ABSENT = ILL | {"gender", "age", "health"}
SCHEMA = Schema(("gender", "age"), "health", ILL, {"age": (18.0, 65.0)}, expect_absent=ABSENT)
ATTRIBUTES = {
    "quasi_identifiers": ["gender"],
    "sensitive": "health",
    "sensitive_values": [f"{MARK}-ill"],
    "expect_absent": sorted(ABSENT),
}


def marked_feed() -> list[feeds.Event]:
    """Return a small feed in which every id and value carries the mark."""
    names = [f"{MARK}-{n}" for n in range(8)]
    joins = [
        event("vertex.upsert", 1 + n, name, gender=f"{MARK}-{'fm'[n % 2]}", health=f"{MARK}-well")
        for n, name in enumerate(names)
    ]
    ties = [event("edge.add", 11 + n, *pair) for n, pair in enumerate(itertools.pairwise(names))]
    changes = [
        event("vertex.upsert", 21, names[0], gender=f"{MARK}-x", hat=f"{MARK}-red"),
        event("vertex.delete", 25, names[1]),
    ]
    return [*joins, *ties, *changes, event("edge.remove", 31, names[4], names[5])]


def poison() -> list[bytes]:
    """Return records that cannot be applied, with marks for secrets."""
    rows = [doc if isinstance(doc, bytes) else json.dumps(doc).encode() for doc, _ in BAD_ROWS]
    plain = [bad.value for bad in bad_input.BAD]
    return [value.replace(b"SECRET", MARK.encode()) for value in (*plain, *rows)]


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """Give everything that is logged, libraries included."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    ours = {name: logging.getLogger(name).level for name in logs._OURS}
    stream = io.StringIO()
    logs.configure(stream=stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, before in ours.items():
        logging.getLogger(name).setLevel(before)


def test_logs_and_metrics_of_a_service_that_meets_everything(tmp_path, logged):
    """Good events, poison of every kind, outages of the sink: no mark, secrets shown or not."""
    log = [*marked_feed(), *poison()]
    assert sum(MARK in str(item) for item in log) > 40
    world = World(tmp_path, [log], schema=SCHEMA)
    metrics = PrometheusMetrics(secrets=True)
    counts = world.run(observer=metrics, ingest={"batch_records_max": 50})
    assert counts.dead_letters.total() == len(poison())
    assert len(world.releases.releases) >= 3
    assert "release published" in logged.getvalue()
    assert MARK not in logged.getvalue()
    _, exposed = metrics.exposition()
    assert b"ktsafe_dead_letters_total" in exposed
    assert MARK.encode() not in exposed
    for letter in world.letters:
        assert MARK not in letter.reason + letter.detail
    ids = [item["id"].encode() for item in marked_feed() if "id" in item]
    for _, files in world.releases.releases.values():
        assert b"seed" not in files["manifest.json"]
        assert not any(name in data for name in ids for data in files.values())


BROKEN = {
    "in the loop": "from ktsafe.stream.ingest.judge import Judge as broken; name = 'judge'",
    "while a release is built": (
        "from ktsafe.stream.release.snapshotter import Snapshotter as broken; name = 'build'"
    ),
    "in the store": "from ktsafe.state.rocksdb import RocksDBStore as broken; name = 'commit'",
}


@pytest.mark.parametrize("style", ["text", "json"])
@pytest.mark.parametrize("place", BROKEN)
def test_crash_reports_hold_no_text(tmp_path, place, style):
    """An error whose text, cause and local variables name somebody is told by type and place."""
    site = running.files_site(tmp_path / "site", [marked_feed()], ATTRIBUTES, "1d")
    text = site.config.read_text()
    site.config.write_text(text + f'\n[log]\nformat = "{style}"\n')
    code = f"""
import sys
from ktsafe.stream import cli
{BROKEN[place]}
def fails(*arguments, **named):
    person = "{MARK}-1"
    try:
        {{}}[person]
    except KeyError as error:
        raise RuntimeError(f"{{person}} is unknown") from error
setattr(broken, name, fails)
sys.argv[1:] = ["run", {str(site.config)!r}, "--drain"]
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "RuntimeError" in done.stderr
    assert MARK not in done.stdout + done.stderr
    if place == "while a release is built":
        assert done.returncode == Exit.UNSAFE  # Nothing was published.
        assert "withheld" in done.stderr
    else:
        assert done.returncode == Exit.INTERNAL


VERTICES = f"id,gender,health\n{MARK}-1,{MARK}-f,{MARK}-ill\n{MARK}-2,{MARK}-f,{MARK}-well\n"
EDGES = f"source,target\n{MARK}-1,{MARK}-2\n"
START = ["--at=2026-01-01T00:00:00Z", "--offsets=latest"]
BUCKETS = "buckets = { gender = [1] }"
BAD_FILES = {
    "an id twice": (VERTICES + f"{MARK}-1,{MARK}-m,{MARK}-well\n", EDGES, ""),
    "a row too long": (VERTICES + f"{MARK}-3,{MARK}-m,{MARK}-well,{MARK}\n", EDGES, ""),
    "a row too short": (VERTICES + f"{MARK}-3\n", EDGES, ""),
    "no id": (VERTICES + f",{MARK}-m,{MARK}-well\n", EDGES, ""),
    "an open quote": (VERTICES + f'"{MARK}-3,{MARK}-m,{MARK}-well\n', EDGES, ""),
    "not UTF-8": (VERTICES + f"{MARK}-3,\udcff{MARK},{MARK}-well\n", EDGES, ""),
    "no number for a bucket": (VERTICES, EDGES, BUCKETS),
    "a tie of nobody": (VERTICES, EDGES + f"{MARK}-1,{MARK}-9\n", ""),
    "a tie without an end": (VERTICES, EDGES + f"{MARK}-1\n", ""),
    "another header": (VERTICES, EDGES.replace("target", "sink"), ""),
}


@pytest.mark.parametrize("what", BAD_FILES)
def test_messages_about_bad_files_hold_no_row(tmp_path, capfd, what):
    """Every command that reads a graph names file and line, and nothing that stands there."""
    vertices, edges, buckets = BAD_FILES[what]
    folder = tmp_path / "given"
    folder.mkdir()
    (folder / "vertices.csv").write_bytes(vertices.encode(errors="surrogateescape"))
    (folder / "edges.csv").write_text(edges)
    names = [f"{name} = {json.dumps(value)}" for name, value in ATTRIBUTES.items()]
    table = "\n".join(["[attributes]", *names, buckets, ""])
    (folder / "schema.toml").write_text(table)
    graph = [f"--{name}={folder / name}.csv" for name in ("vertices", "edges")]
    schema = f"--schema={folder / 'schema.toml'}"
    out, private = tmp_path / "out", tmp_path / "private"
    commands = [
        ["anonymize", *graph, schema, f"--out={out}", f"--audit={private}"],
        ["compare", *graph, schema, f"--csv={tmp_path / 'table.csv'}", "--k=2", "--no-utility"],
        ["state", "import", str(config_file(tmp_path, table)), *graph, *START],
    ]
    for command in commands:
        code = run_command([*command])
        told = "".join(capfd.readouterr())
        assert code != Exit.OK, told
        assert MARK not in told
        assert "ktsafe: " in told
        assert "Missing option" not in told


def config_file(folder: Path, attributes: str) -> Path:
    """Return a configuration with these attributes and nothing in its store."""
    path = folder / "ktsafe.toml"
    (folder / "feed.jsonl").touch()
    path.write_text(
        attributes + '[source]\nkind = "files"\npaths = ["feed.jsonl"]\n[sink]\nkind = "files"\n'
        'folder = "releases"\n[dead_letters]\nkind = "files"\npath = "dead.jsonl"\n[state]\n'
        'folder = "state"\n[release]\nevery = "1d"\nmin_f1 = 0.0\n'
    )
    return path


def test_an_id_given_to_erase_is_not_repeated(tmp_path, capfd):
    """`ktsafe erase` counts; ids come from standard input, out of the list of processes."""
    names = [f"{name} = {json.dumps(value)}" for name, value in ATTRIBUTES.items()]
    config = config_file(tmp_path, "\n".join(["[attributes]", *names, ""]))
    (tmp_path / "feed.jsonl").write_text("".join(json.dumps(e) + "\n" for e in marked_feed()[:4]))
    assert run_command(["run", str(config), "--drain"]) == Exit.OK
    command = [sys.executable, "-m", "ktsafe.stream.cli", "erase", "-", str(config), "--yes"]
    for given in (f"{MARK}-1\n", f"{MARK}-99\n"):
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
        assert MARK not in done.stdout + done.stderr
        assert done.returncode == Exit.OK, done.stderr
    assert MARK not in "".join(capfd.readouterr())
