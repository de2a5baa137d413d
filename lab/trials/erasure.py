"""Erasure at scale: a tenth of a network leaves over ten releases, and the disk is searched.

    python -m lab.trials.erasure DATA/cora [--seeds N] [--sequence 'sybil_margin = 0']

People get random ids, and the network goes through `ktsafe run` as a file, w = all. Before each of
ten releases after the first one 1% of the people are deleted by event. A trial fails if afterwards
any file that the service wrote (state, private audits, releases, log, dead letters) holds the id of
somebody who left, if somebody has fewer than k candidates or more than alpha of them sensitive, or
if a visible change is shared by fewer than k. What the last release is worth stands beside that of
a fresh release of the people who stayed. `real` counts people only, as an attacker counts who knows
which people left.
"""

from __future__ import annotations

import argparse
import random
import secrets
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from ktsafe.stream.files.graphs import GraphFile, read_graph, read_schema
from lab.trials.sequence_figures import WORTH, private_audits, promise_kept, worth_of
from tests import feeds, running

RELEASES: Final = 10
DAY_US: Final = 86_400_000_000
FIRST_DAY_US: Final = 20_000 * DAY_US
HEADER: Final = (
    "seed | releases | people left | traces on disk | below k | above alpha | fewest k_delta | "
    f"residual ties | real: least, 5%, median, below k | {WORTH}"
)


def main() -> None:
    """Run the trial with each seed and print a line each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--sequence", default="", help="options of the sequence, as TOML")
    given = parser.parse_args()
    print(HEADER, flush=True)
    for seed in range(1, given.seeds + 1):
        with tempfile.TemporaryDirectory(prefix="ktsafe-erasure-") as temporary:
            line = trial(Path(temporary), given.data, given.sequence, seed)
        print(line, flush=True)


def trial(folder: Path, data: Path, sequence: str, seed: int) -> str:
    """Run the service on the feed and search its folder; return what was found."""
    source = read_graph(
        data / "vertices.csv", data / "edges.csv", read_schema(data / "schema.toml")
    )
    events, gone = leaving(source, seed)
    attributes = tomllib.loads((data / "schema.toml").read_text())["attributes"]
    site = running.sequence_site(folder / "site", events, attributes, "1d", sequence)
    site.drain_apart(timeout_s=7200)
    traces = files_with(site.folder, gone)
    assert not traces, traces
    there = set(site.graph()[0])
    assert there.isdisjoint(gone)
    assert files_with(site.folder, [min(there)]), "the search finds nobody at all"
    audits = private_audits(site.folder / "state" / "audit")
    promise_kept(audits)
    figures = [audit["audit"]["figures"] for audit in audits]
    below = max(row["published"]["candidates"]["below_k"] for row in figures)
    covered = [row["changes"]["k_delta"]["min"] for row in figures]
    report = running.audit_history(site, site.folder / "releases", folder / "feed" / "feed-0.jsonl")
    above = report["published"]["sensitive_share"]["above_alpha"]
    assert (below, above) == (0, 0)
    mine, real = audits[-1]["sequence"], figures[-1]["published"]["candidates_real_leavers_known"]
    return (
        f"{seed} | {len(audits)} | {len(gone)} | {len(traces)} | {below} | {above} | "
        f"{min((k for k in covered if k is not None), default=None)} | "
        f"{mine['residual_edges']:,} | {real['min']}, {real['p5']}, {real['median']}, "
        f"{real['below_k']:,} | {worth_of(audits, site.settings)}"
    )


def leaving(source: GraphFile, seed: int) -> tuple[list[feeds.Event], list[str]]:
    """Return a feed in which a tenth of the people leave, day by day, and who they are."""
    graph = source.graph
    names = [secrets.token_hex(12) for _ in source.ids]

    def event(kind: str, day: int, second: int, **fields: Any) -> feeds.Event:
        time_us = FIRST_DAY_US + day * DAY_US + second * 1_000_000
        return {"type": kind, "time": feeds.iso(time_us), **fields}

    events = [
        event("vertex.upsert", 0, 1, id=name, attributes=graph.values(v))
        for v, name in enumerate(names)
    ]
    events += [
        event("edge.add", 0, 2, source=names[u], target=names[v]) for u, v in graph.edges.tolist()
    ]
    gone = random.Random(seed).sample(names, len(names) // 10)
    for day in range(1, RELEASES + 1):
        events += [event("vertex.delete", day, 1, id=name) for name in gone[day - 1 :: RELEASES]]
    return events, gone


def files_with(folder: Path, texts: Iterable[str]) -> list[str]:
    """Return the files below a folder whose bytes hold any of the texts."""
    wanted = [text.encode() for text in texts]
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob("*"))
        if path.is_file() and any(text in data for data in [path.read_bytes()] for text in wanted)
    ]


if __name__ == "__main__":
    sys.exit(main())
