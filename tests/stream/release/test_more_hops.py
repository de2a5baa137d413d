"""The commands beyond one hop: aligned releases, their private certificate, honest refusals."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ktsafe.graph.datasets import uniform
from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit

SCHEMA = '[attributes]\nquasi_identifiers = ["a"]\nsensitive = "s"\nsensitive_values = ["yes"]\n'


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Write a small graph; return the options that name it and where results go."""
    graph = uniform(60, 90, n_tuples=2, rng=np.random.default_rng(1))
    rows = [
        f"p{v},{graph.codes[v, 0]},{'yes' if graph.is_sensitive[v] else 'no'}"
        for v in range(graph.n_vertices)
    ]
    (tmp_path / "v.csv").write_text("\n".join(["id,a,s", *rows]) + "\n")
    pairs = [f"p{u},p{v}" for u, v in graph.edges.tolist()]
    (tmp_path / "e.csv").write_text("\n".join(["source,target", *pairs]) + "\n")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return [
        *("--vertices", str(tmp_path / "v.csv"), "--edges", str(tmp_path / "e.csv")),
        *("--schema", str(tmp_path / "schema.toml"), "--seed", "1", "--effort", "fast"),
        *("--out", str(tmp_path / "release"), "--audit", str(tmp_path / "audit")),
    ]


@pytest.mark.parametrize("extra", [["--hops", "2"], ["--reading", "induced"], ["--hops", "0"]])
def test_other_neighbourhoods_are_released_and_verified(
    files: list[str], extra: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`anonymize` aligns, the manifest says the reading, `verify` agrees with and without proof."""
    assert run_command(["anonymize", *files, "--k", "4", *extra, "--json"]) == Exit.OK
    figures = json.loads(capsys.readouterr().out)["figures"]
    assert figures["privacy"]["all"]["k_claimed"]["min"] >= 4
    params = json.loads((tmp_path / "release" / "manifest.json").read_text())["params"]
    assert (str(params["n_hops"]), params["reading"]) in {
        ("2", "walk"),
        ("1", "induced"),
        ("0", "walk"),
    }
    certificate = tmp_path / "audit" / "certificate.csv"
    # Without hops there is nothing to align and nothing to prove.
    assert certificate.exists() == (extra != ["--hops", "0"])
    if certificate.exists():
        assert certificate.stat().st_mode & 0o777 == 0o600
    for proof in ([], ["--certificate", str(certificate)])[: 1 + certificate.exists()]:
        assert run_command(["verify", str(tmp_path / "release"), "--json", *proof]) == Exit.OK
        (report,) = json.loads(capsys.readouterr().out)
        assert report["safe"]
        assert report["undecided_pairs"] == 0
        assert report["evidence"] == ("certificate" if proof else "definition")


def test_a_touched_certificate_proves_nothing(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two images exchanged: exit code 1; another release's certificate: exit code 2."""
    assert run_command(["anonymize", *files, "--k", "4", "--hops", "2"]) == Exit.OK
    path = tmp_path / "audit" / "certificate.csv"
    header, *rows = path.read_text().splitlines()
    pairs = [row.split(",") for row in rows]
    pairs[0][1], pairs[1][1] = pairs[1][1], pairs[0][1]
    path.write_text("\n".join([header, *map(",".join, pairs)]) + "\n")
    arguments = ["verify", str(tmp_path / "release"), "--certificate", str(path)]
    assert run_command(arguments) == Exit.UNSAFE
    path.write_text("\n".join([header, *rows[1:]]) + "\n")
    assert run_command(arguments) == Exit.USAGE
    assert "does not belong to this release" in capsys.readouterr().err


def test_exact_cohorts_refuse_two_hops(
    files: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Named outright, it says which one can; nothing is written."""
    arguments = ["anonymize", *files, "--hops", "2", "--strategy", "exact"]
    assert run_command(arguments) == Exit.USAGE
    assert "aligned" in capsys.readouterr().err
    assert not (tmp_path / "release").exists()
