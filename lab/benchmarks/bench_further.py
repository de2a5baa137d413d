"""What one further release of a large graph costs in the service, stage by stage.

    python -m lab.benchmarks.bench_further [--vertices 100000] [--edges 1000000] [--small]
        [--effort fast|balanced] [--share 0.0001] [--further 3] [--max-age 48] [--folder DIR]

The graph of `lab.benchmarks.bench_large` is imported, and the service publishes it in this process,
then so many further releases, each after that share of the ties has changed. Prints for each
release the core seconds of every stage, without those of stages inside it; "rest" is everything
since the release before that is in no other stage. One thread works, and one attacks. Equal code
gives equal releases: their hashes are printed, with those of what the private audits tell beside
seconds.

With --folder everything stays there, and a graph that is imported there already is used.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import ktsafe.stream.cli  # noqa: F401 -- settles where compiled kernels are, before any is imported
from ktsafe.stream.config.settings import load
from ktsafe.stream.monitoring.summary import Summary
from ktsafe.stream.service.assembly import run_from_settings
from lab.benchmarks.bench_large import (
    FURTHER_MAX,
    import_graph,
    tell_release,
    write_config,
    write_feed,
)

STAGES: Final = {
    "ingest and cut": (
        "ktsafe.stream.ingest.ingest:Ingest.round",
        "ktsafe.stream.service.loop:Loop._cut",
    ),
    "engine": ("ktsafe.stream.release.linked:LinkedReleases.build",),
    "engine: release and figures": (
        "ktsafe.sequence:SequenceEngine.released",
        "ktsafe.sequence:SequenceEngine.figures",
    ),
    "freshness": (
        "ktsafe.stream.release.true_changes:Following.follow",
        "ktsafe.stream.release.true_changes:Following.prepare",
    ),
    "write release": ("ktsafe.stream.files.releases_write:write_release",),
    "read back": ("ktsafe.stream.release.snapshotter:read_release",),
    "auditor": ("ktsafe.stream.release.linked:LinkedReleases.judge",),
    "auditor: verifier": ("ktsafe.audit.sequence.auditor:verify",),
    "auditor: truth": ("ktsafe.audit.sequence.containment:TruthComparison.judge",),
    "seal": ("ktsafe.stream.release.snapshotter:seal_manifest",),
    "usefulness": (
        "ktsafe.stream.release.linked:trace",
        "ktsafe.stream.release.snapshotter:usefulness",
    ),
    "attacks": ("ktsafe.assess.releases.attacker:_Work._run",),
    "statistics": ("ktsafe.stream.release.snapshotter:noisy_tables",),
    "figures": ("ktsafe.stream.release.snapshotter:audit_traced",),
    "write audit": ("ktsafe.stream.release.snapshotter:Snapshotter._write_audit",),
    "ledger": ("ktsafe.state.ledger:Ledger.stage",),
    "publish": (
        "ktsafe.stream.release.publish:Publisher._check_staged",
        "ktsafe.connectors.files.release_folders:FileReleaseSink.publish",
    ),
}
"""By stage, the functions that it is spent in."""


class Stages(Summary):
    """Counts the core seconds of each stage, of the release that is made."""

    def __init__(self) -> None:
        super().__init__()
        self._threads = threading.local()
        self._spent: Counter[str] = Counter()
        self._began_s = time.process_time()

    def watch(self, stage: str, place: str) -> None:
        """Count what a function takes from now on."""
        module, _, path = place.partition(":")
        *outer, name = path.split(".")
        holder: Any = functools.reduce(getattr, outer, importlib.import_module(module))
        setattr(holder, name, self._counted(stage, getattr(holder, name)))

    def _counted(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def counted(*args: Any, **named: Any) -> Any:
            inside = vars(self._threads).setdefault("inside", [0.0])
            began = time.thread_time()
            inside.append(0.0)
            try:
                return function(*args, **named)
            finally:
                took = time.thread_time() - began
                self._spent[stage] += took - inside.pop()
                inside[-1] += took

        return counted

    def release_published(
        self, release_id: str, slot_us: int, n_vertices: int, n_edges: int
    ) -> None:
        """Print what was spent since the release before."""
        super().release_published(release_id, slot_us, n_vertices, n_edges)
        now = time.process_time()
        total, self._began_s = now - self._began_s, now
        told = {stage: self._spent[stage] for stage in STAGES}
        told |= {"rest": total - sum(told.values()), "all": total}
        self._spent.clear()
        print(release_id)
        for stage, core_s in told.items():
            print(f"  {stage:28} {core_s:8.3f}", flush=True)


def main() -> int:
    """Run and print; return 0 if every command ended well."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--vertices", type=int, default=100_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--effort", choices=("fast", "balanced"), default="fast")
    parser.add_argument("--share", type=float, default=0.0001, help="of the ties that change")
    parser.add_argument("--further", type=int, default=3, help="releases after the first one")
    parser.add_argument("--max-age", type=int, default=48, help="see [sequence] max_age")
    parser.add_argument("--folder", type=Path, help="keep everything here")
    parser.add_argument("--small", action="store_true", help="2,000 vertices, 20,000 edges")
    a = parser.parse_args()
    n, m = (2_000, 20_000) if a.small else (a.vertices, a.edges)
    with contextlib.ExitStack() as stack:
        folder = a.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "ktsafe.toml"
        if not (folder / "state").exists():
            import_graph(folder, config, n, m)
        write_config(config, a.effort)
        more = f"\n[workers]\nthreads = 1\n\n[sequence]\nmax_age = {a.max_age}\n"
        config.write_text(config.read_text() + more)
        write_feed(folder, n, max(int(m * a.share), 2), min(a.further, FURTHER_MAX))
        stages = Stages()
        for stage, places in STAGES.items():
            for place in places:
                stages.watch(stage, place)
        run_from_settings(load(config), drain=True, summary=stages)
        for manifest in sorted((folder / "releases").glob("*/manifest.json")):
            (audit,) = (folder / "state").rglob(f"{manifest.parent.name}/audit.json")
            tell_release(manifest, audit)
    return 0


if __name__ == "__main__":
    sys.exit(main())
