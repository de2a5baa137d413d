"""A database that is asked for dumps, and what comes of them."""

from __future__ import annotations

import datetime
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from ktsafe.connectors.base import Record, TopicPartition
from ktsafe.connectors.snapshots import AskedDumps, QueriedDatabase, SnapshotSource
from ktsafe.stream.files.tables import OwnTables
from tests.feeds import Graph, fold

AT = TopicPartition("snapshots", 0)
DAY_US = 86_400_000_000
BEGIN_US = 1_767_225_600_000_000  # 2026-01-01
VERTICES = "SELECT id, gender FROM people"
EDGES = "SELECT a AS source, b AS target FROM ties"
SECRET = "hunter2secret"  # noqa: S105


class Network:
    """A database that changes whenever it was asked, and a clock that is set by hand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "dumps"
        self.path = folder / "network.db"
        self.now_us = BEGIN_US
        self.monotonic_s = 0.0
        self.answers: list[Graph] = []
        self.before_write: Callable[[], None] = lambda: None
        self.after_write: Callable[[], None] = lambda: None
        self.execute("CREATE TABLE people (id INTEGER, gender TEXT)")
        self.execute("CREATE TABLE ties (a INTEGER, b INTEGER)")
        self.change()

    def execute(self, statement: str) -> None:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            connection.execute(statement)

    def change(self) -> None:
        """Let people come, and one of the last ones change."""
        with closing(sqlite3.connect(self.path)) as connection, connection:
            count = connection.execute("SELECT count(*) FROM people").fetchone()[0]
            people = [(one, [None, "f", "m"][one % 3]) for one in range(count, count + 5)]
            connection.executemany("INSERT INTO people VALUES (?, ?)", people)
            ties = [(one, one - 1) for one, _ in people if one]
            connection.executemany("INSERT INTO ties VALUES (?, ?)", ties)
            connection.execute("UPDATE people SET gender = 'x' WHERE id = ?", (count - 1,))

    def asking(self, vertices: str = VERTICES, edges: str = EDGES) -> AskedDumps:
        return AskedDumps(
            self.folder,
            QueriedDatabase(None, "NETWORK_URL", vertices, edges),
            lambda now_us: now_us // DAY_US * DAY_US,
            wall_us=lambda: self.now_us,
            monotonic=lambda: self.monotonic_s,
        )

    def source(self, vertices: str = VERTICES, edges: str = EDGES) -> SnapshotSource:
        """Return a new source, as after a start."""
        return SnapshotSource(self.folder, OwnTables(), asked=self.asking(vertices, edges))

    def graph(self) -> Graph:
        """Return what the database holds."""
        with closing(sqlite3.connect(self.path)) as connection:
            people = connection.execute("SELECT id, gender FROM people").fetchall()
            ties = connection.execute("SELECT a, b FROM ties").fetchall()
        values = {str(one): {"gender": gender or "-"} for one, gender in people}
        return values, {tuple(sorted((str(a), str(b)))) for a, b in ties}  # type: ignore[misc]


def polled(source: SnapshotSource, count: int = 10_000) -> list[Record]:
    """Return what comes, once what is due was asked for and answered."""
    found: list[Record] = []
    while len(found) < count and not source.at_end(AT):
        found += source.poll(0.1, count - len(found))
    return found


def graph_of(records: list[Record]) -> Graph:
    events = []
    for record in records:
        assert record.value is not None
        assert record.timestamp_ms is not None
        time = datetime.datetime.fromtimestamp(record.timestamp_ms / 1000, datetime.UTC)
        events.append({**json.loads(record.value), "time": time.isoformat()})
    return fold([events], ("gender",))
