"""Clusters for tests, and tasks that end their worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from distributed import LocalCluster


@contextmanager
def local_cluster(n_workers: int = 2, **options: Any) -> Iterator[str]:
    """Run a scheduler and workers; give the scheduler's address."""
    with LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address="127.0.0.1:0",
        memory_limit="2GiB",
        silence_logs=50,
        **options,
    ) as cluster:
        yield cluster.scheduler_address


@contextmanager
def program(name: str, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Run `dask <name>` as a process of its own, which is killed at the end."""
    command = [sys.executable, "-m", "dask", name, *arguments]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    ) as process:
        try:
            yield process
        finally:
            process.kill()


class Deadly(Executor):
    """Kills the process that does the first task, while it does it."""

    def __init__(self, executor: Executor, marker: Path) -> None:
        self._executor = executor
        self._marker = marker

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], **_: Any) -> Iterator[Any]:
        """Pass tasks on."""
        return self._executor.map(partial(dying_once, self._marker, fn), *iterables)


def dying_once(marker: Path, fn: Callable[..., Any], *arguments: Any) -> Any:
    """Do a task, unless nobody has died of it yet."""
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return fn(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def who(_: Any) -> int:
    """Return the number of the process."""
    return os.getpid()
