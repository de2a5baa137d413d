"""Worth, freshness and safety of sequences that follow a feed, without the service around it.

    python -m lab.benchmarks.bench_growing [--demo 2000] [--k 10] [--max-age 48] [--aim f1]
        [--seeds 3] [--each]
        [--data FOLDER --name ldbc-snb-sf0.1 [--days 0] [--begin 0] [--end 0] [--without born]]
        [--data FOLDER --churn cora [--share 0.01] [--releases 50]]
        [--set ties.pairs.YOUNG=0,memory.turns.EARLY=1]
    python -m lab.benchmarks.bench_growing --ablate FOLDER [--feeds demo,cora]
        [--only raises,"groups move"]

Feeds: the network of `ktsafe demo`, a data set with events, a data set of which a share of the ties
changes in each slot, or a small synthetic network that grows from nothing. Slots are calendar
months, or as many days; those before `--begin` are skipped, so the first release is of the
network as grown by then. Every release is judged by the independent auditor, for w = all with
cover. `--set` changes constants of `ktsafe.sequence`. `--ablate` takes out one part of the
mechanism after another, or sets an option, on the feeds `ABLATED` of a folder of data sets
(`lab.benchmarks.sequences.ablations`); nothing is audited then.

Columns are those of `lab.benchmarks.sequences.history`: F1 over all releases, in the last one, of
the latest graph; cost over the ties, mean and worst; share of conclusions that are wrong by more
than 20%, mean and last; new ties shown after 1, 4 and 8 releases over older ones; ended ties still
shown after 8; newcomers shown, and how many releases half of them wait at most; the age AUC; net
guesses over two releases and over all; people named after denoising the last release; core
milliseconds of a release without its audit.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Final, get_args

import numpy as np

from ktsafe import PrivacyParams
from ktsafe.anonymization.request import Aim
from ktsafe.audit.sequence import AuditedRelease, Promise, SequenceAuditor
from ktsafe.sequence import Changes, SequenceEngine, SequenceOptions
from ktsafe.sequence.memory.graph_changes import changes_between
from lab.benchmarks.sequences.ablations import PEOPLE, TIES, Changed, changed, options_of
from lab.benchmarks.sequences.growing_feeds import churned, demo_slots, recorded, synthetic
from lab.benchmarks.sequences.history import History
from tests.feeds import Slot, slots_of

LDBC = ["--name", "ldbc-snb-sf0.1"]
ABLATED: Final = {
    "demo": (["--demo", "2000"], 3),
    "ldbc from 24 two attributes": ([*LDBC, "--begin", "24", "--without", "born"], 1),
    "ldbc from 24": ([*LDBC, "--begin", "24"], 1),
    "ldbc from 0": (LDBC, 1),
    "cora": (["--churn", "cora", "--releases", "25"], 1),
    "fb-reed98": (["--churn", "fb-reed98", "--releases", "16"], 1),
    "collegemsg": (["--name", "collegemsg", "--days", "14"], 1),
}
"""By feed what it is asked for with, and how many seeds."""

PARTS: Final = {"cora": TIES, "fb-reed98": TIES, "collegemsg": PEOPLE}
"""Where only ties change, what publishes people changes nothing; elsewhere all parts do."""

HEADER: Final = (
    "releases    F1  last latest  cost worst wrong  last  new1  new4  new8 ended people  wait"
    "   age guess2 guess denois    ms refused"
)


def main() -> int:
    """Run the benchmark; return the number of releases that the auditor refused."""
    parser = argparse.ArgumentParser(description="Worth of a sequence that follows a feed.")
    parser.add_argument("--demo", type=int, default=0, help="people of the demo's network")
    parser.add_argument("--data", type=Path, help="folder of data sets, instead of a synthetic one")
    parser.add_argument("--name", default="ldbc-snb-sf0.1", help="data set with events.jsonl.gz")
    parser.add_argument("--days", type=int, default=0, help="of a slot; 0: calendar months")
    parser.add_argument("--begin", type=int, default=0, help="first slot that is released")
    parser.add_argument("--end", type=int, default=0, help="slot before which it ends; 0: all")
    parser.add_argument("--without", default="", help="quasi-identifiers to leave out")
    parser.add_argument("--churn", default="", help="data set of which ties change")
    parser.add_argument("--share", type=float, default=0.01, help="of ties changed per release")
    parser.add_argument("--releases", type=int, default=50, help="after the first one")
    parser.add_argument("--k", type=int, default=PrivacyParams().k)
    parser.add_argument("--max-age", type=int, default=48)
    parser.add_argument("--aim", default="balanced", choices=get_args(Aim))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--set", default="", help="constants to change: module.NAME=value,...")
    parser.add_argument("--each", action="store_true", help="print every release")
    parser.add_argument("--ablate", type=Path, help="folder of data sets: print what parts bring")
    parser.add_argument("--feeds", default=",".join(ABLATED), help="separated by commas")
    parser.add_argument("--only", default="", help="parts to take out, separated by commas")
    a = parser.parse_args()
    if a.ablate:
        return _ablated(parser, a)
    options = SequenceOptions(max_age=a.max_age, aim=a.aim)
    print(f"seed {HEADER}")
    slots: list[Slot] = []
    refused = 0
    for seed in range(a.seeds):
        if a.demo or a.churn or not slots:
            slots = _slots(a, seed)
        with changed(numbers(a.set)):
            refused += follow(slots, options, seed, each=a.each, k=a.k)
    return refused


def numbers(wanted: str) -> dict[str, float]:
    """Return constants of the mechanism by name, given as name=value, separated by commas."""
    parts = (each.split("=") for each in filter(None, wanted.split(",")))
    return {name: float(value) for name, value in parts}


def _ablated(parser: argparse.ArgumentParser, given: argparse.Namespace) -> int:
    """Print the means of all figures for each feed and each part that is taken out of it."""
    wanted = [name for name in given.only.split(",") if name]
    print(f"feed | without, or with | {HEADER}", flush=True)
    for feed in given.feeds.split(","):
        asked, seeds = ABLATED[feed]
        a = parser.parse_args([*asked, "--data", str(given.ablate)])
        slots = [_slots(a, seed) for seed in range(seeds if a.demo or a.churn else 1)]
        parts: dict[str, Changed] = {"as it is": {}, **PARTS.get(feed, TIES | PEOPLE)}
        for name in wanted or parts:
            if name not in parts:
                continue
            options = SequenceOptions(**options_of(parts[name]))
            with changed(parts[name]):
                found = [
                    published(slots[seed % len(slots)], options, seed, is_audited=False)
                    for seed in range(seeds)
                ]
            rows = [_numbers_of(*each) for each in found]
            print(f"{feed} | {name} | {_means(rows)}", flush=True)
    return 0


def _numbers_of(history: History, refused: int, seconds: float) -> list[float | None]:
    n = len(history.slots)
    return [n, *history.figures().values(), 1000 * seconds / n, refused]


def _means(rows: list[list[float | None]]) -> str:
    """Return the mean of each column, as text; of what is counted in no row a dash."""

    def texts() -> Iterator[str]:
        for column in zip(*rows, strict=True):
            known = [value for value in column if value is not None]
            yield f"{mean(known):5.3f}" if known else "    -"

    n, *figures, ms, refused = texts()
    return " ".join((f"{float(n):8.0f}", *figures, f"{float(ms):5.0f}", f"{float(refused):7.2f}"))


def _slots(a: argparse.Namespace, seed: int) -> list[Slot]:
    """Return the slots that are asked for."""
    if a.demo:
        return demo_slots(a.demo, seed)
    if a.churn:
        return churned(a.data, a.churn, a.share, a.releases, seed)
    schema, events = recorded(a.data / a.name, a.without) if a.data else synthetic()
    return list(slots_of(schema, events, a.days))[a.begin : a.end or None]


def follow(
    slots: list[Slot],
    options: SequenceOptions,
    seed: int,
    *,
    each: bool,
    k: int = PrivacyParams().k,
) -> int:
    """Publish all slots; print what they are worth; return how many the auditor refused."""
    history, refused, seconds = published(slots, options, seed, k=k)
    for i, slot in enumerate(history.slots if each else ()):
        print(
            f"{seed:4} {i:8} {slot.f1:.3f}        {slot.f1_latest:.3f} {slot.cost:.3f}  "
            f"{len(slot.people):,} people {len(slot.truth):,} ties {len(slot.shown):,} edges"
        )
    print(f"{seed:4} {_means([_numbers_of(history, refused, seconds)])}", flush=True)
    return refused


def published(
    slots: list[Slot],
    options: SequenceOptions,
    seed: int,
    *,
    is_audited: bool = True,
    k: int = PrivacyParams().k,
) -> tuple[History, int, float]:
    """Publish all slots; return what was shown, releases that the auditor refused, core seconds.

    The seconds are those of the mechanism alone.
    """
    rng = np.random.default_rng(seed)
    auditor = SequenceAuditor(Promise("all", cover=True), workers=1)
    history = History()
    schema, first = slots[0][0].schema, Changes.of_graph(*slots[0])
    refused, began = 0, time.process_time()
    sequence = SequenceEngine.begin(schema, PrivacyParams(k=k), options, first, rng)
    spent = time.process_time() - began
    for i, (graph, keys) in enumerate(slots):
        if i:
            changes = changes_between(*slots[i - 1], graph, keys)
            began = time.process_time()
            sequence.advance(changes, rng)
            spent += time.process_time() - began
        release = released(sequence) if is_audited else None
        refused += bool(release and release.ids) and not auditor.extend(release).is_safe
        history.add(sequence, graph, keys)
    sequence.check()
    return history, refused, spent


def released(sequence: SequenceEngine) -> AuditedRelease:
    """Return the current release as the auditor reads it."""
    released = sequence.released()
    graph = released.graph
    return AuditedRelease(
        release_id=str(sequence.release),
        sequence_id="one",
        params=sequence.params,
        ids=[str(i) for i in released.ids.tolist()],
        categories=graph.categories[:-1],
        codes=graph.codes[:, :-1].astype(np.int64),
        is_sensitive=graph.is_sensitive,
        edges=graph.edges.astype(np.int64),
        owners=[None if key < 0 else key for key in released.keys.tolist()],
        value_at=released.value_at,
    )


if __name__ == "__main__":
    sys.exit(main())
