"""Dependencies between packages point one way."""

from __future__ import annotations

import ast
import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import networkx as nx
import pytest

from ktsafe.stream import assessment
from ktsafe.stream.errors import ConfigError

ROOT = Path(__file__).parents[1]
MAY_IMPORT = {
    "ktsafe": set(),
    "connectors": {"ktsafe"},
    "state": {"ktsafe"},
    "stream": {"ktsafe", "connectors", "state"},
    "protection": {"ktsafe", "connectors", "state", "stream"},
    "assess": {"ktsafe", "connectors", "state", "stream"},
}
"""Which of our packages each package may import, beside itself."""
FOLDERS = {"assess": "ktsafe/assess", "protection": "ktsafe/protection"}
"""Where a package lies that is no folder of the repository by its name."""
DOOR = ROOT / "ktsafe" / "__init__.py"
"""Names for users, from all packages; each is loaded when it is asked for."""
HOOKS = {
    "stream/assessment.py": "ktsafe.assess.commands.hooks",
    "stream/command_registry.py": "ktsafe.assess.commands",
}
"""Modules that name the assessment without importing it, and what they name."""
CONTRACTS = "ktsafe_lab.contracts"
"""What connectors and attacks are tested by, ours and others: all that tests take from there."""
OURS = {*MAY_IMPORT, "ktsafe_lab", "lab", "tests", "ops"}


def package_of(module: str) -> str:
    """Return the package that a module is of: three of ours are installed inside of `ktsafe`."""
    top, _, rest = module.partition(".")
    inner = rest.partition(".")[0]
    return inner if top == "ktsafe" and inner in MAY_IMPORT else top


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and package of everything a module imports, functions included."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, package_of(alias.name)) for alias in names)
            case ast.ImportFrom(module="ktsafe", level=0, names=names):
                yield from ((node.lineno, package_of(f"ktsafe.{alias.name}")) for alias in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield node.lineno, package_of(module)
            case ast.ImportFrom(level=level) if level > 1:
                yield node.lineno, "relative import beyond the package"


def modules_of(package: str) -> list[Path]:
    """Return the modules of a package, without those of another that lies inside of it."""
    inside = [ROOT / folder for name, folder in FOLDERS.items() if name != package]
    return [
        path
        for path in sorted((ROOT / FOLDERS.get(package, package)).rglob("*.py"))
        if path != DOOR and not any(folder in path.parents for folder in inside)
    ]


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_packages_import_only_what_lies_below(package: str) -> None:
    """A package imports of ours only itself and what it is allowed to."""
    modules = modules_of(package)
    assert modules
    forbidden = OURS - MAY_IMPORT[package] - {package} | {"relative import beyond the package"}
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules
        for line, name in imported(path)
        if name in forbidden
    ]
    assert found == []


def test_the_assessment_is_known_by_hooks() -> None:
    """No other module names it in a text, so nothing else can load it unseen."""
    found = {
        (str(path.relative_to(ROOT)), node.value)
        for package in MAY_IMPORT.keys() - {"assess"}
        for path in modules_of(package)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"ktsafe\.assess[\w.]*", node.value)
    }
    assert found == set(HOOKS.items())


@pytest.mark.parametrize("missing", ["jinja2", "networkit"])
def test_what_needs_the_extra_names_it(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a package of it is missing, the error says which, and how to install the extra."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        assessment, "find_spec", lambda name: None if name == missing else find(name)
    )
    assert not assessment.is_installed()
    with pytest.raises(ConfigError) as caught:
        assessment.assessment("--report")
    assert "--report" in str(caught.value)
    assert missing in str(caught.value)
    assert "ktsafe[assess]" in str(caught.value)


def test_contracts_know_the_connectors_only() -> None:
    """What others test connectors with imports their base, and pytest, and nothing else."""
    folder = ROOT / "lab" / CONTRACTS.replace(".", "/")
    ours = {name for path in folder.rglob("*.py") for _, name in imported(path)} & OURS
    assert ours == {"assess", "connectors", "ktsafe", "ktsafe_lab"}


def test_the_laboratory_is_walled() -> None:
    """No test of the core imports it, but the contracts; and its package needs no checkout."""
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for folder, forbidden in (
            ("tests", {"ktsafe_lab", "lab"}),
            ("ops", {"ktsafe_lab", "lab"}),
            ("lab/ktsafe_lab", {"lab", "tests", "ops"}),
        )
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, name in imported(path)
        if name in forbidden
        if f"from {CONTRACTS}" not in path.read_text("utf-8").splitlines()[line - 1]
    ]
    assert found == []


def test_connectors_know_of_the_mechanism_how_errors_speak() -> None:
    """They import the base of all errors, how lines are told, and nothing else of ours."""
    lines = {
        line
        for path in (ROOT / "connectors").rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.strip().startswith(("import ktsafe", "from ktsafe"))
        and not line.strip().startswith("from ktsafe.connectors")
    }
    told = ("OperationFailed", "BadLines, told_lines")
    assert lines == {f"from ktsafe.errors import {names}" for names in told}


@pytest.mark.parametrize("package", ["ktsafe", "state"])
def test_only_the_service_knows_prometheus_and_the_command_line(package: str) -> None:
    """Mechanism and store import neither metrics, nor command line, nor Kafka."""
    found = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in modules_of(package)
        for line, name in imported(path)
        if name in {"prometheus_client", "typer", "click", "rich", "kafka", "logging"}
    ]
    assert found == []


