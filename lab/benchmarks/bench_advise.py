"""Advice beside a grid of releases: what it recommends, how much is lost, in what time.

    python -m lab.benchmarks.bench_advise [--data FOLDER] [--names cora,fb-reed98] [--grid]

With `--grid` a quick release of every setting of the lattice is made, at k = 10. Regret is what the
best of them has more than the recommended one: in attributes kept, and in F1 of ties plus detail.
Without, only the advice is made, with all attributes kept and without saying so, beside the graph
as it is. Seconds are core seconds; kernels are loaded by a small release before. The demo's network
is always there. Prints a hash of all figures; returns 0.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import time
from pathlib import Path

import numpy as np

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.assess.generalization.advice import ReleaseSetting, Tried, advised, made
from ktsafe.assess.generalization.lattice import Lattice
from ktsafe.graph.social_network import FeedRates, SocialNetwork
from ktsafe.graph.synthetic import uniform
from lab.benchmarks.bench_anonymize import from_folder

K = 10
SEED = 0


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Advice beside a grid of releases.")
    parser.add_argument("--data", type=Path, help="folder of data sets")
    parser.add_argument("--names", default="", help="names of data sets, separated by commas")
    parser.add_argument("--grid", action="store_true", help="release every setting besides")
    arguments = parser.parse_args()
    wanted = {name for name in arguments.names.split(",") if name}
    there = from_folder(arguments.data) if arguments.data else []
    graphs = [(name, graph) for name, graph in there if not wanted or name in wanted]
    network = SocialNetwork(np.random.default_rng(SEED))
    network.grow(2_000, FeedRates())
    graphs.append(("demo", network.graph()[0]))
    small = Lattice.of(uniform(200, 600, rng=np.random.default_rng(SEED)), 5)
    advised(small, PrivacyParams(k=5), (), lambda _what, _done: True)
    told = hashlib.sha256()
    for name, graph in graphs:
        for line in compared(graph, with_grid=arguments.grid):
            told.update(line.partition("core s")[0].encode())
            print(f"{name:14}{line}", flush=True)
    print("hash", told.hexdigest()[:16])
    return 0


def compared(graph: AttributedGraph, *, with_grid: bool) -> list[str]:
    """Return lines about the advice on one graph: as it comes, and with all attributes kept."""
    params, lattice = PrivacyParams(k=K), Lattice.of(graph, K)
    lines, grid, spent = [], [], 0.0
    if with_grid:
        started = time.process_time()
        every = itertools.product(*(range(len(levels) + 1) for levels in lattice.levels))
        grid = [made(lattice, params, ReleaseSetting(K, levels), SEED) for levels in every]
        spent = time.process_time() - started
        lines.append(f"{lattice.size} settings released, {spent:.1f} core s")
    base = made(lattice, params, ReleaseSetting(K, lattice.finest), SEED)
    for keep in ((), graph.schema.quasi_identifiers):
        started = time.process_time()
        found = advised(lattice, params, (), lambda _what, _done: False, keep=keep, seed=SEED)
        seconds = time.process_time() - started
        best = found.best
        line = f"{_values(lattice, best)}: F1 {base.f1:.3f} -> {best.f1:.3f}"
        line += f", wrong {base.wrong} -> {best.wrong}, guessed {best.found}"
        if grid:
            own = max((one for one in grid if set(keep) <= set(one.kept)), key=lambda x: x.merit)
            kept = len(own.kept) - len(best.kept)
            line += f", regret {kept} attributes, {own.merit[1] - best.merit[1]:.3f}"
        lines.append(f"{line}, {found.n_tried} of {lattice.size} estimated, {seconds:.1f} core s")
    return lines


def _values(lattice: Lattice, one: Tried) -> str:
    return " ".join(
        f"{name}:{len(levels[level].texts) if level < len(levels) else '-'}"
        for name, levels, level in zip(
            lattice.graph.schema.quasi_identifiers, lattice.levels, one.setting.levels, strict=True
        )
    )


if __name__ == "__main__":
    raise SystemExit(main())
