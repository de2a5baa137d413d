"""Finds the tools that the project does not install with pip."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROMETHEUS = "run `make prometheus`, or install Debian's prometheus"
REMEDIES = {
    "prometheus": PROMETHEUS,
    "promtool": PROMETHEUS,
    "systemd-analyze": "install Debian's systemd",
    "chromedriver": "install Debian's chromium-driver",
}


def tool(name: str) -> str:
    """Return the path of a tool; skip without it, fail without it in CI."""
    unpacked = ROOT / "var/prometheus/usr/bin" / name
    found = shutil.which(name) or (str(unpacked) if os.access(unpacked, os.X_OK) else None)
    if found is None:
        reason = f"{name} is missing: {REMEDIES[name]}"
        if os.environ.get("CI") == "true":
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    return found
