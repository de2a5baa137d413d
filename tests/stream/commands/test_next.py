"""`ktsafe next`, and snapshots beside the feed that tells the same."""

from __future__ import annotations

import datetime
import json
import re
from pathlib import Path

import msgspec
import numpy as np
import pytest

from ktsafe.graph.social_network import SOCIAL_FEED_SCHEMA, social_feed
from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from tests.dumps import at_slots, net_feed, write_dump
from tests.feeds import Event

ATTRIBUTES = SOCIAL_FEED_SCHEMA.attributes
START = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
DATES = ("2020-02-01", "2020-03-01", "2020-04-01")
SCHEMA = f"""
[attributes]
quasi_identifiers = ["gender"]
sensitive = "health"
sensitive_values = {json.dumps(sorted(SOCIAL_FEED_SCHEMA.sensitive_values))}
expect_absent = {json.dumps(sorted(SOCIAL_FEED_SCHEMA.sensitive_values))}
"""
SERVICE = """
[privacy]
k = 3
[sink]
kind = "files"
folder = "releases"
[dead_letters]
kind = "files"
path = "letters.jsonl"
[state]
folder = "state"
[release]
min_f1 = 0.0
every = "month"
seed = 7
[attack]
budget = 0.0
[metrics]
listen = "127.0.0.1:0"
"""


def feed() -> list[Event]:
    """Return three months in the life of a small network."""
    rng = np.random.default_rng(3)
    events = social_feed(people=120, days=91, rng=rng, start=START)
    return [json.loads(msgspec.json.encode(event)) for event in events]


def dumps(folder: Path, events: list[Event]) -> list[int]:
    """Write the dump of every month; return their moments in microseconds."""
    slots = [
        round(datetime.datetime.fromisoformat(f"{date}T00:00:00+00:00").timestamp() * 1e6)
        for date in DATES
    ]
    for date, graph in zip(DATES, at_slots(events, slots, ATTRIBUTES), strict=True):
        write_dump(folder, date, graph, ATTRIBUTES)
    return slots


def bytes_of(folder: Path) -> dict[str, bytes]:
    """Return what each release says, but for its random id, encrypted cut, noise, and chain."""
    return {
        release.name: re.sub(
            rb'"(sequence_id|cut|before|root|statistics.json|epsilon_micro)": ("[^"]+"|\d+)',
            b"",
            b"".join(
                file.read_bytes()
                for file in sorted(release.iterdir())
                if file.name != "statistics.json"
            ),
        )
        for release in folder.glob("0*")
    }


def next_line(dump: Path, sequence: Path, *more: str) -> list[str]:
    files = [f"--{of}={dump / of}.csv" for of in ("vertices", "edges")]
    return ["next", *files, f"--sequence={sequence}", f"--at={dump.name}", *more]


def test_releases_are_those_of_the_feed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Feed, folder of dumps, and `ktsafe next` month by month publish the same bytes."""
    events = feed()
    slots = dumps(tmp_path / "dumps", events)
    lines = net_feed(events, slots, ATTRIBUTES)
    (tmp_path / "feed.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    sources = {
        "feed": 'kind = "files"\npaths = ["../feed.jsonl"]',
        "dumps": 'kind = "snapshots"\nfolder = "../dumps"',
    }
    for name, source in sources.items():
        folder = tmp_path / f"of-{name}"
        folder.mkdir()
        config = folder / "ktsafe.toml"
        config.write_text(f"{SCHEMA}\n{SERVICE}\n[source]\n{source}\n", encoding="utf-8")
        assert run_command(["run", str(config), "--drain"]) == Exit.OK
    found = bytes_of(tmp_path / "of-dumps" / "releases")
    assert len(found) == len(DATES)
    assert found == bytes_of(tmp_path / "of-feed" / "releases")
    schema, sequence = tmp_path / "schema.toml", tmp_path / "sequence"
    schema.write_text(SCHEMA, encoding="utf-8")
    capsys.readouterr()
    for date in DATES:
        line = next_line(tmp_path / "dumps" / date, sequence, "--json")
        first = ["--k=3", "--seed=7", f"--schema={schema}"] if date == DATES[0] else []
        assert run_command([*line, *first]) == Exit.OK
        report = json.loads(capsys.readouterr().out)
        assert report["is_new"]
        config = sequence / "ktsafe.toml"
        if first:  # Attacks take long, and are not what is tested.
            config.write_text(config.read_text() + "\n[attack]\nbudget = 0.0\n")
        assert Path(report["release"]).name.endswith(date.replace("-", "") + "T000000Z")
    assert bytes_of(sequence / "releases") == found
    assert run_command(line) == Exit.OK  # The same tables and date again.
    assert bytes_of(sequence / "releases") == found
    kept = sorted(place.name for place in (sequence / "private" / "dumps").iterdir())
    assert kept == list(DATES[-2:])
    assert (sequence / "private").stat().st_mode & 0o077 == 0


def test_what_cannot_be_the_next_release(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each refusal says what is wrong and changes nothing of the sequence."""
    events = feed()
    dumps(tmp_path / "dumps", events)
    schema, sequence = tmp_path / "schema.toml", tmp_path / "sequence"
    schema.write_text(SCHEMA, encoding="utf-8")
    first, second, third = (tmp_path / "dumps" / date for date in DATES)

    def refused(line: list[str], told: str) -> None:
        before = sorted(sequence.rglob("*"))
        assert run_command(line) == Exit.USAGE
        assert told in capsys.readouterr().err
        assert sorted(sequence.rglob("*")) == before

    refused(next_line(second, sequence), "needs a schema")
    begin = ["--k=3", f"--schema={schema}"]
    refused(next_line(tmp_path / "absent" / "2020-02-01", sequence, *begin), "is no file")
    assert run_command(next_line(second, sequence, *begin)) == Exit.OK
    refused(next_line(first, sequence), "out of order")
    refused(next_line(third, sequence, f"--at={DATES[1]}"), "other tables of 2020-03-01")
    refused(next_line(third, sequence, "--k=4"), "began with k = 3")
    refused(next_line(third, sequence, "--at=2999-01-01"), "future")
    refused(next_line(third, sequence, "--at=April"), "no date")
    schema.write_text(SCHEMA.replace('["gender"]', '["gender", "region"]'), encoding="utf-8")
    refused(next_line(third, sequence, f"--schema={schema}"), "not the schema")
    vertices = third / "vertices.csv"
    people = vertices.read_bytes()
    held = next(v for v in sorted(SOCIAL_FEED_SCHEMA.sensitive_values) if v.encode() in people)
    vertices.write_bytes(people.replace(held.encode(), held.upper().encode(), 1))
    refused(next_line(third, sequence), f"{held.upper()!r} almost like {held!r}")
    vertices.write_bytes(people.replace(held.encode(), held.title().encode()))
    refused(next_line(third, sequence), f"{held.title()!r} almost like {held!r}")
    vertices.write_bytes(people.replace(b",f,", b",female,").replace(b",m,", b",male,"))
    refused(next_line(third, sequence), "another 'gender'")
    vertices.write_bytes(people)
    edges = third / "edges.csv"
    edges.write_bytes(edges.read_bytes()[:-3])
    refused(next_line(third, sequence), "half-written")
