"""The style guide, as far as a program can check it."""

from __future__ import annotations

import ast
import re
import subprocess
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("ktsafe", "state", "connectors", "stream", "lab/ktsafe_lab")
MODULES = sorted(p for folder in (*PACKAGES, "ops") for p in (ROOT / folder).rglob("*.py"))
TEXTS = sorted(
    path
    for folder in (*PACKAGES, "ops", "tests", "lab", ".ci")
    for path in (ROOT / folder).rglob("*")
    if path.is_file() and "__pycache__" not in path.parts and path != Path(__file__)
) + [path for path in sorted(ROOT.iterdir()) if path.is_file() and path.name != ".git"]

MODULE_LINES_MAX = 500
FUNCTION_LINES_MAX = 70
"""Of a function's body without its docstring."""
LONGER: dict[str, int] = {}
"""Functions tolerated at a greater length, which may only shrink."""

FORBIDDEN = {
    "a credential": (
        r"BEGIN (RSA |EC |OPENSSH )?PRIVATE KEY|AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36}"
    ),
    "a host of a package registry": (
        r"pypi\.org|pythonhosted\.org|repo1?\.maven\.(org|apache\.org)|registry\.npmjs\.org"
        r"|index-url|trusted-host"
    ),
    "a path of one machine": r"/(home|Users)/[a-z]+/|/work/|/root/",
    "unfinished work": r"\b(TODO|FIXME|XXX|HACK)\b|raise NotImplementedError",
    "a merge conflict": r"^(<{7} |>{7} )",
}


def functions(path: Path) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Yield every function of a module with where it is."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{path.relative_to(ROOT)}:{node.lineno}:{node.name}", node


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the length of a function's body without its docstring."""
    body = function.body
    if ast.get_docstring(function, clean=False) is not None:
        body = body[1:]
    if not body:
        return 0
    return (body[-1].end_lineno or 0) - body[0].lineno + 1


def test_there_is_something_to_check() -> None:
    """The lists below are not empty by mistake."""
    assert len(MODULES) > 20
    assert ROOT / "README.md" in TEXTS


def test_modules_are_short() -> None:
    """No module is longer than the limit."""
    lengths = {p: len(p.read_text(encoding="utf-8").splitlines()) for p in MODULES}
    assert {str(p): n for p, n in lengths.items() if n > MODULE_LINES_MAX} == {}


def test_functions_are_short() -> None:
    """No function's body is longer than the limit, or than it was tolerated at."""
    lengths = {
        f"{path.relative_to(ROOT)}:{f.name}": body_lines(f)
        for path in MODULES
        for _, f in functions(path)
    }
    limits = {where: LONGER.get(where, FUNCTION_LINES_MAX) for where in lengths}
    assert {where: n for where, n in lengths.items() if n > limits[where]} == {}


def named_twice(names: Iterable[tuple[str, Path]]) -> dict[str, list[str]]:
    """Return each name that several files give to something, with these files."""
    where = defaultdict(list)
    for name, path in names:
        where[name].append(str(path.relative_to(ROOT)))
    return {name: paths for name, paths in where.items() if len(paths) > 1}


def test_no_two_modules_share_a_name() -> None:
    """A module's name says which one it is, two kinds of name apart.

    A command may be named after what it commands, and every package has `errors` of its own.
    """
    named = [
        (path.stem, path)
        for path in MODULES
        if path.stem != "__init__"
        and path.parent != ROOT / "stream" / "commands"
        and (path.stem != "errors" or path.parent.parent != ROOT)
    ]
    assert named_twice(named) == {}


def test_no_two_classes_share_a_name() -> None:
    """A class's name says which one it is."""
    named = [
        (node.name, path)
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    ]
    assert named_twice(named) == {}


def test_kernels_declare_how_they_are_compiled() -> None:
    """By `kernels.compiler`, or with cache and without fastmath: safety is decided exactly."""
    kernels = 0
    for path in MODULES:
        for where, function in functions(path):
            for decorator in function.decorator_list:
                text = ast.unparse(decorator)
                kernels += text in {"kernel", "inner_kernel"}
                if not re.search(r"\b(njit|jit|vectorize|guvectorize)\b", text):
                    continue
                kernels += 1
                assert isinstance(decorator, ast.Call), f"{where} declares nothing"
                given = {k.arg: ast.unparse(k.value) for k in decorator.keywords}
                assert "cache" in given, f"{where} does not declare cache"
                assert given.get("fastmath") == "False", f"{where} does not rule fastmath out"
    assert kernels


