"""A service that is loaded already: what the server of forks imports before its first fork.

A killed service starts again some thousand times. Forked from a process that has imported all
modules and loaded all kernels, a start costs what the service itself does, and not the second that
Python and numba take. Nothing is opened here, and no thread is started.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

from ktsafe.stream import (
    cli,  # settles where kernels are kept, before one is imported
    warm,
)
from ktsafe.stream.commands import run as _run_command  # noqa: F401 -- to have it loaded
from ktsafe.stream.service import assembly as _assembly  # noqa: F401
from tests import launcher

warm.search()
assert threading.active_count() == 1, "a fork would lack a thread"


def serve(overrides: launcher.Overrides, config: Path, log: Path, *arguments: str) -> None:
    """Be `ktsafe run CONFIG ...`, in the forked process; does not return."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    sys.argv[1:] = ["run", str(config), *arguments]
    with launcher.overridden(overrides):
        cli.main()
