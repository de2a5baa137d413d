"""One benchmark in a process of its own: what it took, and what it found."""

from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

_HASH: Final = re.compile(r"\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{10,64}\b")
"""Digits and letters: neither a count nor a word."""
_FURTHER: Final = ("-m", "lab.benchmarks.bench_further")
_FOURTH: Final = r"(?s)000004.*?  all +([0-9.]+)"
"""What `bench_further` prints of the fourth release: two are kept in memory by then."""


@dataclasses.dataclass(frozen=True, slots=True)
class Benchmark:
    """How a benchmark is run.

    Attributes
    ----------
    what:
        What it does, for the page.
    told:
        What its own figure is.
    figure:
        Finds that in what it prints.
    core_s:
        Finds its core seconds there, where it prepares what it measures.
    of_program:
        Whether `--program` names the program that is measured, this revision's or an older one's.
    is_long:
        Whether it runs only if named.
    """

    arguments: Sequence[str]
    what: str = ""
    told: str = ""
    figure: str | None = None
    core_s: str | None = None
    of_program: bool = False
    is_long: bool = False


BENCHMARKS: Final[Mapping[str, Benchmark]] = MappingProxyType(
    {
        "release": Benchmark(
            ("-m", "lab.benchmarks.by_revision.commands", "--of", "release"),
            "`ktsafe anonymize` of 100,000 people and 1,000,000 ties, its defaults, one thread",
            "F1 of ties; core seconds of `ktsafe verify`",
            r'"told": "([0-9.; ]+)"',
            r'"core_s": ([0-9.]+)',
            of_program=True,
        ),
        "small": Benchmark(
            ("-m", "lab.benchmarks.by_revision.commands", "--people", "2000", "--ties", "13000"),
            "`ktsafe anonymize` of 2,000 people and 13,000 ties, kernels compiled",
            "F1 of ties; core seconds of `ktsafe verify`",
            r'"told": "([0-9.; ]+)"',
            r'"core_s": ([0-9.]+)',
            of_program=True,
        ),
        "further": Benchmark(
            (*_FURTHER, "--effort", "fast"),
            "100,000 people and 1,000,000 ties in the service; core seconds of the fourth release",
            core_s=_FOURTH,
        ),
        "further-300k": Benchmark(
            (*_FURTHER, "--vertices", "300000", "--edges", "3000000"),
            "300,000 people and 3,000,000 ties in the service; core seconds of the fourth release",
            core_s=_FOURTH,
            is_long=True,
        ),
        "further-1m": Benchmark(
            (*_FURTHER, "--vertices", "1000000", "--edges", "10000000"),
            "A million people and ten million ties in the service; core seconds of the fourth "
            "release, and the peak of all four",
            core_s=_FOURTH,
            is_long=True,
        ),
        "cold": Benchmark(
            ("-m", "lab.benchmarks.by_revision.commands", "--of", "cold"),
            "`ktsafe demo` of one day, no kernel compiled: to the first verified release",
            "releases",
            r'"releases": ([0-9]+)',
            r'"core_s": ([0-9.]+)',
            of_program=True,
        ),
        "k-degree": Benchmark(
            ("-m", "lab.benchmarks.bench_k_degree"),
            "A release of 10,000 people and 100,000 ties, kernels compiled",
            "core seconds of k-degree",
            r'"k_degree": ([0-9.]+)',
            r'"ktsafe": ([0-9.]+)',
        ),
        "demo": Benchmark(
            ("-m", "lab.benchmarks.by_revision.commands", "--of", "demo"),
            "`ktsafe demo`, kernels compiled",
            "releases",
            r'"releases": ([0-9]+)',
            r'"core_s": ([0-9.]+)',
            of_program=True,
        ),
        "peers": Benchmark(
            ("-m", "lab.evaluation.peers", "--out", os.devnull),
            "The demo's network by us, k-degree, PrivGraph and TmF; core seconds are ours",
            "F1 of our ties",
            r"\| F1 \| [0-9.]+ \| ([0-9.]+)",
            r"\| core s \| [0-9.e-]+ \| ([0-9.]+)",
        ),
        "start-up": Benchmark(
            ("-m", "lab.benchmarks.bench_startup", "--size", "full"),
            "Import of 1,000,000 people and 5,000,000 ties, and two starts",
        ),
        "single": Benchmark(
            ("-m", "lab.benchmarks.bench_anonymize", "--names", "uniform-10000"),
            "A release of 10,000 people and 100,000 ties, twice",
        ),
        "sequence": Benchmark(
            ("-m", "lab.benchmarks.bench_sequence", "--releases", "20"),
            "A first and 20 further releases of 10,000 people; .1% of the ties change each time",
        ),
        "ingest": Benchmark(
            ("-m", "lab.benchmarks.bench_ingest", "--records", "300000"),
            "300,000 records from a real broker",
            "bare poll of kafka-python over ingest, both in core seconds",
            r'"ratio_to_client_core": ([0-9.]+)',
        ),
        "verify": Benchmark(
            ("-m", "lab.benchmarks.bench_verify", "--workers", "1"),
            "The strict verifier on six graphs that are no releases, up to a million people",
        ),
        "large": Benchmark(
            ("-m", "lab.benchmarks.bench_large", "--vertices", "100000", "--edges", "1000000"),
            "100,000 people and 1,000,000 ties from import to second release",
        ),
    }
)
"""Those of a review: some six minutes on two cores."""
REFERENCE: Final = Benchmark(("-m", "lab.benchmarks.by_revision.reference"))


@dataclasses.dataclass(frozen=True, slots=True)
class Measured:
    """What a benchmark took: all its processes together, but the memory of the greatest."""

    core_s: float
    peak_mib: int
    figure: str
    hash: str


def run(benchmark: Benchmark, seconds: float, program: Path | None = None) -> Measured | None:
    """Run a benchmark for so many seconds at most; None if it fails or does not end."""
    if seconds <= 0:
        return None
    asked = [*benchmark.arguments, *(["--program", str(program)] if program else [])]
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen([sys.executable, *asked], stdout=out, start_new_session=True)
        used = _waited(process, time.monotonic() + seconds)
        out.seek(0)
        printed = out.read().decode(errors="replace")
    if used is None or process.returncode != 0:
        return None
    figure, core_s = _found(benchmark.figure, printed), _found(benchmark.core_s, printed)
    hashes = "\n".join(sorted(set(_HASH.findall(printed))))
    return Measured(
        float(core_s) if core_s else round(used.ru_utime + used.ru_stime, 2),
        used.ru_maxrss // 1024,
        figure,
        hashlib.sha256(hashes.encode()).hexdigest()[:12] if hashes else "",
    )


def _found(pattern: str | None, printed: str) -> str:
    found = re.search(pattern, printed) if pattern else None
    return found[1] if found else ""


def _waited(process: subprocess.Popen[bytes], ends_s: float) -> resource.struct_rusage | None:
    """Wait for a process and return what it and its children used; None if it had to be killed."""
    while time.monotonic() < ends_s:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return used
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return None
