"""Feeds of rows: a database by chance, told by a changelog, and the graph of any part of it."""

from __future__ import annotations

import json
import random
import zlib
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from tests import feeds
from tests.databases.mirrors import BEGIN_US, tables
from tests.databases.networks import History, truth
from tests.databases.tables import Database, Told, as_json
from tests.stream.service.simulation import SCHEMA

TABLES = tables()
BETWEEN_MS = (1, 500, 1000, 3000, 8000, 10_000, 25_000)
"""Between two transactions; some end exactly at a slot."""


def drawn(dice: random.Random, n_slots: int, *, is_in_order: bool) -> list[list[Any]]:
    """Return the partitions of a changelog: rows come, change, move, get other keys, and go.

    Tables are truncated, too. All people are in one partition: rows that trade their ids come in
    their order. Where they need not be in order, some records are told again, as after a crash.
    Rows without keys, which go by what they say, are all in one partition.
    """
    seed = dice.randrange(2**32)
    is_full = is_in_order and seed % 3 == 0
    history = History(seed, n_after=2 * n_slots, is_full=is_full)
    database, now_us, lsn = history.database, BEGIN_US + 1_000_000, 1000
    schemas = dice.random() < 0.5
    for transaction in history.before:
        database.commit(transaction)
    items = _items(database.snapshot(), database, now_us, lsn, schemas)
    for transaction in history.after:
        now_us += 1000 * dice.choice(BETWEEN_MS)
        lsn += 100
        items += _items(database.commit(transaction), database, now_us, lsn, schemas)
        if not is_in_order and dice.random() < 0.1:
            items += items[-dice.randrange(1, 8) :]
    n_partitions = dice.choice((1, 2, 3))
    partitions: list[list[Any]] = [[] for _ in range(1 if is_full else n_partitions)]
    for item in items:
        n_others = len(partitions) - 1
        if item["told"].table == "people" or not n_others:
            number = 0
        elif item["told"].key is None:
            number = 1 + dice.randrange(n_others)
        else:
            number = 1 + zlib.crc32(json.dumps(item["told"].key).encode()) % n_others
        partitions[number].append(None if item["told"].value is None else item)
    return partitions


def _items(
    told: list[Told], database: Database, time_us: int, lsn: int, schemas: bool
) -> list[feeds.Event]:
    return [
        {
            "time": feeds.iso(time_us),
            "told": each,
            "lsn": lsn + n,
            "table": database.tables[each.table],
            "schemas": schemas,
        }
        for n, each in enumerate(told)
    ]


def end_s(partitions: list[list[Any]]) -> float:
    """Return a time behind all transactions, in seconds."""
    times = [feeds.time_us(i) for items in partitions for i in items if isinstance(i, dict)]
    return max(times, default=BEGIN_US) / 1_000_000 + 10


def bytes_of(item: feeds.Event) -> tuple[bytes | None, bytes | None]:
    """Return key and value of the record of a row."""
    time_us = feeds.time_us(item)
    return as_json(item["told"], item["table"], time_us, item["lsn"], schemas=item["schemas"])


def graph_of(partitions: list[list[Any]], until: Mapping[int, int]) -> feeds.Graph:
    """Return the graph of the first so many records of every partition.

    Statement by statement, in the database's order, whatever times say.
    """
    items = [
        item
        for number, items in enumerate(partitions)
        for item in items[: until.get(number, 0)]
        if isinstance(item, dict)
    ]
    rows: defaultdict[str, dict[str, Any]] = defaultdict(dict)
    for item in sorted(items, key=lambda each: each["lsn"]):
        told, of_key = item["told"], item["table"].key
        before, after = told.value["before"], told.value["after"]
        if told.value["op"] == "t":
            rows[told.table].clear()
        if before is not None:
            rows[told.table].pop(json.dumps([before[name] for name in of_key]), None)
        if after is not None:
            rows[told.table][json.dumps([after[name] for name in of_key])] = after
    people, ties = truth({name: rows[name].values() for name in ("people", "ties")})
    named = {
        name: {a: SCHEMA.category(a, values.get(a)) for a in SCHEMA.attributes}
        for name, values in people.items()
    }
    return named, {(min(tie), max(tie)) for tie in ties}
