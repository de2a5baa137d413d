"""Kernels are compiled in one way, and what only kernels call is called by no one else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ktsafe.kernels import compiler as kernels

ROOT = Path(__file__).parents[3]
CORES = sorted((ROOT / "ktsafe").rglob("_*_core.py"))


def named(path: Path, modules: set[str]) -> Iterator[tuple[str, str]]:
    """Yield module and name of all that a file takes from some modules, functions included."""
    aliases = {}
    for node in ast.walk(tree := ast.parse(path.read_text())):
        match node:
            case ast.ImportFrom(module=str(module), names=names) if module in modules:
                yield from ((module, alias.name) for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                whole = {alias: f"{module}.{alias.name}" for alias in names}
                aliases |= {a.asname or a.name: w for a, w in whole.items() if w in modules}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=alias)) if alias in aliases:
                yield aliases[alias], node.attr


def test_python_calls_no_inner_kernel() -> None:
    """They have no entry for Python; a kernel that Python or a test calls is no inner one."""
    inner, modules = set(), set()
    for path in CORES:
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        modules.add(module)
        inner |= {
            (module, node.name)
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.FunctionDef)
            and "inner_kernel" in {ast.unparse(decorator) for decorator in node.decorator_list}
        }
    assert inner
    callers = {*(ROOT / "ktsafe").rglob("*.py"), *(ROOT / "tests").rglob("*.py")} - {*CORES}
    for path in sorted(callers):
        assert inner.isdisjoint(named(path, modules)), path


def test_options_are_all_that_kernels_share() -> None:
    """What judges and searchers share imports the compiler and its cache, and decorates alone."""
    tree = ast.parse(Path(kernels.__file__).read_text())
    imported = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)}
    cache = "ktsafe.kernels"
    outside = {"__future__", "collections.abc", "pathlib", "typing"}
    assert imported == {*outside, "numba", "numba.core.caching", cache}
    names = [n for node in ast.walk(tree) if isinstance(node, ast.Import) for n in node.names]
    assert [each.name for each in names] == ["sys", "threading", "fcntl"]
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    decorators = ["kernel", "inner_kernel"]
    assert [f.name for f in functions] == ["_apart", "_widened", "_compiled", *decorators]
    for function in functions[3:]:
        _docstring, only = function.body
        assert isinstance(only, ast.Return), function.name


def test_options() -> None:
    """Kernels are kept, add up in the order that is written, and let other threads run."""
    assert kernels.OPTIONS["cache"] is True
    assert kernels.OPTIONS["fastmath"] is False
    assert kernels.OPTIONS["nogil"] is True


def test_an_inner_kernel_is_compiled_once() -> None:
    """For whole numbers, whatever their kind, and constants; other kinds stay apart."""

    @kernels.inner_kernel
    def moved(number: int, by: int, is_down: bool) -> int:
        return number - by if is_down else number + by

    @kernels.kernel
    def outer(few: np.ndarray, many: np.ndarray, parts: np.ndarray) -> float:
        found = 0.0
        for i in range(few.shape[0]):
            found += moved(few[i], 1, True) + moved(many[i], -1, False) + moved(few[i], many[i], 1)
            found += moved(parts[i], 2, True)
        return found

    few, many, parts = np.arange(5, dtype=np.int32), 2**40 + np.arange(5), np.arange(5) / 2
    expected = sum(
        moved.py_func(a, 1, True)
        + moved.py_func(b, -1, False)
        + moved.py_func(a, b, True)
        + moved.py_func(c, 2, True)
        for a, b, c in zip(few.tolist(), many.tolist(), parts.tolist(), strict=True)
    )
    assert outer(few, many, parts) == expected
    kinds = sorted(map(str, moved.signatures))
    assert kinds == [
        "(float64, int64, bool)",
        "(int64, int64, bool)",
        "(int64, int64, int64)",
    ]


def test_a_kernel_is_its_function() -> None:
    """What a kernel returns is what its function returns."""

    def doubled(number: int) -> int:
        return 2 * number

    assert kernels.kernel(doubled)(3) == doubled(3)
