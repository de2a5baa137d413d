"""Erasure at scale: a tenth of a network leaves over ten releases, and the disk is searched.

    python -m tests.trials.erasure DATA/cora [--seeds N] [--sequence 'edge_lag_max = 8'] [--hard]

People get random ids, and the network goes through `ktsafe run` as a file, w = all. Before each of
ten releases after the first one 1% of the people are deleted by event. A trial fails if afterwards
any file that the service wrote (state, private audits, releases, log, dead letters) holds the id of
somebody who left, if somebody has fewer than k candidates or more than alpha of them sensitive, or
if a visible change is shared by fewer than k. The cost stands beside that of a fresh release of the
people who stayed. `real` counts people only, as somebody sees who knows which people left.

With `--hard` (`departure = "hard"`) the ids of those who leave vanish, and a place and its next id
are one where candidates are counted. The trial then also fails if a mapping or a page still tells
whose a vanished id was, and a second line tells what whoever takes every id for itself finds:
people with fewer than k candidates at the end, and those who visibly changed with fewer than k
alike in any release.
"""

from __future__ import annotations

import argparse
import csv
import random
import secrets
import statistics
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from stream.files.graphs import GraphFile, read_graph, read_schema
from stream.service import assembly
from tests import feeds
from tests.trials import running
from tests.trials.sequence_figures import fresh_cost, private_audits, promise_kept

RELEASES: Final = 10
DAY_US: Final = 86_400_000_000
FIRST_DAY_US: Final = 20_000 * DAY_US
HEADER: Final = (
    "seed | releases | people left | traces on disk | below k | above alpha | fewest k_delta | "
    "residual ties | real: least, 5%, median, below k | cost | fresh | ratio"
)


def main() -> None:
    """Run the trial with each seed and print a line each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--sequence", default="", help="lines of the table [sequence]")
    parser.add_argument("--hard", action="store_true", help='departure = "hard"')
    given = parser.parse_args()
    sequence = given.sequence + ('\ndeparture = "hard"' if given.hard else "")
    print(HEADER, flush=True)
    ratios = []
    for seed in range(1, given.seeds + 1):
        with tempfile.TemporaryDirectory(prefix="ktsafe-erasure-") as temporary:
            line, ratio = trial(Path(temporary), given.data, sequence, seed)
        print(line, flush=True)
        ratios.append(ratio)
    print(f"ratio: median {statistics.median(ratios):.2f}, worst {max(ratios):.2f}")


def trial(folder: Path, data: Path, sequence: str, seed: int) -> tuple[str, float]:
    """Run the service on the feed and search its folder; return what was found, and the ratio."""
    source = read_graph(
        data / "vertices.csv", data / "edges.csv", read_schema(data / "schema.toml")
    )
    events, gone = leaving(source, seed)
    attributes = tomllib.loads((data / "schema.toml").read_text())["attributes"]
    site = running.sequence_site(folder / "site", events, attributes, "1d", sequence)
    site.drain(timeout_s=7200)
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
    store = assembly.open_store(site.settings)
    fresh = fresh_cost(store.snapshot().graph, site.settings.params)
    store.close()
    mine, real = audits[-1]["sequence"], figures[-1]["published"]["candidates_real_leavers_known"]
    ratio = mine["cost"] / fresh
    line = (
        f"{seed} | {len(audits)} | {len(gone)} | {len(traces)} | {below} | {above} | "
        f"{min((k for k in covered if k is not None), default=None)} | "
        f"{mine['residual_edges']:,} | {real['min']}, {real['p5']}, {real['median']}, "
        f"{real['below_k']:,} of {real['vertices']:,} | {mine['cost']:,} | {fresh:,} | {ratio:.2f}"
    )
    if "removals" in figures[-1]:
        unconfirmed = sum(row["removals"]["unconfirmed"] for row in figures)
        line += "\n" + _removed(site, report["removals"], len(gone), unconfirmed)
    return line, ratio


def _removed(site: running.Site, found: dict[str, Any], n_gone: int, unconfirmed: int) -> str:
    """Check that nothing tells whose the vanished ids were; return what they gave away.

    `unconfirmed`: successions whose former owner the gate did not know. Once the mappings are
    blanked, as now, nobody knows any.
    """
    audit = site.folder / "state" / "audit"
    former = {row[0] for path in audit.glob("*/successions.csv") for row in _rows(path)}
    assert len(former) == found["vanished"] <= n_gone
    mapped = [row for path in audit.glob("*/mapping.csv") for row in _rows(path)]
    assert not any(original for released, original in mapped if released in former)
    assert former <= {released for released, _ in mapped}
    files = (path for path in (site.folder / "state" / "store").rglob("*") if path.is_file())
    store = b"".join(path.read_bytes() for path in files)
    assert not any(_in_pages(name) in store for name in former)
    last = _rows(max(audit.glob("*/mapping.csv")))
    n_found = sum(_in_pages(name) in store for name, _ in last)
    assert n_found > 0.99 * len(last), f"the search finds {n_found} of {len(last)} ids"
    seen, rich = found["candidates"], found["sensitive_share"]["above_alpha"]
    return (
        f"removed: ids vanished {found['vanished']}, fewer than k {found['vanished_below_k']}, "
        f"ties exchanged {found['exchanged_ties']:,}, unconfirmed at the gate {unconfirmed} | by "
        f"ids: least, 5%, median {seen['min']}, {seen['p5']}, {seen['median']}; below k "
        f"{len(found['below_k']):,} of {seen['vertices']:,}; changed below k "
        f"{len(found['changed_below_k']):,}; above alpha {rich:,}"
    )


def _in_pages(name: str) -> bytes:
    """Return what stays of an id in a page: compression may join its ends to what is beside it."""
    return int(name, 16).to_bytes(8, "little")[1:6]


def _rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


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
