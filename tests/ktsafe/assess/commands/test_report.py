"""`ktsafe audit --page`, and `--report` of other commands: one page, made of figures that exist."""

from __future__ import annotations

import csv
import json
import re
import shutil
import stat
from pathlib import Path

import pytest

from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from tests.ktsafe.assess.report.examples import VALUES, Page, graph

SCHEMA = """[attributes]
quasi_identifiers = ["club", "town"]
sensitive = "health"
sensitive_values = ["vermilion"]
"""


def write_rows(path: Path, rows: list[tuple[str, ...]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a graph, its release, its private audit and its report."""
    folder = tmp_path_factory.mktemp("report")
    true = graph()
    (folder / "truth").mkdir()
    people = [(f"person{v}", *true.values(v).values()) for v in range(true.n_vertices)]
    write_rows(folder / "truth" / "vertices.csv", [("id", "club", "town", "health"), *people])
    ties = [(f"person{u}", f"person{v}") for u, v in true.edges.tolist()]
    write_rows(folder / "truth" / "edges.csv", [("source", "target"), *ties])
    (folder / "schema.toml").write_text(SCHEMA)
    words = ["anonymize", *data(folder), "--k", "5", "--alpha", "1/2", "--effort", "fast"]
    words += ["--seed", "1", "--out", str(folder / "release"), "--audit", str(folder / "private")]
    assert run_command([*words, "--report", str(folder / "made.html")]) == Exit.OK
    return folder


def data(folder: Path) -> list[str]:
    """Return the options that name the graph."""
    names = {"vertices": "truth/vertices.csv", "edges": "truth/edges.csv", "schema": "schema.toml"}
    return [word for name, file in names.items() for word in (f"--{name}", str(folder / file))]


def report(home: Path, *more: str) -> list[str]:
    """Return the words of a command that reports of the release."""
    return ["audit", str(home / "release"), "--map", str(home / "private"), *more]


def test_a_report_made_later_is_the_same(home, tmp_path, capsys) -> None:
    """It is read from the private audit, where `anonymize --report` left what it measured."""
    assert run_command(report(home, "--page", str(tmp_path / "later.html"))) == Exit.OK
    capsys.readouterr()
    texts = [path.read_text() for path in (home / "made.html", tmp_path / "later.html")]
    first, second = (re.sub(r"written [-0-9: ]+ UTC", "", text) for text in texts)
    assert first == second
    assert stat.S_IMODE((tmp_path / "later.html").stat().st_mode) == 0o600


def test_json_has_what_the_page_shows(home, tmp_path, capsys) -> None:
    """The same figures, for programs."""
    assert run_command(report(home, "--page", str(tmp_path / "r.html"), "--json")) == Exit.OK
    found = json.loads(capsys.readouterr().out)
    audit = json.loads((home / "private" / "audit.json").read_text())
    assert found["utility"]["usefulness"] == audit["usefulness"]
    assert {each["attack"] for each in found["safety"]["attacks"]} >= {"one_hop"}
    assert f"{100 * found['utility']['score']:.0f} of 100" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("options", [(), ("--public",)])
def test_nobody_is_named(home, tmp_path, capsys, options) -> None:
    """No true id, no published id and no attribute value is in the file."""
    out = tmp_path / "page.html"
    assert run_command(report(home, "--page", str(out), *options)) == Exit.OK
    capsys.readouterr()
    text = out.read_text()
    Page(text)
    with (home / "private" / "mapping.csv").open(newline="") as file:
        ids = {name for row in csv.reader(file) for name in row if name}
    values = {value for own in VALUES.values() for value in own}
    assert len(ids) > 400
    assert not [name for name in ids | values if name in text]
    assert "person0" not in text


def test_the_truth_fills_in_what_the_audit_lacks(home, tmp_path, capsys) -> None:
    """An audit without measurements gets those that it would have had, or none."""
    private = tmp_path / "private"
    private.mkdir()
    audit = json.loads((home / "private" / "audit.json").read_text())
    utility, attacks = audit.pop("utility"), audit.pop("attacks")
    (private / "audit.json").write_text(json.dumps(audit))
    (private / "mapping.csv").write_bytes((home / "private" / "mapping.csv").read_bytes())
    words = ["audit", str(home / "release"), "--map", str(private), "--json"]
    assert run_command([*words, "--page", str(tmp_path / "a.html")]) == Exit.OK
    assert json.loads(capsys.readouterr().out)["utility"]["score"] is None
    truth = ["--truth", str(home / "truth"), "--page", str(tmp_path / "b.html")]
    assert run_command([*words, *truth]) == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert found["utility"]["degree_bands"] == utility["degree_bands"]
    told = {each["variant"]: each["value"] for each in found["safety"]["attacks"]}
    made = {each["attack"]: each["value"] for each in attacks["results"]}
    (one_hop,) = (name for name in told if name.startswith("one_hop."))
    assert told[one_hop] == made[one_hop]


def test_the_truth_of_another_graph_is_refused(home, tmp_path, capsys) -> None:
    """Figures beside the wrong truth would be worse than none."""
    other = tmp_path / "other"
    other.mkdir()
    lines = (home / "truth" / "edges.csv").read_text().splitlines(keepends=True)
    (other / "edges.csv").write_text("".join(lines[:-3]))
    (other / "vertices.csv").write_bytes((home / "truth" / "vertices.csv").read_bytes())
    private = tmp_path / "private"
    private.mkdir()
    audit = json.loads((home / "private" / "audit.json").read_text())
    del audit["utility"]
    (private / "audit.json").write_text(json.dumps(audit))
    (private / "mapping.csv").write_bytes((home / "private" / "mapping.csv").read_bytes())
    words = ["audit", str(home / "release"), "--map", str(private), "--truth", str(other)]
    assert run_command([*words, "--page", str(tmp_path / "r.html")]) == Exit.USAGE
    assert "sizes differ" in capsys.readouterr().err
    assert not (tmp_path / "r.html").exists()


def test_the_audit_of_another_release_is_refused(home, tmp_path, capsys) -> None:
    """A single release's audit names no release; its sizes do."""
    audit = json.loads((home / "private" / "audit.json").read_text())
    audit["size"]["released"]["edges"] += 1
    (tmp_path / "audit.json").write_text(json.dumps(audit))
    words = ["audit", str(home / "release"), "--map", str(tmp_path)]
    assert run_command([*words, "--page", str(tmp_path / "r.html")]) == Exit.USAGE
    assert "is not the audit of" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["report", "anonymize"])
def test_nothing_is_overwritten(home, tmp_path, capsys, command) -> None:
    """A file that exists is refused before any work, and stays."""
    taken = tmp_path / "taken.html"
    taken.write_text("mine")
    to = ["--report", str(taken)]
    new = {name: str(tmp_path / name) for name in ("out", "audit")}
    words = {
        "report": report(home, "--page", str(taken)),
        "anonymize": [*data(home), *to, "--out", new["out"], "--audit", new["audit"]],
    }[command]
    words = words if command == "report" else [command, *words]
    assert run_command(words) == Exit.USAGE
    assert "taken.html" in capsys.readouterr().err
    assert taken.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["taken.html"]


def test_without_audits_there_is_no_report(home, tmp_path, capsys) -> None:
    """The error names the file that is missing."""
    words = ["audit", str(home / "release"), "--map", str(tmp_path)]
    assert run_command([*words, "--page", str(tmp_path / "r.html")]) == Exit.USAGE
    assert "audit.json" in capsys.readouterr().err


def test_attacks_that_are_asked_for_are_on_the_page(home, tmp_path, capsys) -> None:
    """They stand there instead of the audit's."""
    asked = ["--truth", str(home / "truth"), "--attacks", "membership_of_ties", "--json"]
    assert run_command(report(home, *asked, "--page", str(tmp_path / "r.html"))) == Exit.OK
    first, *more = json.loads(capsys.readouterr().out)["safety"]["attacks"]
    assert first["attack"] == "membership_of_ties"
    assert more  # The truth fills in what is missing.


def test_what_is_for_a_page_needs_one(home, capsys) -> None:
    """Readers are promised coarse figures: without a page nothing finer is printed instead."""
    assert run_command(report(home, "--public")) == Exit.USAGE
    assert "--page" in capsys.readouterr().err


def test_a_withdrawn_release_is_marked(home, tmp_path, capsys) -> None:
    """The page says so first, with the reason and what to do, and is not green."""
    copy = tmp_path / "release"
    shutil.copytree(home / "release", copy)
    (copy / "withdrawn.json").write_text(json.dumps({"why": "A column too many <b>."}))
    words = ["audit", str(copy), "--map", str(home / "private")]
    assert run_command([*words, "--page", str(tmp_path / "r.html"), "--json"]) == Exit.OK
    found = json.loads(capsys.readouterr().out)["safety"]
    assert found["verdict"] == "broken"
    assert found["findings"][0]["kind"] == "withdrawn"
    text = (tmp_path / "r.html").read_text()
    assert "The owner withdrew this release: A column too many &lt;b&gt;" in text
    assert "have a copy to delete it" in text
