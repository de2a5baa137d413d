"""Work in parallel through an executor that the caller gives, with the same result as without.

A task is a function of a module with arguments that can be pickled, so that threads (kernels run
without the interpreter lock), processes or a cluster run it unchanged. What is random in a task
comes with its arguments, and results are taken in the order of the tasks; so the number of workers
cannot change them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from typing import Any, TypeVar

Result = TypeVar("Result")


def in_order(
    executor: Executor | None,
    function: Callable[..., Result],
    tasks: Iterable[tuple[Any, ...]],
) -> Iterator[Result]:
    """Yield `function(*task)` for each task, in order; without an executor in this thread.

    Tasks must not use the executor that runs them: all its workers might wait for each other.

    Parameters
    ----------
    executor:
        Runs the tasks, if given.
    function:
        A function of a module.
    tasks:
        Its arguments, task by task.
    """
    if executor is None:
        for task in tasks:
            yield function(*task)
        return
    futures = [executor.submit(function, *task) for task in tasks]
    try:
        for future in futures:
            yield future.result()
    finally:
        # Where one failed, or nobody wants the rest, the others need not begin.
        for future in futures:
            future.cancel()
