"""Dependencies between packages point one way."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {
    "ktsafe": set(),
    "connectors": set(),
    "state": {"ktsafe"},
    "stream": {"ktsafe", "connectors", "state"},
}
"""Which of our packages each package may import, beside itself."""
OURS = {*MAY_IMPORT, "tests", "ops"}


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and top-level name of everything a module imports, functions included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name.partition(".")[0]) for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield node.lineno, module.partition(".")[0]
            case ast.ImportFrom(level=level) if level > 1:
                yield node.lineno, "relative import beyond the package"


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_packages_import_only_what_lies_below(package: str) -> None:
    """A package imports of ours only itself and what it is allowed to."""
    modules = sorted((ROOT / package).rglob("*.py"))
    assert modules
    forbidden = OURS - MAY_IMPORT[package] - {package} | {"relative import beyond the package"}
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules
        for line, name in imported(path)
        if name in forbidden
    ]
    assert found == []


@pytest.mark.parametrize("package", ["ktsafe", "state"])
def test_only_the_service_knows_prometheus_and_the_command_line(package: str) -> None:
    """Mechanism and store import neither metrics, nor command line, nor Kafka."""
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for line, name in imported(path)
        if name in {"prometheus_client", "typer", "click", "rich", "kafka", "logging"}
    ]
    assert found == []


def test_prometheus_is_known_to_the_metrics_only() -> None:
    """Processing code tells an observer; only what implements it imports the metrics library."""
    users = {
        str(path.relative_to(ROOT))
        for package in MAY_IMPORT
        for path in (ROOT / package).rglob("*.py")
        for _, name in imported(path)
        if name == "prometheus_client"
    }
    assert users == {"stream/watching/metrics.py", "stream/watching/metrics_secrets.py"}


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_packages_import_by_themselves(package: str) -> None:
    """Importing a package in a fresh process works and pulls in nothing from above it."""
    script = (
        f"import sys, {package}; "
        "print(*sorted({m.partition('.')[0] for m in sys.modules} & "
        f"{ {*MAY_IMPORT}!r}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(done.stdout.split()) <= MAY_IMPORT[package] | {package}
