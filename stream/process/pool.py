"""Opens executors for the mechanism, and counts their work.

The mechanism starts no thread itself.

Anything may be changed that keeps results in the order of their tasks: releases must not depend on
workers (tests/stream/workers/test_pool.py). Figures of `WorkInParts` are metrics.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final


@dataclasses.dataclass(slots=True)
class WorkInParts:
    """What was done in parts for one release.

    Attributes
    ----------
    workers:
        How many there were, threads or processes.
    parts:
        How many parts were done by them.
    core_s:
        Core seconds of these parts.
    rest_s:
        Core seconds of what is done in one piece, in between.
    """

    workers: int = 1
    parts: int = 0
    core_s: float = 0.0
    rest_s: float = 0.0

    @property
    def share(self) -> float:
        """The share of all core seconds that were spent on parts."""
        total = self.core_s + self.rest_s
        return self.core_s / total if total else 0.0


@dataclasses.dataclass(frozen=True, slots=True)
class Workers:
    """Workers for parts; releases do not depend on them.

    Attributes
    ----------
    threads:
        Threads of this process; None means one per core.
    dask:
        Address of a Dask scheduler whose workers are used instead; empty: none.
    folder:
        Where what tasks read is written for these workers: a private folder that they see too.
    """

    threads: int | None = None
    dask: str = ""
    folder: Path | None = None

    @property
    def n_threads(self) -> int:
        """Threads of this process."""
        return self.threads or os.cpu_count() or 1

    @contextmanager
    def open(self) -> Iterator[tuple[Executor, WorkInParts]]:
        """Yield an executor, and a count complete at the end.

        Compiled kernels run without the interpreter lock, so threads are enough.

        Raises
        ------
        WorkersLost
            If the scheduler or its workers cannot be reached, or not any more.
        """
        work = WorkInParts(self.n_threads)
        began_s = time.thread_time()
        if self.dask:
            # Needed here alone, and not installed with all else.
            from ktsafe.stream.process.on_dask import dask_workers  # noqa: PLC0415

            assert self.folder is not None
            with dask_workers(self.dask, self.folder) as (executor, work.workers):
                yield Counting(executor, work), work
        elif self.n_threads == 1:
            yield Counting(InPlace(), work), work
            began_s += work.core_s
        else:
            prefix = "ktsafe-worker"
            with ThreadPoolExecutor(self.n_threads, thread_name_prefix=prefix) as executor:
                yield Counting(executor, work), work
        work.rest_s = time.thread_time() - began_s


ONE_PER_CORE: Final = Workers()


class InPlace(Executor):
    """Does each task when its result is asked for."""

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], **_: Any) -> Iterator[Any]:
        """Return what `fn` gives, in order."""
        return map(fn, *iterables)


class Counting(Executor):
    """Counts parts and their core seconds on the way to another executor."""

    def __init__(self, executor: Executor, work: WorkInParts) -> None:
        self._executor = executor
        self._work = work

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], **_: Any) -> Iterator[Any]:
        """Begin tasks at once; give their results in order."""
        return self._counted(self._executor.map(partial(timed, fn), *iterables))

    def _counted(self, results: Iterator[tuple[Any, float]]) -> Iterator[Any]:
        for result, seconds in results:
            self._work.parts += 1
            self._work.core_s += seconds
            yield result


def timed(fn: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Return what a task gives, and its core seconds."""
    began_s = time.thread_time()
    result = fn(*arguments)
    return result, time.thread_time() - began_s
