"""Tries every fault and writes what came of it.

    python -m tests.faults [--out lab/results/reliability.md] [--seed 1] [--only NAME]

All of it runs on this machine, on loopback. A trial that loses anything ends the run and says how
to repeat it. What came of each fault is kept in `--kept` as soon as it is known, and the page is
made of all that is kept: a run may be ended and taken up again (`--missing`).
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import os
import platform
from pathlib import Path

from tests.faults import on_disk, on_limits
from tests.faults.trials import HEAD_CELLS, kept, put_section, table, tried

EXPLAINED = """\
Written by `make faults` on {today} ({machine}).

Each fault was tried as often as the table says, each time at a moment or place drawn from its seed.
A try passes only if the final graph is the independent fold of all events, every release is there
once, verified, and with the bytes that readers saw before the fault. "Nothing" is therefore not an
estimate: a try that loses anything ends the command, which says how to repeat it.

Recovery counts from the end of the fault until the service works again. The seconds are upper
bounds: what else ran on the machine is in them.

The command may be run in parts: the table is made of the last outcome of each fault, and `commit`
says of which code that is ("+": with what was changed since and landed next).

{rows}"""


def main() -> None:
    """Try faults and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="faults whose name holds this text")
    parser.add_argument("--times", type=int, help="tries of each fault, instead of its own number")
    parser.add_argument("--kept", type=Path, default=Path("var/faults"), help="outcomes, by fault")
    parser.add_argument("--missing", action="store_true", help="only faults not tried so far")
    given = parser.parse_args()
    faults = [*on_disk.FAULTS, *on_limits.FAULTS]
    if given.times:
        faults = [dataclasses.replace(fault, times=given.times) for fault in faults]
    for fault in faults:
        wanted = (given.only or "") in fault.name
        if wanted and not (given.missing and kept(fault, given.kept)):
            tried(fault, given.seed).keep(given.kept)
    found = {(fault.name, fault.where): kept(fault, given.kept) for fault in faults}
    before = rows_of(given.out.read_text(encoding="utf-8")) if given.out else {}
    rows = [outcome.row() if outcome else before.get(of, "") for of, outcome in found.items()]
    lacking = [" ".join(of) for of, row in zip(found, rows, strict=True) if not row]
    if given.out:
        put_section(given.out, "Faults", faults_section(table(filter(None, rows)), lacking))
    else:
        print(table(filter(None, rows)))


def rows_of(text: str) -> dict[tuple[str, str], str]:
    """Return the rows of a page by fault and place; the oldest do not tell their commit."""
    found = {}
    for line in text.partition("\n## Faults")[2].partition("\n## ")[0].splitlines():
        cells = line.strip("| ").split(" | ")
        if len(cells) == len(HEAD_CELLS) - 1:
            cells.insert(-1, "earlier")
        if len(cells) == len(HEAD_CELLS) and cells[2].isdigit():
            found[cells[0], cells[1]] = "| " + " | ".join(cells) + " |"
    return found


def faults_section(rows: str, lacking: list[str]) -> str:
    """Return the table under its explanation, with the faults that were not tried."""
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    not_tried = f"\nNot tried in this run: {', '.join(lacking)}.\n" if lacking else ""
    return EXPLAINED.format(today=today, machine=machine, rows=rows) + not_tried


if __name__ == "__main__":
    main()
