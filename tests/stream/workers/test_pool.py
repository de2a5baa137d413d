"""Threads for the mechanism: counted, and without influence on bytes."""

from __future__ import annotations

import time

import pytest

from ktsafe.stream.process.pool import Workers


@pytest.mark.parametrize("threads", [1, 3])
def test_work_is_counted_once(threads):
    """Core seconds of tasks are not those in between, wherever tasks run."""
    with Workers(threads).open() as (executor, work):
        assert list(executor.map(busy, [0.1, 0.1])) == [0.1, 0.1]
        busy(0.05)
    assert work.parts == 2
    assert work.core_s >= 0.2
    assert 0.05 <= work.rest_s < work.core_s


def busy(seconds):
    """Use a core for a while."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass
    return seconds


def test_by_default_there_is_a_thread_for_each_core(monkeypatch):
    """Nothing has to be said."""
    monkeypatch.setattr("os.cpu_count", lambda: 7)
    assert Workers().n_threads == 7
