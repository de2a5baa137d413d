"""Toy runs compile what releases need, and no kernel twice."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ktsafe.kernels import kernel_cache
from ktsafe.stream.maintenance.cold_kernels import FIRST

ANONYMIZE = """
import sys
import numpy as np
from ktsafe import AnonymizeOptions, PrivacyParams, anonymize
from ktsafe.graph.synthetic import uniform
rng = np.random.default_rng(2)
graph = uniform(100, 500, n_tuples=4, rng=rng)
anonymize(graph, PrivacyParams(k=4, t=0, epsilon=0), rng=rng, options=AnonymizeOptions("fast"))
for name, module in list(sys.modules.items()):
    if name.startswith("ktsafe.") and name.endswith("_core"):
        for one in vars(module).values():
            print(*getattr(getattr(one, "stats", None), "cache_misses", ()))
"""


@pytest.mark.timeout(1200)
def test_a_second_run_compiles_nothing() -> None:
    """After the toy runs they find all kernels compiled, and so does a release."""
    runs = [sys.executable, "-m", "ktsafe.stream.warm"]
    subprocess.check_call(runs, stdout=subprocess.DEVNULL)
    assert subprocess.check_output(runs, text=True) == "0\n"
    assert len([*Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nbc")]) > 50
    command = [sys.executable, "-c", ANONYMIZE]
    compiled = subprocess.check_output(command, text=True)
    assert not compiled.strip()


RUN_PART = """
import sys
from ktsafe.stream import warm
warm.RUNS[sys.argv[1]]()
for name, module in list(sys.modules.items()):
    if name.startswith("ktsafe.") and name.endswith("_core"):
        if any(getattr(one, "signatures", None) for one in vars(module).values()):
            print(name)
"""


def with_callees(modules: set[str]) -> set[str]:
    """Return files of kernels with all that they import, and so on."""
    root, found, open_ends = kernel_cache.package_folder("ktsafe").parent, set(), set(modules)
    while open_ends:
        name = open_ends.pop()
        found.add(name)
        tree = ast.parse((root / f"{name.replace('.', '/')}.py").read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                named = {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
                open_ends |= {one for one in named if one.endswith("_core")} - found
    return found


@pytest.mark.timeout(1200)
def test_two_processes_compile_no_kernel_both() -> None:
    """It would take twice as long. Only what a search ends with is compiled beside the rest."""
    search, ending, judges = (
        with_callees(
            set(subprocess.check_output([sys.executable, "-c", RUN_PART, part], text=True).split())
        )
        for part in (FIRST[0], "ending", FIRST[1])
    )
    assert min(map(len, (search, ending, judges))) > 1
    assert ending < search
    assert search.isdisjoint(judges)
