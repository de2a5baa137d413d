"""Parallel work: the executor and its number of workers never change a release."""

from __future__ import annotations

import multiprocessing
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest

from ktsafe import AnonymizeOptions, PrivacyParams, anonymize
from ktsafe.cohorts.search import cheapest_supergraph
from ktsafe.datasets.synthetic import uniform
from ktsafe.working.executors import in_order

SEARCHED_OFTEN = uniform(150, 500, rng=np.random.default_rng(1), n_tuples=3)
PARAMS = PrivacyParams(k=5)


def halved(number: int) -> int:
    """Return half of an even number."""
    if number % 2:
        raise ValueError(number)
    return number // 2


def processes(workers: int) -> Executor:
    """Return a pool of processes that have the kernels already."""
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("fork"))


def released(executor: Executor | None) -> bytes:
    """Return what a release of the small graph, searched several times, consists of."""
    outcome = anonymize(
        SEARCHED_OFTEN,
        PARAMS,
        rng=np.random.default_rng(3),
        options=AnonymizeOptions("balanced", "tolerant", "insert"),
        executor=executor,
    )
    return outcome.graph.codes.tobytes() + outcome.graph.edges.tobytes()


def test_tasks_end_in_order_wherever_they_run() -> None:
    """Results come in the order of the tasks, in this thread, in others, and in processes."""
    tasks = [(2 * i,) for i in range(20)]
    assert list(in_order(None, halved, tasks)) == list(range(20))
    for executor in (ThreadPoolExecutor(3), processes(2)):
        with executor:
            assert list(in_order(executor, halved, tasks)) == list(range(20))


def test_a_failed_task_fails_the_work() -> None:
    """What a task raises reaches the caller."""
    with ThreadPoolExecutor(2) as executor, pytest.raises(ValueError, match="3"):
        list(in_order(executor, halved, [(2,), (3,), (4,)]))


def test_workers_do_not_change_a_release() -> None:
    """Threads and processes, one to three of them, release what the calling thread releases."""
    expected = released(None)
    for make, workers in ((ThreadPoolExecutor, 1), (ThreadPoolExecutor, 3), (processes, 2)):
        with make(workers) as executor:
            assert released(executor) == expected


def test_classes_searched_in_parallel_do_not_change_the_result() -> None:
    """One search whose classes are grouped by workers ends like one in the calling thread."""

    def cost_and_edges(executor: Executor | None) -> tuple[int, bytes]:
        _, working = cheapest_supergraph(
            SEARCHED_OFTEN,
            PARAMS,
            "fast",
            np.random.default_rng(4),
            lambda _phase, _fraction: None,
            executor=executor,
        )
        assert working is not None
        return working.cost, working.inserted_edges.tobytes()

    expected = cost_and_edges(None)
    for make, workers in ((ThreadPoolExecutor, 2), (ThreadPoolExecutor, 3), (processes, 2)):
        with make(workers) as executor:
            assert cost_and_edges(executor) == expected
