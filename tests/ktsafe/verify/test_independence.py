"""The gate shares nothing with what it judges."""

from __future__ import annotations

import ast
from pathlib import Path

import ktsafe

PACKAGE = Path(ktsafe.__file__).parent
VERIFIER = sorted((PACKAGE / "verify").glob("*.py"))
SHARED = {
    "ktsafe.errors",
    "ktsafe.graph",
    "ktsafe.kernels.compiler",
    "ktsafe.params",
}
"""`ktsafe.kernels.compiler` only says how to compile; `test_kernels.py` holds it to that."""
MAY_USE_KERNELS = {"audit/privacy_figures.py", "audit/_privacy_core.py"}


def imported(module: Path) -> set[str]:
    """Return the names of this package's modules that a module imports."""
    names = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            if (PACKAGE.parent / node.module.replace(".", "/")).is_dir():
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                modules = {name for name in inner if _is_module(name)}
                names |= modules if modules == inner else {node.module, *modules}
            else:
                names.add(node.module)
    return {name for name in names if name.split(".")[0] == "ktsafe"}


def _is_module(name: str) -> bool:
    """Return whether a dotted name is a module's."""
    path = PACKAGE.parent / name.replace(".", "/")
    return path.is_dir() or path.with_suffix(".py").is_file()


def users_of(names: set[str]) -> set[str]:
    """Return the modules outside the verifier that import one of these."""
    return {
        str(module.relative_to(PACKAGE))
        for module in PACKAGE.rglob("*.py")
        if module not in VERIFIER and names & imported(module)
    }


def test_the_verifier_imports_nothing_of_the_anonymizer() -> None:
    """Beside itself: errors, parameters, the compiler's options, the graph for a second entry."""
    assert len(VERIFIER) > 5
    for module in VERIFIER:
        foreign = {n for n in imported(module) if not n.startswith("ktsafe.verify.")}
        assert foreign <= SHARED


def test_nothing_else_imports_the_verifiers_kernels() -> None:
    """Only the verifier and the audit's figures use its kernels; the anonymizer has its own."""
    kernels = {f"ktsafe.verify.{m.stem}" for m in VERIFIER if m.stem.endswith("_core")}
    assert kernels
    assert users_of(kernels) <= MAY_USE_KERNELS
