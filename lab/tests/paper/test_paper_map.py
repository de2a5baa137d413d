"""The map from the paper to the code names what exists, and leaves nothing out."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
TEXT = (ROOT / "lab/paper-map.md").read_text(encoding="utf-8")
SPANS = re.findall(r"`([^`\n]+)`", TEXT)
NAMES = sorted({span for span in SPANS if re.fullmatch(r"ktsafe(_lab)?(\.\w+)+", span)})
TESTS = sorted({span for span in SPANS if span.startswith(("tests/", "lab/"))})
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in TEXT.splitlines()
    if line.startswith("|") and not line.startswith(("|---", "| paper", "| claim"))
]


def exists(name: str) -> bool:
    """Return whether a dotted name is a module or something in one."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        module, _, attribute = name.rpartition(".")
        return hasattr(importlib.import_module(module), attribute)
    return True


def test_every_function_named_exists() -> None:
    """No name of the map is out of date."""
    assert len(NAMES) > 30
    assert [name for name in NAMES if not exists(name)] == []


def test_every_test_named_exists() -> None:
    """No test of the map is out of date."""
    assert len(TESTS) > 30
    missing = []
    for span in TESTS:
        path, _, name = span.partition("::")
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        if name not in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}:
            missing.append(span)
    assert missing == []


def test_a_name_that_does_not_exist_is_seen() -> None:
    """The check is able to fail."""
    assert not exists("ktsafe_lab.paper.pivots.select_nothing")


@pytest.mark.parametrize(
    "item",
    [
        *(f"Definition {i}" for i in range(1, 8)),
        *(f"Algorithm {i}" for i in range(1, 8)),
        *(f"Equation {i}" for i in range(1, 4)),
        *("Lemma 5.1", "Theorem 3.1"),
        *("k", "alpha", "epsilon", "t", "n", "gamma"),
    ],
)
def test_nothing_of_the_paper_is_left_out(item: str) -> None:
    """Every definition, algorithm, equation and parameter has a row with code or a test."""
    rows = [row for row in ROWS if re.search(rf"\b{re.escape(item)}(?![\w.]*\d)", row[0] + row[1])]
    rows = [row for row in ROWS if row[0] == item] or rows
    assert any("`" in " ".join(row[1:]) for row in rows)


def test_rows_are_complete() -> None:
    """Every row of a table has as many cells as its head."""
    assert {len(row) for row in ROWS} == {4, 5}
