"""One worker against several, in one run: releases, the verifier, sequences; and many, simulated.

    python -m lab.benchmarks.bench_cores [--threads 2] [--only NAME[,NAME...]] [--small]

NAMES: balanced, fast, large, verify, sequence, and dask, which needs an extra and is run only where
it is named. For each graph it prints seconds by the clock with one thread and with `--threads`,
their ratio, the share of core seconds in parts, and a hash that must be the same. `sequence` prints
seconds and core seconds of the first release and of a further one. Times by the clock tell
something on a quiet machine only. For `large` the measured times of parts are also laid out on 8,
64 and 512 cores: each round waits for its last part, a part goes to the core that is free first,
and what is done in one piece is serial; for 10**9 edges all times are multiplied by the edges'
ratio.

For `dask` the several workers are processes of a Dask cluster. It prints the bytes that their tasks
read from files, and those that went over the loopback meanwhile: tasks, results, and all that the
cluster, or anything else on the machine, had to say.
"""

from __future__ import annotations

import argparse
import hashlib
import heapq
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ktsafe import AnonymizeOptions, AttributedGraph, PrivacyParams, anonymize
from ktsafe.graph.synthetic import uniform
from ktsafe.sequence import Changes, SequenceEngine, SequenceOptions
from ktsafe.stream.process.pool import InPlace, Workers, timed
from ktsafe.verify import verify_graph
from lab.benchmarks.bench_sequence import churn

RELEASES = {
    "balanced": (100_000, 1_000_000, 10, "balanced"),
    "fast": (100_000, 1_000_000, 10, "fast"),
    "large": (1_000_000, 5_000_000, 100, "fast"),
    "dask": (1_000_000, 10_000_000, 10, "balanced"),
}
BY_DEFAULT = ("balanced", "fast", "large", "verify", "sequence")
SEQUENCES = ((1_000_000, 5_000_000, 0.0001), (100_000, 300_000, 0.001))
EDGES = 10**9
CORES = (1, 8, 64, 512)


class Recording(Executor):
    """Does tasks one by one; keeps the core seconds of each, call by call of `map`."""

    def __init__(self) -> None:
        self.rounds: list[list[float]] = []

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], **_: Any) -> Iterator[Any]:
        """Return what `fn` gives, in order."""
        self.rounds.append([])
        for result, seconds in InPlace().map(partial(timed, fn), *iterables):
            self.rounds[-1].append(seconds)
            yield result


