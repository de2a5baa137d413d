"""What a database cannot be asked for, and what becomes of its cells."""

from __future__ import annotations

import sqlite3
import sys
import traceback
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ktsafe.connectors.errors import Misconfigured
from ktsafe.connectors.snapshots import (
    dumps,
    queries,
)
from tests.connectors.asked_network import (
    DAY_US,
    EDGES,
    SECRET,
    VERTICES,
    Network,
    graph_of,
    polled,
)

WRONG = {
    "no such column": ({"vertices": "SELECT id, sex FROM people"}, "vertices.*naming 'sex'"),
    "no such table": ({"edges": "SELECT a FROM friends"}, "edges.*naming 'friends'"),
    "no query": ({"edges": "DELETE FROM ties"}, "gives no table"),
    "bytes": ({"vertices": "SELECT id, x'00ff' AS gender FROM people"}, "'gender' holds bytes"),
    "no id": ({"vertices": "SELECT id AS name FROM people"}, "no column 'id'.*Correct the query"),
    "no source": ({"edges": "SELECT a, b AS target FROM ties"}, "column 'source'"),
    "an id twice": ({"vertices": "SELECT 1 AS id, gender FROM people"}, "second time"),
    "unknown ends": (
        {"edges": "SELECT a AS source, 'z' AS target FROM ties"},
        "lines 2, 3.*not in",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_answered_is_refused(network: Network, case: str) -> None:
    """The message says what to do; no dump comes of it, the database is as it was, and may mend."""
    wrong, told = WRONG[case]
    before = network.graph()
    network.change = lambda: None  # type: ignore[method-assign]
    source = network.source(**wrong)
    source.open({}, {})
    with pytest.raises(Misconfigured, match=told):
        polled(source)
    assert network.graph() == before
    assert dumps.places(network.folder) == []
    again = network.source()
    again.open({}, {})
    assert graph_of(polled(again)) == before


def test_a_network_that_is_half_gone_is_refused(network: Network) -> None:
    """As for dumps of the owner."""
    source = network.source()
    source.open({}, {})
    polled(source)
    network.now_us += DAY_US
    few = network.source(vertices=f"{VERTICES} WHERE id < 2", edges=f"{EDGES} WHERE a < 2")
    few.open({}, {})
    with pytest.raises(Misconfigured, match="50% of the people"):
        polled(few)


BAD_URLS = {
    "nothing": ("", "holds no secret"),
    "no URL": (SECRET, "no URL of SQLAlchemy"),
    "a port": (f"postgresql://u:{SECRET}@h:port/d", "no URL of SQLAlchemy"),
    "a dialect": (f"foosql://u:{SECRET}@h/d", "no driver for 'foosql'"),
    "an option": (f"sqlite:///n.db?timeout={SECRET}", "driver cannot use its URL"),
    "a driver": (f"oracle+cx_oracle://u:{SECRET}@h/d", "module cx_Oracle"),
}


@pytest.mark.parametrize("case", BAD_URLS)
def test_what_cannot_be_reached_is_told_at_the_start(
    network: Network, monkeypatch: pytest.MonkeyPatch, case: str
) -> None:
    """Nothing of the URL is repeated but what names software."""
    url, told = BAD_URLS[case]
    monkeypatch.setenv("NETWORK_URL", url)
    with pytest.raises(Misconfigured, match=told) as error:
        network.source().open({}, {})
    assert SECRET not in "".join(traceback.format_exception(error.value))


def test_without_sqlalchemy_the_extra_is_named(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has not installed it is told how to."""
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(Misconfigured, match=r'pip install "ktsafe\[sql\]"'):
        network.source().open({}, {})


def test_errors_of_data_name_no_value(network: Network) -> None:
    """A word of the query that is also a value is not told of an error that is in the data."""
    vertices = "SELECT id, json('secretly') AS gender FROM people WHERE gender <> 'secretly'"
    source = network.source(vertices)
    source.open({}, {})
    with pytest.raises(Misconfigured, match=r"`vertices` fails \(OperationalError\)"):
        polled(source)


def test_both_queries_see_one_moment(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tie that begins between the two queries is in neither table."""
    with closing(sqlite3.connect(network.path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    real = queries._write

    def write(connection: Any, query: str, path: Path) -> None:
        real(connection, query, path)
        network.change()

    monkeypatch.setattr(queries, "_write", write)
    before = network.graph()
    source = network.source()
    source.open({}, {})
    assert graph_of(polled(source)) == before != network.graph()


def test_cells_are_those_of_a_csv_dump(network: Network) -> None:
    """Numbers, nothing, quotes and line breaks come through as they are."""
    values = ["1", "1.0", "1.5", "NULL", "''", "'a,\"b\"\n'", "'é'"]
    rows = " UNION ALL ".join(
        f"SELECT {i} AS id, {value} AS gender" for i, value in enumerate(values)
    )
    source = network.source(rows, "SELECT 0 AS source, 1 AS target")
    source.open({}, {})
    people, ties = graph_of(polled(source))
    told = [people[str(i)]["gender"] for i in range(len(values))]
    assert told == ["1", "1", "1.5", "-", "-", 'a,"b"\n', "é"]
    assert ties == {("0", "1")}
