"""Beginning with a graph that exists already: the same graph, and the feed goes on from there."""

import csv
import json
import os
from contextlib import closing
from pathlib import Path

import pytest

from ktsafe import Schema
from ktsafe.connectors.base import TopicPartition
from ktsafe.errors import InvalidGraph
from ktsafe.graph.social_network import SOCIAL_FEED_SCHEMA as SCHEMA
from ktsafe.state.bulk_load import BulkLoad
from ktsafe.state.changes import EdgeRemove, Stamp, VertexUpsert
from ktsafe.state.database import Database
from ktsafe.state.rocksdb import RocksDBStore
from ktsafe.state.store_base import Position, StateLocked, StateUnusable
from ktsafe.stream.cli import run_command
from ktsafe.stream.config.places import check_finished
from ktsafe.stream.errors import ConfigError, Exit
from ktsafe.stream.maintenance import state_import
from tests import feeds, running, services


def export(folder, graph):
    """Write a graph as the two files that an import takes."""
    vertices, edges = graph
    folder.mkdir(exist_ok=True)
    with (folder / "vertices.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "phone", *SCHEMA.attributes])
        writer.writerows(
            [name, "1", *(values[a] for a in SCHEMA.attributes)]
            for name, values in vertices.items()
        )
    with (folder / "edges.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["source", "target"], *sorted(edges)])
    return [f"--{name}={folder / name}.csv" for name in ("vertices", "edges")]


@pytest.fixture
def history():
    """Return a feed on two partitions, and how much of each an export knows."""
    feed = services.small_feed(people=60)
    partitions = feeds.assigned(feed, 2, 3)
    at_us = feeds.time_us(feed[len(feed) // 2])
    known = [[e for e in events if feeds.time_us(e) <= at_us] for events in partitions]
    return partitions, known, at_us


def test_an_import_and_the_rest_of_the_feed_are_the_whole_feed(tmp_path, capsys, history):
    """Graph, offsets and slots of a service that began in the middle are those of one that did not.

    Its releases are safe, and the first one comes after the import.
    """
    partitions, known, at_us = history
    site = running.files_site(tmp_path / "site", partitions, services.ATTRIBUTES, "month")
    files = export(tmp_path / "export", feeds.fold(known, SCHEMA.attributes))
    lines = [f"feed:{p}:{len(events)}\n" for p, events in enumerate(known)]
    (tmp_path / "offsets").write_text("".join(lines))
    arguments = [
        "state",
        "import",
        str(site.config),
        *files,
        f"--at={feeds.iso(at_us)}",
        f"--offsets={tmp_path / 'offsets'}",
        "--json",
    ]
    assert run_command(arguments) == Exit.OK
    report = json.loads(capsys.readouterr().out)
    assert report["offsets"] == {f"feed:{p}": len(events) for p, events in enumerate(known)}
    assert report["vertices"] == len(feeds.fold(known, SCHEMA.attributes)[0])
    assert site.graph() == feeds.fold(known, SCHEMA.attributes)
    assert run_command(arguments) == Exit.STATE
    assert "there is a state already" in capsys.readouterr().err
    assert run_command(["run", str(site.config), "--drain"]) == Exit.OK
    assert site.graph() == feeds.fold(partitions, SCHEMA.attributes)
    assert sum(site.offsets().values()) == sum(map(len, partitions))
    releases = site.releases(tmp_path / "read")
    assert releases
    running.verify_releases([tmp_path / "read"])


def test_columns_are_named_as_elsewhere(tmp_path, capsys, history):
    """Columns of other names are refused, and read where --columns says which they are."""
    partitions, _, at_us = history
    site = running.files_site(tmp_path / "site", partitions, services.ATTRIBUTES, "month")
    files = export(tmp_path / "export", feeds.fold(partitions, SCHEMA.attributes))
    for name, header in (("vertices", ("id,", "nr,")), ("edges", ("source,target", "who,whom"))):
        path = tmp_path / "export" / f"{name}.csv"
        path.write_text(path.read_text().replace(*header, 1))
    arguments = ["state", "import", str(site.config), *files, f"--at={at_us // 1000 + 1}"]
    arguments.append("--offsets=latest")
    assert run_command(arguments) == Exit.USAGE
    assert "--columns" in capsys.readouterr().err
    assert run_command([*arguments, "--columns=id=nr,source=who,target=whom"]) == Exit.OK
    assert site.graph() == feeds.fold(partitions, SCHEMA.attributes)


def test_latest_is_the_end_of_the_feed_as_it_is(tmp_path, capsys, history):
    """With "latest" no event of the feed is read again, and later ones are."""
    partitions, _, _ = history
    site = running.files_site(tmp_path / "site", partitions, services.ATTRIBUTES, "month")
    files = export(tmp_path / "export", feeds.fold(partitions, SCHEMA.attributes))
    at_us = max(feeds.time_us(event) for events in partitions for event in events)
    arguments = ["state", "import", str(site.config), *files, f"--at={at_us // 1000 + 1}"]
    assert run_command([*arguments, "--offsets=latest"]) == Exit.OK
    assert "goes on at" in capsys.readouterr().out
    assert site.offsets() == {("feed", p): len(events) for p, events in enumerate(partitions)}
    assert run_command(["run", str(site.config), "--drain"]) == Exit.OK
    assert "nothing new" in capsys.readouterr().err
    assert site.graph() == feeds.fold(partitions, SCHEMA.attributes)


class Killed(BaseException):
    """The process ends here."""


SMALL = Schema(("gender", "age"), "health", frozenset({"ill"}), {"age": (18.0,)})
VERTICES = "id,gender,age,health\n"


def small_import(
    folder, vertices="a,f,20,ill\nb,m,,-\n", edges="a,b\nb,a\na,a\n", progress=lambda *_: None
):
    """Import a few lines into a new private folder."""
    (folder / "v.csv").write_text(VERTICES + vertices)
    (folder / "e.csv").write_text("source,target\n" + edges)
    private = folder / "private"
    private.mkdir(exist_ok=True)
    return state_import.import_graph(
        private,
        SMALL,
        folder / "v.csv",
        folder / "e.csv",
        at_us=5,
        feed=state_import.FeedPosition({TopicPartition("t", 0): 3}, {"t": "x"}),
        progress=progress,
    )


def opened(folder):
    """Return the imported store."""
    return RocksDBStore.open(folder / "private" / "store", SMALL)


STEPS = {
    "before people are loaded": (BulkLoad, "add_vertices", False),
    "after people are loaded": (BulkLoad, "add_vertices", True),
    "before ties are loaded": (BulkLoad, "add_edges", False),
    "after ties are loaded": (BulkLoad, "add_edges", True),
    "between tables and the database": (Database, "fill", False),
    "before the counts": (BulkLoad, "finish", False),
    "after the counts": (BulkLoad, "finish", True),
    "before the name": (Path, "rename", False),
}


@pytest.mark.parametrize("step", STEPS)
def test_an_interrupted_import_does_not_count(tmp_path, monkeypatch, step):
    """A killed import leaves no store; a service says so, and the next import begins anew."""
    owner, method, is_done = STEPS[step]
    call = getattr(owner, method)

    def killed(*args):
        if is_done:
            call(*args)
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(owner, method, killed)
        with pytest.raises(Killed):
            small_import(tmp_path)
    private = tmp_path / "private"
    with pytest.raises(StateUnusable, match="interrupted"):
        check_finished(private)
    assert not (private / "store").exists()
    small_import(tmp_path, "c,f,1,-\nd,m,2,-\n", "c,d\n")
    check_finished(private)
    with closing(opened(tmp_path)) as store:
        assert set(store.snapshot().ids) == {"c", "d"}
        assert store.positions() == {("t", 0): Position(3, 5)}
        assert store.source_identity() == {"t": "x"}


def test_two_imports_do_not_mix(tmp_path):
    """While one is under way the other is refused, and the first one ends well."""

    def meanwhile(what, _):
        if "ties" in what:
            with pytest.raises(StateLocked):
                small_import(tmp_path)

    assert small_import(tmp_path, progress=meanwhile).vertices == 2


def test_lines_that_add_nothing_are_counted(tmp_path):
    """Repeated ties and loops are passed over; missing values are missing; numbers are kept."""
    imported = small_import(tmp_path)
    assert (imported.vertices, imported.edges) == (2, 1)
    assert (imported.edges_repeated, imported.loops) == (1, 1)
    with closing(opened(tmp_path)) as store:
        graph = store.snapshot().graph
        assert graph.values(0) == {"gender": "f", "age": ">=18", "health": "ill"}
        assert graph.values(1) == {"gender": "m", "age": "-", "health": "-"}


def test_the_feed_wins_at_the_same_moment_and_loses_before(tmp_path):
    """An event at the moment of the import changes it, an earlier one does not."""
    small_import(tmp_path)
    with closing(opened(tmp_path)) as store:
        store.commit(
            [
                VertexUpsert(Stamp(5, "-", 0, 0), "a", {"gender": "x"}),
                VertexUpsert(Stamp(4, "~", 9, 9), "b", {"gender": "y"}),
                EdgeRemove(Stamp(5, "-", 0, 1), "a", "b"),
            ],
            {},
        )
        snapshot = store.snapshot()
        assert [snapshot.graph.values(v)["gender"] for v in (0, 1)] == ["x", "m"]
        assert snapshot.graph.n_edges == 0


ALL_LINES = (
    "(1) v.csv, line 3: an id for the second time. (2) v.csv, lines 4, 5: bad_attribute (age must "
    "be a number). (3) e.csv, line 4: 1 values for 2 columns. (4) e.csv, line 3: names a vertex "
    "that v.csv does not list."
)


@pytest.mark.parametrize(
    ("vertices", "edges", "words"),
    [
        ("secret,f,1,-\nsecret,f,1,-\n", "", "v.csv, line 3: an id for the second time"),
        (",f,1,-\n", "", "v.csv, line 2: no id"),
        ("7,f,1,-\n7.0,f,1,-\n", "", "v.csv, line 3: an id for the second time"),
        ("a,f,secret,-\n", "", "v.csv, line 2: bad_attribute"),
        ("a,f,1\n", "", "v.csv, line 2: 3 values"),
        ("a,f,1,-\n", "a,secret\n", "e.csv, line 2: names a vertex"),
        ("a,f,1,-\na,f,1,-\nb,f,secret,-\nc,f,secret,-\n", "a,b\na,secret\na\n", ALL_LINES),
        ("a,f\n", "a,secret\nsecret\n", "(2) e.csv, line 3: 1 values for 2 columns."),
    ],
)
def test_bad_lines_are_named_and_not_repeated(tmp_path, vertices, edges, words):
    """Nothing is imported then; the message holds the place and no content."""
    with pytest.raises(InvalidGraph) as caught:
        small_import(tmp_path, vertices, edges)
    assert words in str(caught.value).replace(f"{tmp_path}/", "")
    assert "secret" not in str(caught.value)
    assert not (tmp_path / "private" / "store").exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("feed:0:1\n", "leave out partition 1"),
        ("feed:0:1\nfeed:one:2\n", "line 2 is no offset"),
        ("feed:0:1\nfeed:1:1\nother:0:1\n", "do not fit the feed"),
        ("feed:0:1\nfeed:1:1000000\n", "do not fit the feed"),
        ("feed:0:x\n", "line 1 is no offset"),
        ("7\n", "line 1 is no offset"),
    ],
)
def test_offsets_must_be_whole(tmp_path, capsys, history, text, words):
    """Every partition has its offset, in lines as Kafka's tools print them."""
    site = running.files_site(tmp_path / "site", history[0], services.ATTRIBUTES, "month")
    (tmp_path / "offsets").write_text(text)
    files = [f"--{name}=nowhere" for name in ("vertices", "edges")]
    where = [str(site.config), f"--offsets={tmp_path / 'offsets'}", "--at=1767225600000"]
    assert run_command(["state", "import", *where, *files]) == Exit.USAGE
    assert words in capsys.readouterr().err


def test_offsets_may_have_topics_with_any_sign(tmp_path):
    """The last two fields are numbers; what precedes them is the topic."""
    (tmp_path / "offsets").write_text("a.b-c:0:12\n\na.b-c:1:0\n")
    assert state_import.offsets_in(tmp_path / "offsets") == {
        TopicPartition("a.b-c", 0): 12,
        TopicPartition("a.b-c", 1): 0,
    }


@pytest.mark.parametrize(
    "text",
    ["yesterday", "2026-01-01T00:00:00", "99999999999999999", "1767225600001", "1767225600"],
)
def test_the_moment_must_be_one(text):
    """Neither a word, nor a time without a zone, nor the future, nor seconds."""
    with pytest.raises(ConfigError, match="--at"):
        state_import.moment_us(text, now_us=1_767_225_600_000_999)


def test_the_moment_is_read_in_both_forms():
    """RFC 3339 and epoch milliseconds."""
    assert state_import.moment_us("1970-01-01T00:00:05Z", 10**9) == 5_000_000
    assert state_import.moment_us("1767225600000", 10**16) == 1_767_225_600_000_000


def test_a_pipe_has_no_latest_end(tmp_path, capsys, monkeypatch, history):
    """Standard input cannot be asked where it ends."""
    site = running.files_site(tmp_path / "site", history[0][:1], services.ATTRIBUTES, "month")
    text = site.config.read_text()
    site.config.write_text(text.replace('paths = ["../feed/feed-0.jsonl"]', 'paths = ["-"]'))
    read, write = os.pipe()
    with os.fdopen(read) as stdin, os.fdopen(write, "w"):
        monkeypatch.setattr("sys.stdin", stdin)
        arguments = [
            str(site.config),
            "--vertices=v",
            "--edges=e",
            "--at=1767225600000",
            "--offsets=latest",
        ]
        assert run_command(["state", "import", *arguments]) == Exit.USAGE
    assert "a pipe has no end" in capsys.readouterr().err