def main() -> int:
    """Run; return the number of results that depend on the number of threads."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="")
    parser.add_argument("--small", action="store_true", help="a hundredth of each size")
    asked = parser.parse_args()
    less = 100 if asked.small else 1
    wanted = set(filter(None, asked.only.split(","))) or {*BY_DEFAULT}
    warm = uniform(200, 1000, rng=np.random.default_rng(0))
    failed = 0
    for name, (n, m, tuples, effort) in RELEASES.items():
        options = AnonymizeOptions(effort=effort)  # type: ignore[arg-type]
        anonymize(warm, PrivacyParams(), rng=np.random.default_rng(0), options=options)
        if name in wanted:
            graph = uniform(n // less, m // less, rng=np.random.default_rng(0), n_tuples=tuples)
            work = clustered if name == "dask" else released
            failed += compare(name, partial(work, graph, options), asked.threads)
            if name == "large":
                simulate(graph, options)
    if "verify" in wanted:
        graph = uniform(1_000_000 // less, 10_000_000 // less, rng=np.random.default_rng(1))
        verify_graph(warm, PrivacyParams())
        failed += compare("verify", partial(verified, graph), asked.threads)
    if "sequence" in wanted:
        for n, m, share in SEQUENCES:
            advance(n // less, m // less, share, asked.threads)
    return failed


def compare(name: str, work: Callable[[int], tuple[bytes, float]], threads: int) -> bool:
    """Do work with one thread and with several; return whether the results differ."""
    seconds, hashes = [], []
    for count in (1, threads):
        began = time.perf_counter()
        result, share = work(count)
        seconds.append(time.perf_counter() - began)
        hashes.append(hashlib.sha256(result).hexdigest()[:12])
        print(f"{name:9} {count} workers {seconds[-1]:8.2f} s  in parts {share:.1%}  {hashes[-1]}")
    print(f"{name:9} ratio {seconds[1] / seconds[0]:.2f}", flush=True)
    return hashes[0] != hashes[1]


def released(
    graph: AttributedGraph, options: AnonymizeOptions, threads: int
) -> tuple[bytes, float]:
    """Return the bytes of a release and the share of core seconds in parts."""
    return _released(graph, options, Workers(threads))


def clustered(graph: AttributedGraph, options: AnonymizeOptions, count: int) -> tuple[bytes, float]:
    """Return the same; several workers are processes, and what they read is printed."""
    if count == 1:
        return released(graph, options, 1)
    # Only there if the extra is.
    import psutil  # noqa: PLC0415
    from distributed import LocalCluster  # noqa: PLC0415

    from ktsafe.stream.process import on_dask  # noqa: PLC0415

    written, read = on_dask._written, []

    def counted(calls: list[Any], file: Any) -> Any:
        tasks = written(calls, file)
        read.append((len(tasks), file.tell(), sum(end - a for t in tasks for a, end in t.places)))
        return tasks

    def talk() -> int:
        return int(psutil.net_io_counters(pernic=True)["lo"].bytes_recv)

    on_dask._written = counted
    try:
        with (
            tempfile.TemporaryDirectory(prefix="ktsafe-bench-") as folder,
            LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                dashboard_address="127.0.0.1:0",
                memory_limit=0,
                silence_logs=50,
            ) as cluster,
        ):
            workers = Workers(dask=cluster.scheduler_address, folder=Path(folder))
            said, began = talk(), time.perf_counter()
            made = _released(graph, options, workers)
            seconds = time.perf_counter() - began
            said = talk() - said
    finally:
        on_dask._written = written
    n_tasks, in_files, mapped = map(sum, zip(*read, strict=True))
    print(
        f"dask: {n_tasks} tasks of {len(read)} rounds in {seconds:.2f} s without the cluster's "
        f"start; {in_files:,} bytes in files, {mapped:,} mapped; {said:,} over the loopback"
    )
    return made


def _released(
    graph: AttributedGraph, options: AnonymizeOptions, workers: Workers
) -> tuple[bytes, float]:
    rng = np.random.default_rng(0)
    with workers.open() as (executor, work):
        made = anonymize(graph, PrivacyParams(), rng=rng, options=options, executor=executor)
    return made.graph.edges.tobytes(), work.share


def verified(graph: AttributedGraph, threads: int) -> tuple[bytes, float]:
    """Return the bytes of a verdict; the verifier does not tell its share."""
    return verify_graph(graph, PrivacyParams(), workers=threads).ps_size.tobytes(), float("nan")


def simulate(graph: AttributedGraph, options: AnonymizeOptions) -> None:
    """Print how long the release would take on more cores, and with more edges."""
    executor, began = Recording(), time.thread_time()
    anonymize(
        graph,
        PrivacyParams(),
        rng=np.random.default_rng(0),
        options=options,
        executor=executor,
    )
    serial = time.thread_time() - began - sum(map(sum, executor.rounds))
    sizes = [len(each) for each in executor.rounds]
    longest = max(map(max, executor.rounds), default=0.0)
    print(f"parts by round {sizes}; longest {longest:.2f} s; in one piece {serial:.1f} s")
    for cores in CORES:
        seconds = serial + sum(laid_out(each, cores) for each in executor.rounds)
        there = seconds * EDGES / graph.n_edges
        print(f"{cores:4} cores: {seconds:8.1f} s; {EDGES:.0e} edges: {there / 3600:6.2f} h")


def laid_out(parts: list[float], cores: int) -> float:
    """Return when the last part ends, each given to the core that is free first."""
    free = [0.0] * cores
    for seconds in parts:
        heapq.heapreplace(free, free[0] + seconds)
    return max(free)


def advance(n: int, m: int, share: float, threads: int) -> None:
    """Print what the first release of a sequence takes, and a further one of few changes."""
    rng = np.random.default_rng(0)
    graph = uniform(n, m, rng=rng)
    first = Changes.of_graph(graph, np.arange(n))
    further = next(churn(set(map(tuple, graph.edges.tolist())), n, share, 1, rng))
    with Workers(threads).open() as (executor, _):
        began = time.perf_counter(), time.process_time()
        sequence = SequenceEngine.begin(
            graph.schema, PrivacyParams(), SequenceOptions(), first, rng, executor
        )
        middle = time.perf_counter(), time.process_time()
        sequence.advance(further, rng, executor)
        end = time.perf_counter(), time.process_time()
    whole = [b - a for a, b in zip(began, middle, strict=True)]
    part = [b - a for a, b in zip(middle, end, strict=True)]
    print(
        f"sequence {n:,}/{m:,}, {share:.2%} changed: "
        f"first {whole[0]:.1f} s ({whole[1]:.1f} core s), "
        f"further {part[0]:.3f} s ({part[1]:.3f} core s), 1/{whole[1] / max(part[1], 1e-9):.0f}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
