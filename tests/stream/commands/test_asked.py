"""A service that asks a database: the releases of a folder of dumps, each at its own slot."""

from __future__ import annotations

import datetime
import logging
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from ktsafe.stream.cli import run_command
from ktsafe.stream.config import settings as configuration
from ktsafe.stream.errors import ConfigError, Exit
from ktsafe.stream.monitoring.summary import Summary
from ktsafe.stream.service import assembly
from tests.dumps import at_slots
from tests.feeds import Graph
from tests.stream.commands.test_next import (
    ATTRIBUTES,
    DATES,
    SCHEMA,
    SERVICE,
    bytes_of,
    dumps,
    feed,
)

SECRET = "hunter2secret"  # noqa: S105
SOURCE = """
[source]
kind = "snapshots"
folder = "dumps"
[source.database]
url_file = "url"
vertices = "SELECT * FROM people ORDER BY place"
edges = "SELECT a AS source, b AS target FROM ties ORDER BY a, b"
"""


def write_network(path: Path, graph: Graph) -> None:
    """Make a database hold a graph, in the order of `tests.dumps.write_dump`.

    In one transaction: a service may be asking at the same time.
    """
    people, ties = graph
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("DROP TABLE IF EXISTS people")
        connection.execute("DROP TABLE IF EXISTS ties")
        columns = ", ".join(f"{name} TEXT" for name in ATTRIBUTES)
        connection.execute(f"CREATE TABLE people (place INTEGER, id TEXT, {columns})")
        connection.execute("CREATE TABLE ties (a TEXT, b TEXT)")
        rows = [
            (place, one, *(own[name] for name in ATTRIBUTES))
            for place, (one, own) in enumerate(people.items())
        ]
        places = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO people VALUES ({places})", rows)  # noqa: S608
        connection.executemany("INSERT INTO ties VALUES (?, ?)", sorted(ties))


def service(folder: Path, source: str) -> Path:
    """Write a configuration; the URL has a password, which SQLite ignores."""
    folder.mkdir(exist_ok=True)
    config = folder / "ktsafe.toml"
    config.write_text(f"{SCHEMA}\n{SERVICE}\n{source}\n", encoding="utf-8")
    url = folder / "url"
    url.write_text(f"sqlite:///file:{folder / 'network.db'}?uri=true&key={SECRET}\n")
    url.chmod(0o600)
    return config


@pytest.fixture
def months(tmp_path: Path) -> tuple[list[Graph], dict[str, bytes]]:
    """Return a network at the beginning of three months, and the releases of its dumps."""
    events = feed()
    slots = dumps(tmp_path / "dumps", events)
    config = service(tmp_path / "of-dumps", '[source]\nkind = "snapshots"\nfolder = "../dumps"')
    assert run_command(["run", str(config), "--drain"]) == Exit.OK
    found = bytes_of(tmp_path / "of-dumps" / "releases")
    assert len(found) == len(DATES)
    return at_slots(events, slots, ATTRIBUTES), found


def set_clock(patch: pytest.MonkeyPatch, date: str) -> None:
    """Let the machine believe that it is some time after the beginning of a day."""
    moment = datetime.datetime.fromisoformat(f"{date}T05:43:21+00:00")
    patch.setattr(time, "time_ns", lambda: round(moment.timestamp() * 1e9))


def test_releases_are_those_of_the_dumps(
    tmp_path: Path,
    months: tuple[list[Graph], dict[str, bytes]],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Asked once a month by a drained service: the same bytes; run again, nothing changes."""
    graphs, expected = months
    config = service(tmp_path / "asked", SOURCE)
    for date, graph in zip(DATES, graphs, strict=True):
        set_clock(monkeypatch, date)
        write_network(tmp_path / "asked" / "network.db", graph)
        assert run_command(["run", str(config), "--drain"]) == Exit.OK
        write_network(tmp_path / "asked" / "network.db", graphs[0])
        assert run_command(["run", str(config), "--drain"]) == Exit.OK
    assert bytes_of(tmp_path / "asked" / "releases") == expected
    kept = sorted(place.name for place in (tmp_path / "asked" / "dumps").iterdir())
    assert kept == [DATES[-1]]
    assert run_command(["config", str(config), "--json"]) == Exit.OK
    assert run_command(["state", "check", str(config)]) == Exit.OK
    told = "".join(capfd.readouterr())
    assert "000003-20200401T000000Z" in told
    assert SECRET not in told
    files = [path for path in (tmp_path / "asked").rglob("*") if path.is_file()]
    holding = [path.name for path in files if SECRET.encode() in path.read_bytes()]
    assert holding == ["url"]


def test_a_release_does_not_wait_for_the_next_dump(
    tmp_path: Path,
    months: tuple[list[Graph], dict[str, bytes]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A service that goes on publishes each slot when it was asked for, of a folder as well."""
    graphs, expected = months
    asked = service(tmp_path / "asked", SOURCE)
    of_folder = service(tmp_path / "of-folder", '[source]\nkind = "snapshots"\nfolder = "dumps"')
    (tmp_path / "of-folder" / "dumps").mkdir()
    monkeypatch.setattr(assembly, "stop_on_signals", _Stop)
    for config in (asked, of_folder):
        releases = config.parent / "releases"
        set_clock(monkeypatch, DATES[0])
        write_network(config.parent / "network.db", graphs[0])
        _Stop.event.clear()
        settings = configuration.load(config)
        thread = threading.Thread(
            target=lambda s=settings: assembly.run_from_settings(s, drain=False, summary=Summary())
        )
        thread.start()
        try:
            for date, graph in zip(DATES, graphs, strict=True):
                write_network(config.parent / "network.db", graph)
                if config is of_folder:
                    (tmp_path / "dumps" / date).rename(config.parent / "dumps" / date)
                set_clock(monkeypatch, date)
                name = next(name for name in expected if date.replace("-", "") in name)
                while not (releases / name).is_dir():
                    assert thread.is_alive()
                    time.sleep(0.05)
        finally:
            _Stop.event.set()
            thread.join()
            logging.getLogger().setLevel(logging.WARNING)
        assert bytes_of(releases) == expected


class _Stop:
    """Stands for signals, which only the main thread gets."""

    event = threading.Event()

    def __enter__(self) -> threading.Event:
        return self.event

    def __exit__(self, *_: object) -> None:
        pass


REFUSED = {
    "private": ({'folder = "dumps"': 'folder = "releases/dumps"'}, "source.folder lies in sink"),
    "clock": ({"seed = 7": 'seed = 7\nclock = "wall"'}, 'needs release.clock = "event"'),
    "seconds": ({'every = "month"': 'every = "30s"'}, "whole minutes in release.every"),
    "url": ({'url_file = "url"': f'url = "sqlite:///{SECRET}"'}, "no key source.database.url"),
    "password": ({'url_file = "url"': f'password = "{SECRET}"'}, "source.database.password"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_work_is_refused_by_name(tmp_path: Path, case: str) -> None:
    """Before anything is started, and without what may be secret."""
    changes, told = REFUSED[case]
    config = service(tmp_path, SOURCE)
    text = config.read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    config.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=told) as error:
        configuration.load(config)
    assert SECRET not in str(error.value)
