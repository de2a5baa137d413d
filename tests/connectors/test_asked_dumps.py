"""Dumps that a database is asked for: one answer for a slot, whatever happens on the way."""

from __future__ import annotations

import csv
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from unittest import mock

import pytest

from ktsafe.connectors.base import Record
from ktsafe.connectors.errors import Misconfigured, Unavailable
from ktsafe.connectors.snapshots import (
    AskedDumps,
    SnapshotSource,
    asked,
    dumps,
)
from tests.connectors.asked_network import (
    AT,
    BEGIN_US,
    DAY_US,
    SECRET,
    Network,
    graph_of,
    polled,
)
from tests.feeds import Graph


def test_each_slot_is_asked_for_once(network: Network) -> None:
    """Three days: three answers, each shown as of its slot; the folder holds what a start needs."""
    source = network.source()
    source.open({}, {})
    records: list[Record] = []
    for day in range(3):
        network.now_us = BEGIN_US + day * DAY_US + 3_600_000_000 * day  # ever later in the day
        assert source.lag() == {AT: None}
        assert not source.at_end(AT)
        records += polled(source)
        assert graph_of(records) == network.answers[-1]
        assert records[-1].timestamp_ms == (BEGIN_US + day * DAY_US) // 1000
        assert source.poll(0.0, 9) == []
        assert source.lag() == {AT: 0}
        source.acknowledge({AT: len(records)})
    assert len(network.answers) == 3
    assert [place.name for place in dumps.places(network.folder)] == ["2026-01-03"]
    assert network.folder.stat().st_mode & 0o077 == 0
    again = network.source()
    again.open({AT: len(records)}, source.identity())
    assert polled(again) == []
    assert len(network.answers) == 3


def test_slots_that_passed_meanwhile_are_not_made_up_for(network: Network) -> None:
    """A service that was away asks once, for the last slot."""
    source = network.source()
    source.open({}, {})
    polled(source)
    network.now_us += 5 * DAY_US + 7
    polled(source)
    assert [name.rpartition("/")[2] for name in source.identity()] == ["2026-01-01", "2026-01-06"]
    assert len(network.answers) == 2


def test_dumps_of_the_owner_come_first_and_stay(network: Network) -> None:
    """What lies in the folder is read before anybody is asked, and is not removed."""
    own = network.folder / "2025-12-01"
    own.mkdir(parents=True)
    (own / "vertices.csv").write_text("id,gender\n0,f\n")
    (own / "edges.csv").write_text("source,target\n")
    source = network.source()
    source.open({}, {})
    records = polled(source)
    assert graph_of(records) == network.answers[0]
    assert records[0].timestamp_ms == 1_764_547_200_000
    source.acknowledge({AT: len(records)})
    assert own.exists()


class Killed(BaseException):
    """The process ends here."""


STEPS = (
    "before the query",
    "before the write ends",
    "after the write",
    "before the rename",
    "after the rename",
    "after the first event",
    "at a later event",
    "while dumps are removed",
    "after the removal",
)


