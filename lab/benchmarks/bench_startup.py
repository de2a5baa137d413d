"""How long a service with a large graph takes from its start to ready, and how much memory.

    python -m lab.benchmarks.bench_startup [--size small|full] [--folder DIR]

A synthetic graph is imported by `ktsafe state import`; then `ktsafe run` is started as a process,
asked through its control socket until it is ready, stopped, and started once more. Prints for the
import and for each start the seconds by the clock, the core seconds, and the peak of the resident
memory, and a hash of what `ktsafe config --state` finds.

With --folder the files and the store stay there, and a later run starts from them.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from ktsafe.stream.monitoring.diagnosis import Report
from ktsafe.stream.service.control import ask

SIZES = {"small": (10_000, 50_000), "full": (1_000_000, 5_000_000)}
CONFIG = """\
[attributes]
quasi_identifiers = ["gender", "age", "region"]
sensitive = "health"
sensitive_values = ["chronic"]

[source]
kind = "files"
paths = ["feed.jsonl"]

[sink]
kind = "files"
folder = "releases"

[dead_letters]
kind = "files"
path = "dead-letters.jsonl"

[state]
folder = "state"

[release]
min_f1 = 0.0
every = "1d"

[metrics]
listen = "127.0.0.1:0"
"""
READY_WITHIN_S = 3600.0


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--folder", type=Path, help="keep files and store here")
    given = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = given.folder
        if folder is None:
            temporary = tempfile.TemporaryDirectory(prefix="ktsafe-bench-")
            folder = Path(stack.enter_context(temporary))
        folder.mkdir(parents=True, exist_ok=True)
        n_vertices, n_edges = SIZES[given.size]
        report: dict[str, Any] = {"vertices": n_vertices, "edges": n_edges}
        if not (folder / "state").exists():
            write_graph(folder, n_vertices, n_edges)
            report["import"] = imported(folder)
        report["starts"] = [started(folder) for _ in range(2)]
        report["hash"] = checked(folder)
        print(json.dumps(report))


def write_graph(
    folder: Path, n_vertices: int, n_edges: int, values: tuple[int, int, int] = (2, 8, 10)
) -> None:
    """Write the graph's files, the configuration, and a feed without events.

    `values` says how many genders, ages and regions there are.
    """
    rng = np.random.default_rng(1)
    (folder / "ktsafe.toml").write_text(CONFIG)
    (folder / "feed.jsonl").touch()
    drawn = [rng.integers(0, k, n_vertices).tolist() for k in (*values, 20)]
    with (folder / "vertices.csv").open("w") as file:
        file.write("id,gender,age,region,health\n")
        file.writelines(
            f"person-{i:012d},{'fm'[g]},{20 + 5 * a},region-{r},{'well' if h else 'chronic'}\n"
            for i, (g, a, r, h) in enumerate(zip(*drawn, strict=True))
        )
    ends = rng.integers(0, n_vertices, (n_edges * 101 // 100, 2))
    ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    ends = rng.permutation(ends)[:n_edges]
    assert len(ends) == n_edges
    with (folder / "edges.csv").open("w") as file:
        file.write("source,target\n")
        file.writelines(f"person-{u:012d},person-{v:012d}\n" for u, v in ends.tolist())


def command(*arguments: str | Path) -> list[str]:
    """Return a command line of the program."""
    return [sys.executable, "-m", "ktsafe.stream.cli", *map(str, arguments)]


def imported(folder: Path) -> dict[str, float]:
    """Import the files and return what that took."""
    files = [f"--{name}={folder / name}.csv" for name in ("vertices", "edges")]
    arguments = ["state", "import", folder / "ktsafe.toml", *files]
    began_s = time.perf_counter()
    subprocess.run(
        command(*arguments, "--at=2026-01-01T00:00:00Z", "--offsets=latest"),
        check=True,
        stdout=subprocess.DEVNULL,
    )
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {
        "seconds": round(time.perf_counter() - began_s, 1),
        "core_seconds": round(used.ru_utime + used.ru_stime, 1),
        "peak_mib": used.ru_maxrss // 1024,
    }


def started(folder: Path) -> dict[str, float]:
    """Start the service, wait until it is ready, stop it; return what that took until then."""
    began_s = time.perf_counter()
    process = subprocess.Popen(command("run", folder / "ktsafe.toml"), stderr=subprocess.DEVNULL)
    try:
        while not is_ready(folder):
            if process.poll() is not None or time.perf_counter() - began_s > READY_WITHIN_S:
                raise AssertionError("the service did not become ready")
            time.sleep(0.02)
        taken = {
            "seconds": round(time.perf_counter() - began_s, 1),
            "core_seconds": round(core_seconds(process.pid), 1),
            "peak_mib": peak_mib(process.pid),
        }
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0
    finally:
        process.kill()
        process.wait()
    return taken


def is_ready(folder: Path) -> bool:
    """Whether the service consumes its feed."""
    report = ask(folder / "state", "status", Report, patience_s=60.0)
    return report is not None and report.state == "ready"


def core_seconds(pid: int) -> float:
    """Return the processor time that a process has used."""
    # The name in the second field may hold spaces; times follow behind its bracket.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mib(pid: int) -> int:
    """Return the greatest resident memory of a process so far."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (text,) = [line for line in lines if line.startswith("VmHWM:")]
    return int(text.split()[1]) // 1024


def checked(folder: Path) -> str:
    """Return a hash of what a check of the state finds."""
    done = subprocess.run(
        command("config", folder / "ktsafe.toml", "--state", "--json"),
        check=True,
        capture_output=True,
    )
    found = json.loads(done.stdout)
    del found["checked"]
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16]


if __name__ == "__main__":
    main()
