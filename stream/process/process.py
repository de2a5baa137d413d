"""Begin and end the process of a command.

Thresholds of garbage and heaps may be tuned: they change memory and time alone. The umask and the
ban on core dumps must stay (tests/security/test_modes.py, tests/stream/process/test_process.py).
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import sys
import threading
from contextlib import suppress
from typing import Final, NoReturn

from ktsafe.stream.errors import Exit

GARBAGE_OBJECTS: Final = 100_000
"""More than a batch of ingest holds at a time."""

M_ARENA_MAX: Final = -8
"""The number of this setting in glibc's `malloc.h`."""


def begin() -> None:
    """Settle what holds for the whole process."""
    # Whatever is written, by libraries too, is its owner's; what is published is opened on purpose.
    os.umask(0o077)
    # A core dump would hold the true graph.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    collect_seldom()


def collect_seldom() -> None:
    """Look for cyclic garbage less often than Python does by default.

    Every record makes a few objects, which go by their counts. At the default the collector ran
    every few hundred records, and took a sixth of the time of ingest to find nothing.
    """
    gc.set_threshold(GARBAGE_OBJECTS, 20, 10)


def keep_loaded() -> None:
    """Let collections of garbage pass over what there is by now.

    Call it once all is loaded.

    Nearly all objects of a small service are code, and stay to its end. Later calls do nothing,
    since what is kept so is kept for ever.
    """
    if not gc.get_freeze_count():
        gc.collect()
        gc.freeze()


def one_heap() -> None:
    """Let all threads share one heap, where the C library knows more.

    Call it before they start.

    glibc gives threads heaps of their own, and what was freed stays with its heap: between releases
    a service kept ever more memory that nobody used.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1)


def give_back() -> None:
    """Give unused memory back to the system, cyclic garbage, too.

    A Kafka client is cyclic garbage once it is closed, with all that it had fetched. The collector
    comes seldom, and a service that rests between releases kept that of dozens of them.
    """
    gc.collect()
    trim()


def trim() -> None:
    """Give free memory back to the system.

    It takes some hundredths of a second.

    A phase of a release takes other sizes than the one before, so what that one left free is in its
    way.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def end(code: int) -> NoReturn:
    """End the process, whatever its other threads are doing.

    A stop waits neither for a release in the making nor for calls of client libraries that were
    given up. An interpreter that is torn down under such a thread may abort, with a code that says
    that something is wrong when all is done and closed.
    """
    if threading.active_count() == 1:
        sys.exit(code)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        code = code or Exit.USAGE  # Not all of the output could be written.
    os._exit(code)