class Life:
    """A store of offsets and events, and processes that are killed at one step of one day."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.offset = 0
        self.identity: Mapping[str, str] = {}
        self.records: list[Record] = []
        self.shown: dict[str, Graph] = {}

    def process(self, step: str) -> None:
        """Read a day as a service does, up to a step; ends like kill -9, with nothing closed."""

        def die(at: str) -> Callable[..., None]:
            def dies(*_: object) -> None:
                if at == step:
                    raise Killed

            return dies

        real_keep, real_forget = AskedDumps.keep, AskedDumps.forget
        real_rmtree = dumps.shutil.rmtree

        def keep(self: AskedDumps, hidden: Path) -> Path:
            die("before the rename")()
            place = real_keep(self, hidden)
            die("after the rename")()
            return place

        def rmtree(path: Path, **options: bool) -> None:
            if step == "while dumps are removed" and not options and path.is_dir():
                (path / "vertices.csv").unlink(missing_ok=True)
                raise Killed
            real_rmtree(path, **options)

        def forget(self: AskedDumps, before: str) -> None:
            real_forget(self, before)
            die("after the removal")()

        network = self.network
        network.before_write = die("before the query")
        network.after_write = die("after the write")
        with (
            mock.patch.object(AskedDumps, "keep", keep),
            mock.patch.object(AskedDumps, "forget", forget),
            mock.patch.object(dumps.shutil, "rmtree", rmtree),
            mock.patch("ktsafe.connectors.snapshots.queries.os.fsync") as fsync,
        ):
            fsync.side_effect = die("before the write ends")
            source = network.source()
            source.open({AT: self.offset}, self.identity)
            begin = self.offset
            while not source.at_end(AT):
                records = source.poll(0.1, 3)
                if records:
                    die("after the first event" if self.offset == begin else "at a later event")()
                    self.commit(records, source)

    def commit(self, records: list[Record], source: SnapshotSource) -> None:
        """Store events, offset and identity in one write; then tell the source."""
        assert [record.offset for record in records] == [
            *range(self.offset, self.offset + len(records))
        ]
        self.records += records
        self.offset, self.identity = records[-1].offset + 1, source.identity()
        source.acknowledge({AT: self.offset})


@pytest.mark.parametrize("step", STEPS)
def test_no_slot_gets_a_second_answer(network: Network, step: str) -> None:
    """Killed at each step of each day, with another answer each time: slots show one of them."""
    life = Life(network)
    for day in range(4):
        network.now_us = BEGIN_US + day * DAY_US
        asked_before = len(network.answers)
        kills = 0
        for _ in range(2):
            try:
                life.process(step)
            except Killed:
                kills += 1
        life.process("none")
        network.change()
        life.process("none")
        assert kills or (step in STEPS[-2:] and day == 0)
        graph = graph_of(life.records)
        assert graph in network.answers[asked_before:]
        if step not in STEPS[:4]:
            # From the rename on there is one.
            assert len(network.answers) == asked_before + 1
        [last] = [
            place for place in dumps.places(network.folder) if place.name >= f"2026-01-0{day + 1}"
        ]
        with last.vertices.open(newline="", encoding="utf-8") as file:
            assert {row["id"] for row in csv.DictReader(file)} == graph[0].keys()
    assert len(dumps.places(network.folder)) <= 2
    assert [path.name for path in network.folder.glob(".*")] == []


def test_an_answer_is_on_the_disk_before_it_has_its_name(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both files and their folder are synced, then renamed, then the new name is synced."""
    done: list[str] = []
    real_keep, real_fsync = AskedDumps.keep, os.fsync

    def fsync(descriptor: int) -> None:
        done.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        real_fsync(descriptor)

    def keep(self: AskedDumps, hidden: Path) -> Path:
        done.append("rename")
        return real_keep(self, hidden)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(AskedDumps, "keep", keep)
    source = network.source()
    source.open({}, {})
    polled(source)
    assert done == ["vertices.csv", "edges.csv", ".2026-01-01", "rename", "dumps"]


def test_a_database_that_is_away_is_waited_for(
    network: Network, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked again after ever longer pauses; after five minutes the service ends."""
    monkeypatch.setenv("NETWORK_URL", f"sqlite:////absent/{SECRET}/network.db")
    asking = network.asking()
    asking.open()

    def wait() -> None:
        while asking.answered("") is None:
            if asking._asking is None:
                network.monotonic_s = max(network.monotonic_s, asking._again_s)

    with pytest.raises(Unavailable, match="does not answer") as error:
        wait()
    pauses = [record.args[0] for record in caplog.records]  # type: ignore[index]
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]
    assert SECRET not in caplog.text + str(error.value)
    assert error.value.__suppress_context__


def test_a_database_that_comes_back_is_asked_for_the_last_slot(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was away over the end of a day: the day that has come is asked for."""
    url = f"sqlite:///{network.path}"
    monkeypatch.setenv("NETWORK_URL", "sqlite:////absent/network.db")
    source = network.source()
    source.open({}, {})
    assert source.poll(0.5, 9) == []
    network.now_us += DAY_US
    network.monotonic_s += 60
    monkeypatch.setenv("NETWORK_URL", url)
    polled(source)
    assert [name.rpartition("/")[2] for name in source.identity()] == ["2026-01-02"]


def test_tables_that_are_made_anew_are_waited_for(
    network: Network, caplog: pytest.LogCaptureFixture
) -> None:
    """A query that was answered before is asked again for five minutes, and no longer."""

    def refused(times: int) -> None:
        while caplog.text.count("naming 'ties'") < times:
            assert source.poll(0.1, 9) == []

    source = network.source()
    source.open({}, {})
    polled(source)
    network.now_us += DAY_US
    network.execute("ALTER TABLE ties RENAME TO ties_of_old")
    refused(1)
    network.execute("ALTER TABLE ties_of_old RENAME TO ties")
    network.monotonic_s += 60
    polled(source)
    assert sorted(path.name for path in network.folder.iterdir()) == ["2026-01-01", "2026-01-02"]

    network.now_us += DAY_US
    network.execute("DROP TABLE ties")
    refused(2)
    network.monotonic_s += asked.RETRY_FOR_S + 1
    with pytest.raises(Misconfigured, match="naming 'ties'"):
        polled(source)


def test_an_answer_that_does_not_come_is_not_waited_for(network: Network) -> None:
    """A query that hangs holds nothing up, and ends the service after an hour."""
    going_on = threading.Event()
    network.before_write = lambda: [None, going_on.wait(60)][0]
    source = network.source()
    source.open({}, {})
    assert source.poll(0.3, 9) == []
    assert source.lag() == {AT: None}
    network.monotonic_s += asked.ANSWER_MAX_S + 1
    with pytest.raises(Unavailable, match="not answered for 3600 s"):
        source.poll(0.3, 9)
    going_on.set()
