"""Plants defects one by one in copies of the repository, and asks the test named for each.

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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Final

from tests.planted.defects import PACKAGES, ROOT, Defect, defects, place, planted, product

COPIES: Final = tuple(ROOT / "build" / "planted" / name for name in ("one", "other"))
"""One a core; always the same folders, since compiled kernels are kept by that of their sources."""
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
    for copy in COPIES:
        _copy(copy)
    if not given.histories:
        _check_sound(chosen)
    found: Counter[str] = Counter()
    free = Queue[Path]()
    for copy in COPIES:
        free.put(copy)

    def ask(defect: Defect) -> str:
        copy = free.get()
        try:
            return _asked(copy, defect, given.histories)
        finally:
            free.put(copy)

    with ThreadPoolExecutor(len(COPIES)) as pool:
        for defect, finder in zip(chosen, pool.map(ask, chosen), strict=True):
            found[defect.room] += bool(finder)
            told = finder or f"NOT FOUND: {defect.does}"
            print(f"{defect.room:12} {defect.id:5} {told}", flush=True)
    of_rooms = Counter(defect.room for defect in chosen)
    for room, count in of_rooms.items():
        print(f"{room:12} {found[room]:3} of {count:3} found")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{'all':12} {found.total():3} of {len(chosen):3} found", end=", ")
    print(f"{(used.ru_utime + used.ru_stime) / 60:.1f} core min")
    raise SystemExit(found.total() < len(chosen))


def _copy(to: Path) -> None:
    """Copy the repository, and show the packages where they are installed."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(ROOT, to, ignore=LEFT_OUT, symlinks=True)
    for name in PACKAGES[1:]:
        (to / PACKAGES[0] / name).symlink_to(to / name)


def _check_sound(chosen: list[Defect]) -> None:
    """Ask the tests without a defect: one that fails then finds nothing."""
    tests = dict.fromkeys(defect.test for defect in chosen)
    code, told = _run(COPIES[0], *PYTEST, "-n", str(len(COPIES)), *tests, ends_within_s=3600)
    if code:
        msg = f"without a defect: {told[-2000:]}"
        raise SystemExit(msg)


def _asked(copy: Path, defect: Defect, n_histories: int | None) -> str:
    """Return what finds a defect; "" where nothing does."""
    texts = product(copy)
    path = place(defect, texts)
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_text(planted(defect, texts[path]), encoding="utf-8")
    try:
        if n_histories:
            return _history_that_finds(copy, n_histories)
        return _test_that_finds(copy, defect)
    finally:
        path.write_text(texts[path], encoding="utf-8")
        os.utime(path, ns=times)  # Compiled kernels go by it.


def _test_that_finds(copy: Path, defect: Defect) -> str:
    code, told = _run(copy, *PYTEST, defect.test)
    if code in {0, 1}:
        names = _FAILED.findall(told)
        return names[0] if names else "" if code == 0 else told[-300:]
    if code is None:
        return f"no end within {ENDS_WITHIN_S} s"
    msg = f"{defect.id}: pytest ends with {code}: {told[-2000:]}"
    raise RuntimeError(msg)


def _history_that_finds(copy: Path, n_histories: int) -> str:
    code, told = _run(
        copy, "tests.histories", "--seeds", str(n_histories), "--first", "1", "--stop"
    )
    return "" if code == 0 else told.splitlines()[0][:120]


def _run(
    copy: Path, module: str, *arguments: str, ends_within_s: int = ENDS_WITHIN_S
) -> tuple[int | None, str]:
    environment = os.environ | {"PYTHONPATH": str(copy)}
    try:
        done = subprocess.run(
            [sys.executable, "-m", module, *arguments],
            cwd=copy,
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


if __name__ == "__main__":
    main()