def test_prometheus_is_known_to_the_metrics_only() -> None:
    """Processing code tells an observer; only what implements it imports the metrics library."""
    users = {
        str(path.relative_to(ROOT))
        for package in MAY_IMPORT
        for path in modules_of(package)
        for _, name in imported(path)
        if name == "prometheus_client"
    }
    assert users == {"stream/monitoring/metrics.py"}


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_packages_import_by_themselves(package: str) -> None:
    """Importing a package in a fresh process works and pulls in nothing from above it."""
    module = package if package == "ktsafe" else f"ktsafe.{package}"
    script = f"import sys, {module}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    ours = {package_of(module) for module in done.stdout.split()} & MAY_IMPORT.keys()
    # The package that the others are installed in is entered on the way to them.
    assert ours <= MAY_IMPORT[package] | {package, "ktsafe"}


def test_only_one_name_is_installed() -> None:
    """No other distribution's `stream`, `state` or `connectors` can take the place of ours."""
    installed = distribution("ktsafe").read_text("top_level.txt")
    assert installed is not None
    assert installed.split() == ["ktsafe"]


# Rooms: the folders and root modules of a package.

MODULES_MAX = 20
"""Modules of one folder. Who enters a room must see what is in it."""
MAY_ENTER = {
    "ktsafe/assess/attacks": {
        "ktsafe.errors",
        "ktsafe.graph",
        "ktsafe.graph.numbering",
        "ktsafe.params",
        "ktsafe/assess/attacks/common",
    },
    "ktsafe/assess/attacks/common": {
        "ktsafe.graph.numbering",
        "ktsafe.errors",
        "ktsafe.graph",
        "ktsafe.kernels.compiler",
        "ktsafe.params",
    },
    # How kernels are compiled is no part of what they compute: judges share it with the rest.
    "ktsafe/verify": {
        "ktsafe.errors",
        "ktsafe.graph",
        "ktsafe.kernels.compiler",
        "ktsafe.params",
    },
    "ktsafe/audit/sequence": {
        "ktsafe.errors",
        "ktsafe.graph",
        "ktsafe.kernels.compiler",
        "ktsafe.params",
        "ktsafe/verify",
    },
    "ktsafe/audit": {
        # One struct for sensitive shares, of a release and of a sequence.
        "ktsafe.audit.sequence.figures",
        "ktsafe.graph.numbering",
        "ktsafe.errors",
        "ktsafe.graph",
        "ktsafe.kernels.compiler",
        # What every reader can join from releases; no mechanism uses it.
        "ktsafe.graph.latest_graph",
        "ktsafe.params",
        "ktsafe/verify",
    },
}
"""What these rooms may import: rooms, and single modules of others.

What judges does not know what searches.
"""


def rooms(package: str) -> nx.DiGraph:
    """Return which rooms of a package import which; TYPE_CHECKING and functions included."""
    modules = {}
    for path in sorted((ROOT / package).rglob("*.py")):
        where = path.relative_to(ROOT)
        door = path.name == "__init__.py"
        name = ".".join((where.parent if door else where.with_suffix("")).parts)
        modules[name if package == "ktsafe" else f"ktsafe.{name}"] = where
    of = {
        name: str(where.parent) if where.parent != Path(package) else name
        for name, where in modules.items()
    }
    arrows = nx.DiGraph()
    arrows.add_nodes_from(of.values())
    for name, where in modules.items():
        for node in ast.walk(ast.parse((ROOT / where).read_text(encoding="utf-8"))):
            match node:
                case ast.ImportFrom(module=str(module), names=names):
                    targets = {f"{module}.{alias.name}" for alias in names} & modules.keys()
                    targets |= {module} & modules.keys() if len(targets) < len(names) else set()
                case ast.Import(names=names):
                    targets = {alias.name for alias in names} & modules.keys()
                case _:
                    continue
            # The door of a package stands for what is inside, not for a room of its own.
            inner = {t for t in targets if of[t] != of[name] and where.name != "__init__.py"}
            for target in inner:
                arrows.add_edge(of[name], of[target])
                arrows.edges[of[name], of[target]].setdefault("modules", set()).add(target)
    return arrows


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_no_circle_between_rooms(package: str) -> None:
    """Whoever follows imports from room to room never comes back to one that was left."""
    circles = [sorted(c) for c in nx.strongly_connected_components(rooms(package)) if len(c) > 1]
    assert circles == []


@pytest.mark.parametrize("room", MAY_ENTER)
def test_walls(room: str) -> None:
    """A room that must stay independent imports what it may and nothing else."""
    arrows = rooms("ktsafe")
    assert room in arrows
    entered = {
        target
        for _, other, modules in arrows.edges(room, data="modules")
        for target in ({other} & MAY_ENTER[room] or modules)
    }
    assert entered <= MAY_ENTER[room]


def test_no_folder_is_a_corridor() -> None:
    """No folder holds more modules than one can take in."""
    packages = [*MAY_IMPORT, "lab/ktsafe_lab"]
    folders = {path.parent for package in packages for path in (ROOT / package).rglob("*.py")}
    sizes = {
        str(folder.relative_to(ROOT)): sum(p.name != "__init__.py" for p in folder.glob("*.py"))
        for folder in folders
    }
    assert {folder: n for folder, n in sizes.items() if n > MODULES_MAX} == {}
