"""Worth and safety of a sequence that follows a feed, without the service around it.

    python -m lab.benchmarks.bench_growing [--data FOLDER --name ldbc-snb-sf0.1] [--days 0]
        [--begin 0] [--end 0] [--without born] [--seeds 3] [--each]

Slots are calendar months, or as many days. Slots are counted from 0; those before `--begin` are
skipped, so that the first release is of the network as grown by then. Every release is judged by
the independent auditor, for w = all with cover. Without `--data` the feed is a synthetic one. Cost
is hidden ties and inserted edges over the true ties of everybody; `mean` is the mean F1 of all
releases, `waits` the share of people who are not shown in the last one.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tomllib
from pathlib import Path

import numpy as np

from ktsafe import PrivacyParams, Schema
from ktsafe.datasets import social_feed
from ktsafe.sequence import Changes, Sequence, SequenceOptions
from ktsafe.sequence.memory.graph_changes import changes_between
from ktsafe.sequence_audit import AuditedRelease, Promise, SequenceAuditor
from tests.feeds import Event, Slot, slots_of, time_us


def main() -> int:
    """Run the benchmark; return the number of releases that the auditor refused."""
    parser = argparse.ArgumentParser(description="Worth of a sequence that follows a feed.")
    parser.add_argument("--data", type=Path, help="folder of data sets, instead of a synthetic one")
    parser.add_argument("--name", default="ldbc-snb-sf0.1", help="data set with events.jsonl.gz")
    parser.add_argument("--days", type=int, default=0, help="of a slot; 0: calendar months")
    parser.add_argument("--begin", type=int, default=0, help="first slot that is released")
    parser.add_argument("--end", type=int, default=0, help="slot before which it ends; 0: all")
    parser.add_argument("--without", default="", help="quasi-identifiers to leave out")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--each", action="store_true", help="print every release")
    a = parser.parse_args()
    schema, events = from_folder(a.data / a.name, a.without) if a.data else synthetic()
    # A young network lacks values that come later.
    schema = schema.expecting_nothing()
    slots = list(slots_of(schema, events, a.days))[a.begin : a.end or None]
    print(
        "seed slot   people     ties  cost worst  first   last   mean     P     R withheld unsafe"
    )
    return sum(follow(slots, a.begin, seed, each=a.each) for seed in range(a.seeds))


def from_folder(folder: Path, without: str) -> tuple[Schema, list[Event]]:
    """Return the schema and the events of a data set, by time."""
    told = tomllib.loads((folder / "schema.toml").read_text())["attributes"]
    names = tuple(name for name in told["quasi_identifiers"] if name not in without.split(","))
    buckets = {name: tuple(edges) for name, edges in told.get("buckets", {}).items()}
    schema = Schema(names, told["sensitive"], frozenset(told["sensitive_values"]), buckets)
    with gzip.open(folder / "events.jsonl.gz", "rt") as file:
        return schema, sorted((json.loads(line) for line in file), key=time_us)


def synthetic() -> tuple[Schema, list[Event]]:
    """Return a schema and a year of a network that grows from nothing."""
    schema = Schema(("gender",), "health", frozenset({"cancer", "depression", "hiv"}))
    return schema, list(social_feed(people=300, days=365, rng=np.random.default_rng(0)))


def follow(slots: list[Slot], begin: int, seed: int, *, each: bool) -> int:
    """Publish all slots; print what they are worth; return how many the auditor refused."""
    params, rng = PrivacyParams(), np.random.default_rng(seed)
    auditor = SequenceAuditor(Promise("all", cover=True), workers=1)
    first = Changes.of_graph(*slots[0])
    sequence = Sequence.begin(slots[0][0].schema, params, SequenceOptions(), first, rng)
    scores: list[float] = []
    refused, worst = 0, 0.0
    for i, (graph, keys) in enumerate(slots):
        if i:
            sequence.advance(changes_between(*slots[i - 1], graph, keys), rng)
        release = released(sequence)
        refused += len(release.ids) > 0 and not auditor.extend(release).is_safe
        f, n_ties = sequence.figures(), max(graph.n_edges, 1)
        shown = len(release.edges) - f.inserted_edges - f.residual_edges
        precision, recall = shown / max(len(release.edges), 1), shown / n_ties
        scores.append(2 * shown / (len(release.edges) + n_ties))
        cost = (f.inserted_edges + f.residual_edges + f.held_edges) / n_ties
        worst = max(worst, cost)
        if each or i + 1 == len(slots):
            print(
                f"{seed:4} {begin + i:4} {graph.n_vertices:8,} {graph.n_edges:8,} {cost:5.3f} "
                f"{worst:5.3f} {scores[0]:6.3f} {scores[-1]:6.3f} {np.mean(scores):6.3f} "
                f"{precision:5.3f} {recall:5.3f} "
                f"{f.withheld_vertices / max(graph.n_vertices, 1):6.3f} {refused:6}",
                flush=True,
            )
    sequence.check()
    return refused


def released(sequence: Sequence) -> AuditedRelease:
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
