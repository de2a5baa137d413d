"""How kernels are compiled: one place for the options of all of them.

A kernel is a function of arrays and numbers that numba compiles. Nothing is computed here, so that
what judges and what searches may both import it and still share no code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from numba import njit

OPTIONS: Final[dict[str, Any]] = {
    "cache": True,
    # Safety is decided on integers; floating point must add up in the order that is written.
    "fastmath": False,
    # Threads that run kernels do not wait for each other.
    "nogil": True,
    # Nothing passes a kernel as a value, so none needs an entry for callers in C.
    "no_cfunc_wrapper": True,
}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that Python calls."""
    return njit(**OPTIONS)(function)


def inner_kernel(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call: the entry for Python is not made.

    A kernel is compiled for each kind of number that it is given. Where an int32 is read that is
    passed on to another kernel, `np.int64(...)` around it keeps that to one.
    """
    return njit(no_cpython_wrapper=True, **OPTIONS)(function)


def inlined_kernel(function: Callable[..., Any]) -> Any:
    """Write a function into each kernel that calls it, where a call would cost too much."""
    return njit(inline="always", no_cpython_wrapper=True, **OPTIONS)(function)
