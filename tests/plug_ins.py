"""An installed package that offers objects of its own, for tests."""

from __future__ import annotations

from pathlib import Path

import pytest


def offer(
    site: Path,
    monkeypatch: pytest.MonkeyPatch,
    *,
    lines: list[str],
    group: str,
    name: str = "outside",
) -> None:
    """Install a package in a folder, as far as its entry points go, and put that on the path."""
    there = site / f"{name}-1.0.dist-info"
    there.mkdir(parents=True)
    (there / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (there / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]) + "\n")
    monkeypatch.syspath_prepend(str(site))
