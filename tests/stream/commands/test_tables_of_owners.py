"""Tables as owners have them, given to the commands: found by names, by options, or refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pandas as pd
import pytest

from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit

SCHEMA = """[attributes]
quasi_identifiers = ["gender"]
sensitive = "ill"
sensitive_values = ["True"]
"""
N = 40


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a folder with people and ties under names of their own; it is the working folder."""
    monkeypatch.chdir(tmp_path)
    people = pd.DataFrame(
        {
            "id": [f"row {i}" for i in range(N)],
            "key": [f"p{i}" for i in range(N)],
            "gender": ["fm"[i % 2] for i in range(N)],
            "ill": [i % 10 == 0 for i in range(N)],
        }
    )
    people.to_csv("v.csv", index=False)
    people.to_parquet("v.parquet")
    ties = [(f"p{i}", f"p{(i + step) % N}") for i in range(N) for step in (1, 2)]
    pd.DataFrame(ties, columns=["pal", "mate"]).to_csv("e.csv", index=False)
    Path("s.toml").write_text(SCHEMA)
    return tmp_path


ANONYMIZE = "anonymize --edges e.csv --schema s.toml --k 3 --seed 1 --out {0} --audit {0}-audit"
COLUMNS = ["--columns", "id=key,source=pal,target=mate"]


def test_columns_are_named_by_options(site: Path) -> None:
    """`anonymize` and `advise` take the same names, and CSV and Parquet make one release."""
    texts = []
    for kind in ("csv", "parquet"):
        words = [*ANONYMIZE.format(kind).split(), "--vertices", f"v.{kind}"]
        assert run_command(words) == Exit.USAGE
        assert run_command([*words, *COLUMNS, "--json"]) == Exit.OK
        texts.append([(site / kind / f"{name}.csv").read_text() for name in ("vertices", "edges")])
    assert texts[0] == texts[1]
    words = ["advise", "--vertices", "v.csv", "--edges", "e.csv", "--schema", "s.toml"]
    assert run_command([*words, "--k", "3", "--budget", "0"]) == Exit.USAGE
    assert run_command([*words, "--k", "3", "--budget", "0", *COLUMNS]) == Exit.OK


def test_a_sequence_keeps_its_columns(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are said with the first release; others are refused later. Parquet follows CSV."""
    words = ["next", "--edges", "e.csv", "--sequence", "seq"]
    first = ["--vertices", "v.csv", "--schema", "s.toml", "--k", "3", "--at", "2026-01-31"]
    assert run_command([*words, *first]) == Exit.USAGE
    assert run_command([*words, *first, *COLUMNS]) == Exit.OK
    capsys.readouterr()
    later = [*words, "--vertices", "v.parquet", "--at", "2026-02-28", "--json"]
    assert run_command([*later, "--columns", "id=id,source=pal,target=mate"]) == Exit.USAGE
    capsys.readouterr()
    assert run_command(later) == Exit.OK
    report = json.loads(capsys.readouterr().out)
    assert (report["events"], report["vertices"]) == (0, N)


def test_nothing_sensitive_in_a_sequence(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A schema without a sensitive attribute does for all commands."""
    Path("s.toml").write_text('[attributes]\nquasi_identifiers = ["gender"]\n')
    words = ["next", "--vertices", "v.csv", "--edges", "e.csv", "--schema", "s.toml", *COLUMNS]
    assert run_command([*words, "--sequence", "seq", "--k", "3", "--json"]) == Exit.OK
    release = Path(json.loads(capsys.readouterr().out)["release"])
    with (release / "vertices.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["none"] for row in rows} == {"-"}
    assert {row["gender"] for row in rows} == {"f", "m"}


def test_a_column_twice_is_refused_by_all_commands(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By its name, whichever of both would have counted; nothing is written."""
    text = (site / "v.csv").read_text().splitlines()
    (site / "v.csv").write_text("\n".join(f"{line},{line.split(',')[3]}" for line in text) + "\n")
    tables = ["--vertices", "v.csv", "--edges", "e.csv", "--schema", "s.toml", *COLUMNS]
    for words in (
        ["anonymize", *tables, "--out", "o", "--audit", "oa"],
        ["advise", *tables],
        ["next", *tables, "--sequence", "seq"],
    ):
        assert run_command(words) == Exit.USAGE
        assert "v.csv has 2 columns 'ill'" in capsys.readouterr().err.replace("vertices", "v")
    assert not (site / "o").exists()


def test_codes_are_never_told_as_ranges(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is declared nominal is told in groups of values, and in the written schema, too."""
    frame = pd.read_csv("v.csv")
    frame["gender"] = [i % 8 for i in range(N)]
    frame.to_csv("v.csv", index=False)
    schema = SCHEMA.replace("True", "true")
    said = []
    for nominal in ("", 'nominal = ["gender"]\n'):
        Path("s.toml").write_text(schema + nominal)
        words = ["advise", "--vertices", "v.csv", "--edges", "e.csv", "--schema", "s.toml"]
        assert run_command([*words, *COLUMNS, "--k", "10", "--budget", "0", "--json"]) == Exit.OK
        said.append(json.loads(capsys.readouterr().out)["configuration"])
    assert "buckets" in said[0]
    assert "buckets" not in said[1]
    assert 'nominal = ["gender"]' in said[1]
