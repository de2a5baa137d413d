"""Real feeds through the real service with w = all, and the audit of their whole history.

    python -m lab.trials.sequences DATA [--only FEED] [--sequence 'sybil_margin = 0']
        [--begin 24] [--quasi-identifiers gender,continent]

With `--begin N` all that happened before slot N is there at slot N, as if it were imported.

Each feed goes through `ktsafe run` as a file. Then `ktsafe audit` judges all releases together,
with the private mappings, and with the feed as the truth. A trial fails unless nobody has fewer
than k candidates or more than alpha of them sensitive, every visible change is shared by k, every
newcomer has k real candidates in its first release, and the truth is shown but for what is
declared.

How many people stood behind a newcomer's candidates, and how long people waited, is taken from the
audits that the gate wrote at the time: past mappings forget who left since. `ms` is by the clock,
mechanism and gate of one release; `core s` is all that the process took, its start included.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import statistics
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any, Final

from ktsafe.stream.service import assembly
from ktsafe.stream.slots import parse_slots
from lab.trials.sequence_figures import WORTH, private_audits, promise_kept, worth_of
from tests import feeds, running

TRIALS: Final = (("ldbc-snb-sf0.1", "month"), ("collegemsg", "1w"), ("collegemsg", "2w"))
HEADER: Final = (
    "feed | every | releases | people, ties | below k | above alpha | fewest k_delta (changes) | "
    "newcomers, fewest real candidates | withheld at the end (median, oldest) | oldest ever | "
    f"ties hidden | {WORTH} | ms median, worst | core s"
)


def main() -> None:
    """Run the trials and print a line each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", choices=sorted({name for name, _ in TRIALS}))
    parser.add_argument("--every", help="only trials with releases this far apart")
    parser.add_argument("--begin", type=int, default=0, help="the slot at which releases begin")
    parser.add_argument("--quasi-identifiers", default="", help="only these, with commas")
    parser.add_argument("--sequence", default="", help="options of the sequence, as TOML")
    given = parser.parse_args()
    print(HEADER, flush=True)
    for name, every in TRIALS:
        if given.only in (None, name) and given.every in (None, every):
            with tempfile.TemporaryDirectory(prefix="ktsafe-sequence-") as temporary:
                trial(Path(temporary), given.data / name, every, given)


def trial(folder: Path, data: Path, every: str, given: argparse.Namespace) -> None:
    """Run one feed, audit its releases, print a line of the table, and check what it says."""
    before = _core_seconds()
    site = published(
        folder, data, every, given.sequence, begin=given.begin, only=given.quasi_identifiers
    )
    seconds = _core_seconds() - before
    audits = private_audits(site.folder / "state" / "audit")
    figures = running.audit_history(
        site, site.folder / "releases", folder / "feed" / "feed-0.jsonl"
    )
    store = assembly.open_store(site.settings)
    graph = store.snapshot().graph
    store.close()
    worth = worth_of(audits, site.settings)
    size = graph.n_vertices, graph.n_edges
    print(_row([data.name, every], audits, figures, size, worth), f"| {seconds:.0f}", flush=True)
    _check(audits, figures)


def published(
    folder: Path, data: Path, every: str, sequence: str = "", *, begin: int = 0, only: str = ""
) -> running.Site:
    """Run a recorded feed through the service; return its folder.

    Parameters
    ----------
    folder, data:
        Where the service gets its folder, and the folder of the data set.
    every, sequence:
        How far releases are apart, and options of the sequence, as TOML.
    begin:
        The slot at which releases begin.
    only:
        Quasi-identifiers to keep, with commas; all if empty.
    """
    with gzip.open(data / "events.jsonl.gz") as file:
        events = [json.loads(line) for line in file]
    _begin(events, every, begin)
    attributes = tomllib.loads((data / "schema.toml").read_text())["attributes"]
    if only:
        attributes["quasi_identifiers"] = only.split(",")
    site = running.sequence_site(folder / "site", events, attributes, every, sequence)
    site.drain_apart(timeout_s=7200)
    return site


def _begin(events: list[dict[str, Any]], every: str, slots: int) -> None:
    """Move what happened before the slot of that number to that slot."""
    slot_us = feeds.time_us(events[0])
    for _ in range(slots):
        slot_us = parse_slots(every).at_or_after(slot_us + 1)
    for event in events:
        event["time"] = feeds.iso(max(feeds.time_us(event), slot_us))


def _core_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _check(audits: list[dict[str, Any]], history: dict[str, Any]) -> None:
    """Raise unless the sequence keeps what it promises, and newcomers have k real candidates."""
    promise_kept(audits)
    published = history["published"]
    assert published["candidates"]["below_k"] == 0
    assert published["sensitive_share"]["above_alpha"] == 0
    assert history["changes"]["below_k"] == 0
    below = sum(audit["audit"]["figures"]["newcomers"]["below_k"] for audit in audits)
    assert below == 0, f"{below} newcomers with too few real candidates"


def _row(
    names: list[str],
    audits: list[dict[str, Any]],
    history: dict[str, Any],
    size: tuple[int, int],
    worth: str,
) -> str:
    newcomers = [audit["audit"]["figures"]["newcomers"] for audit in audits]
    waits = [audit["audit"]["figures"]["containment"] for audit in audits]
    published, changes = history["published"], history["changes"]
    last = audits[-1]["sequence"]
    ms = [1000 * (audit["seconds"]["anonymize"] + audit["seconds"]["verify"]) for audit in audits]
    median = waits[-1]["withheld_releases_median"]
    least = min((row["min"] for row in newcomers if row["vertices"]), default=None)
    return " | ".join(
        [
            *names,
            f"{len(audits)}",
            f"{size[0]:,}, {size[1]:,}",
            f"{published['candidates']['below_k']}",
            f"{published['sensitive_share']['above_alpha']}",
            f"{changes['k_delta_min']} ({changes['visible']:,})",
            f"{sum(row['vertices'] for row in newcomers):,}, {least}",
            f"{last['withheld_vertices']:,} ({median}, {waits[-1]['withheld_releases_max']})",
            f"{max(row['withheld_releases_max'] for row in waits)}",
            f"{last['held_edges']:,}",
            worth,
            f"{statistics.median(ms):.0f}, {max(ms):.0f}",
        ]
    )


if __name__ == "__main__":
    sys.exit(main())
