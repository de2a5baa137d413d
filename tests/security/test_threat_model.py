"""The threat model names tests that exist, and leaves no channel without a word."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ops/threat-model.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`(tests/[\w/]+\.py)(?:::(test_\w+))?`", TEXT)


def table(heading: str) -> list[list[str]]:
    """Return the rows of the table below a heading."""
    section = TEXT.partition(f"## {heading}")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows[1:]]


@pytest.mark.parametrize(("heading", "least"), [("Channels", 25), ("Doors", 4)])
def test_every_row_has_a_test_or_a_reason(heading: str, least: int) -> None:
    """No row ends without saying how one knows."""
    rows = table(heading)
    assert len(rows) > least
    for row in rows:
        assert len(row) == 4, row
        named = re.search(r"`(lab/)?tests/", row[3])
        assert named or row[3].startswith("Reason: "), row[0]


@pytest.mark.parametrize(("path", "name"), NAMED, ids=lambda part: Path(part).name)
def test_every_test_named_exists(path: str, name: str) -> None:
    """A test that was renamed or removed is noticed here."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    tests = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert name in tests if name else any(test.startswith("test_") for test in tests)
