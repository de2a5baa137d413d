"""Options of all compiled kernels, and their cache.

A kernel is a function of arrays and numbers that numba compiles. Nothing is computed here, so
what judges and what searches may both import it and still share no code.

`OPTIONS` may not get `fastmath`, nor lose `cache` (tests/ktsafe/kernels/test_kernels.py); a change
of them, or of numba, compiles all kernels anew. Several names of numba are not public: another
version needs this room's tests.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ktsafe.kernels import kernel_cache

if sys.platform != "win32":
    import fcntl

from numba import config, njit, types
from numba.core.caching import FunctionCache

kernel_cache.check_compiles(disabled=bool(config.DISABLE_JIT))

OPTIONS: Final[dict[str, Any]] = {
    "cache": True,
    # Safety is decided on integers; floating point must add up in the order that is written.
    "fastmath": False,
    # Threads that run kernels do not wait for each other.
    "nogil": True,
    # Nothing passes a kernel as a value, so none needs an entry for callers in C.
    "no_cfunc_wrapper": True,
}

FOLDER: Final = str(kernel_cache.kernel_folder()[0])
"""Where our compiled kernels are kept; those of the process's other code stay where they were."""


class _SharedCache(FunctionCache):  # type: ignore[misc]
    """A kernel's compiled kinds, which one process at a time adds to.

    numba reads and writes a kernel's index without a lock. Of two processes that add a kind, one
    would lose its entry, and both might take the same file: the entry that is left could name
    machine code for arguments of the other kind.
    """

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kind once no other process keeps one."""
        with (Path(FOLDER) / "lock").open("ab") as lock:
            if sys.platform != "win32":
                fcntl.flock(lock, fcntl.LOCK_EX)
            super().save_overload(sig, data)


class _Compiler(threading.Thread):
    """Compiles one kind of one kernel, or reads it with its needs.

    It has a thread of its own, since the thread that asks may be ended by an exception at any
    moment, as those of attacks are whose time is up. In the midst of the compiler that leaves its
    lock taken for ever, and every later kernel waits for it.
    """

    def __init__(self, compile_kind: Callable[[Any], Any], kind: Any) -> None:
        super().__init__(name="ktsafe-compiler")
        self._compile_kind = compile_kind
        self._kind = kind
        self._made: Any = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Compile."""
        try:
            self._made = self._compile_kind(self._kind)
        except BaseException as error:  # noqa: BLE001 -- handed to whoever asked
            self._error = error

    def result(self) -> Any:
        """Wait for the end and return the result, or raise its error."""
        self.start()
        self.join()
        if self._error is not None:
            raise self._error
        return self._made


def _apart(compile_kind: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what compiles a kind in a thread of its own."""

    def compile_apart(kind: Any) -> Any:
        if isinstance(threading.current_thread(), _Compiler):
            return compile_kind(kind)
        return _Compiler(compile_kind, kind).result()

    return compile_apart


def _widened(compile_kind: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the compiler of one kind for all whole numbers.

    Be they int32, int64 or constants.

    Kernels pass each other all of these, and would be compiled once for each of them, and again
    for each constant.
    """

    def compile_widened(kind: Any) -> Any:
        if not isinstance(kind, tuple):
            return compile_kind(kind)
        plain = (types.unliteral(each) for each in kind)
        return compile_kind(tuple(types.int64 if each == types.int32 else each for each in plain))

    return compile_widened


def _compiled(function: Callable[..., Any], *, is_inner: bool = False) -> Any:
    """Compile with our options, kept in our folder.

    Numba asks where when it is told to keep.
    """
    elsewhere, config.CACHE_DIR = config.CACHE_DIR, FOLDER
    try:
        compiled = njit(**OPTIONS, no_cpython_wrapper=is_inner)(function)
        compiled._cache = _SharedCache(function)  # noqa: SLF001 -- numba has no door for it
        compiled.compile = _apart(compiled.compile)
        if is_inner:
            compiled.compile = _widened(compiled.compile)
    finally:
        config.CACHE_DIR = elsewhere
    return compiled


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls."""
    return _compiled(function)


def inner_kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call.

    The entry for Python is not made.
    """
    return _compiled(function, is_inner=True)
