"""Advice beside a grid of releases: what it recommends, how much is lost, in what time.

    python -m lab.benchmarks.bench_advise [--data FOLDER] [--names cora,fb-reed98] [--wide cora]

The grid makes a quick release of every setting. Regret is F1 of ties that the grid's best setting
has more: of the one that is recommended, and the greatest of all settings of a front that give up
as much at the same k. Seconds are core seconds; kernels are loaded by a small release before. The
demo's network is always there. `--wide` makes tolerant releases besides, for several t and
epsilon: regret is then the greatest over these, of the attributes that are advised. Prints a hash
of all figures; returns 0.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import time
from collections.abc import Iterable
from pathlib import Path
from unittest import mock

import numpy as np

from ktsafe import AttributedGraph, PrivacyParams
from ktsafe.datasets import FeedRates, SocialNetwork
from ktsafe.datasets.synthetic import uniform
from ktsafe.stream.study import worth
from ktsafe.stream.study.advice import Tried, advised, made, recommended, settings_of
from ktsafe.stream.study.worth import AFRESH
from lab.benchmarks.bench_anonymize import from_folder

KS = (10, 5, 20)
SEED = 0
TS = ("0.05", "0.1", "0.2")
EPSILONS = (3, 5, 9)


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description="Advice beside a grid of releases.")
    parser.add_argument("--data", type=Path, help="folder of data sets")
    parser.add_argument("--names", default="", help="names of data sets, separated by commas")
    parser.add_argument("--wide", default="", help="names of data sets for the wide grid")
    arguments = parser.parse_args()
    wanted = {name for name in arguments.names.split(",") if name}
    there = from_folder(arguments.data) if arguments.data else []
    graphs = [(name, graph) for name, graph in there if not wanted or name in wanted]
    network = SocialNetwork(np.random.default_rng(SEED))
    network.grow(2_000, FeedRates())
    graphs.append(("demo", network.graph()[0]))
    small = uniform(200, 600, rng=np.random.default_rng(SEED))
    advised(small, PrivacyParams(k=5), (), lambda _what, _done: True)
    print("name          settings  regret  of front  core s  of grid  advised")
    told = hashlib.sha256()
    for name, graph in graphs:
        line = compared(name, graph)
        told.update(line.split("  drop ")[1].encode())
        print(line, flush=True)
        if name in arguments.wide.split(","):
            print(compared_widely(name, graph), flush=True)
    print("hash", told.hexdigest()[:16])
    return 0


def compared(name: str, graph: AttributedGraph) -> str:
    """Return a line about the advice on one graph."""
    params = PrivacyParams(k=KS[0])
    every = settings_of(graph.schema, KS)
    started = time.process_time()
    grid = {setting: made(graph, params, setting, SEED) for setting in every}
    of_grid = time.process_time() - started
    started = time.process_time()
    best = advised(graph, params, KS[1:], lambda _what, _done: False, seed=SEED).best
    spent = time.process_time() - started
    regret = recommended(list(grid.values()), KS[0]).f1 - grid[best.setting].f1
    # The front is as it was estimated.
    found = advised(graph, params, KS[1:], lambda what, _: what == "estimated", seed=SEED)
    of_front = [grid[one.setting] for one in found.front]
    worst = max(_best(grid.values(), one) - _best(of_front, one) for one in of_front)
    dropped, broader = best.setting.dropped, best.setting.broader
    return (
        f"{name:14}{len(every):8}{regret:8.3f}{worst:10.3f}{spent:8.2f}"
        f"{spent / of_grid:9.3f}  drop {', '.join(dropped) or '-'}; "
        f"broader {', '.join(broader) or '-'}"
        f": F1 {grid[every[0]].f1:.3f} -> {grid[best.setting].f1:.3f}"
    )


def compared_widely(name: str, graph: AttributedGraph) -> str:
    """Return a line about the advice beside releases of all k, t and epsilon, exact or tolerant."""
    every = settings_of(graph.schema, KS)
    asked = [PrivacyParams(KS[0])]
    asked += [PrivacyParams(KS[0], t, epsilon=epsilon) for t in TS for epsilon in EPSILONS]
    tolerant = dataclasses.replace(AFRESH, strategy="tolerant")
    started, regret = time.process_time(), 0.0
    grids = []
    for number, params in enumerate(asked):
        with mock.patch.object(worth, "AFRESH", tolerant if number else AFRESH):
            grids.append({one: made(graph, params, one, SEED) for one in every})
    of_grid = time.process_time() - started
    started = time.process_time()
    best = advised(graph, asked[0], KS[1:], lambda _what, _done: False, seed=SEED).best
    spent = time.process_time() - started
    for grid in grids:
        own = recommended(list(grid.values()), KS[0]).f1
        regret = max(regret, own - grid[best.setting].f1)
    return (
        f"{name:14}{len(every) * len(asked):8}{regret:8.3f}{'':10}{spent:8.2f}"
        f"{spent / of_grid:9.3f}  with t {', '.join(TS)} and epsilon {EPSILONS}"
    )


def _best(grid: Iterable[Tried], one: Tried) -> float:
    """Return the greatest F1 of a setting with the same k that gives up as much."""
    alike = one.setting.k, one.setting.given_up
    return max(each.f1 for each in grid if (each.setting.k, each.setting.given_up) == alike)


if __name__ == "__main__":
    raise SystemExit(main())
