"""A folder of dated dumps as a source: events, offsets, and what is refused by name."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from pathlib import Path

import pytest

from ktsafe import Schema
from ktsafe.connectors.base import Misconfigured, OffsetLost, Record, SourceMismatch, TopicPartition
from ktsafe.connectors.files import SnapshotSource
from ktsafe.stream.ingest.own_tables import OwnTables
from tests.dumps import NOTHING, write_dump
from tests.feeds import Graph, fold

AT = TopicPartition("snapshots", 0)
NAMES = ("gender", "city")
DATES = [f"2026-0{month}-01" for month in range(1, 6)]


def source_of(folder: Path, **options: float) -> SnapshotSource:
    return SnapshotSource(folder, OwnTables(), **options)  # type: ignore[arg-type]


def random_graph(dice: random.Random, before: Graph) -> Graph:
    """Return a graph like `before`: a few people and ties came, went or changed."""
    people = {one: dict(own) for one, own in before[0].items() if dice.random() < 0.9}
    for one in dice.sample(range(60), 12):
        people[f"p{one}"] = {"gender": dice.choice("fm"), "city": dice.choice(["A", "Ö,\nü", "-"])}
    ties = {tie for tie in before[1] if set(tie) <= people.keys() and dice.random() < 0.9}
    for _ in range(15):
        u, v = sorted(dice.sample(sorted(people), 2))
        ties.add((u, v))
    return people, ties


@pytest.fixture
def graphs(tmp_path: Path) -> list[Graph]:
    """Write five dumps; return what they hold."""
    dice, found, last = random.Random(5), [], NOTHING
    for date in DATES:
        last = random_graph(dice, last)
        write_dump(tmp_path, date, last, NAMES)
        found.append(last)
    return found


def read(source: SnapshotSource, count: int = 10_000) -> list[Record]:
    """Return up to so many records, in polls of uneven length."""
    found: list[Record] = []
    while len(found) < count and (more := source.poll(0.0, min(7, count - len(found)))):
        found += more
    return found


def graph_of(records: list[Record]) -> Graph:
    """Return what the events fold to, by code that knows nothing of dumps."""
    events = []
    for record in records:
        assert record.value is not None
        assert record.timestamp_ms is not None
        time = f"{date_of(record)}T00:00:00+00:00"
        events.append({**json.loads(record.value), "time": time})
    return fold([events], NAMES)


def date_of(record: Record) -> str:
    assert record.timestamp_ms is not None
    by_ms = {1767225600000 + 86_400_000 * day: month for month, day in enumerate(STARTS)}
    return DATES[by_ms[record.timestamp_ms]]


STARTS = (0, 31, 59, 90, 120)
"""Days of 2026 before each month."""


def test_events_fold_to_every_dump(tmp_path: Path, graphs: list[Graph]) -> None:
    """Up to the last event of each date the events make the graph of its dump, and offsets rise."""
    source = source_of(tmp_path)
    source.open({}, {})
    records = read(source)
    assert source.at_end(AT)
    assert source.lag() == {AT: 0}
    assert [record.offset for record in records] == list(range(len(records)))
    for date, graph in zip(DATES, graphs, strict=True):
        assert graph_of([r for r in records if date_of(r) <= date]) == graph
    assert source.ends() == {AT: len(records)}


def test_nothing_is_told_twice(tmp_path: Path, graphs: list[Graph]) -> None:
    """A dump that equals the one before has no events, and the next one is read all the same."""
    shutil.copytree(tmp_path / DATES[-1], tmp_path / "2026-06-01")
    write_dump(tmp_path, "2026-07-01", graphs[0], NAMES)
    source = source_of(tmp_path, change_max=1.0)
    source.open({}, {})
    times = [record.timestamp_ms for record in read(source)]
    assert len(set(times)) == len(DATES) + 1


@pytest.mark.parametrize("column", NAMES)
def test_a_dump_that_is_written_otherwise_is_refused(tmp_path: Path, column: str) -> None:
    """More than a fifth of the people have another value in one column; it may be meant."""
    people = {f"p{i}": {"gender": "fm"[i % 2], "city": "A"} for i in range(60)}
    ties = {(f"p{i}", f"p{i + 1}") for i in range(10, 20)}
    write_dump(tmp_path, DATES[0], (people, ties), NAMES)
    for changed, is_refused in ((12, False), (13, True)):
        other = {**people, **{f"p{i}": {**people[f"p{i}"], column: "x"} for i in range(changed)}}
        write_dump(tmp_path, DATES[1], (other, ties), NAMES)
        source = source_of(tmp_path, change_max=0.2)
        source.open({}, {})
        if is_refused:
            with pytest.raises(Misconfigured, match=rf"another '{column}'.*release\.change_max"):
                read(source)
            source = source_of(tmp_path, change_max=1.0)
            source.open({}, {})
        assert len(read(source)) == len(people) + len(ties) + changed
        shutil.rmtree(tmp_path / DATES[1])


def test_every_offset_is_one_to_go_on_from(tmp_path: Path, graphs: list[Graph]) -> None:
    """A new source at any offset gives exactly the rest, with the stored identity or without."""
    source = source_of(tmp_path)
    source.open({}, {})
    records = read(source)
    for offset in range(0, len(records) + 1, 5):
        first = source_of(tmp_path)
        first.open({}, {})
        assert read(first, offset) == records[:offset]
        for identity in (first.identity(), {}):
            again = source_of(tmp_path)
            again.open({AT: offset}, identity)
            assert read(again) == records[offset:]
            assert again.identity() == source.identity()


def test_dumps_that_were_read_may_go(tmp_path: Path, graphs: list[Graph]) -> None:
    """Only the last dump that was read whole is needed besides new ones."""
    hidden = (tmp_path / DATES[-1]).rename(tmp_path / ".later")
    source = source_of(tmp_path)
    source.open({}, {})
    whole, identity = len(read(source)), source.identity()
    for date in DATES[:-2]:
        shutil.rmtree(tmp_path / date)
    hidden.rename(tmp_path / DATES[-1])
    again = source_of(tmp_path)
    again.open({AT: whole}, identity)
    assert {date_of(record) for record in read(again)} == {DATES[-1]}
    shutil.rmtree(tmp_path / DATES[-2])
    with pytest.raises(SourceMismatch, match=DATES[-2]):
        source_of(tmp_path).open({AT: whole}, identity)


def test_pauses_take_records_back(tmp_path: Path, graphs: list[Graph]) -> None:
    """Paused at any offset, also in an earlier dump, the source goes on from there."""
    source = source_of(tmp_path)
    source.open({}, {})
    records = read(source)
    for offset in range(len(records), -1, -1):
        source.pause(AT, offset)
        assert source.poll(0.0, 9) == []
        assert source.at_end(AT) == (offset == len(records))
        source.resume(AT)
        assert read(source) == records[offset:]


def test_a_dump_that_was_read_stays(tmp_path: Path, graphs: list[Graph]) -> None:
    """A changed dump, and one that appears before those that were read, are refused by name."""
    source = source_of(tmp_path)
    source.open({}, {})
    whole, identity = len(read(source)), source.identity()
    write_dump(tmp_path, "2026-03-15", graphs[2], NAMES)
    with pytest.raises(SourceMismatch, match=r"2026-03-15.*out of order"):
        source.poll(0.0, 9)
    with pytest.raises(SourceMismatch, match=r"2026-03-15.*out of order"):
        source_of(tmp_path).open({AT: whole}, identity)
    shutil.rmtree(tmp_path / "2026-03-15")
    with (tmp_path / DATES[-1] / "edges.csv").open("a") as file:
        file.write("p1,p1\n")
    with pytest.raises(SourceMismatch, match=rf"{DATES[-1]}.*changed"):
        source_of(tmp_path).open({AT: whole}, identity)


def test_foreign_positions_are_refused(tmp_path: Path, graphs: list[Graph]) -> None:
    """Offsets of another source, or beyond all dumps, are not ignored."""
    with pytest.raises(OffsetLost):
        source_of(tmp_path).open({AT: 100_000}, {})
    for other in (TopicPartition("feed", 0), TopicPartition("snapshots", 1)):
        for positions in ({other: 0}, {AT: 0, other: 0}):
            with pytest.raises(SourceMismatch):
                source_of(tmp_path).open(positions, {})
    with pytest.raises(SourceMismatch):
        source_of(tmp_path).open({}, {"feed/0": "4096 00ff"})


PEOPLE, TIES = b"id,gender\na,f\nb,m\nc,f\nd,f\n", b"source,target\na,b\nb,c\n"
GOOD = {"vertices.csv": PEOPLE, "edges.csv": TIES}
HALF = {"vertices.csv": PEOPLE}
ALL_LINES = (
    "vertices.csv, lines 6, 8: no id; vertices.csv, line 7: an id for the second time; "
    "edges.csv, lines 4, 6, 7, 8, 9 and 2 more: names a vertex that is not in the dump; "
    "edges.csv, line 5: 1 values for 2 columns. Write the dump again."
)
BAD = {
    "half a line": ({**HALF, "edges.csv": TIES[:-2]}, "middle of a line"),
    "half a gzip file": ({**HALF, "edges.csv.gz": gzip.compress(TIES)[:-9]}, "gzip"),
    "half a Parquet file": ({**HALF, "edges.parquet": b"PAR1????"}, "Parquet"),
    "no edges": (HALF, "half-written"),
    "two files": ({**GOOD, "edges.csv.gz": gzip.compress(TIES)}, "both lie there"),
    "half the people": ({**GOOD, "vertices.csv": PEOPLE[:18]}, "not in the dump"),
    "few people": ({"vertices.csv": PEOPLE[:14], "edges.csv": TIES[:14]}, "50% of the people"),
    "few ties": ({**GOOD, "edges.csv": TIES[:14]}, "50% of the ties"),
    "another header": ({**GOOD, "vertices.csv": PEOPLE.replace(b"gender", b"sex")}, "header"),
    "no id": ({**GOOD, "vertices.csv": PEOPLE.replace(b"id", b"who")}, "no column 'id'"),
    "the same id": ({**GOOD, "vertices.csv": PEOPLE.replace(b"d,f", b"a,f")}, "second time"),
    "all of it": (
        {
            "vertices.csv": PEOPLE + b",f\na,f\n,m\n",
            "edges.csv": TIES + b"a,z\na\n" + b"z,a\n" * 6,
        },
        ALL_LINES,
    ),
    "unread rows": (
        {"vertices.csv": PEOPLE + b"e\n", "edges.csv": TIES + b"a,e\n"},
        "vertices.csv, line 6: 1 values for 2 columns. Write the dump again.",
    ),
    "a short row": ({**GOOD, "vertices.csv": PEOPLE.replace(b"b,m", b"b")}, "1 values for 2"),
}


def put(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def read_from_the_beginning(source: SnapshotSource, given: list[Record]) -> None:
    source.open({}, {})
    while more := source.poll(0.0, 9):
        given += more


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_whole_dump_is_refused_by_name(tmp_path: Path, case: str) -> None:
    """No event of it is given, and the message names its date and no value."""
    files, told = BAD[case]
    put(tmp_path / "2026-01-01", GOOD)
    put(tmp_path / "2026-02-01", files)
    source = source_of(tmp_path)
    given: list[Record] = []
    with pytest.raises(Misconfigured, match=r"2026-02-01") as error:
        read_from_the_beginning(source, given)
    assert told in str(error.value)
    assert {record.timestamp_ms for record in given} <= {1767225600000}


def test_rows_that_no_event_could_carry_are_refused(tmp_path: Path) -> None:
    """Their people would be missing from the network; columns of no role may hold anything."""
    schema = Schema(("age", "town"), "health", frozenset({"ill"}), {"age": (18,)})
    rows = ["a,20,Ulm,ill,x", 'b,20,"U\nlm",ill,x', 'c,20,Ulm,ill,"x\ny"', "d,old,Ulm,ill,x"]
    rows += [f"{'e' * 1025},20,Ulm,ill,x", f"f,20,{'U' * 1025},ill,x", '"g\x1bg",20,Ulm,ill,x']
    put(
        tmp_path / "2026-01-01",
        {
            "vertices.csv": "\n".join(["id,age,town,health,note", *rows, ""]).encode(),
            "edges.csv": b"source,target\na,c\n",
        },
    )
    source = SnapshotSource(tmp_path, OwnTables(schema=schema))
    given: list[Record] = []
    with pytest.raises(Misconfigured) as error:
        read_from_the_beginning(source, given)
    assert given == []
    for told in (
        "line 4: bad_attribute (town: control character)",
        "line 7: bad_attribute (age must be a number)",
        "line 8: bad_id (longer than 1024 bytes)",
        "line 9: bad_attribute (town: longer than 1024 bytes)",
        "line 10: An id holds an end of line or another control character",
    ):
        assert told in str(error.value)
    assert "line 5" not in str(error.value)
    assert "line 6" not in str(error.value)


@pytest.mark.parametrize("name", ["monday", "2026-02-30", "2026-01-01T10:00"])
def test_names_are_dates(tmp_path: Path, name: str) -> None:
    """A folder that is no date is refused, a hidden one passed over."""
    put(tmp_path / name, GOOD)
    with pytest.raises(Misconfigured, match="named after its date"):
        source_of(tmp_path).open({}, {})
    (tmp_path / name).rename(tmp_path / ".half")
    source = source_of(tmp_path)
    source.open({}, {})
    assert source.at_end(AT)
