"""`ktsafe inspect`: what was understood, and a schema that `ktsafe anonymize` takes."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from tests.ktsafe.graph.inputs.test_inspected import EXPECTED, N_TIES, N, frames

Write = Callable[[Path], list[str]]


def two_tables(folder: Path) -> list[str]:
    people, ties = frames()
    people.to_csv(folder / "people.csv", index=False)
    ties.to_csv(folder / "ties.csv", index=False)
    return ["people.csv", "ties.csv"]


def ties_first(folder: Path) -> list[str]:
    return two_tables(folder)[::-1]


def names_of_their_own(folder: Path) -> list[str]:
    people, ties = frames()
    people.rename(columns={"Id": "who"}).to_parquet(folder / "people.parquet")
    ties.rename(columns={"From": "here", "To": "there"}).to_csv(folder / "t.tsv", sep="\t")
    columns = "id=who,source=here,target=there"
    return ["people.parquet", "t.tsv", "--columns", columns]


def anonymized(words: list[str]) -> list[str]:
    """Return the options of `anonymize` for the arguments of `inspect`."""
    options = words[words.index("--columns") :] if "--columns" in words else []
    files = words[: len(words) - len(options)]
    people = [file for file in files if file.startswith("people")]
    ties = next(file for file in files if file not in people)
    return ["--edges", ties, *(["--vertices", *people] if people else []), *options]


@pytest.mark.parametrize("write", [two_tables, ties_first, names_of_their_own])
def test_the_schema_is_accepted(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    write: Write,
) -> None:
    """What is said is what the network is, and the schema makes a release as it was written."""
    monkeypatch.chdir(tmp_path)
    words = write(tmp_path)
    assert run_command(["inspect", *words, "--json", "--schema", "s.toml"]) == Exit.OK
    said = json.loads(capsys.readouterr().out)
    assert (said["people"], said["ties"]) == (N, N_TIES)
    told = ("type", "role", "distinct", "missing")
    found = {c["name"]: tuple(c[what] for what in told) for c in said["columns"]}
    assert found.items() >= EXPECTED.items()
    assert said["schema"] == Path("s.toml").read_text()
    assert Path("s.toml").stat().st_mode & 0o077 == 0
    table = tomllib.loads(said["schema"])["attributes"]
    assert {"age", "vip"} <= {*table["quasi_identifiers"]}
    more = ["--out", "o", "--audit", "oa", "--schema", "s.toml", "--seed", "1", "--effort", "fast"]
    assert run_command(["anonymize", *anonymized(words), *more]) == Exit.OK


def test_what_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line for the network and one for each column, and the schema where no file is named."""
    monkeypatch.chdir(tmp_path)
    assert run_command(["inspect", *two_tables(tmp_path)]) == Exit.OK
    said = capsys.readouterr().out
    assert f"CSV: {N:,} people, 1 of them without a tie; {N_TIES:,} ties" in said
    assert "1 rows that repeat a tie\n1 rows that join a person to itself" in said
    assert "country: nominal, 5 values, 0 missing; quasi-identifier: '0' 200, '1' 200" in said
    assert "diagnosis: nominal, 2 values, 0 missing; sensitive (by its name)" in said
    assert "? 'none' (857) may mean that it is missing" in said
    assert "[attributes]" in said


def test_what_would_be_refused_ends_with_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All that is understood is printed all the same, and a file that is none is refused."""
    monkeypatch.chdir(tmp_path)
    Path("v.csv").write_text("id,new_id\n7,1\n8,2\n")
    Path("e.csv").write_text("source,target\n1,2\n")
    assert run_command(["inspect", "v.csv", "e.csv"]) == Exit.USAGE
    assert "refused: e.csv names a vertex" in (said := capsys.readouterr().out)
    assert "its column 'new_id' does: --columns id=new_id" in said
    assert run_command(["inspect", "v.csv", "e.csv", "--columns", "id=new_id"]) == Exit.OK
    for words in (
        ["v.csv", "v.csv"],
        ["e.csv", "e.csv"],
        ["v.csv", "e.csv", "e.csv"],
        ["none.csv"],
    ):
        assert run_command(["inspect", *words]) == Exit.USAGE
    Path("s.toml").touch()
    assert run_command(["inspect", "v.csv", "e.csv", "--schema", "s.toml"]) == Exit.USAGE
