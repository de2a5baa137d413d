"""Runs the benchmarks of a review and compares them with those of revisions before.

    python -m lab.benchmarks.by_revision [--table FILE] [--only ingest,verify] [--seconds 1800]

Each benchmark is a process of its own. Of each the table gets the revision, the core seconds of
all its processes, their share of the core seconds of a reference that runs before and after in
the same minutes (so that rows of other machines and loads compare), the greatest resident memory
of any process, a figure of the benchmark's own where it has one, and a hash of all hashes that it
printed. A benchmark that fails, or for which no time is left, has no row.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from lab.benchmarks.by_revision.rows import Row, compared, kept, read, write
from lab.benchmarks.by_revision.running import BENCHMARKS, REFERENCE, run

TABLE = Path("var/benchmarks.csv")
SECONDS = 1800.0
REFERENCE_SECONDS = 120.0


def main() -> int:
    """Run, print, and return how many benchmarks have no row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", type=Path, default=TABLE, help="rows of all revisions, kept")
    parser.add_argument("--only", default="", help="names of benchmarks, separated by commas")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="by the clock, for all")
    given = parser.parse_args()
    names = given.only.split(",") if given.only else list(BENCHMARKS)
    if unknown := sorted(set(names) - set(BENCHMARKS)):
        parser.error(f"there is no {unknown[0]!r}; there are: {', '.join(BENCHMARKS)}")
    ends_s = time.monotonic() + given.seconds
    rows, lacking = [], 0
    at = revision()
    for name in names:
        print(f"== {name}", file=sys.stderr, flush=True)
        before = run(REFERENCE, ends_s - time.monotonic())
        found = run(BENCHMARKS[name], ends_s - time.monotonic())
        after = run(REFERENCE, REFERENCE_SECONDS)
        if before is None or found is None or after is None:
            print(f"{name} failed, or had no time left", file=sys.stderr)
            lacking += 1
            continue
        share = 2 * found.core_s / (before.core_s + after.core_s)
        rows.append(
            Row(at, name, found.core_s, round(share, 3), found.peak_mib, found.figure, found.hash)
        )
    earlier = read(given.table)
    given.table.parent.mkdir(parents=True, exist_ok=True)
    write(given.table, kept(earlier, rows))
    print("\n".join(compared(earlier, rows)))
    return lacking


def revision() -> str:
    """Return the revision that is measured, with a mark if files differ from it."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


if __name__ == "__main__":
    sys.exit(main())
