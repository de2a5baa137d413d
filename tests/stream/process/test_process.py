"""What a command settles for its whole process."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

HEAPS = """
import ctypes, threading
from stream.process.process import one_heap
{first}
blocks, gate = [], threading.Barrier(4)
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
def take():
    gate.wait()
    blocks.append(libc.malloc(4000))
    gate.wait()
threads = [threading.Thread(target=take) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc.fdopen.restype = ctypes.c_void_p
out = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, out)
libc.fflush(out)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has heaps of threads")
@pytest.mark.parametrize(("first", "is_one"), [("one_heap()", True), ("", False)])
def test_threads_of_a_service_share_one_heap(first: str, is_one: bool) -> None:
    """Told so, the C library makes no further heap for threads; otherwise it does."""
    command = [sys.executable, "-c", HEAPS.format(first=first)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout.count("<heap nr=") == 1) is is_one
