"""The documentation site builds without a warning, and holds what it promises."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

from tests.ops import before_after, concepts

ROOT = Path(__file__).parents[2]


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """Links, anchors and docstrings are sound; no page asks another server for anything."""
    if find_spec("mkdocs") is None and os.environ.get("CI") != "true":
        pytest.skip("mkdocs is not installed")
    command = [sys.executable, ROOT / "ops/site/build.py", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    pages = {path: path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.html")}
    assert len(pages) > 50
    loaded = re.compile(r'<(?:script|link|img)[^>]*(?:src|href)="?(https?://[^" >]+)')
    assert {m for text in pages.values() for m in loaded.findall(text)} == set()
    api = (tmp_path / "docs/api/index.html").read_text(encoding="utf-8")
    assert "quasi_identifiers" in api
    assert re.search(r"ktsafe \d+\.\d+", pages[tmp_path / "index.html"])


def test_every_decision_is_listed() -> None:
    """The list of decisions has each of them, with its heading: a new one is added by hand."""
    listed = (ROOT / "ops/adr/README.md").read_text(encoding="utf-8")
    for path in sorted((ROOT / "ops/adr").glob("0*.md")):
        number = int(path.name[:4])
        title = path.read_text(encoding="utf-8").splitlines()[0].partition(". ")[2]
        assert f"| {number} | [{title}]({path.name}) |" in listed


@pytest.mark.parametrize(("script", "pictures"), [(concepts, 5), (before_after, 1)])
def test_the_pictures_are_those_of_the_scripts(
    script: ModuleType, pictures: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """docs/images holds what the scripts draw that `make screenshots` runs."""
    monkeypatch.setattr(sys, "argv", ["script", str(tmp_path)])
    assert script.main() == 0
    drawn = sorted(tmp_path.iterdir())
    assert len(drawn) == pictures
    for path in drawn:
        assert path.read_bytes() == (ROOT / "docs/images" / path.name).read_bytes()
