"""How the verifier divides its work among threads.

Results never depend on it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


def threads_for(workers: int | None) -> int:
    """Return how many threads to use; None asks for one per core."""
    return workers or os.cpu_count() or 1


def ranges(n: int, parts: int) -> list[tuple[int, int]]:
    """Return begin and stop of equal ranges of 0..n - 1."""
    return [(n * i // parts, n * (i + 1) // parts) for i in range(parts)]


def in_threads(work: Callable[[Part], Result], parts: Iterable[Part], threads: int) -> list[Result]:
    """Return what the work gives for each part, in their order."""
    todo = list(parts)
    if min(threads, len(todo)) <= 1:
        return [work(part) for part in todo]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, todo))
