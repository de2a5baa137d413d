"""The whole way of a large graph: import, start, cut, releases, verify, audit, publish.

    python -m lab.benchmarks.bench_large [--vertices 1000000] [--edges 10000000]
        [--effort fast|balanced] [--share 0.0001] [--further 1] [--folder DIR]
        [--small]

A uniform graph of ten quasi-identifier classes is imported by `ktsafe state import`. Then the
service publishes releases until its feed ends: of the graph as imported, and so many further ones,
each after that share of its ties has changed, half removed, half added. At last `ktsafe verify`
judges the last one. Equal code gives equal releases: their hashes are printed, with those of the
private audits without what they tell of seconds.

A line for each command and each phase of the service: seconds by the clock, core seconds, and the
peak of the resident memory, in GiB and in bytes for each vertex and edge of the true graph. "start"
is everything until the first release is begun, "cut" from then to the first phase; "verify" is the
judgement of the auditor, strict verifier included; "publish" begins when the release is staged.
With --folder everything stays there, and a graph that is imported there already is used.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

import ktsafe.stream.cli  # noqa: F401 -- settles where compiled kernels are, before any is imported
from ktsafe.stream.config.settings import load
from ktsafe.stream.monitoring.summary import Summary
from ktsafe.stream.process.process import one_heap
from ktsafe.stream.service.assembly import run_from_settings
from lab.benchmarks.bench_startup import CONFIG, command, write_graph

VALUES = (2, 1, 5)
IMPORTED_AT = "2026-01-01T00:00:00Z"
CHANGED_AT = "2026-01-{day:02}T12:00:00Z"
FURTHER_MAX = 30


def main() -> int:
    """Run and print; return 0 if every command ended well."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--vertices", type=int, default=1_000_000)
    parser.add_argument("--edges", type=int, default=10_000_000)
    parser.add_argument("--effort", choices=("fast", "balanced"), default="fast")
    parser.add_argument("--share", type=float, default=0.0001, help="of the ties that change")
    parser.add_argument("--further", type=int, default=1, help="releases after the first one")
    parser.add_argument("--folder", type=Path, help="keep everything here")
    parser.add_argument("--small", action="store_true", help="2,000 vertices, 20,000 edges")
    parser.add_argument("--serve", type=Path, help=argparse.SUPPRESS)
    a = parser.parse_args()
    n, m = (2_000, 20_000) if a.small else (a.vertices, a.edges)
    if a.serve:
        return serve(a.serve, n, m)
    with contextlib.ExitStack() as stack:
        folder = a.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "ktsafe.toml"
        if not (folder / "state").exists():
            import_graph(folder, config, n, m)
        write_config(config, a.effort)
        write_feed(folder, n, max(int(m * a.share), 2), min(a.further, FURTHER_MAX))
        sizes = [f"--vertices={n}", f"--edges={m}"]
        here = [sys.executable, "-m", "lab.benchmarks.bench_large", *sizes]
        run("service", [*here, f"--serve={config}"], n, m)
        manifests = sorted((folder / "releases").glob("*/manifest.json"))
        run("verify", command("verify", manifests[-1].parent), n, m)
        for manifest in manifests:
            (audit,) = (folder / "state").rglob(f"{manifest.parent.name}/audit.json")
            tell_release(manifest, audit)
    return 0


def import_graph(folder: Path, config: Path, n: int, m: int) -> None:
    """Write a graph of n people and m ties, and import it."""
    write_graph(folder, n, m, VALUES)
    files = [f"--{name}={folder / name}.csv" for name in ("vertices", "edges")]
    at = [f"--at={IMPORTED_AT}", "--offsets=latest"]
    run("import", command("state", "import", config, *files, *at), n, m)


def write_config(config: Path, effort: str) -> None:
    """Write the configuration of a service whose feed ends."""
    text = CONFIG
    config.write_text(text.replace("[release]\n", f'[release]\nseed = 1\neffort = "{effort}"\n'))


