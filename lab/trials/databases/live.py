"""Debezium on a database that is written to all the time: its snapshot, and restarts in the midst.

    python -m lab.trials.databases.live [--transactions 400]

One process runs a history of statements without a pause. Meanwhile the engine begins, takes its
snapshot, is killed, is ended, and goes on. At the end the graph that is made of its records is
compared with the tables, by keys on one partition to three. It fails as well if nothing was written
while the snapshot was taken, nothing was told again, or no transaction lay on two partitions.
"""

from __future__ import annotations

import argparse
import signal
import sys
import tempfile
import threading
import time
import zlib
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from lab.trials.databases.__main__ import MARK, Played, compare_graph, encoded, once
from lab.trials.databases.real import Engine, Postgres, postgres
from tests.databases.networks import History

SEED: Final = 11
NAME: Final = "live"
_FILLED: Final = """
CREATE TABLE marks.fillers (n int PRIMARY KEY, text text);
INSERT INTO marks.fillers SELECT n, repeat('x', 200) FROM generate_series(1, 20000) AS n;
"""
"""Rows of a table beside, which a snapshot takes seconds to read."""
PAUSE_S: Final = 0.1
"""Between transactions: the engine takes ten seconds to begin, and is to begin in their midst."""


class Writer(threading.Thread):
    """Runs transactions one after the other; `done` are so many."""

    def __init__(self, server: Postgres, transactions: Sequence[str]) -> None:
        super().__init__(daemon=True)
        self._server = server
        self._transactions = transactions
        self._news = threading.Condition()
        self.done = 0

    def run(self) -> None:
        """Run all."""
        for sql in self._transactions:
            self._server.run(sql)
            with self._news:
                self.done += 1
                self._news.notify_all()
            time.sleep(PAUSE_S)

    def wait_for(self, share: float) -> None:
        """Wait until so many were run."""
        n = round(share * len(self._transactions))
        with self._news:
            assert self._news.wait_for(lambda: self.done >= n, timeout=600), "it does not go on"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write and read at once; return 0 if nothing differs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--transactions", type=int, default=400)
    chosen = parser.parse_args(arguments)
    history = History(SEED, NAME, n_after=chosen.transactions)
    played = Played(NAME, history.layout, history.before, history.after)
    with tempfile.TemporaryDirectory(prefix="ktsafe-databases-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # The server has a user of its own.
        with postgres(folder / "server") as server:
            said = _play(folder, server, played)
            real = {each: server.rows(f"TABLE {NAME}.{each}") for each in played.database.tables}
    played.real += [record for record in said if record["topic"].split(".")[1] == NAME]
    n_within, n_again = _within_snapshot(said), len(played.real) - len(once(played.real))
    n_spread = {n: _on_two_partitions(played.real, n) for n in (2, 3)}
    failures = [each for n in (1, 2, 3) for each in compare_graph(played, real, n)]
    print(
        f"{len(played.real)} records, {n_within} of changes while the snapshot was taken, {n_again}"
        f" told again; transactions on two partitions: {n_spread[2]} of two, {n_spread[3]} of"
        f" three; {len(failures)} differences"
    )
    print("\n".join(failures[:20]))
    return 1 if failures or not (n_within and n_again and all(n_spread.values())) else 0


def _play(folder: Path, server: Postgres, played: Played) -> list[dict[str, Any]]:
    """Write, and let the engine read, be killed and ended; return all that it said."""
    server.run("CREATE SCHEMA marks; CREATE TABLE marks.marks (n int PRIMARY KEY);")
    server.run(_FILLED)
    server.run(played.begin())
    writer = Writer(server, [played.database.sql(each) for each in played.after])
    engine = Engine(folder / "engine", server, f"marks,{NAME}")
    writer.start()
    engine.start()
    try:
        engine.wait_for('"snapshot":"last"')
        writer.wait_for(0.5)
        engine.stop(signal.SIGKILL)
        writer.wait_for(0.6)
        engine.start()
        writer.wait_for(0.8)
        engine.stop()
        engine.start()
        writer.wait_for(1)
        server.run("INSERT INTO marks.marks VALUES (1);")
        return engine.wait_for(MARK % 1)
    finally:
        engine.stop()


def _payloads(said: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Return records of rows, and their changes."""
    told = [(each, each["value"]["payload"]) for each in said if each["value"] is not None]
    return [(each, payload) for each, payload in told if "op" in payload]


def _within_snapshot(said: Sequence[dict[str, Any]]) -> int:
    """Return how many changes were made before the last row of the snapshot was read."""
    told = [payload for _, payload in _payloads(said)]
    last_ms = max(each["ts_ms"] for each in told if each["op"] == "r")
    return sum(each["op"] != "r" and each["source"]["ts_ms"] < last_ms for each in told)


def _on_two_partitions(real: Sequence[dict[str, Any]], n_partitions: int) -> int:
    """Return how many transactions told of rows whose keys lie on several partitions."""
    where: defaultdict[int, set[int]] = defaultdict(set)
    for record, payload in _payloads(real):
        if payload["op"] != "r" and record["key"] is not None:
            key = zlib.crc32(encoded(record["key"]) or b"")
            where[payload["source"]["txId"]].add(key % n_partitions)
    return sum(len(partitions) > 1 for partitions in where.values())


if __name__ == "__main__":
    sys.exit(main())
