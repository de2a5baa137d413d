"""The options of `ktsafe anonymize`: each does what it says, and mistakes end in one line."""

from __future__ import annotations

import csv
import errno
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from ktsafe.stream.files.releases_read import release_folders

SCHEMA = """[attributes]
quasi_identifiers = ["club", "age"]
sensitive = "health"
sensitive_values = ["chronic"]
buckets = { age = [30, 60] }
"""


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Write 48 people in four groups, two of them alone in theirs; one group is mostly ill."""
    rows = [
        f"p{i},{'red' if i % 2 else 'blue'},{50 if i % 4 > 1 else 20},"
        + ("chronic" if i % 4 == 3 or i % 11 == 0 else "well")
        for i in range(46)
    ]
    rows += ["p46,green,20,well", "p47,green,90,well"]
    pairs = [f"p{i},p{(3 * i + step) % 48}" for i in range(48) for step in (1, 5)]
    pairs = [pair for pair in pairs if len(set(pair.split(","))) == 2]
    (tmp_path / "v.csv").write_text("\n".join(["id,club,age,health", *rows]) + "\n")
    (tmp_path / "e.csv").write_text("\n".join(["source,target", *pairs]) + "\n")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return [
        *("--vertices", str(tmp_path / "v.csv"), "--edges", str(tmp_path / "e.csv")),
        *("--schema", str(tmp_path / "schema.toml"), "--seed", "1", "--effort", "fast"),
        *("--k", "4", "--out", str(tmp_path / "release"), "--audit", str(tmp_path / "private")),
    ]


def released(tmp_path: Path) -> list[dict[str, str]]:
    """Return the published people."""
    with (tmp_path / "release" / "vertices.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def mapped(tmp_path: Path) -> list[str]:
    """Return the true ids behind the release."""
    with (tmp_path / "private" / "mapping.csv").open(newline="") as file:
        return [row["original_id"] for row in csv.DictReader(file) if row["original_id"]]


def report(capsys: pytest.CaptureFixture[str]) -> dict:
    """Return what the command printed."""
    return json.loads(capsys.readouterr().out)["figures"]


def test_a_release_that_shows_little_names_what_would_show_more(files, capsys) -> None:
    """Where few ties are shown it says how to learn what fewer attributes would give."""
    star = [f"p0,p{i}" for i in range(1, 46)]
    Path(files[3]).write_text("\n".join(["source,target", *star]) + "\n")
    assert run_command(["anonymize", *files, "--min-f1=0"]) == Exit.OK
    said = capsys.readouterr().out
    assert f"ktsafe advise {' '.join(files[:6])}" in said


def test_a_release_that_says_hardly_anything_is_not_written(files, tmp_path, capsys) -> None:
    """It ends with 1, says why and what would show more, and leaves neither release nor audit."""
    star = [f"p0,p{i}" for i in range(1, 46)]
    Path(files[3]).write_text("\n".join(["source,target", *star]) + "\n")
    assert run_command(["anonymize", *files]) == Exit.UNSAFE
    said = capsys.readouterr().err
    assert "below_min_f1" in said
    assert f"ktsafe advise {' '.join(files[:6])}" in said
    assert "--min-f1 0" in said
    assert {path.name for path in tmp_path.iterdir()} == {"v.csv", "e.csv", "schema.toml"}


def test_what_was_done_to_values_is_said(files, tmp_path, capsys) -> None:
    """Of the sensitive attribute harmless and sensitive values that are not shown, apart."""
    ring = [f"p{i},p{(i + 1) % 60}" for i in range(60)]
    people = [f"p{i},red,20,{'chronic' if i < 30 else 'well'}" for i in range(60)]
    Path(files[1]).write_text("\n".join(["id,club,age,health", *people, "q,blue,20,well"]) + "\n")
    Path(files[3]).write_text("\n".join(["source,target", *ring]) + "\n")
    assert run_command(["anonymize", *files, "--json"]) == Exit.OK
    told = json.loads(capsys.readouterr().out)["values"]
    assert told["club"] == {"shown": 60, "otherwise": 0, "sensitive": 0, "harmless": 0}
    health = told["health"]
    assert health["sensitive"] > 0
    assert sum(health.values()) == 60
    with (tmp_path / "release" / "vertices.csv").open(newline="") as file:
        shown = [row["health"] for row in csv.DictReader(file)]
    assert shown.count("-") == health["sensitive"] + health["harmless"]
    again = [word.replace("release", "again").replace("private", "kept") for word in files]
    assert run_command(["anonymize", *again]) == Exit.OK
    said = capsys.readouterr().out
    assert "1 of 61 people are withheld" in said
    assert "sensitive and" in said
    assert "harmless shown as -" in said


def test_values_are_exchanged_or_in_place(files, tmp_path, capsys) -> None:
    """All else is the same; the manifest says which, and a private file where each stands."""
    found, places = {}, {}
    for values in ("exchanged", "in place"):
        out, private = (str(tmp_path / values / name) for name in ("release", "private"))
        words = [*files[:-4], "--out", out, "--audit", private, "--values", values]
        assert run_command(["anonymize", *words, "--json"]) == Exit.OK
        found[values] = json.loads(capsys.readouterr().out)
        folder, audit = Path(out), Path(private)
        assert json.loads((folder / "manifest.json").read_text())["values"] == values
        with (folder / "vertices.csv").open(newline="") as file:
            shown = {row["id"]: row["health"] for row in csv.DictReader(file)}
        with (audit / "mapping.csv").open(newline="") as file:
            owner = {row["released_id"]: row["original_id"] for row in csv.DictReader(file)}
        at = dict(zip(shown, shown, strict=True))
        assert (audit / "values.csv").exists() == (values == "exchanged")
        if values == "exchanged":
            with (audit / "values.csv").open(newline="") as file:
                at = {row["released_id"]: row["value_at"] for row in csv.DictReader(file)}
            assert sorted(at.values()) == sorted(at) == sorted(shown)
            assert any(v != place for v, place in at.items())
        places[values] = {owner[v]: shown[place] for v, place in at.items()}
        truth = ["--truth", str(tmp_path), "--schema", files[5]]
        for name, of in (("vertices", files[1]), ("edges", files[3])):
            (tmp_path / f"{name}.csv").write_text(Path(of).read_text())
        assert run_command(["audit", out, "--map", private, *truth]) == Exit.OK
        assert "safe" in capsys.readouterr().out
        person = next(iter(owner.values()))
        assert run_command(["audit", out, "--map", private, "--person", person, "--json"]) == 0
        (row,) = json.loads(capsys.readouterr().out)["releases"]
        assert row["values"]["health"] == places[values][person]
    assert places["exchanged"] == places["in place"]
    assert found["exchanged"]["values"] == found["in place"]["values"]
    edges = [(tmp_path / values / "release" / "edges.csv").read_text() for values in found]
    assert edges[0] == edges[1]


def test_where_values_stand_must_be_known_to_audit(files, tmp_path, capsys) -> None:
    """Without the private file nobody could say whose value changed or is wrong."""
    assert run_command(["anonymize", *files]) == Exit.OK
    (tmp_path / "private" / "values.csv").unlink()
    words = ["audit", str(tmp_path / "release"), "--map", str(tmp_path / "private")]
    assert run_command(words) == Exit.USAGE
    assert "values.csv" in capsys.readouterr().err


def test_edges_alone_are_a_network(files, tmp_path, capsys) -> None:
    """Without vertices and schema the people are those of the edges, and have no attributes."""
    lines = (tmp_path / "e.csv").read_text().splitlines()[1:]
    snap = "\n".join(["# Directed graph", *(line.replace(",", "\t") for line in lines)])
    (tmp_path / "net.txt").write_text(snap + "\n")
    rest = ["--edges", str(tmp_path / "net.txt"), *files[6:]]
    assert run_command(["anonymize", *rest, "--json"]) == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert found["ignored"] == ["directions"]
    figures = found["figures"]
    assert figures["usefulness"]["vertices"]["true"] == 48
    assert figures["usefulness"]["edges"]["true"] == len({frozenset(x.split(",")) for x in lines})
    assert {tuple(row)[1:] for row in released(tmp_path)} == {("none",)}
    assert run_command(["anonymize", *files[:2], *rest]) == Exit.USAGE
    assert "--vertices needs --schema" in capsys.readouterr().err


def test_columns_without_a_role_are_told(files, tmp_path, capsys) -> None:
    """What the tables hold and the schema does not name is in no file, and is named."""
    for path, more in ((files[1], ("phone", "555")), (files[3], ("since", "1999"))):
        head, *rest = Path(path).read_text().splitlines()
        rows = [f"{head},{more[0]}", *(f"{row},{more[1]}" for row in rest)]
        Path(path).write_text("\n".join(rows) + "\n")
    assert run_command(["anonymize", *files]) == Exit.OK
    assert "the schema does not say how: phone, since" in capsys.readouterr().out
    assert set(released(tmp_path)[0]) == {"id", "club", "age", "health"}


def test_withheld_people_are_in_no_file(files, tmp_path, capsys) -> None:
    """Neither the release nor the mapping names them, and the audit counts them."""
    assert run_command(["anonymize", *files, "--json"]) == Exit.OK
    figures = report(capsys)
    assert figures["cost"]["deleted_vertices"] == 2
    assert len(mapped(tmp_path)) == 46
    assert {"p46", "p47"}.isdisjoint(mapped(tmp_path))
    assert "green" not in {row["club"] for row in released(tmp_path)}
    assert run_command(["verify", str(tmp_path / "release")]) == Exit.OK


def test_it_says_what_the_release_is_worth(files, tmp_path, capsys) -> None:
    """People and ties, true, released and both, with precision, recall and F1 beside the cost."""
    assert run_command(["anonymize", *files]) == Exit.OK
    lines = capsys.readouterr().out.splitlines()
    told = json.loads((tmp_path / "private" / "audit.json").read_text())
    cost = told["usefulness"]["edges"]["cost"]
    assert any(f"{cost:,} edits = " in line for line in lines)
    for title, key in (("people", "vertices"), ("ties", "edges")):
        (row,) = [line.split()[1:] for line in lines if line.split()[:1] == [title]]
        found = told["usefulness"][key]
        assert row[:3] == [f"{found[name]:,}" for name in ("true", "released", "shared")]
        assert row[3:] == [f"{found[name]:.3f}" for name in ("precision", "recall", "f1")]
    assert told["usefulness"]["edges"]["cost_share"] <= 1


def test_suppressed_values_are_missing(files, tmp_path, capsys) -> None:
    """Rare people lose what makes them rare; too sensitive groups lose sensitive values."""
    options = ["--rare-qi", "suppress", "--json"]
    assert run_command(["anonymize", *files, *options]) == Exit.OK
    suppressed = report(capsys)["suppressed"]
    assert suppressed["people_with_other_quasi_identifiers"] >= 2
    assert suppressed["sensitive_values"] > 0
    assert len(mapped(tmp_path)) == 48
    people = released(tmp_path)
    assert "green" not in {row["club"] for row in people}
    assert "-" in {row["health"] for row in people}


KILLED_WHILE_JUDGED = """
import os, signal, sys
import ktsafe.verify
ktsafe.verify.verify = lambda *a, **b: os.kill(os.getpid(), signal.SIGKILL)
from ktsafe.stream.cli import run_command
run_command(sys.argv[1:])
"""


def test_a_kill_before_the_verdict_leaves_nothing_that_looks_finished(files, tmp_path) -> None:
    """A release that nobody verified has no place: a second try finds both folders free."""
    command = [sys.executable, "-c", KILLED_WHILE_JUDGED, "anonymize", *files]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert not (tmp_path / "release").exists()
    assert not (tmp_path / "private").exists()
    assert release_folders([tmp_path]) == [tmp_path]  # no release in it
    assert run_command(["anonymize", *files]) == Exit.OK


def test_the_release_takes_its_place_with_its_audit_or_not_at_all(files, tmp_path, monkeypatch):
    """An audit that cannot be written leaves neither, and nothing beside."""

    def full(*_args: object, **_named: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = set(tmp_path.iterdir())
    monkeypatch.setattr("ktsafe.stream.files.single_release.write_audit", full)
    assert run_command(["anonymize", *files]) == Exit.USAGE
    assert set(tmp_path.iterdir()) == before


def test_neither_folder_lies_in_the_other(files, tmp_path, capsys) -> None:
    """Who is who is not published with the release, nor the release kept with who is who."""
    for option, place in (("--audit", "release/private"), ("--out", "private/release")):
        assert run_command(["anonymize", *files, option, str(tmp_path / place)]) == Exit.USAGE
        assert "lies in" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("right", "wrong", "words"),
    [
        ('"chronic"', '"cronic"', "'cronic', which the schema names. Did you mean 'chronic'?"),
        ('"club", "age"', '"clubs", "age"', "'clubs'"),
    ],
)
def test_a_misspelt_schema_is_refused(files, tmp_path, capsys, right, wrong, words) -> None:
    """Nothing is written, and what may be meant is named; declared, it is published."""
    (tmp_path / "schema.toml").write_text(SCHEMA.replace(right, wrong))
    assert run_command(["anonymize", *files]) == Exit.USAGE
    assert words in capsys.readouterr().err
    assert not (tmp_path / "release").exists()


def test_what_the_owner_says_is_in_the_release(tmp_path: Path, files: list[str]) -> None:
    """It stands in the manifest and in README.txt; nothing else changes, nothing is guessed."""
    said = ("--about", "title=Clubs = all of them", "--about", "terms= Only for study. ")
    assert run_command(["anonymize", *files, *said]) == Exit.OK
    manifest = json.loads((tmp_path / "release" / "manifest.json").read_text())
    assert manifest["about"] == {"title": "Clubs = all of them", "terms": "Only for study."}
    assert "Terms: Only for study." in (tmp_path / "release" / "README.txt").read_text()


@pytest.mark.parametrize(
    "said", [["no name"], ["titel=A"], ["title=A", "title=B"], ["title=" + "A" * 201], ["=A"]]
)
def test_what_cannot_be_said_is_refused(
    tmp_path: Path, files: list[str], said: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A text without a name, with an unknown one, twice the same, or too long a one."""
    options = [word for text in said for word in ("--about", text)]
    assert run_command(["anonymize", *files, *options]) != Exit.OK
    assert "--about" in capsys.readouterr().err
    assert not (tmp_path / "release").exists()
