"""A task for another process's worker, and its execution there.

What a task reads is in a file that its sender keeps: the task names path and offsets, and the
worker maps them into memory. So a task is small, and a second worker needs nothing else.
A worker computes nothing before it is sure to compute the same: its code must be the sender's, and
its kernels compiled.
"""

from __future__ import annotations

import mmap
import pickle
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from ktsafe.kernels.kernel_cache import (
    choose_kernel_folder,
    digest_of,
    is_cold,
    package_folder,
)


class WorkersLost(ConnectionError):
    """Workers cannot be reached, or not any more.

    The release is made again later.
    """


class WorkerRefuses(WorkersLost):
    """A worker would not compute what the service would.

    It has other code, or is cold.
    """


class MappedTask(NamedTuple):
    """A call with its arrays in a file.

    Attributes
    ----------
    path:
        The file.
    places:
        Begin and end of each array in it, in bytes.
    call:
        The pickled function and arguments, without the arrays.
    code:
        The digest of the code that made it (`code_digest`).
    """

    path: str
    places: tuple[tuple[int, int], ...]
    call: bytes
    code: str


def do(task: MappedTask) -> Any:
    """Return what a task gives.

    Raises
    ------
    WorkerRefuses
        If this process has other code, or no compiled kernels.
    """
    check_code(task.code)
    with Path(task.path).open("rb") as file:
        # Kernels are compiled for arrays that may be written to. What is written stays here.
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    whole = memoryview(mapped)
    arrays = [whole[begin:end] for begin, end in task.places]
    function, arguments = pickle.loads(task.call, buffers=arrays)  # noqa: S301 -- our own, by TLS
    return function(*arguments)


@cache
def check_code(wanted: str) -> None:
    """Refuse other code than the sender's, and uncompiled kernels.

    Raises
    ------
    WorkerRefuses
    """
    problem = choose_kernel_folder()
    if code_digest() != wanted:
        raise WorkerRefuses("A worker has another version of ktsafe, numpy or numba.")
    if problem or is_cold("exact"):
        raise WorkerRefuses("A worker has no compiled kernels: run `ktsafe warm` there.")


@cache
def code_digest() -> str:
    """Return a digest of the mechanism and of what it computes with."""
    files = sorted(package_folder("ktsafe").rglob("*.py"))
    return f"{digest_of(files)} {version('numpy')} {version('scipy')}"
