"""Scripts and histories of statements on a real PostgreSQL, told by a real Debezium.

    python -m lab.trials.databases [--histories 30] [--out folder]

One engine tells of all: each script has a schema of its own. In the midst it is killed, and tells
some changes again when it starts. Compared are, field by field, what it told with the envelopes of
`tests.databases`, times and positions apart; the tables with those of the model; and the graph that
is made of the real records with the tables, by keys on one partition to three.
"""

from __future__ import annotations

import argparse
import datetime
import json
import random
import signal
import sys
import tempfile
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from ktsafe.state.rocksdb import RocksDBStore
from lab.trials.databases.real import Engine, postgres
from tests.databases.mirrors import (
    SCHEMA,
    Mirror,
    Written,
    compared,
    expected,
    graph,
    scattered,
    tables,
)
from tests.databases.networks import History, Layout, truth
from tests.databases.scripts import SCRIPTS
from tests.databases.tables import Database, Told, Transaction, row_schema
from tests.memory_connectors import MemoryLog

_TIMES: Final = {"ts_ms", "ts_us", "ts_ns", "sequence", "txId", "lsn"}
MARK: Final = '"after":{"n":%d}'


class Played:
    """A script or history, and what was really told of it."""

    def __init__(
        self, name: str, layout: Layout, before: Sequence[Transaction], after: Sequence[Transaction]
    ) -> None:
        self.name = name
        self.database = Database(layout.tables, name)
        self.before, self.after = before, after
        self.told: list[Told] = []
        self.real: list[dict[str, Any]] = []

    def begin(self) -> str:
        """Return what is run before the snapshot, and note what the snapshot tells."""
        sql = self.database.made() + "".join(map(self._run, self.before))
        self.told = self.database.snapshot()
        return sql

    def go_on(self, start: int, stop: int) -> str:
        """Return the transactions from one place to another, and note what they tell."""
        sql = ""
        for transaction in self.after[start:stop]:
            sql += self.database.sql(transaction)
            self.told += self.database.commit(transaction)
        return sql

    def differences(self) -> list[str]:
        """Return where what was told is not what was expected."""
        said, found = [_bare(each) for each in once(self.real)], []
        expected = [{"key": told.key, "value": told.value} for told in self.told]
        n = sum(told.value is not None and told.value["op"] == "r" for told in self.told)
        # A snapshot reads a table in the order in which its rows lie on the disk.
        for each in (said, expected):
            each[:n] = sorted(each[:n], key=json.dumps)
        if len(said) != len(expected):
            found.append(f"{self.name}: {len(said)} records, {len(expected)} expected")
        found += [
            f"{self.name}: record {i}\n   real {json.dumps(a)}\n  model {json.dumps(b)}"
            for i, (a, b) in enumerate(zip(said, expected, strict=False))
            if a != b
        ]
        for record in self.real:
            value = record["value"]
            if value is not None:
                table = self.database.tables[value["payload"]["source"]["table"]]
                if _columns(value["schema"]) != _columns(row_schema(table)):
                    found.append(f"{self.name}: schema of {table.name}")
                    break
        return found

    def _run(self, transaction: Transaction) -> str:
        sql = self.database.sql(transaction)
        self.database.commit(transaction)
        return sql


