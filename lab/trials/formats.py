"""How random networks that libraries write are read: equal, refused for a reason, or misread.

    python -m lab.trials.formats [--seeds 1000] [--first 0] [--lists 20000]

Prints a line per library, each network that is misread, and totals. Ends with 1 if one is misread.

Two shares are told of those that are read: of all that were written, and of those whose ids and
values have one text each, which is what every reader asks for.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.ktsafe.graph.inputs import written_lists, written_tables

Outcome = tuple[str, str]
SPELLING: Final = {
    "spelt twice": r"spelt (in two ways|otherwise)|for the second time|same person|spelt twice",
    "missing id": r"missing|no id|names a vertex",
    "infinity": r"Infinity|\b2\*\*53",
}
"""Reasons that are those of ids and values: the network is none that any reader takes."""
OF_FORMATS: Final = {
    "one column": r"one column",
    "several in one cell": r"several ids stand in one cell",
}
"""Reasons that are those of a format."""


def main() -> None:
    """Write and read networks, and count what comes of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--lists", type=int, default=20_000)
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    lists = range(options.first, options.first + options.lists)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        tables = _told(
            (f"{writer}, {seed}", _of_tables(writer, seed, folder))
            for writer in written_tables.WRITERS
            for seed in seeds
        )
        found = Counter[str]()
        for seed in lists:
            what, why = written_lists.outcome(seed, folder)
            found[what] += 1
            if what == "misread":
                print(f"list {seed}: {why}")
    print(f"lists without a header: {_text(found)}")
    sys.exit(any(counts["misread"] for counts in (tables, found)))


def _told(outcomes: Iterator[tuple[str, Outcome]]) -> Counter[str]:
    """Print a line for each writer, and totals; return these."""
    by_writer: dict[str, Counter[str]] = {}
    for name, (what, why) in outcomes:
        writer = name.rpartition(",")[0]
        reason = _reason(why) if what == "refused" else what
        if reason == "misread":
            print(f"{name}: {why}")
        by_writer.setdefault(writer, Counter())[reason] += 1
    total = sum(by_writer.values(), Counter[str]())
    for writer, counts in (*by_writer.items(), ("all", total)):
        n = counts.total() - counts["not written"]
        n_spelt = n - sum(counts[reason] for reason in SPELLING)
        shares = f"{counts['read'] / n:.1%} of all, {counts['read'] / n_spelt:.1%} of those spelt"
        print(f"{writer}: {_text(counts)}; read {shares}", flush=True)
    return total


def _reason(why: str) -> str:
    for reason, pattern in {**SPELLING, **OF_FORMATS}.items():
        if re.search(pattern, why):
            return reason
    return "misread"


def _of_tables(writer: str, seed: int, folder: Path) -> Outcome:
    found = written_tables.outcome(writer, seed, folder)
    for path in folder.iterdir():
        path.unlink()
    return found


def _text(counts: Counter[str]) -> str:
    return ", ".join(f"{n:,} {what}" for what, n in sorted(counts.items()))


if __name__ == "__main__":
    main()
