"""Runs the benchmarks of a review and compares them with those of revisions before.

    python -m lab.benchmarks.by_revision [--only ingest,verify] [--at 41a828f] [--out lab/results]
        [--seconds 1800]

Each benchmark is a process of its own. Of each the table gets the revision, the core seconds of
all its processes, their share of the core seconds of a reference that runs before and after in
the same minutes (so that rows of other machines and loads compare), the greatest resident memory
of any process, a figure of the benchmark's own where it has one, and a hash of all hashes that it
printed. A benchmark that fails, or for which no time is left, has no row. The table is
`evaluation/benchmarks.csv` below that folder, the page beside it is written anew.

With `--at` the program of another revision is set up in `var/revisions`, and those benchmarks run
that measure a program by its commands.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from lab.benchmarks.by_revision.page import write_page
from lab.benchmarks.by_revision.rows import Row, compared, kept, read, write
from lab.benchmarks.by_revision.running import BENCHMARKS, REFERENCE, run

REVISIONS = Path("var/revisions")
SECONDS = 1800.0
REFERENCE_SECONDS = 120.0


def main() -> int:
    """Run, print, and return how many benchmarks have no row."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--at", default="", help="another revision, whose program is measured")
    parser.add_argument("--out", type=Path, default=Path("lab/results"), help="where the page goes")
    parser.add_argument("--only", default="", help="names of benchmarks, separated by commas")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="by the clock, for all")
    given = parser.parse_args()
    possible = [name for name in BENCHMARKS if BENCHMARKS[name].of_program or not given.at]
    short = [name for name in possible if not BENCHMARKS[name].is_long]
    names = given.only.split(",") if given.only else short
    if unknown := sorted(set(names) - set(possible)):
        parser.error(f"there is no {unknown[0]!r}; there are: {', '.join(possible)}")
    ends_s = time.monotonic() + given.seconds
    rows, lacking = [], 0
    date, at = revision(given.at)
    program = program_of(at) if given.at else None
    for name in names:
        print(f"== {name}", file=sys.stderr, flush=True)
        before = run(REFERENCE, ends_s - time.monotonic())
        found = run(BENCHMARKS[name], ends_s - time.monotonic(), program)
        after = run(REFERENCE, REFERENCE_SECONDS)
        if before is None or found is None or after is None:
            print(f"{name} failed, or had no time left", file=sys.stderr)
            lacking += 1
            continue
        share = round(2 * found.core_s / (before.core_s + after.core_s), 3)
        rows.append(
            Row(date, at, name, found.core_s, share, found.peak_mib, found.figure, found.hash)
        )
    table = given.out / "evaluation" / "benchmarks.csv"
    earlier = read(table)
    together = kept(earlier, rows)
    write(table, together)
    write_page(given.out / "benchmarks.md", table.with_suffix(".svg"), together)
    print("\n".join(compared(earlier, rows)))
    return lacking


def revision(name: str) -> tuple[str, str]:
    """Return when a revision was made and what it is called; without a name, the one checked out.

    That has a mark if files differ from it.
    """
    ago = ["git", "show", "--no-patch", "--format=%cd", "--date=format:%Y-%m-%dT%H:%M"]
    asked = ["--always", "--exclude=*", *([name] if name else ["--dirty=+"])]
    return _told(*ago, name or "HEAD"), _told("git", "describe", *asked)


def program_of(name: str) -> Path:
    """Return the program of a revision, set up as `make run` of that revision does."""
    folder = REVISIONS / name
    if not folder.exists():
        folder.mkdir(parents=True)
        files = subprocess.run(["git", "archive", name], check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", folder], input=files, check=True)
    # Makes the environment if it is not there.
    subprocess.run(["make", "-s", "-C", folder, ".venv/.ready"], check=True)
    return folder / ".venv" / "bin" / "ktsafe"


def _told(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
