"""Tasks on a Dask cluster, and their execution in a worker.

What a task reads is in a file that its sender keeps: the task names path and offsets, and the
worker maps them into memory. So a task is small, and a second worker needs nothing else.
A worker computes nothing before it is sure to compute the same: its code must be the sender's, and
its kernels compiled.

Times may be tuned. Results must be those of threads, byte by byte, and the graph goes by TLS or
loopback only (tests/stream/workers/test_on_dask.py). What one version sends, another refuses:
nothing needs to stay compatible.
"""

from __future__ import annotations

import asyncio
import mmap
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Executor
from contextlib import contextmanager
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from distributed import Client, KilledWorker, Security

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
    if problem or is_cold("anonymization"):
        msg = "A worker has no kernels: `python -m ktsafe.stream.warm` makes them."
        raise WorkerRefuses(msg)


@cache
def code_digest() -> str:
    """Return a digest of the mechanism and of what it computes with."""
    files = sorted(package_folder("ktsafe").rglob("*.py"))
    return f"{digest_of(files)} {version('numpy')} {version('scipy')}"


# Workers of a Dask cluster, as an executor.
#
# Nothing is kept on the cluster: whatever happens to a worker or to the scheduler, the release is
# made again from the same cut, and comes out the same. A worker that is lost meanwhile costs time,
# since the scheduler gives its tasks to others.

CONNECT_S: Final = 30
"""How long to wait for the scheduler and for a first worker."""

ALIGNED: Final = 64
"""Arrays begin at multiples of so many bytes."""


@contextmanager
def dask_workers(address: str, folder: Path) -> Iterator[tuple[Executor, int]]:
    """Give an executor on a cluster, and the number of its workers.

    Certificates are those that Dask's own configuration names.

    Raises
    ------
    WorkersLost
        If the scheduler cannot be reached, or has no workers.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for left in folder.glob("*.arrays"):  # by a service that was killed
        left.unlink()
    security = Security(require_encryption=True) if address.startswith("tls") else None
    with _lost_as_one():
        client = Client(address, security=security, timeout=CONNECT_S, set_as_default=False)
    try:
        with _lost_as_one():
            client.wait_for_workers(1, timeout=CONNECT_S)
            n_workers = len(client.scheduler_info(n_workers=-1)["workers"])
        yield OnDask(client, folder), n_workers
    finally:
        client.close()


class OnDask(Executor):
    """Sends tasks to a cluster, with their arrays in files.

    Parameters
    ----------
    folder:
        Where these files are, only while tasks need them.
    """

    def __init__(self, client: Client, folder: Path) -> None:
        self._client = client
        self._folder = folder

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], **_: Any) -> Iterator[Any]:
        """Return the results of all tasks, in order.

        Raises
        ------
        WorkersLost
            If the scheduler is lost, too many workers are, or one refuses to work.
        """
        calls = [(fn, arguments) for arguments in zip(*iterables, strict=False)]
        with tempfile.NamedTemporaryFile(dir=self._folder, suffix=".arrays") as file:
            tasks = _written(calls, file)
            del calls
            file.flush()
            with _lost_as_one():
                # By number, not by content: nothing of a task is in its name.
                futures = self._client.map(do, tasks, pure=False)
                return iter(self._client.gather(futures))


def _written(calls: list[Any], file: Any) -> list[MappedTask]:
    """Write the arrays of calls to a file, each once.

    Return the calls as tasks.
    """
    place_of: dict[tuple[int, int], tuple[int, int]] = {}
    kept = []
    tasks = []
    for call in calls:
        arrays: list[pickle.PickleBuffer] = []
        pickled = pickle.dumps(call, protocol=5, buffer_callback=arrays.append)
        places = []
        for array in arrays:
            raw = array.raw()
            key = (_address(raw), raw.nbytes)
            if key not in place_of:
                file.seek(-file.tell() % ALIGNED, 1)
                begin = file.tell()
                file.write(raw)
                place_of[key] = begin, begin + raw.nbytes
            places.append(place_of[key])
        # While an array is kept, no other one gets its address.
        kept += arrays
        tasks.append((tuple(places), pickled))
    # Where no call has any array, there is still something to map.
    file.write(b"\0")
    return [MappedTask(file.name, places, pickled, code_digest()) for places, pickled in tasks]


def _address(raw: memoryview) -> int:
    """Return where in memory a buffer begins."""
    return int(np.frombuffer(raw, dtype=np.uint8).ctypes.data) if raw.nbytes else 0


@contextmanager
def _lost_as_one() -> Iterator[None]:
    """Turn whatever the loss of a cluster raises into one error.

    Raises
    ------
    WorkersLost
    """
    try:
        yield
    except WorkersLost:
        raise
    except (OSError, KilledWorker, CancelledError, asyncio.CancelledError) as error:
        msg = f"The workers of [workers] dask are lost ({type(error).__name__})."
        raise WorkersLost(msg) from error
