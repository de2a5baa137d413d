"""Compiled kernels are those of the source, and nobody else's."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from numba.core.caching import FunctionCache

from ktsafe.kernels import kernel_cache
from ktsafe.verify import _stars_core

CALLEE = "from numba import njit\n@njit(cache=True)\ndef callee():\n    return {}\n"
CALLER = (
    "from numba import njit\nfrom tiny._callee_core import callee\n"
    "@njit(cache=True)\ndef caller():\n    return callee()\n"
)
RUN = "from tiny._caller_core import caller\nprint(caller())"
SETTLED = (
    "from ktsafe.kernels.kernel_cache import choose_kernel_folder\n"
    f"assert not choose_kernel_folder('tiny')\n{RUN}"
)


def write_tiny(folder: Path, value: int) -> None:
    """Write a package of two kernels, of which one calls the other and returns its `value`."""
    (folder / "tiny").mkdir(exist_ok=True)
    (folder / "tiny" / "__init__.py").touch()
    (folder / "tiny" / "_caller_core.py").write_text(CALLER)
    (folder / "tiny" / "_callee_core.py").write_text(CALLEE.format(value))


def said(code: str, folder: Path, cache: Path) -> str:
    """Run `code` in a process of its own that finds the tiny package, and return its output."""
    path = os.pathsep.join([str(folder), *(p for p in sys.path if p)])
    environment = {**os.environ, "PYTHONPATH": path, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-B", "-c", code]
    return subprocess.check_output(command, env=environment, text=True).strip()


def test_a_changed_callee_is_seen(tmp_path) -> None:
    """Numba alone runs the caller as it was compiled; in a folder by digest it runs as it is."""
    for code, expected in ((RUN, "1"), (SETTLED, "2")):
        cache = tmp_path / f"cache{expected}"
        write_tiny(tmp_path, 1)
        assert said(code, tmp_path, cache) == "1"
        write_tiny(tmp_path, 2)
        assert said(code, tmp_path, cache) == expected


def test_kernels_call_nothing_that_the_digest_leaves_out() -> None:
    """Of ours, files with kernels import files with kernels only, and where these are kept."""
    files = kernel_cache.kernel_files("ktsafe")
    root = Path(kernel_cache.__file__).parents[2]
    options = root / "ktsafe" / "kernels" / "compiler.py"
    assert options in files
    assert all(path.name.endswith("_core.py") for path in files if path != options)
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "ktsafe.kernels":
                assert path == options
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ktsafe"):
                module = root / str(node.module).replace(".", "/")
                named = [module / f"{alias.name}.py" for alias in node.names]
                assert module.with_suffix(".py") in files or set(named) <= set(files), path
            assert not isinstance(node, ast.Import) or "ktsafe" not in node.names[0].name


def test_every_version_has_its_folder(tmp_path, monkeypatch) -> None:
    """The digest tells kernels by content and name, and compilers by version."""
    write_tiny(tmp_path, 1)
    files = sorted((tmp_path / "tiny").glob("_*_core.py"))
    found = {
        kernel_cache.digest_of(files),
        kernel_cache.digest_of(files[:1]),
        kernel_cache.digest_of(files[1:]),
    }
    monkeypatch.setattr(kernel_cache, "version", lambda name: f"another {name}")
    assert len(found | {kernel_cache.digest_of(files)}) == 4


def test_a_started_process_uses_the_same_folder(tmp_path, monkeypatch) -> None:
    """The folder is not made again inside itself."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        assert kernel_cache.choose_kernel_folder() == ""
        assert Path(os.environ["NUMBA_CACHE_DIR"]).parent == tmp_path


USER = """
import os
from numba import config, njit
@njit(cache=True)
def mine(x):
    return x
from ktsafe.kernels.compiler import FOLDER
from ktsafe.verify import _stars_core
ours = {
    each._cache.cache_path
    for each in vars(_stars_core).values()
    if hasattr(each, "py_func")
}
assert ours and all(path.startswith(FOLDER) for path in ours), ours
@njit(cache=True)
def later(x):
    return x
assert mine._cache.cache_path == later._cache.cache_path
assert not mine._cache.cache_path.startswith(FOLDER)
assert "NUMBA_CACHE_DIR" not in os.environ and not config.CACHE_DIR
print(FOLDER)
"""


def test_the_library_keeps_its_own_kernels_only(tmp_path: Path) -> None:
    """Imported into somebody's program, it settles where its kernels are, and nobody else's."""
    (tmp_path / "program.py").write_text(USER)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    del environment["NUMBA_CACHE_DIR"]
    command = [sys.executable, str(tmp_path / "program.py")]
    folder = Path(subprocess.check_output(command, env=environment, text=True).strip())
    assert folder.parent == tmp_path / "cache" / "ktsafe" / "numba"
    assert folder.stat().st_mode & 0o777 == 0o700


def test_kernels_of_one_folder_do_not_pass_for_those_of_another(tmp_path, monkeypatch) -> None:
    """After the verifier's were compiled, those of the search are still cold."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    kernel = tmp_path / "verify_0a1b" / "stars.nbi"
    kernel.parent.mkdir()
    kernel.touch()
    assert not kernel_cache.is_cold("verify")
    assert kernel_cache.is_cold("anonymization")


@pytest.mark.parametrize("trap", ["open to others", "link", "file", "no home"])
def test_code_that_others_may_have_written_is_not_run(tmp_path, monkeypatch, trap) -> None:
    """Kernels go to a new folder of mode 0700 instead, and the user is told why."""
    monkeypatch.setattr(kernel_cache, "LABORATORY", "not_installed")
    name = f"kernels-{kernel_cache.digest_of(kernel_cache.kernel_files('ktsafe'))}"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    match trap:
        case "open to others":
            (tmp_path / name).mkdir()
            (tmp_path / name).chmod(0o770)
        case "link":
            (tmp_path / name).symlink_to(tmp_path)
        case "file":
            (tmp_path / name).touch()
        case "no home":
            for variable in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
                monkeypatch.delenv(variable, raising=False)
            monkeypatch.setattr(Path, "home", no_home)
    notice = kernel_cache.choose_kernel_folder()
    assert "NUMBA_CACHE_DIR" in notice
    chosen = Path(os.environ["NUMBA_CACHE_DIR"])
    assert chosen.name != name
    assert chosen.stat().st_mode & 0o777 == 0o700


def no_home() -> Path:
    """Find no home, as in a container whose user is in no list."""
    raise RuntimeError("Could not determine home directory.")


def test_kinds_of_a_kernel_are_kept_one_at_a_time(monkeypatch) -> None:
    """While a process or thread adds to the kept kinds of kernels, no other one does."""
    inside, most, start = [], [], threading.Barrier(4)

    def save(self, sig, data) -> None:
        inside.append(sig)
        most.append(len(inside))
        time.sleep(0.02)
        inside.remove(sig)

    def compiled(kind: int) -> None:
        start.wait()
        _stars_core.narrow_histograms._cache.save_overload(kind, None)

    monkeypatch.setattr(FunctionCache, "save_overload", save)
    threads = [threading.Thread(target=compiled, args=[kind]) for kind in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1, 1, 1, 1]