def test_public_modules_say_what_they_are() -> None:
    """Every module begins with a docstring."""
    silent = [
        str(path.relative_to(ROOT))
        for path in MODULES
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []


FIRST_WORDS_MAX = 12
_PERSONS = re.compile(r"\b(who|whose|whom|whoever|nobody|somebody|what is)\b", re.IGNORECASE)


def first_lines(source: str) -> list[str]:
    """Return the first lines of the docstrings of a module, its classes and functions."""
    of = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, of)]
    texts = [ast.get_docstring(node) for node in nodes]
    return [text.splitlines()[0] for text in texts if text]


def test_first_lines_are_short_and_plain() -> None:
    """A reader sees in a dozen words, a verb or a noun first, what a thing is or does."""
    lines = [line for path in MODULES for line in first_lines(path.read_text(encoding="utf-8"))]
    assert len(lines) > 2000
    assert [line for line in lines if len(line.split()) > FIRST_WORDS_MAX] == []
    assert [line for line in lines if _PERSONS.search(re.sub(r"`[^`]*`", "", line))] == []


PROSE_WORDS_MAX = 40_000
"""Of all Markdown but the changelog and results: it may only fall."""
RESULTS_WORDS_MAX = 10_000
"""Of `lab/results`, which belong to revisions and are looked up."""


def test_markdown_stays_of_a_size_that_people_read() -> None:
    """What is added takes the place of something."""
    words = {
        path: len(path.read_text(encoding="utf-8").split())
        for pattern in ("*.md", "docs/**/*.md", "ops/**/*.md", "lab/**/*.md")
        for path in ROOT.glob(pattern)
    }
    results = {path for path in words if path.is_relative_to(ROOT / "lab/results")}
    assert results
    assert sum(words[path] for path in results) <= RESULTS_WORDS_MAX
    prose = words.keys() - results - {ROOT / "CHANGELOG.md"}
    assert sum(words[path] for path in prose) <= PROSE_WORDS_MAX


def test_tests_state_their_claim() -> None:
    """Every test has a docstring."""
    silent = [
        where
        for folder in ("tests", "lab")
        for path in sorted((ROOT / folder).rglob("test_*.py"))
        for where, function in functions(path)
        if function.name.startswith("test_") and not ast.get_docstring(function)
    ]
    assert silent == []


def test_every_test_folder_is_a_package() -> None:
    """A folder of tests without `__init__.py` would shadow the package it is named after."""
    folders = {path.parent for top in ("tests", "lab") for path in (ROOT / top).rglob("*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


@pytest.mark.parametrize("what", FORBIDDEN)
def test_nothing_forbidden_is_written_down(what: str) -> None:
    """No file of the project holds a credential, a registry's address, or unfinished work."""
    pattern = re.compile(FORBIDDEN[what], re.MULTILINE)
    found = []
    for path in TEXTS:
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {m.group()}" for m in pattern.finditer(text)]
    assert found == []


@pytest.mark.parametrize(
    ("subject", "passes"),
    [
        ("Keep the decisions that still decide", True),
        ("Feed events to the judge", True),
        ("fixup! whatever it was", True),
        (f"Keep {'x' * 67}", True),
        (f"Keep {'x' * 68}", False),
        ("Keep the decisions.", False),
        ("Kept the decisions", False),
        ("Adds a decision", False),
        ("Added a decision", False),
        ("Adding a decision", False),
        ("keep the decisions", False),
    ],
)
def test_subjects_of_commits_are_judged(subject: str, passes: bool, tmp_path: Path) -> None:
    """The hook, which `.ci/run` runs over all commits, refuses what is long or no imperative."""
    (tmp_path / "message").write_text(f"# a comment of git\n{subject}\n\nA body.\n")
    command = ["bash", str(ROOT / ".ci/subjects"), str(tmp_path / "message")]
    assert (subprocess.run(command, check=False, capture_output=True).returncode == 0) == passes


def test_every_dependency_is_pinned() -> None:
    """What pyproject.toml asks for has one exact version in constraints.txt."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [item for group in project.get("optional-dependencies", {}).values() for item in group]
    pinned = {
        line.partition("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if "==" in line
    }
    names = {re.split(r"[\[<>=!~ ;]", item)[0].lower() for item in project["dependencies"] + extras}
    assert names - pinned == set()
