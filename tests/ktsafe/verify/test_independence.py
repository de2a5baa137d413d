"""The gate shares nothing with what it judges."""

from __future__ import annotations

import ast
from pathlib import Path

import ktsafe

PACKAGE = Path(ktsafe.__file__).parent
VERIFIER = {
    "verify",
    "_verify_core",
    "verdict",
    "verify_hops",
    "_verify_hops_core",
    "edit_distance",
    "_edit_distance_core",
    "_partial_matching_core",
    "_rooted_graph_core",
    "certificate",
}
SHARED = {"ktsafe.errors", "ktsafe.graph", "ktsafe.params"}
MAY_USE_KERNELS = {"verify", "privacy_figures", "_privacy_core"}


def imported(module: Path) -> set[str]:
    """Return the names of this package's modules that a module imports."""
    names = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            if node.module == "ktsafe":
                names |= {f"ktsafe.{alias.name}" for alias in node.names}
            else:
                names.add(node.module)
    return {name for name in names if name.split(".")[0] == "ktsafe"}


def test_the_verifier_imports_nothing_of_the_anonymizer() -> None:
    """Beside itself it knows errors, parameters, and the graph type for its convenience entry."""
    assert {module.stem for module in PACKAGE.glob("*verify*.py")} <= VERIFIER
    for name in VERIFIER:
        own = {f"ktsafe.{other}" for other in VERIFIER}
        assert imported(PACKAGE / f"{name}.py") <= own | SHARED


def test_strategies_do_not_import_the_certificate() -> None:
    """Who makes an automorphism does not use the code that checks it."""
    users = {m.stem for m in PACKAGE.rglob("*.py") if "ktsafe.verify.certificate" in imported(m)}
    assert users <= VERIFIER


def test_nothing_else_imports_the_verifiers_kernels() -> None:
    """Only the verifier and the audit's figures use its kernels; the anonymizer has its own."""
    kernels = {f"ktsafe.{name}" for name in VERIFIER if name.endswith("_core")}
    users = {module.stem for module in PACKAGE.rglob("*.py") if kernels & imported(module)}
    assert users <= MAY_USE_KERNELS | VERIFIER
