"""Resident memory of a process while it runs: sampled and summed up."""

from __future__ import annotations

import dataclasses
import statistics
import subprocess
import threading
import time
from pathlib import Path

WARM_UP = 0.25
"""Share of a run before its memory counts."""
SAMPLE_S = 0.5


@dataclasses.dataclass(frozen=True)
class Sample:
    """Resident bytes so many seconds after the start."""

    seconds: float
    resident: int


def watched_until_end(process: subprocess.Popen[bytes]) -> list[Sample]:
    """Wait for a process to end; return its memory meanwhile."""
    samples: list[Sample] = []
    ended = threading.Event()
    started = time.monotonic()

    def watch() -> None:
        while not ended.wait(SAMPLE_S):
            if (resident := resident_bytes(process.pid)) is not None:
                samples.append(Sample(time.monotonic() - started, resident))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    process.wait()
    ended.set()
    watcher.join()
    return samples


def resident_bytes(pid: int) -> int | None:
    """Return the resident memory of a process; None if it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    lines = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(lines[0].split()[1]) * 1024 if lines else None


def drift(samples: list[Sample]) -> str:
    """Measure how far resident memory moved after the warm-up, between releases and in them.

    A release is a tooth on a level: the lower quartile lies on the level, the greatest on a tooth.
    """
    warm = [sample.resident for sample in samples[round(len(samples) * WARM_UP) :]]
    half = len(warm) // 2
    if half < 2:
        return "too short a run"
    levels, teeth = [], []
    for part in (warm[:half], warm[half:]):
        levels.append(statistics.quantiles(part, n=4)[0])
        teeth.append(max(part))
    return f"between releases {_moved(*levels)}; at most {_moved(*teeth)}"


def _moved(before: float, after: float) -> str:
    moved = (after - before) / before
    return f"{before / 2**20:.0f} MiB, then {after / 2**20:.0f} MiB ({moved:+.1%})"
