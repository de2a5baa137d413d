"""Resident memory of a process while it runs: sampled, summed up, written and drawn."""

from __future__ import annotations

import dataclasses
import statistics
import subprocess
import threading
import time
from pathlib import Path
from xml.etree import ElementTree as ET

from ktsafe.assess.report.charts import node

WARM_UP = 0.25
"""Share of a run before its memory counts."""
SAMPLE_S = 0.5
WIDTH, HEIGHT, MARGIN = 800, 300, 40


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


def write(path: Path, samples: list[Sample]) -> None:
    """Write the samples as CSV."""
    lines = [f"{sample.seconds:.1f},{sample.resident}\n" for sample in samples]
    path.write_text("seconds,resident_bytes\n" + "".join(lines), encoding="utf-8")


def plot(path: Path, samples: list[Sample], title: str) -> None:
    """Draw resident memory over time as SVG, both scales from 0."""
    longest = max(sample.seconds for sample in samples)
    greatest = max(sample.resident for sample in samples)

    def x(seconds: float) -> float:
        return MARGIN + seconds / longest * (WIDTH - 2 * MARGIN)

    def y(resident: float) -> float:
        return HEIGHT - MARGIN - resident / greatest * (HEIGHT - 2 * MARGIN)

    line = " ".join(f"{x(s.seconds):.1f},{y(s.resident):.1f}" for s in samples)
    frame = f"{x(0):.1f},{y(greatest):.1f} {x(0):.1f},{y(0):.1f} {x(longest):.1f},{y(0):.1f}"
    warm = x(longest * WARM_UP)
    chart = node(
        "svg",
        node("text", title, x=str(MARGIN), y="20"),
        node("polyline", points=frame, fill="none", stroke="black"),
        node("polyline", points=line, fill="none", stroke="steelblue"),
        node("text", f"{greatest / 2**20:.0f} MiB", x="0", y=f"{y(greatest) - 4:.1f}"),
        node("text", f"{longest:.0f} s", x=f"{x(longest) - 20:.1f}", y=str(HEIGHT - 20)),
        node("text", "warm from here", x=f"{warm + 4:.1f}", y=str(HEIGHT - MARGIN - 6)),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        font_size="11",
        font_family="sans-serif",
    )
    ends = {"x1": f"{warm:.1f}", "x2": f"{warm:.1f}", "y1": str(MARGIN), "y2": f"{y(0):.1f}"}
    chart.append(ET.Element("line", {"stroke": "grey", "stroke-dasharray": "4", **ends}))
    path.write_text(ET.tostring(chart, encoding="unicode") + "\n", encoding="utf-8")
