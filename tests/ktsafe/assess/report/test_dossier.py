"""The dossier: every clause has a figure, what the owner states, or that it must."""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec import convert

from ktsafe.assess.report.content import content
from ktsafe.assess.report.dossier import (
    CLAUSES,
    MUST_STATE,
    RECIPIENT,
    Context,
    dossier,
    read_context,
)
from ktsafe.assess.report.page import page
from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import ConfigError, Exit
from tests.ktsafe.assess.report.examples import Page, private, told

STATED = """\
purpose = "A study of <friendship>, by age"
recipients = { "A university" = "No other data on members", "A city" = "A register of residents" }
environment = "An enclave"
practices = "A contract, two factors"
motives = "Curiosity; public profiles"
transparency = "A notice to all members"
stakeholders = "The members' council"
impact_assessment = "DPIA 7"
principals = "Members, adults only"
population = "population"
identifying = ["name", "email"]
insensitive = []
alternatives = "Tables only"
roles = { controller = "Ms A", officer = "Mr B" }
policies = "Handbook 3"
disclosures = "register.csv"
monitoring = "Mr B, monthly"
incident_contact = "+00 1234"
incident_plan = "Runbook 4"
approved_by = "Ms A"
approved_on = 2026-01-02
review_on = 2027-01-02
"""


@pytest.fixture
def context(tmp_path: Path) -> Path:
    """Return a file in which everything is stated."""
    path = tmp_path / "context.toml"
    path.write_text(STATED)
    return path


@given(st.sets(st.sampled_from(Context.__struct_fields__)))
@example(set())
def test_every_clause_has_a_figure_or_the_owner_must_state(given: set[str]) -> None:
    """Whatever is stated no clause is empty, and those are open of which a key is not stated."""
    stated = {key: value for key, value in tomllib.loads(STATED).items() if key in given}
    found = dossier(convert(stated, Context), private())
    rows = [row for row in found["clauses"] if row["clause"] != RECIPIENT]
    assert [row["clause"] for row in rows] == [clause for clause, *_ in CLAUSES]
    assert sum(clause.startswith("27559") for clause, *_ in CLAUSES) == 25
    for row, (_, _, keys, figure) in zip(rows, CLAUSES, strict=True):
        assert all(answer.strip() for answer in row["answers"])
        assert row["is_open"] is bool(set(keys) - given)
        assert " ".join(row["answers"]).count(MUST_STATE) == len(set(keys) - given)
        assert len(row["answers"]) == len(keys) + bool(figure) > 0
    assert any(row["is_open"] for row in found["clauses"][len(rows) :]) == (
        "recipients" not in given
    )
    assert found["open"] == sum(row["is_open"] for row in found["clauses"])


def test_each_recipient_has_a_row_with_its_means_and_what_attackers_find() -> None:
    """A text that names all states no means; the clause on recipients tells of all of them."""
    report = private()
    curve = next(row for row in dossier(Context(), report)["clauses"] if "6.2.3" in row["clause"])
    stated = Context(recipients={"A": "an enclave", "B": "its own customers"})
    rows = [row for row in dossier(stated, report)["clauses"] if row["clause"] == RECIPIENT]
    assert [row["asks"].partition(": ")[2] for row in rows] == ["A", "B"]
    assert [row["answers"][0] for row in rows] == ["means: an enclave", "means: its own customers"]
    assert all(row["answers"][1] == curve["answers"][0] for row in rows)
    assert not any(row["is_open"] for row in rows)
    (alone,) = [
        row
        for row in dossier(Context(recipients="Two universities"), report)["clauses"]
        if row["clause"] == RECIPIENT
    ]
    assert alone["is_open"]
    assert "Two universities" in alone["asks"]


def test_what_is_stated_leaves_nothing_open(context: Path) -> None:
    """Each key answers some clause; text of the owner is escaped on the page."""
    stated = read_context(context)
    asked = {key for *_, keys, _ in CLAUSES for key in keys}
    assert asked == set(Context.__struct_fields__)
    report = private()
    report["dossier"] = dossier(stated, report)
    assert report["dossier"]["open"] == 0
    found = Page(page(report))
    assert MUST_STATE not in found.words
    assert "A study of <friendship>, by age" in found.words
    assert "friendship" not in found.tags
    names = [value for name, value in found.attributes if name == "id"]
    assert {"dossier", "approval"} <= set(names)
    assert "Stated: approved by Ms A, on 2026-01-02; review by 2027-01-02." in found.words


def test_figures_are_those_of_the_report() -> None:
    """The curve, the verdict and the attacks are told as the report has them."""
    report = content([told()], "now")
    rows = {
        row["clause"]: " ".join(row["answers"]) for row in dossier(Context(), report)["clauses"]
    }
    assert report["safety"]["title"] in rows["27559 6.3.3"]
    point = next(
        each
        for each in report["safety"]["risk_curve"].points
        if (each.ties, each.seeds) == (0.6, 0.01)
    )
    assert f"{point.value:.3f} found" in rows["27559 8.2.3"]
    assert "one_hop" in rows["WP216"] or "membership" in rows["WP216"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('purpos = "x"', "there is no key purpos. Did you mean purpose?"),
        ("purpose = 3", "purpose must be a text in quotation marks, not a whole number"),
        ('review_on = "soon"', "review_on"),
        ('population = "some"', "population cannot be 'some'"),
        ("approved_on = 2026-02-01\nreview_on = 2026-01-01", "later than approved_on"),
        ("purpose = ", "is no TOML file"),
    ],
)
def test_a_wrong_file_is_refused_in_plain_words(tmp_path: Path, text: str, says: str) -> None:
    """Misspelt keys, wrong types and dates that contradict each other."""
    path = tmp_path / "context.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        read_context(path)
    assert says in str(error.value)


def test_the_command_writes_it_about_this_release(tmp_path: Path, context: Path, capsys) -> None:
    """The hash is that of the manifest's file; a public page has no dossier."""
    rows = "\n".join(f"v{i},{'ab'[i % 2]},well" for i in range(40))
    (tmp_path / "v.csv").write_text(f"id,club,health\n{rows}\n")
    ties = "\n".join(f"v{i},v{(i + 2) % 40}" for i in range(40))
    (tmp_path / "e.csv").write_text(f"source,target\n{ties}\n")
    schema = '[attributes]\nquasi_identifiers = ["club"]\nsensitive = "health"\n'
    schema += 'sensitive_values = ["ill"]\nexpect_absent = ["ill"]\n'
    (tmp_path / "s.toml").write_text(schema)
    named = {"vertices": "v.csv", "edges": "e.csv", "schema": "s.toml"}
    files = [f"--{option}={tmp_path / file}" for option, file in named.items()]
    made = ["anonymize", *files, "--k", "3", "--effort", "fast", "--seed", "1"]
    made += ["--out", str(tmp_path / "r"), "--audit", str(tmp_path / "p")]
    assert run_command(made) == Exit.OK
    capsys.readouterr()
    asked = ["audit", str(tmp_path / "r"), "--map", str(tmp_path / "p"), "--json"]
    asked += ["--context", str(context)]
    assert run_command([*asked, "--page", str(tmp_path / "d.html")]) == Exit.OK
    found = json.loads(capsys.readouterr().out)["dossier"]
    digest = hashlib.sha256((tmp_path / "r" / "manifest.json").read_bytes()).hexdigest()
    assert found["sha256"] == digest
    assert digest in (tmp_path / "d.html").read_text()
    assert run_command([*asked, "--public", "--page", str(tmp_path / "x.html")]) == Exit.USAGE
    assert "A dossier is private" in capsys.readouterr().err
