"""Histories of statements by chance, each beside the graph that is made of its log.

python -m tests.databases [--histories 1000] [--seed 7]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.databases.mirrors import differences


def main(arguments: Sequence[str] | None = None) -> int:
    """Play histories; return 0 if none differs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--histories", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=None, help="of one history to repeat")
    chosen = parser.parse_args(arguments)
    seeds = range(chosen.histories) if chosen.seed is None else [chosen.seed]
    found = {seed: each for seed in seeds if (each := differences(seed))}
    for seed, each in list(found.items())[:10]:
        print(f"seed {seed}: {'; '.join(each[:5])}")
    print(f"{len(seeds)} histories, {len(found)} differ from the database")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
