"""A record of what must stay equal tells when it did not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab.recording.__main__ import main
from lab.recording.tampering import digests


def recorded(release: Path, name: str) -> str:
    """Write a record of a release; return its path."""
    path = release / name
    path.write_text(json.dumps(digests(release)))
    return str(path)


def test_the_comparison_finds_a_changed_byte(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It names the table, and ends with 1; with 0 where all is equal."""
    (tmp_path / "vertices.csv").write_text("id,age\na,1\nb,2\n")
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    old = recorded(tmp_path, "old.json")
    assert main(["--compare", old, recorded(tmp_path, "same.json")]) == 0
    (tmp_path / "vertices.csv").write_text("id,age\na,1\nb,3\n")
    capsys.readouterr()
    assert main(["--compare", old, recorded(tmp_path, "new.json")]) == 1
    told = capsys.readouterr().out
    assert "vertices.csv: " in told
    assert "edges.csv" not in told
