"""Worth, freshness and safety of sequences that follow a feed, without the service around it.

    python -m lab.benchmarks.bench_growing [--demo 2000] [--max-age 12] [--aim f1] [--seeds 3]
        [--each]
        [--data FOLDER --name ldbc-snb-sf0.1 [--days 0] [--begin 0] [--end 0] [--without born]]
        [--data FOLDER --churn cora [--share 0.01] [--releases 50]]
        [--set next_edges.YOUNG=0,renewal.EARLY=1]

Feeds: the network of `ktsafe demo`, a data set with events, a data set of which a share of the ties
changes in each slot, or a small synthetic network that grows from nothing. Slots are calendar
months, or as many days; those before `--begin` are skipped, so that the first release is of the
network as grown by then. Every release is judged by the independent auditor, for w = all with
cover. `--set` changes constants of `ktsafe.sequence`, to see what each brings.

Columns are those of `lab.benchmarks.sequences.history`: F1 over all releases, in the last one, of
the latest graph; cost over the ties, mean and worst; share of conclusions that are wrong by more
than 20%, mean and last; new ties shown after 1, 4 and 8 releases over
older ones; ended ties still shown after 8; newcomers shown; the age AUC; net guesses over two
releases and over all; core milliseconds of a release without its audit.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path
from typing import get_args

import numpy as np

from ktsafe import PrivacyParams
from ktsafe.options import Aim
from ktsafe.sequence import Changes, SequenceEngine, SequenceOptions
from ktsafe.sequence.memory.graph_changes import changes_between
from ktsafe.sequence_audit import AuditedRelease, Promise, SequenceAuditor
from lab.benchmarks.sequences.growing_feeds import churned, demo_slots, recorded, synthetic
from lab.benchmarks.sequences.history import History
from tests.feeds import Slot, slots_of

PLACES = {"births": "people"}
"""Where in `ktsafe.sequence` modules are that do not lie in `ties`, for `--set`."""


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
    parser.add_argument("--max-age", type=int, default=12)
    parser.add_argument("--aim", default="balanced", choices=get_args(Aim))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--set", default="", help="constants to change: module.NAME=value,...")
    parser.add_argument("--each", action="store_true", help="print every release")
    a = parser.parse_args()
    set_constants(a.set)
    options = SequenceOptions(max_age=a.max_age, aim=a.aim)
    print(
        "seed releases    F1  last latest  cost worst wrong  last  new1  new4  new8 ended people "
        "  age guess2 guess    ms refused"
    )
    slots: list[Slot] = []
    refused = 0
    for seed in range(a.seeds):
        if a.demo or a.churn or not slots:
            slots = _slots(a, seed)
        refused += follow(slots, options, seed, each=a.each)
    return refused


def set_constants(wanted: str) -> None:
    """Change constants of the mechanism, given as module.NAME=value."""
    for each in filter(None, wanted.split(",")):
        name, value = each.split("=")
        short, constant = name.split(".")
        module = importlib.import_module(f"ktsafe.sequence.{PLACES.get(short, 'ties')}.{short}")
        setattr(module, constant, type(getattr(module, constant))(float(value)))


def _slots(a: argparse.Namespace, seed: int) -> list[Slot]:
    """Return the slots that are asked for."""
    if a.demo:
        return demo_slots(a.demo, seed)
    if a.churn:
        return churned(a.data, a.churn, a.share, a.releases, seed)
    schema, events = recorded(a.data / a.name, a.without) if a.data else synthetic()
    return list(slots_of(schema, events, a.days))[a.begin : a.end or None]


def follow(slots: list[Slot], options: SequenceOptions, seed: int, *, each: bool) -> int:
    """Publish all slots; print what they are worth; return how many the auditor refused."""
    history, refused, seconds = published(slots, options, seed)
    for i, slot in enumerate(history.slots if each else ()):
        print(
            f"{seed:4} {i:8} {slot.f1:.3f}        {slot.f1_latest:.3f} {slot.cost:.3f}  "
            f"{len(slot.people):,} people {len(slot.truth):,} ties {len(slot.shown):,} edges"
        )
    figures = " ".join(
        "    -" if value is None else f"{value:5.3f}" for value in history.figures().values()
    )
    ms = 1000 * seconds / len(slots)
    print(f"{seed:4} {len(slots):8} {figures} {ms:5.0f} {refused:7}", flush=True)
    return refused


def published(slots: list[Slot], options: SequenceOptions, seed: int) -> tuple[History, int, float]:
    """Publish all slots; return what was shown, releases that the auditor refused, core seconds.

    The seconds are those of the mechanism alone.
    """
    rng = np.random.default_rng(seed)
    auditor = SequenceAuditor(Promise("all", cover=True), workers=1)
    history = History()
    schema, first = slots[0][0].schema, Changes.of_graph(*slots[0])
    refused, began = 0, time.process_time()
    sequence = SequenceEngine.begin(schema, PrivacyParams(), options, first, rng)
    spent = time.process_time() - began
    for i, (graph, keys) in enumerate(slots):
        if i:
            changes = changes_between(*slots[i - 1], graph, keys)
            began = time.process_time()
            sequence.advance(changes, rng)
            spent += time.process_time() - began
        release = released(sequence)
        refused += len(release.ids) > 0 and not auditor.extend(release).is_safe
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
    )


if __name__ == "__main__":
    sys.exit(main())