def tell_release(manifest: Path, audit: Path) -> None:
    """Print what a release is worth, and the hashes of its graph and of its audit."""
    shown = [manifest.with_name(name).read_bytes() for name in ("vertices.csv", "edges.csv")]
    told = json.loads(audit.read_bytes())
    told.pop("seconds")
    attacks = told.get("attacks", {}).pop("seconds", None)
    worth = {name: told["usefulness"]["edges"][name] for name in ("cost_share", "f1")}
    texts = b"".join(shown), json.dumps(told, sort_keys=True).encode()
    graph, figures = (hashlib.sha256(text).hexdigest()[:12] for text in texts)
    print(f"{manifest.parent.name}: {worth} release {graph} audit {figures} {attacks or ''}")


def write_feed(folder: Path, n_vertices: int, changed: int, days: int) -> None:
    """Write a feed of ties that change, as many each day; a longer one begins as a shorter one."""
    with (folder / "edges.csv").open() as file:
        lines = file.readlines()[1:]
    with (folder / "feed.jsonl").open("w") as file:
        for day in range(1, days + 1):
            rng = np.random.default_rng([2, day])
            chosen = rng.choice(len(lines), changed // 2, replace=False).tolist()
            drawn = rng.integers(0, n_vertices, (changed - len(chosen), 2)).tolist()
            changes = [("edge.remove", lines[i].strip().split(",")) for i in chosen]
            changes += [
                ("edge.add", [f"person-{end:012d}" for end in ends])
                for ends in drawn
                if ends[0] != ends[1]
            ]
            time_of_day = CHANGED_AT.format(day=day)
            file.writelines(
                json.dumps({"type": t, "source": u, "target": v, "time": time_of_day}) + "\n"
                for t, (u, v) in changes
            )


def run(name: str, arguments: list[str], n: int, m: int) -> None:
    """Run a command and print what it took; leave if it fails."""
    began_s = time.perf_counter()
    with subprocess.Popen(arguments) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    tell(
        name,
        time.perf_counter() - began_s,
        used.ru_utime + used.ru_stime,
        used.ru_maxrss * 1024,
        n,
        m,
    )
    if process.returncode:
        sys.exit(f"{name} ended with {process.returncode}")


def tell(name: str, seconds: float, core_s: float, peak: int, n: int, m: int) -> None:
    """Print a line."""
    print(
        f"{name:12} {seconds:8.1f} s {core_s:8.1f} core s  peak {peak / 2**30:6.2f} GiB "
        f"{peak / n:8.0f} B a vertex {peak / m:6.0f} B an edge",
        flush=True,
    )


class Telling(Summary):
    """Prints what each phase took since the one before."""

    def __init__(self, n: int, m: int) -> None:
        super().__init__()
        self._sizes = n, m
        self._then = time.perf_counter(), 0.0

    def _tell(self, name: str) -> None:
        """Print a line, and look for the peak anew."""
        now = time.perf_counter(), time.process_time()
        lines = Path("/proc/self/status").read_text().splitlines()
        (peak,) = (int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
        took = [b - a for a, b in zip(self._then, now, strict=True)]
        tell(f"  {name}", *took, peak, *self._sizes)
        self._then = now
        Path("/proc/self/clear_refs").write_text("5")

    def release_begun(self) -> None:
        """Tell what came before it."""
        super().release_begun()
        self._tell("start" if not self.counts.n_published else "ingest")

    def release_phase(self, phase: str, seconds: float) -> None:
        """Tell what it took, and what lay between it and the one before."""
        super().release_phase(phase, seconds)
        before_s = time.perf_counter() - self._then[0] - seconds
        self._tell(f"{phase} (+ {before_s:.1f} s before)" if before_s > 1 else phase)

    def sequence(self, counts: Mapping[str, int]) -> None:
        """Tell what staging in the ledger took."""
        super().sequence(counts)
        self._tell("ledger")


def serve(config: Path, n: int, m: int) -> int:
    """Run the service in this process until its feed ends."""
    one_heap()
    run_from_settings(load(config), drain=True, summary=Telling(n, m))
    return 0


if __name__ == "__main__":
    sys.exit(main())
