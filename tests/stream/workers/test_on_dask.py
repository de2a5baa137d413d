"""Parts of releases on a Dask cluster: the bytes of threads, whatever dies."""

from __future__ import annotations

import os
import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path

import dask
import numpy as np
import pytest
from distributed import Security

from ktsafe import PrivacyParams
from ktsafe.anonymization.anonymization import exact_release
from ktsafe.anonymization.request import Request
from ktsafe.graph.synthetic import uniform
from ktsafe.stream.config.connector_kinds import check_scheduler
from ktsafe.stream.errors import ConfigError
from ktsafe.stream.process import on_dask
from ktsafe.stream.process.on_dask import WorkerRefuses, WorkersLost
from ktsafe.stream.process.pool import Workers
from tests.stream.workers.cluster import Deadly, dying_once, local_cluster, program, who

GRAPH = uniform(400, 2000, rng=np.random.default_rng(3), n_tuples=4)
PARAMS = PrivacyParams(k=5)


def released(executor=None):
    """Return the bytes of a release."""
    request = Request(GRAPH, PARAMS, np.random.default_rng(4), executor=executor)
    return exact_release(request).edges.tobytes()


ALONE = released()
ALONE_IN_PROCESS = ("--nthreads", "1", "--no-dashboard", "--no-nanny")


@pytest.fixture(scope="module")
def address():
    """Two workers."""
    with local_cluster() as found:
        yield found


def test_a_cluster_gives_the_bytes_of_threads(address, tmp_path):
    """Two processes solve what one thread does; afterwards nothing of the graph is left."""
    workers = Workers(dask=address, folder=tmp_path / "tasks")
    with workers.open() as (executor, work):
        assert released(executor) == ALONE
    assert work.workers == 2
    assert work.parts > 10
    assert work.core_s > 0
    assert list((tmp_path / "tasks").iterdir()) == []


def test_both_work(address, tmp_path):
    """Tasks go to other processes than this one."""
    with Workers(dask=address, folder=tmp_path).open() as (executor, _):
        found = set(executor.map(who, range(200)))
    assert os.getpid() not in found
    assert found


def test_arrays_are_sent_by_place(address, tmp_path):
    """An array is in the file once, however many tasks read it; a task is small without it."""
    del address
    large, small = np.arange(100_000), np.arange(3)
    calls = [(who, (large, small, np.zeros(0), i)) for i in range(5)]
    with (tmp_path / "x.arrays").open("wb") as file:
        tasks = on_dask._written(calls, file)
    assert file.name
    assert (tmp_path / "x.arrays").stat().st_size < 1.01 * large.nbytes
    assert max(len(task.call) for task in tasks) < 1_000
    assert {task.places for task in tasks} == {tasks[0].places}


def test_a_worker_that_dies_changes_nothing(address, tmp_path):
    """A worker is killed while its task runs: another one does it again."""
    with Workers(dask=address, folder=tmp_path).open() as found:
        assert released(Deadly(found[0], tmp_path / "died")) == ALONE
    assert (tmp_path / "died").exists()


def test_a_scheduler_that_dies_ends_the_attempt(tmp_path):
    """The scheduler is lost while a task runs; with the next one the release is the same."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address = f"tcp://127.0.0.1:{port}"
    workers = Workers(dask=address, folder=tmp_path / "tasks")
    scheduler = ("scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")
    worker = ("worker", address, *ALONE_IN_PROCESS)
    with ExitStack() as ends:
        first = ends.enter_context(program(*scheduler))
        ends.enter_context(program(*worker))
        with pytest.raises(WorkersLost), workers.open() as (executor, _):
            released(KillingFirst(executor, first))
    with ExitStack() as ends:
        ends.enter_context(program(*scheduler))
        ends.enter_context(program(*worker))
        with workers.open() as (executor, _):
            assert released(executor) == ALONE


class KillingFirst:
    """Kills a process as soon as tasks are under way."""

    def __init__(self, executor, process):
        self._executor = executor
        self._process = process

    def map(self, fn, *iterables):
        """Begin tasks, and kill."""
        gather = self._executor._executor._client.gather

        def killing(futures):
            self._process.kill()
            return gather(futures)

        self._executor._executor._client.gather = killing
        return self._executor.map(fn, *iterables)


def test_nobody_there(tmp_path, monkeypatch):
    """A scheduler that cannot be reached is said to be lost, and so is one without workers."""
    monkeypatch.setattr(on_dask, "CONNECT_S", 1)
    with pytest.raises(WorkersLost):
        Workers(dask="tcp://127.0.0.1:1", folder=tmp_path).open().__enter__()


def test_a_worker_of_another_version_refuses(address, tmp_path, monkeypatch):
    """A worker whose code is not the service's computes nothing."""
    monkeypatch.setattr(on_dask, "code_digest", lambda: "another")
    marker = tmp_path / "computed"
    with (
        Workers(dask=address, folder=tmp_path).open() as (executor, _),
        pytest.raises(WorkerRefuses, match="version"),
    ):
        list(executor.map(dying_once, [marker], [who], [0]))
    assert not marker.exists()


def test_a_cold_worker_refuses(tmp_path):
    """A worker without compiled kernels computes nothing."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address, marker = f"tcp://127.0.0.1:{port}", tmp_path / "computed"
    cold = {"NUMBA_CACHE_DIR": str(tmp_path / "empty")}
    with (
        program("scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard"),
        program("worker", address, *ALONE_IN_PROCESS, **cold),
        Workers(dask=address, folder=tmp_path / "tasks").open() as (executor, _),
        pytest.raises(WorkerRefuses, match="no kernels"),
    ):
        list(executor.map(dying_once, [marker], [who], [0]))
    assert not marker.exists()


@pytest.mark.parametrize("address", ["tcp://10.0.0.1:8786", "host:8786", "ws://127.0.0.1:1", ""])
def test_the_graph_does_not_travel_in_the_open(address):
    """Beyond this machine nothing but TLS is spoken."""
    with pytest.raises(ConfigError, match="TLS"):
        check_scheduler(address)


def test_tls(tmp_path: Path):
    """A cluster is spoken to by TLS, with the certificates that Dask's configuration names."""
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    made = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=workers")
    subprocess.run(
        ["openssl", *made, "-keyout", key, "-out", certificate], check=True, capture_output=True
    )
    roles = {f"tls_{role}_cert": certificate for role in ("client", "scheduler", "worker")}
    roles |= {f"tls_{role}_key": key for role in ("client", "scheduler", "worker")}
    own = Security(tls_ca_file=certificate, require_encryption=True, **roles)
    named = {"ca-file": certificate, "client.cert": certificate, "client.key": key}
    with local_cluster(1, protocol="tls", security=own) as address:
        assert address.startswith("tls://")
        workers = Workers(dask=address, folder=tmp_path)
        with (
            dask.config.set({f"distributed.comm.tls.{key}": it for key, it in named.items()}),
            workers.open() as (executor, _),
        ):
            assert released(executor) == ALONE
