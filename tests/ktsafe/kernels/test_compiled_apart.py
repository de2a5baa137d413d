"""A thread that is ended while a kernel is compiled for it does no harm to the compiler."""

from __future__ import annotations

import ctypes
import threading
import time
from contextlib import suppress
from typing import Any

import pytest

from ktsafe.kernels import compiler as kernels


class Stopped(SystemExit):
    """What ends a thread, as attacks are ended."""


def end(thread: threading.Thread) -> None:
    """Raise `Stopped` in a thread, wherever it is."""
    raised = ctypes.pythonapi.PyThreadState_SetAsyncExc
    raised(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(Stopped))


class Compiler:
    """Stands for numba: compiles under a lock, step by step, as long as it is told."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.made: list[Any] = []
        self.threads: set[str] = set()

    def compile(self, kind: Any) -> Any:
        """Compile, and what that needs."""
        self.threads.add(threading.current_thread().name)
        if kind == "wrong":
            raise ValueError(kind)
        if kind == "outer":
            return self.compile_apart("inner")
        with self.lock:
            self.begun.set()
            while not self.may_end.is_set():
                time.sleep(0.001)
            self.made.append(kind)
        return kind

    def compile_apart(self, kind: Any) -> Any:
        """Compile as kernels are."""
        return kernels._apart(self.compile)(kind)


def test_who_is_ended_leaves_the_compiler_at_work() -> None:
    """The kind is compiled to its end, the lock is free, and the thread has ended."""
    compiler, survived = Compiler(), []

    def ask() -> None:
        with suppress(Stopped):
            compiler.compile_apart("kind")
            survived.append(True)

    thread = threading.Thread(target=ask)
    thread.start()
    assert compiler.begun.wait(10)
    end(thread)
    time.sleep(0.05)
    assert not compiler.made
    compiler.may_end.set()
    thread.join(10)
    assert not thread.is_alive()
    assert not survived
    assert compiler.lock.acquire(timeout=10)
    assert compiler.made == ["kind"]


def test_what_a_kind_needs_is_compiled_beside_it() -> None:
    """In one thread: the compiler's lock is that of a thread. What is raised comes to who asked."""
    compiler = Compiler()
    compiler.may_end.set()
    assert compiler.compile_apart("outer") == "inner"
    with pytest.raises(ValueError, match="wrong"):
        compiler.compile_apart("wrong")
    assert compiler.threads == {"ktsafe-compiler"}


def test_kernels_are_compiled_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that only kernels call, too."""
    compiler = Compiler()
    compiler.may_end.set()

    def decorated(**_: Any) -> Any:
        return lambda _function: type("Compiled", (), {"compile": staticmethod(compiler.compile)})()

    monkeypatch.setattr(kernels, "njit", decorated)
    monkeypatch.setattr(kernels, "_SharedCache", lambda _: None)
    for decorator in (kernels.kernel, kernels.inner_kernel):
        assert decorator(lambda: None).compile("kind") == "kind"
    assert compiler.threads == {"ktsafe-compiler"}
