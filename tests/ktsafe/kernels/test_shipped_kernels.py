"""Kernels that come compiled are run where they fit, and nothing else is ever unpacked."""

from __future__ import annotations

import ast
import hashlib
import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from ktsafe.kernels import kernel_cache, shipped_kernels
from ktsafe.stream.maintenance.cold_kernels import FIRST
from tests.ktsafe.kernels.test_kernel_cache import said, write_tiny

NAME = "kernels-0123456789abcdef"
ASK = """
from tiny._caller_core import caller
assert caller() == 7
print(sum(caller.stats.cache_hits.values()), sum(caller.stats.cache_misses.values()))
"""


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """Return a folder with the file of a package of two kernels that was compiled elsewhere."""
    there, cache = tmp_path / "there", tmp_path / "cache" / NAME
    there.mkdir()
    cache.mkdir(parents=True)
    write_tiny(there, 7)
    assert said(ASK, there, cache) == "0 1"
    (tmp_path / "packed").mkdir()
    shipped_kernels.pack(cache, NAME, there / "tiny", tmp_path / "packed")
    return tmp_path / "packed"


def empty(tmp_path: Path) -> Path:
    """Return an empty folder for kernels beside which there is room."""
    folder = tmp_path / "mine" / NAME
    folder.mkdir(mode=0o700, parents=True)
    return folder


def rewritten(packed: Path, change: str) -> None:
    """Write a file of kernels again with one member more, and the right digest beside it."""
    (path,) = packed.glob("*.tar.xz")
    if change == "digest":
        path.write_bytes(path.read_bytes() + b"\0")
        return
    if change == "note":
        path.with_name(f"{path.name}.sha256").unlink()
        return
    with tarfile.open(path, "r:xz") as old:
        members = [(m, old.extractfile(m).read()) for m in old]
    names = {
        "outside": "tiny/../../_x_core.f-1.py311.nbi",
        "absolute": "/tmp/_x_core.f-1.py311.nbi",
        "another folder": "other/_x_core.f-1.py311.nbi",
        "another kind": "tiny/_x_core.py",
        "link": "tiny/_x_core.f-1.py311.nbi",
    }
    more = tarfile.TarInfo(names[change])
    if change == "link":
        more.type, more.linkname = tarfile.SYMTYPE, "/etc/passwd"
    with tarfile.open(path, "w:xz") as new:
        for member, content in [*members, (more, b"")]:
            new.addfile(member, io.BytesIO(content))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    path.with_name(f"{path.name}.sha256").write_text(digest)


def test_unpacked_kernels_serve_at_another_place(tmp_path: Path, packed: Path) -> None:
    """Where the same sources lie elsewhere, nothing is compiled; the folder is private."""
    here, folder = tmp_path / "here", empty(tmp_path)
    here.mkdir()
    write_tiny(here, 7)
    assert shipped_kernels.is_shipped(NAME, packed)
    assert shipped_kernels.unpack(NAME, folder, here / "tiny", packed)
    assert said(ASK, here, folder) == "1 0"
    assert {path.stat().st_mode & 0o777 for path in [folder, *folder.iterdir()]} == {0o700}


def test_without_a_file_nothing_happens(tmp_path: Path, packed: Path) -> None:
    """Other kernels have another digest, and find no file."""
    folder = empty(tmp_path)
    assert not shipped_kernels.unpack("kernels-fedcba9876543210", folder, tmp_path, packed)
    assert not any(folder.iterdir())


def test_the_same_kernels_make_the_same_file(tmp_path: Path, packed: Path) -> None:
    """Neither a time nor an owner goes into it, and a file for other kernels goes."""
    (path,) = packed.glob("*.tar.xz")
    before = path.read_bytes()
    (packed / "kernels-of-before.tar.xz").touch()
    again = shipped_kernels.pack(
        tmp_path / "cache" / NAME, NAME, tmp_path / "there" / "tiny", packed
    )
    assert again.read_bytes() == before
    assert [*packed.glob("*.tar.xz")] == [path]


@pytest.mark.parametrize(
    "change", ["digest", "note", "outside", "absolute", "another folder", "another kind", "link"]
)
def test_nothing_else_is_unpacked(tmp_path: Path, packed: Path, change: str) -> None:
    """A file that is not as it was packed, or holds what is no kernel, leaves nothing behind."""
    rewritten(packed, change)
    folder = empty(tmp_path)
    with pytest.raises(shipped_kernels.NotShipped):
        shipped_kernels.unpack(NAME, folder, tmp_path / "there" / "tiny", packed)
    assert [*folder.parent.iterdir()] == [folder]
    assert not any(folder.iterdir())


def test_a_file_that_is_not_used_is_told(tmp_path: Path, packed: Path, monkeypatch) -> None:
    """The user is told why kernels are compiled although they came with the program."""
    rewritten(packed, "digest")
    monkeypatch.setattr(shipped_kernels, "HERE", packed)
    monkeypatch.setattr(kernel_cache, "digest_of", lambda _files: NAME.removeprefix("kernels-"))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "mine"))
    for name in shipped_kernels.PORTABLE:
        monkeypatch.setenv(name, "")
    notice = kernel_cache.choose_kernel_folder()
    assert "sha256" in notice
    assert not any(Path(os.environ["NUMBA_CACHE_DIR"]).iterdir())


ANONYMIZE = """
import sys
import numpy as np
from ktsafe import AnonymizeOptions, PrivacyParams, anonymize
from ktsafe.graph.datasets.synthetic import uniform
rng = np.random.default_rng(2)
graph = uniform(100, 500, n_tuples=4, rng=rng)
anonymize(graph, PrivacyParams(k=4), rng=rng, options=AnonymizeOptions("fast"))
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
