"""What a command settles for its whole process."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

HEAPS = """
import ctypes, threading
from ktsafe.stream.process.process import one_heap
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

GARBAGE = """
import gc, resource, threading
from pathlib import Path
from ktsafe.stream.process.process import collect_seldom, keep_loaded
from ktsafe.stream.service.service import OneThread
collect_seldom()
keep_loaded()
assert gc.get_freeze_count() > len(gc.get_objects())
class Client:
    def __init__(self):
        self.itself = self
        self.fetched = [bytearray(64 << 10) for _ in range(1000)]
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
before = resident()
OneThread().submit(lambda: Client() and None).result()
for thread in threading.enumerate():
    if thread.name == "ktsafe-release":
        thread.join()
assert resident() - before < 8 << 20, resident() - before
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="asks Linux for its memory")
def test_what_a_release_used_goes_back_to_the_system() -> None:
    """62 MiB in a client that holds itself are gone with the task that made it."""
    command = [sys.executable, "-c", GARBAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has heaps of threads")
@pytest.mark.parametrize(("first", "is_one"), [("one_heap()", True), ("", False)])
def test_threads_of_a_service_share_one_heap(first: str, is_one: bool) -> None:
    """Told so, the C library makes no further heap for threads; otherwise it does."""
    command = [sys.executable, "-c", HEAPS.format(first=first)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout.count("<heap nr=") == 1) is is_one


def test_a_command_that_crashes_leaves_no_core() -> None:
    """A dump of the memory would hold the true graph: no command makes one."""
    limits = "import resource; from ktsafe.stream.process import process; process.begin(); "
    limits += "print(resource.getrlimit(resource.RLIMIT_CORE))"
    done = subprocess.run(
        [sys.executable, "-c", limits], capture_output=True, text=True, check=True
    )
    assert done.stdout == "(0, 0)\n"
