"""`ktsafe advise` as its users run it."""

from __future__ import annotations

import json
import tomllib

import numpy as np
import pytest

from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit


@pytest.fixture
def data(tmp_path) -> list[str]:
    """Write 120 people of whom one attribute tells much; return the options that name them."""
    rng = np.random.default_rng(1)
    people = [
        f"p{i},{'ab'[i % 2]},t{rng.integers(9)},{'x' if i % 11 == 0 else 'y'}" for i in range(120)
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


def test_it_says_what_to_leave_out_and_what_that_gives(data, capsys) -> None:
    """A sentence, the settings that no other beats, and a configuration that can be read."""
    words = ["advise", *data, "--k", "5", "--other-k", "10"]
    assert run_command([*words, "--json"]) == Exit.OK
    found = json.loads(capsys.readouterr().out)
    assert found["settings"] == 8
    assert all(one["is_made"] for one in found["front"])
    assert found["advice"].startswith("Drop `")
    pasted = tomllib.loads(found["configuration"])
    kept = {"club", "town"} - set(found["recommended"]["dropped"])
    assert set(pasted["attributes"]["quasi_identifiers"]) == kept
    assert pasted["privacy"] == {"k": 5, "alpha": "0.2"}
    assert run_command(words) == Exit.OK
    text = capsys.readouterr().out
    assert found["advice"] in text
    assert found["configuration"] in text


def test_what_is_no_number_is_refused(data, capsys) -> None:
    """The error names the option."""
    assert run_command(["advise", *data, "--other-k", "many"]) == Exit.USAGE
    assert "--other-k" in capsys.readouterr().err
