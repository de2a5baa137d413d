"""A mirror that is killed with SIGKILL again and again, and goes on where it was.

    python -m lab.trials.databases.kills [--kills 100]

A child process reads a history of statements into a store on disk, a few records a commit; it is
killed at random moments, and another goes on. Compared at the end of each history: the graph with
the tables, and the rows that are held with those of a mirror that was never killed.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ktsafe.state.rocksdb import RocksDBStore
from tests.databases.mirrors import (
    BEGIN_US,
    SCHEMA,
    Mirror,
    compared,
    expected,
    graph,
    scattered,
    tables,
    written,
)
from tests.databases.networks import History, truth
from tests.memory_connectors import MemoryLog

N_TRANSACTIONS = 400


def played(seed: int) -> tuple[MemoryLog, Any]:
    """Return the log of a long history, always the same, and the graph at its end."""
    history = History(seed, n_after=N_TRANSACTIONS)
    database, told = history.database, []
    for n, transaction in enumerate([*history.before, *history.after]):
        records = database.commit(transaction)
        told += written(records, database, BEGIN_US + n, 100 * n, schemas=False)
    log = MemoryLog(partitions=3)
    scattered(log, told, random.Random(seed))
    return log, expected(*truth(database.all_rows()))


def child(path: str, seed: int) -> None:
    """Read all, slowly, in many commits."""
    log, _ = played(seed)
    rng = random.Random(time.time_ns())
    mirror = Mirror(log, lambda: RocksDBStore.open(path, SCHEMA), tables(), rng, crashes=0.0)
    print("begun", flush=True)
    mirror.read_all()
    mirror.store.close()


def main(arguments: Sequence[str] | None = None) -> int:
    """Kill so many children; return 0 if nothing differs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--child", nargs=2, default=None, help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.child is not None:
        child(chosen.child[0], int(chosen.child[1]))
        return 0
    n_kills = n_midway = seed = 0
    failures: list[str] = []
    rng = random.Random(1)
    while n_kills < chosen.kills:
        seed += 1
        with tempfile.TemporaryDirectory(prefix="ktsafe-kills-") as name:
            path = Path(name) / "state"
            while not _child_ended(path, seed, rng):
                n_kills += 1
                with_store = RocksDBStore.open(path, SCHEMA)
                n_midway += bool(with_store.positions())
                with_store.close()
            failures += [f"history {seed}: {each}" for each in _differences(path, seed)]
    print(f"{n_kills} kills, {n_midway} midway, {seed} histories: {len(failures)} differences")
    print("\n".join(failures[:10]))
    return 1 if failures else 0


def _child_ended(path: Path, seed: int, rng: random.Random) -> bool:
    """Run a child, and kill it after a while; return whether it had ended by itself."""
    command = [sys.executable, "-m", "lab.trials.databases.kills", "--child", str(path), str(seed)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline(), "the child did not begin"
        time.sleep(rng.random() * 0.5)
        ended = process.poll() == 0
        process.kill()
    return ended


def _differences(path: Path, seed: int) -> list[str]:
    log, right = played(seed)
    store = RocksDBStore.open(path, SCHEMA)
    found = compared(graph(store.snapshot()), right)
    if {p: at.next_offset for p, at in store.positions().items()} != {
        (log.topic, i): len(items) for i, items in enumerate(log.items) if items
    }:
        found.append("positions")
    store.scrub()  # It folds first.
    kinds = [key[:1] for key, _ in store.rows_from(b"")]
    store.close()
    once = Mirror(
        log,
        lambda: RocksDBStore.open(path.with_name("once"), SCHEMA),
        tables(),
        random.Random(1),
        crashes=0.0,
    )
    once.read_all()
    once.store.scrub()
    if kinds != [key[:1] for key, _ in once.store.rows_from(b"")]:
        found.append("rows that are held")
    once.store.close()
    return found


if __name__ == "__main__":
    sys.exit(main())
