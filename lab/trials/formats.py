"""How random networks that libraries write are read: equal, refused for a reason, or misread.

    python -m lab.trials.formats [--seeds 1000] [--first 0]

Prints a line per library and format, and each network that is misread. Ends with 1 if one is. Each
file is damaged, too, and read again: an error that is no refusal ends the program.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.ktsafe.inputs.formats.written_networks import WRITERS, read_damaged, written
from tests.ktsafe.inputs.tables import written_tables


def main() -> None:
    """Write and read networks, and count what comes of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    n_misread = 0
    with tempfile.TemporaryDirectory() as folder:
        for writer in WRITERS:
            outcomes: Counter[str] = Counter()
            for seed in range(options.first, options.first + options.seeds):
                outcome, told, path = written(writer, seed, Path(folder))
                path.unlink(missing_ok=True)
                outcomes[outcome] += 1
                if outcome == "misread":
                    print(f"{writer}, seed {seed}: {told}")
                read_damaged(writer, seed, Path(folder))
                path.unlink(missing_ok=True)
            print(f"{writer}: {', '.join(f'{n} {what}' for what, n in sorted(outcomes.items()))}")
            n_misread += outcomes["misread"]
        n_misread += _tables(range(options.first, options.first + options.seeds), Path(folder))
    sys.exit(n_misread > 0)


def _tables(seeds: range, folder: Path) -> int:
    """Do the same with tables of people and of ties; return how many are misread."""
    n_misread = 0
    for writer in written_tables.WRITERS:
        outcomes: Counter[str] = Counter()
        for seed in seeds:
            what, told = written_tables.outcome(writer, seed, folder)
            outcomes[what] += 1
            if what == "misread":
                print(f"{writer}, seed {seed}: {told}")
            for path in folder.iterdir():
                path.unlink()
        print(f"{writer}: {', '.join(f'{n} {what}' for what, n in sorted(outcomes.items()))}")
        n_misread += outcomes["misread"]
    return n_misread


if __name__ == "__main__":
    main()
