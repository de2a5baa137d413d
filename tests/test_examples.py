"""The examples of docstrings print what they say, and what others import has one."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest

import ktsafe

FOLDERS = [
    "ktsafe",
    *(module.name for module in pkgutil.iter_modules(ktsafe.__path__, "ktsafe.") if module.ispkg),
]
SHOWN = [
    ".".join(path.relative_to(Path(ktsafe.__file__).parents[1]).with_suffix("").parts)
    for path in sorted(Path(ktsafe.__file__).parent.rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", SHOWN)
def test_examples_print_what_they_say(name: str) -> None:
    """Every example of a module runs, and prints what stands below it."""
    said: list[str] = []
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in doctest.DocTestFinder().find(module, name):
        runner.run(test, out=said.append)
    assert runner.summarize(verbose=False).attempted
    assert not said, "".join(said)


def test_public_functions_have_examples() -> None:
    """What a folder's `__all__` lists as a function is shown at work."""
    without = [
        f"{folder}.{name}"
        for folder in FOLDERS
        for name in getattr(importlib.import_module(folder), "__all__", ())
        if inspect.isfunction(thing := getattr(importlib.import_module(folder), name))
        and ">>> " not in (thing.__doc__ or "")
    ]
    assert without == []
