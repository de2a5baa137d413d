"""Plants defects one by one in a copy of the repository, and asks the tests that are named.

    python -m tests.planted [ROOM or ID ...] [--histories SEEDS]

Prints what found each, and the share found of each room; ends with 1 where one was not found.
With `--histories` nothing but so many simulated histories is asked, for the defects of the service.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shutil
import subprocess
import sys
from collections import Counter
from typing import Final

from tests.planted.defects import PACKAGES, ROOT, Defect, defects, place, planted, product

COPY: Final = ROOT / "build" / "planted"
"""Always the same folder: compiled kernels are kept by the folder of their sources."""
LEFT_OUT: Final = shutil.ignore_patterns(
    ".git", ".venv", "build", "dist", "var", ".hypothesis", "*_cache", "__pycache__", "*.egg-info"
)
ENDS_WITHIN_S: Final = 900
"""A defect that lets a test hang is found, too."""
PYTEST: Final = ("pytest", "-q", "-x", "-p", "no:cacheprovider", "--tb=line")
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)


def main() -> None:
    """Plant, ask, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("only", nargs="*", help="rooms or ids; without them all")
    parser.add_argument("--histories", type=int, help="ask so many histories, and no test")
    given = parser.parse_args()
    chosen = [d for d in defects() if not given.only or {d.room, d.id} & set(given.only)]
    if given.histories:
        chosen = [d for d in chosen if d.is_in_histories]
    _copy()
    if not given.histories:
        _check_sound(chosen)
    found: Counter[str] = Counter()
    for defect in chosen:
        before_s = _core_s()
        finder = _asked(defect, given.histories)
        found[defect.room] += bool(finder)
        print(
            f"{defect.room:12} {defect.id:5} {_core_s() - before_s:6.1f} core s  "
            f"{finder or 'NOT FOUND: ' + defect.does}",
            flush=True,
        )
    of_rooms = Counter(defect.room for defect in chosen)
    for room, count in of_rooms.items():
        print(f"{room:12} {found[room]:3} of {count:3} found")
    print(f"{'all':12} {found.total():3} of {len(chosen):3} found")
    raise SystemExit(found.total() < len(chosen))


def _copy() -> None:
    """Copy the repository, and show the packages where they are installed."""
    shutil.rmtree(COPY, ignore_errors=True)
    shutil.copytree(ROOT, COPY, ignore=LEFT_OUT, symlinks=True)
    for name in PACKAGES[1:]:
        (COPY / PACKAGES[0] / name).symlink_to(COPY / name)


def _check_sound(chosen: list[Defect]) -> None:
    """Ask all tests without a defect: one that fails then finds nothing."""
    tests = sorted({test for defect in chosen for test in defect.tests})
    files = {test for test in tests if "::" not in test}
    tests = [test for test in tests if test in files or test.partition("::")[0] not in files]
    code, told = _run(*PYTEST, *tests, ends_within_s=3600)
    if code:
        msg = f"without a defect: {told[-2000:]}"
        raise SystemExit(msg)


def _asked(defect: Defect, n_histories: int | None) -> str:
    """Return what finds a defect; "" where nothing does."""
    texts = product(COPY)
    path = place(defect, texts)
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_text(planted(defect, texts[path]), encoding="utf-8")
    try:
        if n_histories:
            return _history_that_finds(n_histories)
        return _test_that_finds(defect)
    finally:
        path.write_text(texts[path], encoding="utf-8")
        os.utime(path, ns=times)  # Compiled kernels go by it.


def _test_that_finds(defect: Defect) -> str:
    code, told = _run(*PYTEST, *defect.tests)
    if code in {0, 1}:
        names = _FAILED.findall(told)
        return names[0] if names else "" if code == 0 else told[-300:]
    if code is None:
        return f"no end within {ENDS_WITHIN_S} s"
    msg = f"{defect.id}: pytest ends with {code}: {told[-2000:]}"
    raise RuntimeError(msg)


def _history_that_finds(n_histories: int) -> str:
    code, told = _run("tests.histories", "--seeds", str(n_histories), "--first", "1", "--stop")
    return "" if code == 0 else told.splitlines()[0][:120]


def _run(
    module: str, *arguments: str, ends_within_s: int = ENDS_WITHIN_S
) -> tuple[int | None, str]:
    environment = os.environ | {"PYTHONPATH": str(COPY), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [sys.executable, "-m", module, *arguments],
            cwd=COPY,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=ends_within_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return None, ""
    return done.returncode, done.stdout


def _core_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
