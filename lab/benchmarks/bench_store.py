"""What commits, starts and cuts of the store take, beside the store of another checkout.

    python -m lab.benchmarks.bench_store [--people 1000000] [--ties 10000000] [--turns 3]
        [--other FOLDER] [--seed 0] [--small]

FOLDER is another checkout with its own `.venv`; the two take turns, each measured in processes of
its own. A store is filled at once, then opened: 8 commits of 10,000 ties, a cut after those, and
three cuts with a ten-thousandth of the ties each. Prints medians of core seconds, of the memory in
MiB (what is free is given back first, as after each release), their ratios, and a hash of all
graphs, which must be the same.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import hashlib
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from ktsafe import Schema
from ktsafe.state.bulk_load import BulkLoad, Registered
from ktsafe.state.changes import EdgeAdd, Stamp
from ktsafe.state.ledger import PendingCut
from ktsafe.state.rocksdb import RocksDBStore
from ktsafe.state.snapshot import GraphSnapshot

SCHEMA = Schema(("gender", "age", "region"), "health", frozenset({"chronic"}))
COMMITS, TIES_OF_COMMIT, CUTS = 8, 10_000, 3


def main() -> None:
    """Measure by turns, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--ties", type=int, default=10_000_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--other", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--small", action="store_true", help="2,000 people, 20,000 ties, once")
    given = parser.parse_args()
    if given.small:
        given.people, given.ties, given.turns = 2_000, 20_000, 1
    checkouts = [Path.cwd()] + ([given.other.absolute()] if given.other else [])
    sizes = [str(given.people), str(given.ties), str(given.seed)]
    found: dict[Path, list[dict[str, float]]] = {checkout: [] for checkout in checkouts}
    hashes = set()
    for _ in range(given.turns):
        for checkout in checkouts:
            with tempfile.TemporaryDirectory(prefix="ktsafe-store-") as folder:
                _run(checkout, "filled", folder, *sizes)
                told = json.loads(_run(checkout, "measured", folder, *sizes))
            hashes.add(told.pop("hash"))
            found[checkout].append(told)
    medians = [
        {name: statistics.median(each[name] for each in turns) for name in turns[0]}
        for turns in found.values()
    ]
    for name, here in medians[0].items():
        beside = "".join(f"  other {m[name]:10.3f}  x {here / m[name]:.2f}" for m in medians[1:])
        print(f"{name:24} {here:10.3f}{beside}")
    print("hash", *sorted(hashes))
    sys.exit(len(hashes) != 1)


def filled(folder: Path, n_people: int, n_ties: int, seed: int) -> None:
    """Fill a new store with a drawn network."""
    rng = np.random.default_rng(seed)
    told = (rng.integers(0, size, n_people).tolist() for size in (2, 8, 10, 20))
    load = BulkLoad(folder, SCHEMA)
    people = (
        (i, _name(i), ["fm"[a], str(20 + 5 * b), f"region-{c}", "well" if d else "chronic"])
        for i, (a, b, c, d) in enumerate(zip(*told, strict=True))
    )
    load.add_vertices(Registered(("!", 0), 5), people)
    ends = rng.integers(0, n_people, (n_ties + n_ties // 100 + 9, 2))
    ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    ends = rng.permutation(ends)[:n_ties].astype(np.int32)
    load.add_edges(Registered(("!", 1), 5), ends, np.arange(len(ends)))
    load.finish({}, {})
    load.close()


def measured(folder: Path, n_people: int, n_ties: int, seed: int) -> dict[str, float | str]:
    """Return what a filled store takes, in core seconds and MiB, and a hash of its graphs."""
    rng, clock = random.Random(seed), time.process_time
    offset = 10
    digest = hashlib.sha256()

    def ties(count: int) -> list[EdgeAdd]:
        nonlocal offset
        said = []
        for _ in range(count):
            offset += 1
            one, two = rng.sample(range(n_people), 2)
            said.append(EdgeAdd(Stamp(offset, "t", 0, offset), _name(one), _name(two)))
        return said

    def cut(count: int) -> float:
        said = ties(count)
        begin = clock()
        store.commit(said, {("t", 0): (offset, offset)}, cut=PendingCut(offset, {}))
        snapshot = store.cut_snapshot()
        seconds = clock() - begin
        assert snapshot is not None
        digest.update(_told(snapshot))
        store.ledger.drop_cut()
        return seconds

    begin = clock()
    store = RocksDBStore.open(folder, SCHEMA)
    found: dict[str, float | str] = {"start, s": clock() - begin}
    found["its greatest memory, MiB"] = _status_mib("VmHWM")
    found["memory after it, MiB"] = _kept_mib()
    commits = []
    for _ in range(COMMITS):
        said = ties(min(TIES_OF_COMMIT, n_ties))
        begin = clock()
        store.commit(said, {("t", 0): (offset, offset)})
        commits.append((clock() - begin) / len(said) * 1e6)
    found["commit of a tie, us"] = statistics.median(commits)
    found["first cut, s"] = cut(10)
    found["cut, .01% changed, s"] = statistics.median(
        cut(max(n_ties // 10_000, 1)) for _ in range(CUTS)
    )
    found["memory between cuts, MiB"] = _kept_mib()
    found["greatest memory, MiB"] = _status_mib("VmHWM")
    store.close()
    return found | {"hash": digest.hexdigest()[:16]}


def _told(snapshot: GraphSnapshot) -> bytes:
    """Return what a graph says, whatever the order of its people."""
    graph, order = snapshot.graph, np.argsort(snapshot.lives)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    edges = np.sort(place[graph.edges], axis=1)
    keys = np.sort(edges[:, 0] << 32 | edges[:, 1])
    return keys.tobytes() + graph.codes[order].tobytes() + repr(graph.categories).encode()


def _name(number: int) -> str:
    return f"person-{number:012d}"


def _kept_mib() -> float:
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return _status_mib("VmRSS")


def _status_mib(name: str) -> float:
    (line,) = (x for x in Path("/proc/self/status").read_text().splitlines() if name in x)
    return int(line.split()[1]) / 1024


def _run(checkout: Path, what: str, folder: str, *sizes: str) -> str:
    """Run a part in a process of a checkout; return what it printed."""
    # The file of this checkout measures both, with the store of each.
    command = [checkout / ".venv/bin/python", Path(__file__).resolve(), what, folder, *sizes]
    done = subprocess.run(command, check=True, cwd=checkout, stdout=subprocess.PIPE, text=True)
    return done.stdout


if __name__ == "__main__":
    if sys.argv[1:2] in (["filled"], ["measured"]):
        part = {"filled": filled, "measured": measured}[sys.argv[1]]
        print(json.dumps(part(Path(sys.argv[2]), *map(int, sys.argv[3:]))))
    else:
        main()
