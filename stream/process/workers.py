"""Threads for the mechanism, which itself starts none."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def pool(workers: int) -> Iterator[Executor | None]:
    """Give an executor of so many threads; none for fewer than two, which would only add work.

    Compiled kernels run without the interpreter lock, so that threads are enough.
    """
    if workers < 2:
        yield None
        return
    with ThreadPoolExecutor(workers, thread_name_prefix="ktsafe-worker") as executor:
        yield executor
