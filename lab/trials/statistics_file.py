"""How far noisy tables are from the truth, and whether their intervals hold it.

    python -m lab.trials.statistics_file DATA [--only cora,fb-reed98] [--per-year 5] [--releases 14]

Each network's true graph is told `--releases` times, each time at an equal share of a year's
epsilon, as a service with that many slots in a year would. Cells with at least 30 in truth count.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from statistics import median

from ktsafe.statistics import MICRO, SecretBytes, noisy_tables
from ktsafe.stream.files.graphs import read_graph, read_schema

LEVEL = 0.05
LEAST = 30


def half_width(scale: float) -> int:
    """Return the least w with P(|noise| > w) <= 5%."""
    decay = math.exp(-1 / scale)
    # P(|x| > w) = 2 decay^(w + 1) / (1 + decay)
    return max(0, math.ceil(math.log(LEVEL * (1 + decay) / 2) / math.log(decay) - 1))


def main() -> None:
    """Print a line per network and table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", default="cora,fb-reed98,ego-facebook")
    parser.add_argument("--per-year", type=float, default=5.0)
    parser.add_argument("--releases", type=int, default=14)
    a = parser.parse_args()
    micro = int(a.per_year * MICRO) // a.releases
    for name in a.only.split(","):
        folder = a.data / name
        files = [
            next(p for p in (folder / f"{x}.csv", folder / f"{x}.csv.gz") if p.exists())
            for x in ("vertices", "edges")
        ]
        graph = read_graph(*files, read_schema(folder / "schema.toml")).graph
        true = noisy_tables(graph, graph, 10**15, SecretBytes(bytes(32), "truth"))
        rows: dict[str, list[tuple[float, float, bool]]] = {}
        for seed in range(a.releases):
            secret = SecretBytes(bytes([seed]) * 32, name)
            for exact, told in zip(true, noisy_tables(graph, graph, micro, secret), strict=True):
                width = half_width(float(told.scale))
                for x, y in zip(exact.counts, told.counts, strict=True):
                    if x >= LEAST:
                        found = (abs(y - x) / x, width / x, abs(y - x) <= width)
                        rows.setdefault(told.of, []).append(found)
        for of, each in rows.items():
            errors, widths, held = zip(*each, strict=True)
            print(
                f"{name} {of}: {len(each) // a.releases} cells, median error {median(errors):.1%}, "
                f"wrong by 20% {sum(e > 0.2 for e in errors) / len(errors):.2f}, "
                f"median half width {median(widths):.1%}, held {sum(held) / len(held):.3f}"
            )


if __name__ == "__main__":
    main()