def main(arguments: Sequence[str] | None = None) -> int:
    """Play all; return 0 if nothing differs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--histories", type=int, default=30)
    parser.add_argument("--out", type=Path, default=None)
    chosen = parser.parse_args(arguments)
    histories = [(f"h{seed}", History(seed, f"h{seed}")) for seed in range(chosen.histories)]
    played = [Played(s.name, s.layout, s.before, s.after) for s in SCRIPTS]
    played += [Played(name, h.layout, h.before, h.after) for name, h in histories]
    with tempfile.TemporaryDirectory(prefix="ktsafe-databases-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # The server has a user of its own.
        real = _play(folder, played)
    failures = [difference for each in played for difference in each.differences()]
    n_graphs = 0
    for each in played:
        failures += _compare_tables(each, real[each.name])
        for n_partitions in (1, 2, 3):
            failures += compare_graph(each, real[each.name], n_partitions)
            n_graphs += 1
    n_records = sum(len(each.real) for each in played)
    n_again = n_records - sum(len(once(each.real)) for each in played)
    print(
        f"{len(SCRIPTS)} scripts, {len(histories)} histories: {n_records} records told,"
        f" {n_again} of them again; {n_graphs} graphs; {len(failures)} differences"
    )
    print("\n".join(failures[:20]))
    if chosen.out is not None:
        chosen.out.mkdir(parents=True, exist_ok=True)
        for each in played:
            lines = "".join(json.dumps(record) + "\n" for record in each.real)
            (chosen.out / f"{each.name}.jsonl").write_text(lines)
    return 1 if failures else 0


def _play(folder: Path, played: Sequence[Played]) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Run everything; return the real tables of each."""
    with postgres(folder / "server") as server:
        server.run("CREATE SCHEMA marks; CREATE TABLE marks.marks (n int PRIMARY KEY);")
        server.run("".join(each.begin() for each in played))
        schemas = ",".join(["marks", *(each.name for each in played)])
        engine = Engine(folder / "engine", server, schemas)
        engine.start()
        try:
            engine.wait_for('"snapshot":"last"')
            engine.stop()
            engine.start()
            server.run("".join(each.go_on(0, len(each.after) // 2) for each in played))
            server.run("INSERT INTO marks.marks VALUES (1);")
            engine.wait_for(MARK % 1)
            engine.stop(signal.SIGKILL)
            server.run("".join(each.go_on(len(each.after) // 2, 10**9) for each in played))
            server.run("INSERT INTO marks.marks VALUES (2);")
            engine.start()
            said = engine.wait_for(MARK % 2)
        finally:
            engine.stop()
        by_name = {each.name: each for each in played}
        for record in said:
            schema = record["topic"].split(".")[1]
            if schema in by_name:
                by_name[schema].real.append(record)
        return {
            each.name: {
                table: server.rows(f"TABLE {each.name}.{table}") for table in each.database.tables
            }
            for each in played
        }


def once(real: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return records without those that were told again after the engine was killed."""
    kept, seen, is_again = [], set(), False
    for record in real:
        value = record["value"]
        if value is not None:
            payload = value["payload"]
            what = json.dumps([record["key"], payload["op"], payload["source"]["lsn"]])
            is_again = what in seen
            seen.add(what)
        if not is_again:
            kept.append(record)
    return kept


def _bare(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record without times and positions."""
    key = record["key"] and record["key"]["payload"]
    if record["value"] is None:
        return {"key": key, "value": None}
    value = {k: v for k, v in record["value"]["payload"].items() if k not in _TIMES}
    value["source"] = {k: v for k, v in value["source"].items() if k not in _TIMES}
    if value["source"]["snapshot"] != "false":
        value["source"]["snapshot"] = "true"  # Else: first or last, of the table or of all.
    if value["transaction"] is not None:
        value["transaction"] = {k: v for k, v in value["transaction"].items() if k != "id"}
    return {"key": key, "value": value}


def _columns(schema: dict[str, Any]) -> list[Any]:
    """Return what an envelope's schema says of the columns of its rows."""
    names = ("type", "name", "parameters", "optional", "field")
    (after,) = (field for field in schema["fields"] if field["field"] == "after")
    return [{n: field[n] for n in names if n in field} for field in after["fields"]]


def _compare_tables(each: Played, real: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Return which tables are not as the model has them."""
    found = []
    for name, rows in each.database.rows.items():
        model = [{c: _plain(x) for c, x in row.items()} for row in rows.values()]
        given = [{c: _plain(x) for c, x in row.items()} for row in real[name]]
        if sorted(map(str, model)) != sorted(map(str, given)):
            found.append(f"{each.name}: table {name}")
    return found


def compare_graph(
    each: Played, real: dict[str, list[dict[str, Any]]], n_partitions: int
) -> list[str]:
    """Return where the graph that a service makes of the real records is not that of the tables."""
    rng = random.Random(n_partitions)
    log = MemoryLog(partitions=n_partitions)
    records = (Written(encoded(r["key"]), encoded(r["value"])) for r in each.real)
    scattered(log, records, rng)
    with tempfile.TemporaryDirectory(prefix="ktsafe-databases-") as folder:
        path = Path(folder) / "state"
        mirror = Mirror(log, lambda: RocksDBStore.open(path, SCHEMA), tables(each.name), rng)
        mirror.read_all()
        seen = graph(mirror.store.snapshot())
        mirror.store.close()
    letters = [letter.reason for letter in mirror.letters.letters]
    found = [*compared(seen, expected(*truth(real))), *letters]
    return [f"{each.name}, {n_partitions} partitions: {difference}" for difference in found]


def encoded(value: Any) -> bytes | None:
    """Return a key or value as a record has it."""
    return None if value is None else json.dumps(value).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.date):
        return str(value)
    return str(float(value)) if isinstance(value, Decimal | float) else value


if __name__ == "__main__":
    sys.exit(main())
