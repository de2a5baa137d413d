"""Tries every fault and writes what came of it.

    python -m tests.faults [--out docs/reliability.md] [--seed 1] [--only NAME] [--without-broker]

All of it runs on this machine, on loopback. A trial that loses anything ends the run and says how
to repeat it.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
from pathlib import Path

from tests.faults import buffers, simulated
from tests.faults.trials import Fault, table, tried


def main() -> None:
    """Try faults and print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="faults whose name holds this text")
    parser.add_argument("--times", type=int, help="tries of each fault, instead of its own number")
    parser.add_argument("--without-broker", action="store_true")
    given = parser.parse_args()
    chosen = [fault for fault in all_faults(given) if (given.only or "") in fault.name]
    outcomes = [tried(fault, given.seed) for fault in chosen]
    text = table(outcomes)
    if given.out:
        given.out.write_text(page(text), encoding="utf-8")
    else:
        print(text)


def all_faults(given: argparse.Namespace) -> list[Fault]:
    """Return the faults that are asked for."""
    from dataclasses import replace  # noqa: PLC0415

    from tests.faults import on_broker, on_disk  # noqa: PLC0415

    faults = [*simulated.FAULTS, *on_disk.FAULTS]
    if not given.without_broker:
        faults += on_broker.FAULTS
    return [replace(f, times=given.times) for f in faults] if given.times else faults


def page(rows: str) -> str:
    """Return the whole page around the table."""
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}"
    return f"""\
# Reliability

Written by `python -m tests.faults --out docs/reliability.md` on {today} ({machine}); not by hand.

## Faults

Each fault was tried as often as the table says, each time at a moment or place drawn from its seed.
A try passes only if the final graph is the independent fold of all events, every release is there
once, verified, and with the bytes that readers saw before the fault. "Nothing" is therefore not an
estimate: a try that loses anything ends the command, which says how to repeat it. Recovery counts
from the end of the fault (the broker is back, the process is started) until the service works
again; in simulated time there is none to measure.

{rows}
## Bounds of memory

{buffers.table()}
"""


if __name__ == "__main__":
    main()
