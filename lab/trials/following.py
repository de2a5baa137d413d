"""Whether sequences follow their networks: each figure beside its bar.

    python -m lab.trials.following DATA [--only demo,cora] [--seeds 3] [--set memory.turns.EARLY=1]

A line for each run of `RUNS`, figure and bar of `BARS`: the value of each seed, and whether their
mean keeps the bar. Most runs drive a sequence without the service, as
`lab.benchmarks.bench_growing` does; those named so, and leavers, go through `ktsafe run`. The
independent auditor judges every release; a line `refused` counts those that it refused. Figures are
those of `lab.benchmarks.sequences.history`, and these:

- `unmoved`: releases that equal the one before although ties changed.
- `empty`: releases without an edge while people wait who have ties; `F1 of others`: the mean F1 of
  those with edges.
- `jump`: the greatest relative change of the number of edges from one release to the next, less
  that of the ties; empty releases left out.
- `named`: the share of people who left that is named, less that of a uniform guess.
- `joint`: the net guess over all releases, and half of the age AUC: what one of them gains the
  other loses (`docs/how-a-sequence-works.md`, *one budget*).
- `core s`, `ratio`: core seconds of the mechanism for a further release of 100,000 people with
  300,000 ties, median, and over those of the first one.
- `lines`, `files`: of `ktsafe/sequence`.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean
from typing import Any, Final

import ktsafe.sequence
from ktsafe.sequence import SequenceOptions
from lab.benchmarks.bench_growing import numbers, published
from lab.benchmarks.bench_sequence import power_law, sequence_of
from lab.benchmarks.sequences.ablations import changed
from lab.benchmarks.sequences.growing_feeds import churned, demo_slots, recorded
from lab.trials import departures, sequences
from lab.trials.sequence_figures import private_audits, promise_kept
from tests.feeds import Slot, slots_of

Figures = dict[str, float | None]

LDBC: Final = "ldbc-snb-sf0.1"
BARS: Final[dict[str, dict[str, tuple[str, float]]]] = {
    "demo": {
        "latest": (">=", 0.65),
        "last": (">=", 0.60),
        "new 4": (">=", 0.75),
        "new 8": (">=", 0.85),
        "ended 8": ("<=", 0.10),
        "people": (">=", 0.5),
        "unmoved": ("<=", 0),
        "guess 2": ("<=", 0.12),
        "guess": ("<=", 0.17),
        "age": ("<=", 0.70),
        "joint": ("<=", 0.56),
        "worst": ("<=", 1.0),
    },
    "demo of 10000": {
        "latest": (">=", 0.70),
        "new 8": (">=", 0.85),
        "people": (">=", 0.87),
        "worst": ("<=", 1.0),
    },
    "cora": {
        "last": (">=", 0.667),
        "worst": ("<=", 0.80),
        "new 8": (">=", 0.50),
        "ended 8": ("<=", 0.45),
        "guess 2": ("<=", 0.12),
        "guess": ("<=", 0.17),
        "age": ("<=", 0.75),
        "joint": ("<=", 0.58),
    },
    "fb-reed98": {
        "F1": (">=", 0.60),
        "new 8": (">=", 0.75),
        "ended 8": ("<=", 0.16),
        "guess 2": ("<=", 0.12),
        "worst": ("<=", 1.0),
    },
    "ldbc from 24 two attributes": {
        "F1": (">=", 0.62),
        "new 4": (">=", 1.0),
        "worst": ("<=", 1.0),
    },
    "ldbc from 0": {"last": (">=", 0.32), "worst": ("<=", 1.0)},
    "ldbc service": {
        "F1 of others": (">=", 0.32),
        "last": (">=", 0.36),
        "empty": ("<=", 0),
        "jump": ("<=", 0.25),
        "worst": ("<=", 1.0),
    },
    "collegemsg service": {"F1": (">=", 0.06), "worst": ("<=", 1.0)},
    "leavers": {"named": ("<=", 0.02)},
    "large .01% changed": {"core s": ("<=", 1.0), "ratio": ("<=", 0.02)},
    "large 1% changed": {"core s": ("<=", 10.0)},
    "code": {"lines": ("<=", 2900), "files": ("<=", 24)},
}
"""By run and figure: the bar, and whether a value must be at least or at most as great."""


def main() -> int:
    """Run what is asked for and print a line a figure; return how many releases were refused."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="folder of data sets")
    parser.add_argument(
        "--only", default="", help="runs, separated by commas; the beginning of a name is enough"
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--set", default="", help="constants to change, as in bench_growing")
    given = parser.parse_args()
    wanted = [name for name in given.only.split(",") if name]
    refused = 0.0
    print("run | figure | bar | by seed | mean keeps it", flush=True)
    for name in BARS:
        if wanted and not any(name.startswith(start) for start in wanted):
            continue
        run, is_drawn = RUNS[name]
        with changed(numbers(given.set)):
            found = [run(given.data, seed) for seed in range(given.seeds if is_drawn else 1)]
        refused += sum(each.get("refused") or 0 for each in found)
        for line in _lines(name, found):
            print(line, flush=True)
    return int(refused > 0)


def _lines(name: str, found: list[Figures]) -> Iterator[str]:
    """Yield a line for each figure that has a bar, and for the refused releases."""
    bars = BARS[name] | ({"refused": ("<=", 0)} if "refused" in found[0] else {})
    for figure, (kind, bar) in bars.items():
        values = [each[figure] for each in found]
        texts = ", ".join("-" if value is None else f"{value:.3f}" for value in values)
        told = [value for value in values if value is not None]
        holds = bool(told) and (mean(told) >= bar if kind == ">=" else mean(told) <= bar)
        yield f"{name} | {figure} | {kind} {bar:g} | {texts} | {'yes' if holds else 'NO'}"


def _engine(slots: list[Slot], seed: int) -> Figures:
    """Return the figures of a sequence without the service."""
    history, refused, _ = published(slots, SequenceOptions(), seed)
    unmoved = sum(slot.is_unmoved for slot in history.slots)
    found = history.figures()
    guess, age = found["guess"], found["age"]
    joint = None if guess is None or age is None else guess + age / 2
    return {**found, "joint": joint, "unmoved": unmoved, "refused": refused}


def _demo(people: int) -> Callable[[Path, int], Figures]:
    return lambda _, seed: _engine(demo_slots(people, seed), seed)


def _churned(name: str, releases: int) -> Callable[[Path, int], Figures]:
    return lambda data, seed: _engine(churned(data, name, 0.01, releases, seed), seed)


def _ldbc(begin: int, without: str) -> Callable[[Path, int], Figures]:
    def run(data: Path, seed: int) -> Figures:
        schema, events = recorded(data / LDBC, without)
        return _engine(list(slots_of(schema, events, 0))[begin:], seed)

    return run


def _service(name: str, every: str) -> Callable[[Path, int], Figures]:
    def run(data: Path, _: int) -> Figures:
        with tempfile.TemporaryDirectory(prefix="ktsafe-following-") as folder:
            site = sequences.published(Path(folder), data / name, every)
            audits = private_audits(site.folder / "state" / "audit")
        promise_kept(audits)
        return _of_audits(audits)

    return run


def _of_audits(audits: list[dict[str, Any]]) -> Figures:
    """Return the figures of the releases of a service, from its private audits."""
    edges = [audit["usefulness"]["edges"] for audit in audits]
    shown = [each["released"] for each in edges]
    waiting = [audit["sequence"]["withheld_vertices"] for audit in audits]
    jumps = [
        abs(now - before) / max(now, before) - abs(later - earlier) / max(later, earlier)
        for (before, now), (earlier, later) in zip(
            itertools.pairwise(shown),
            itertools.pairwise([each["true"] for each in edges]),
            strict=True,
        )
        if before and now
    ]
    return {
        "F1": mean(each["f1"] or 0.0 for each in edges if each["true"]),
        "F1 of others": mean(each["f1"] for each in edges if each["released"]),
        "last": edges[-1]["f1"],
        "empty": sum(
            not each["released"] and each["true"] > 0 and n > 0
            for each, n in zip(edges, waiting, strict=True)
        ),
        "jump": max(jumps),
        "worst": max(each["cost_share"] for each in edges if each["true"]),
    }


def _leavers(data: Path, seed: int) -> Figures:
    given = argparse.Namespace(
        data=data / "fb-reed98", releases=12, share=0.01, moving=False, sequence=""
    )
    with tempfile.TemporaryDirectory(prefix="ktsafe-following-") as folder:
        _, _, found, _ = departures.run(Path(folder), given, seed)
    return {"named": mean(named - control for named, _, control in found)}


def _large(share: float) -> Callable[[Path, int], Figures]:
    def run(_: Path, seed: int) -> Figures:
        rows = sequence_of(power_law(100_000, seed, 8), SequenceOptions(), 5, share, seed)
        first, *later = [row.ms / 1000 for row, _ in rows]
        return {"core s": statistics.median(later), "ratio": statistics.median(later) / first}

    return run


def _code(_: Path, __: int) -> Figures:
    files = list(Path(ktsafe.sequence.__file__).parent.rglob("*.py"))
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    return {"lines": lines, "files": len(files)}


RUNS: Final[dict[str, tuple[Callable[[Path, int], Figures], bool]]] = {
    "demo": (_demo(2_000), True),
    "demo of 10000": (_demo(10_000), True),
    "cora": (_churned("cora", 50), True),
    "fb-reed98": (_churned("fb-reed98", 30), True),
    "ldbc from 24 two attributes": (_ldbc(24, "born"), True),
    "ldbc from 0": (_ldbc(0, ""), True),
    # The service draws its own seed.
    "ldbc service": (_service(LDBC, "month"), False),
    "collegemsg service": (_service("collegemsg", "2w"), False),
    "leavers": (_leavers, True),
    "large .01% changed": (_large(0.0001), False),
    "large 1% changed": (_large(0.01), False),
    "code": (_code, False),
}
"""By name: what returns the figures of a seed, and whether seeds differ."""


if __name__ == "__main__":
    sys.exit(main())
