"""The demo: a network is imported, some months pass, and the last release is judged."""

from __future__ import annotations

import io
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from ktsafe.assess.releases.worth import Life, describe_life
from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from ktsafe.stream.files.releases_read import read_manifest, release_folders
from tests.ktsafe.assess.releases.naive_receipt import counted, rows

WORDS = ["--people", "120", "--days", "70", "--port", "0"]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Return the folder of a small demo that has run."""
    folder = tmp_path_factory.mktemp("demo") / "var"
    assert run_command(["demo", "--dir", str(folder), *WORDS]) == Exit.OK
    return folder


def releases(folder):
    """Return the manifests of all releases."""
    return [read_manifest(one) for one in release_folders([folder / "releases"])]


def test_the_first_release_shows_the_imported_network(demo):
    """It is the network as it was imported, before anything of the feed; then come the months."""
    times = [manifest.nominal_time for manifest in releases(demo)]
    assert times == [f"2026-0{month}-01T00:00:00Z" for month in (1, 2, 3, 4)]
    people = len((demo / "demo" / "vertices.csv").read_text().splitlines()) - 1
    assert people == 120
    assert 0 < releases(demo)[0].vertices <= people


def test_every_release_is_safe_and_all_are_safe_together(demo, capsys):
    """`ktsafe verify` and `ktsafe audit` say so."""
    assert run_command(["verify", str(demo / "releases")]) == Exit.OK
    each = capsys.readouterr().out
    assert run_command(["verify", str(demo / "releases"), "--together"]) == Exit.OK
    told = capsys.readouterr().out
    assert told.startswith(each)
    assert "4 releases in 1 sequence: safe" in told
    mapping = str(demo / "state" / "audit")
    assert run_command(["audit", "--map", mapping, str(demo / "releases")]) == Exit.OK
    capsys.readouterr()


def test_run_again_it_publishes_nothing_and_says_the_same(demo, capsys):
    """The feed is consumed already; what the last release is worth is measured again."""
    before = [(folder.name, folder.stat().st_mtime_ns) for folder in (demo / "releases").iterdir()]
    assert run_command(["demo", "--dir", str(demo), *WORDS, "--json"]) == Exit.OK
    found = json.loads(capsys.readouterr().out)
    after = [(folder.name, folder.stat().st_mtime_ns) for folder in (demo / "releases").iterdir()]
    assert (found["published"], before) == ([], after)
    worth = found["worth"]
    last = releases(demo)[-1]
    assert worth["release_id"] == last.release_id
    ties, people = worth["usefulness"]["edges"], worth["usefulness"]["vertices"]
    assert (people["released"], ties["released"]) == (last.vertices, last.edges)
    assert ties["cost"] <= ties["true"]
    assert set(worth["without"]) == {"gender", "age_band"}
    assert all(one["edges"]["true"] == ties["true"] for one in worth["without"].values())
    rows = worth["over_time"]["releases"]
    assert [row["release_id"] for row in rows] == [one.release_id for one in releases(demo)]
    f1 = [row["worth"]["edge_f1"] for row in rows]
    assert worth["over_time"]["worth"]["edge_f1"] == {
        "mean": pytest.approx(sum(f1) / len(f1), abs=1e-6),
        "worst": min(f1),
    }
    table = describe_life(convert(worth["over_time"], Life))
    assert all(one.nominal_time[:10] in table for one in releases(demo))
    assert f"mean of {len(rows)} releases: F1 " in table


def receipt(demo: Path, person: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Return what the command prints."""
    capsys.readouterr()
    words = ["audit", str(demo / "releases"), "--map", str(demo / "state" / "audit"), "--json"]
    assert run_command([*words, "--person", person]) == Exit.OK
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_receipts_of_five_people_equal_a_count_by_hand(demo: Path, capsys, caplog) -> None:
    """Published ids are those of mapping.csv, and all counts those of the definition."""
    last = max((demo / "state" / "audit").iterdir())
    shown = sorted(row["original_id"] for row in rows(last / "mapping.csv") if row["original_id"])
    with caplog.at_level(logging.DEBUG):
        for person in shown[:: len(shown) // 5][:5]:
            found = receipt(demo, person, capsys)
            expected = counted(demo, person)
            assert len(found["releases"]) == len(expected) > 0
            for row, own in zip(found["releases"], expected, strict=True):
                assert {name: row[name] for name in own} == own
            fewest = min(row["linked_people"] for row in expected)
            assert found["fewest_people"] == fewest
            assert found["risk"] == round(1 / fewest, 6)
            assert person not in caplog.text


def test_a_receipt_is_read_aloud_and_an_unknown_id_shows_nothing(
    demo: Path, capsys, monkeypatch
) -> None:
    """As text, with the id from standard input; nobody is told by an error."""
    last = max((demo / "state" / "audit").iterdir())
    row = next(row for row in rows(last / "mapping.csv") if row["original_id"])
    words = ["audit", str(demo / "releases"), "--map", str(demo / "state" / "audit"), "--person"]
    monkeypatch.setattr("sys.stdin", io.StringIO(row["original_id"] + "\n"))
    assert run_command([*words, "-"]) == Exit.OK
    text = capsys.readouterr().out
    assert f"shown as {row['released_id']}" in text
    assert "chance of a guess" in text
    assert receipt(demo, "nobody at all", capsys)["releases"] == []
    assert run_command(["audit", str(demo / "releases"), "--person", "somebody"]) == Exit.USAGE
    assert "somebody" not in "".join(capsys.readouterr())
