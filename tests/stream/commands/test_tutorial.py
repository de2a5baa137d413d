"""The five-minute tutorial works as it stands, on a smaller network."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit

PAGE = Path(__file__).parents[3] / "docs" / "tutorial.md"


def test_every_command_of_the_tutorial_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each line is typed, one after the other, in an empty folder; each ends well."""
    text = PAGE.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (schema,) = (block for language, block in blocks if language == "toml")
    Path("schema.toml").write_text(schema)
    typed = [block for language, block in blocks if not language]
    lines = [shlex.split(line) for block in typed for line in block.splitlines()]
    assert lines[:2] == [["make", "run"], ["source", ".venv/bin/activate"]]
    assert run_command(["demo", "--people", "400", "--days", "60", "--port", "0"]) == Exit.OK
    for program, *words in lines[2:]:
        assert program == "ktsafe"
        assert run_command(words) == Exit.OK, words
