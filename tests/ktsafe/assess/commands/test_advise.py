"""`ktsafe advise` as its users run it."""

from __future__ import annotations

import json
import tomllib
from collections import Counter

import numpy as np
import pytest

from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from ktsafe.stream.files.graphs import read_schema


@pytest.fixture
def data(tmp_path) -> list[str]:
    """Write 120 people of whom one attribute tells much; return the options that name them."""
    rng = np.random.default_rng(1)
    people = [
        f"p{i},{'ab'[i % 2]},t{rng.integers(6)},{'x' if i % 11 == 0 else 'y'}" for i in range(120)
    ]
    (tmp_path / "vertices.csv").write_text("\n".join(["id,club,town,health", *people]) + "\n")
    ties = {tuple(sorted(pair)) for pair in rng.integers(0, 120, (500, 2)).tolist()}
    rows = [f"p{u},p{v}" for u, v in sorted(ties) if u != v]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target", *rows]) + "\n")
    (tmp_path / "schema.toml").write_text(
        "[attributes]\nquasi_identifiers = ['club', 'town']\nsensitive = 'health'\n"
        "sensitive_values = ['x']\n"
    )
    return [
        *(f"--{name}={tmp_path / name}.csv" for name in ("vertices", "edges")),
        f"--schema={tmp_path / 'schema.toml'}",
    ]


def test_it_says_what_to_leave_out_and_what_that_gives(data, capsys, tmp_path) -> None:
    """A sentence, the settings that no other beats, and a configuration that can be read."""
    words = ["advise", *data, "--k", "5", "--other-k", "", "--budget", "3600"]
    assert run_command([*words, "--json"]) == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert found["settings"] >= found["tried"] > 4
    assert all(one["is_made"] for one in found["front"])
    assert found["advice"].startswith("Tell `")
    pasted = tomllib.loads(found["configuration"])
    kept = set(found["recommended"]["values"])
    assert set(pasted["attributes"]["quasi_identifiers"]) == kept
    assert found["recommended"]["conclusions_wrong"] is not None
    assert pasted["privacy"] == {"k": 5, "alpha": "0.2"}
    written = tmp_path / "coarser.toml"
    assert run_command([*words, "--budget", "0", "--keep=town", f"--write={written}"]) == Exit.OK
    assert str(written) in capsys.readouterr().out
    assert read_schema(written).groups["town"]
    assert written.stat().st_mode & 0o077 == 0
    assert run_command(words) == Exit.OK
    text = capsys.readouterr().out
    assert found["advice"] in text
    assert found["configuration"] in text


def test_what_is_no_number_is_refused(data, capsys) -> None:
    """The error names the option."""
    assert run_command(["advise", *data, "--other-k", "many"]) == Exit.USAGE
    assert "--other-k" in capsys.readouterr().err


def test_a_release_of_the_advice_tells_what_it_tells(data, capsys, tmp_path) -> None:
    """`anonymize --generalize auto` keeps what is to be kept; the manifest lists groups."""
    places = [f"--out={tmp_path / 'out'}", f"--audit={tmp_path / 'audit'}"]
    words = ["anonymize", *data, *places, "--k=5", "--effort=fast", "--keep=town"]
    assert run_command(words) == Exit.USAGE
    assert "--generalize auto" in capsys.readouterr().err
    assert run_command([*words, "--generalize=auto", "--json"]) == Exit.OK
    assert "`town`" in json.loads(capsys.readouterr().out)["generalized"]
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    groups = manifest["generalized"]["town"]
    assert len(groups) >= 1
    values = [value for of_group in groups.values() for value in of_group]
    people = (tmp_path / "vertices.csv").read_text().split("\n")[1:-1]
    held = Counter(row.split(",")[2] for row in people)
    assert values
    assert all(held[value] >= 5 for value in values)
    assert run_command(["verify", str(tmp_path / "out")]) == Exit.OK
    capsys.readouterr()


def test_declared_hierarchies_are_used(data, capsys, tmp_path) -> None:
    """In the schema file or beside it, `[hierarchies]` says how an attribute may be told."""
    told = "[hierarchies]\ntown = [{ west = ['t0', 't1', 't2'], east = ['t3', 't4', 't5'] }]\n"
    beside = tmp_path / "hierarchies.toml"
    beside.write_text(told)
    words = ["advise", *data, "--k=5", "--other-k=", "--budget=0", "--keep=town", "--json"]
    assert run_command([*words, f"--hierarchies={beside}"]) == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert set(tomllib.loads(found["configuration"])["attributes"]["groups"]["town"]) == {
        "west",
        "east",
    }
    beside.write_text("[hierarchies]\ntown = 3\n")
    assert run_command([*words, f"--hierarchies={beside}"]) == Exit.USAGE
    assert "hierarchies" in capsys.readouterr().err
