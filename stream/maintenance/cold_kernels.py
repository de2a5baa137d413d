"""Kernels that are not compiled yet, compiled by processes beside this one.

Two processes compile at the same time what a release needs: one most of what searches for it, the
other the rest and what judges it, so both take about equally long.

`_POLL_S` and words may be changed. A new folder of kernels belongs into `PARTS` and a run of
`ktsafe.stream.warm`: tests/ktsafe/kernels/test_warm.py fails where two processes compile the same.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from ktsafe.kernels import kernel_cache
from ktsafe.stream.process.command_line import Progress, phases

PARTS: Final = {
    "search": ("anonymization/",),
    "judges": ("audit/", "verify/_stars"),
}
"""Runs of `ktsafe.stream.warm`, and which files of kernels each of them compiles.

The first folder is compiled by this run alone, so it tells whether the run is needed.
"""
FIRST: Final = ("search", "judges")
"""What a release needs that knows stars: the default."""
_KERNEL: Final = re.compile(rb"^@(?:inner_)?kernel$", re.MULTILINE)
_POLL_S: Final = 0.1


def compile_first() -> None:
    """Compile what the default strategy's releases lack, with a bar."""
    with compiling_first():
        pass


def compiling_first() -> AbstractContextManager[None]:
    """Compile kernels of releases beside a body without any.

    Examples
    --------
    >>> with compiling_first():  # doctest: +SKIP
    ...     import_what_is_slow()
    """
    return _compiling_cold(FIRST)


def compile_judges() -> None:
    """Compile what judges releases and was not compiled before, with a bar."""
    with _compiling_cold(("judges",)):
        pass


@contextmanager
def _compiling_cold(parts: Sequence[str]) -> Iterator[None]:
    cold = [part for part in parts if kernel_cache.is_cold(PARTS[part][0].removesuffix("/"))]
    if not cold:
        yield
        return
    with _beside(cold) as ended:
        yield
        with phases("compiling kernels, once") as progress:
            ended(progress)


@contextmanager
def _beside(parts: Sequence[str]) -> Iterator[Callable[[Progress], None]]:
    """Run parts in processes of their own; give what waits for them.

    What fails there is compiled when it is needed.
    """
    total, first = _declared(parts), len(_compiled())
    command = [sys.executable, "-m", "ktsafe.stream.warm"]
    runs = [[part] for part in parts]
    if tuple(parts) == FIRST:
        runs[1].insert(0, "ending")
    running = [
        subprocess.Popen(  # noqa: S603 -- our own
            [*command, *names], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for names in runs
    ]

    def ended(progress: Progress) -> None:
        while any(one.poll() is None for one in running):
            progress(", ".join(parts), min((len(_compiled()) - first) / total, 0.99))
            time.sleep(_POLL_S)

    try:
        yield ended
    finally:
        for one in running:
            one.kill()
            one.wait()


def _declared(parts: Sequence[str]) -> int:
    """Return how many kernels the files of some parts hold."""
    root = kernel_cache.package_folder("ktsafe")
    named = {path: path.relative_to(root).as_posix() for path in root.rglob("*_core.py")}
    beginnings = tuple(beginning for part in parts for beginning in PARTS[part])
    chosen = [path for path, name in named.items() if name.startswith(beginnings)]
    return max(sum(len(_KERNEL.findall(path.read_bytes())) for path in chosen), 1)


def _compiled() -> set[str]:
    """Return the files of compiled kernels."""
    return {str(path) for path in Path(os.environ["NUMBA_CACHE_DIR"]).rglob("*.nbc")}
