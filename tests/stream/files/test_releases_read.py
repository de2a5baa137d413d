"""Reading releases: what is refused is named, file and all."""

import csv
import hashlib
import io
import json
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ktsafe import AttributedGraph, InvalidParams, PrivacyParams, Schema
from ktsafe.graph.numbering import Ids
from ktsafe.reader import _lines_core as lines
from ktsafe.reader.folders import plain_columns, plain_edges
from ktsafe.stream.cli import run_command
from ktsafe.stream.errors import Exit
from ktsafe.stream.files import releases_write
from ktsafe.stream.files.releases_read import ReleaseUnreadable, read_release

SCHEMA = Schema(("a",), "s", frozenset({"ill"}), expect_absent={"ill"})
PARAMS = PrivacyParams(k=2, alpha="1/2")


@pytest.fixture
def folder(tmp_path):
    """A release of four who are alike, in a circle."""
    columns = {"a": ["x"] * 4, "s": ["well"] * 4}
    graph = AttributedGraph.from_columns(SCHEMA, columns, [(0, 1), (1, 2), (2, 3), (0, 3)])
    place = tmp_path / "releases" / "r1"
    header = releases_write.ReleaseHeader("r1", "seq", 1_767_225_600_000_000, PARAMS)
    releases_write.write_release(place, graph, list("abcd"), header)
    return place


def rewrite(folder, lines):
    """Put other edges in their place, with a manifest that fits."""
    (folder / "edges.csv").write_text("".join(f"{line}\n" for line in ["source,target", *lines]))
    manifest = json.loads((folder / "manifest.json").read_text())
    digest = hashlib.sha256((folder / "edges.csv").read_bytes()).hexdigest()
    manifest["sha256"]["edges.csv"] = digest
    manifest["edges"] = len(lines)
    manifest["dark"] = [] if lines else [[0, 0]]
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        (["a,b", "c,d", "a,b"], "edge twice"),
        (["a,b", "b,a"], "edge twice"),
        (["a,b", "a,c", "a,c", "b,d"], "edge twice"),
        (["a,b", "c,c"], "to itself"),
    ],
)
def test_edges_that_are_none_are_refused_by_file(folder, lines, what):
    """Among many releases the one at fault is named."""
    rewrite(folder, lines)
    with pytest.raises(ReleaseUnreadable, match=rf"r1/edges\.csv .*{what}"):
        read_release(folder)


@pytest.mark.parametrize("lines", [[], ["a,b", "b,c"]])
def test_simple_graphs_are_read(folder, lines):
    """No edge at all is no fault either."""
    rewrite(folder, lines)
    assert len(read_release(folder).edges) == len(lines)


IDS = [f"{x:016x}" for x in (7, 3, 2**64 - 1, 0)]
PLAIN = "".join(
    ["source,target\n", *(f"{IDS[a]},{IDS[b]}\n" for a, b in [(3, 1), (0, 2)])]
).encode()


def test_plain_lines_of_edges_are_what_a_csv_reader_reads():
    """Ids become the positions that they have, whatever their order."""
    assert plain_edges(PLAIN, Ids.of(IDS)).tolist() == [[3, 1], [0, 2]]
    assert plain_edges(b"source,target\n", Ids.of(IDS)).tolist() == []


@given(
    at=st.integers(0, len(PLAIN) - 1),
    byte=st.integers(0, 255),
    ids=st.sampled_from([IDS, IDS[1:], []]),
)
def test_lines_that_are_not_plain_are_left_to_a_csv_reader(at, byte, ids):
    """One other byte anywhere, or an id too few: what is returned says what the bytes say."""
    changed = PLAIN[:at] + bytes([byte]) + PLAIN[at + 1 :]
    found = plain_edges(changed, Ids.of(ids))
    if found is not None:
        lines = [f"{ids[a]},{ids[b]}" for a, b in found.tolist()]
        assert "\n".join(["source,target", *lines, ""]).encode() == changed
    assert found is not None or (ids, changed) != (IDS, PLAIN)


@given(
    numbers=st.lists(
        # Drawn evenly, as the service does, or alike in all but their last or first letters.
        st.one_of(
            st.integers(0, 2**64 - 1),
            st.integers(2**63, 2**63 + 20),
            st.integers(0, 20).map(lambda number: number << 32),
            st.integers(0, 40),
        ),
        min_size=1,
        unique=True,
    ),
    data=st.data(),
)
def test_ends_are_found_wherever_their_ids_lie(numbers, data):
    """Ids that begin alike are found, too, in whatever order; one that is not there never is."""
    ids = [f"{number:016x}" for number in numbers]
    places = st.integers(0, len(ids) - 1)
    pairs = data.draw(st.lists(st.tuples(places, places)))
    lines = [f"{ids[a]},{ids[b]}" for a, b in pairs]
    told = "\n".join(["source,target", *lines, ""]).encode()
    assert plain_edges(told, Ids.of(ids)).tolist() == [list(pair) for pair in pairs]
    absent = data.draw(st.integers(0, 2**64 - 1).filter(lambda number: number not in numbers))
    assert plain_edges(told + f"{ids[0]},{absent:016x}\n".encode(), Ids.of(ids)) is None
    shouted = told[:14] + told[14:].upper()
    if shouted != told:
        assert plain_edges(shouted, Ids.of(ids)) is None


def test_many_lines_are_read_as_few_are():
    """A table that a kernel reads holds what a CSV reader finds, however it is cut."""
    rng = np.random.default_rng(3)
    ids = Ids(np.sort(rng.choice(2**62, 700, replace=False)))
    ends = rng.integers(0, 700, (2 * lines.BLOCK + 5, 2))
    told = "".join(f"{ids[a]},{ids[b]}\n" for a, b in ends.tolist()).encode()
    assert plain_edges(b"source,target\n" + told, ids).tolist() == ends.tolist()


@given(
    data=st.one_of(
        st.lists(st.sampled_from(["a", "é", ",", "\n", "\r", '"', "\0", " ", "\u2028"])).map(
            lambda letters: "".join(letters).encode()
        ),
        st.lists(st.sampled_from(["a,b,\n", ",x,é\n", "1,2,3\n", "4,5\n", f"{11:016x},x,y\n"])).map(
            lambda lines: "".join(lines).encode()
        ),
        st.binary(max_size=20),
    ),
    header=st.sampled_from([["id", "a", "b"], ["id", "a"], ["id"], ["id", "a,b"], ["id", 'a"']]),
)
def test_plain_columns_are_what_a_csv_reader_reads(data, header):
    """Whatever the bytes: what is not plain is left to it, and plain tables never are."""
    data = (",".join(header) + "\n").encode() + data
    found = plain_columns(data, header)
    try:
        text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")
        rows = list(csv.reader(text, strict=True))
    except (csv.Error, UnicodeDecodeError):
        rows = []
    is_table = rows[:1] == [header] and {*map(len, rows)} == {len(header)}
    if found is not None:
        assert is_table
        ids, kinds, kind_of = found
        assert len(set(kinds)) == len(kinds)
        shown = zip(ids, kind_of.tolist(), strict=True)
        assert [[one, *kinds[kind]] for one, kind in shown] == rows[1:]
    is_plain = len(header) > 1 and data.endswith(b"\n") and not set(data) & set(b'"\r\0')
    is_plain = is_plain and Ids.of([row[0] for row in rows[1:] if row]) is not None
    assert (found is not None) == (is_table and is_plain)


def test_a_missing_file_is_said_to_be_missing(folder):
    """Not that its bytes differ."""
    (folder / "edges.csv").unlink()
    with pytest.raises(ReleaseUnreadable, match=r"edges\.csv is missing"):
        read_release(folder)


@pytest.mark.parametrize("name", ["manifest.json", "vertices.csv", "edges.csv"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_regular_file_is_not_read(folder, name, kind):
    """A pipe would be waited for, a device read, for ever: neither is opened."""
    (folder / name).unlink()
    if kind == "pipe":
        os.mkfifo(folder / name)
    elif kind == "device":
        (folder / name).symlink_to("/dev/zero")
    else:
        (folder / name).mkdir()
    with pytest.raises(ReleaseUnreadable):
        read_release(folder)
    assert run_command(["verify", str(folder)]) == Exit.USAGE


def forge(folder, **fields):
    """Change fields of the manifest."""
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | fields))


@pytest.mark.parametrize("name", ["..", "../..", "/etc", "a/b", ".hidden", "", "a\n", "x" * 300])
def test_a_release_id_is_no_path(folder, name):
    """The folder of a private audit is named by it: it must not lead elsewhere."""
    forge(folder, release_id=name)
    with pytest.raises(ReleaseUnreadable, match="release_id"):
        read_release(folder)


@pytest.mark.parametrize("name", ["..", "../r2/x", "/etc/passwd", "a\0b", "x" * 5000])
def test_a_manifest_lists_no_path(folder, name):
    """No file elsewhere is opened, and none is asked for by an impossible name."""
    forge(folder, sha256={"vertices.csv": "", "edges.csv": "", name: ""})
    with pytest.raises(ReleaseUnreadable, match="cannot read"):
        read_release(folder)


def test_a_manifest_beyond_all_measure_is_refused(folder):
    """Too deep, too long, or with a number that would fill the memory."""
    text = (folder / "manifest.json").read_text()
    (folder / "manifest.json").write_text('{"x":' + "[" * 100_000)
    with pytest.raises(ReleaseUnreadable):
        read_release(folder)
    with (folder / "manifest.json").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ReleaseUnreadable):
        read_release(folder)
    (folder / "manifest.json").write_text(text)
    forge(folder, params={"k": 2, "t": "1e999999999"})
    assert run_command(["verify", str(folder)]) == Exit.USAGE


def test_numbers_of_the_search_are_passed_over(folder):
    """Manifests once told gamma and s, which no guarantee uses; anything else must be known."""
    told = json.loads((folder / "manifest.json").read_text())["params"]
    params = read_release(folder).params
    forge(folder, params=told | {"gamma": 1000, "s": 4})
    assert read_release(folder).params == params
    forge(folder, params=told | {"l": 2})
    with pytest.raises(InvalidParams):
        read_release(folder).params  # noqa: B018


def test_verify_says_by_which_parameters(folder, capsys):
    """They come from the release itself, so nobody can tell what "kt-safe" means without them."""
    assert run_command(["verify", str(folder)]) == Exit.OK
    assert "kt-safe (k = 2, t = 1/10, alpha = 1/2, epsilon = 5" in capsys.readouterr().out


def test_a_folder_without_releases_is_named(tmp_path, capsys):
    """What to name instead is said."""
    assert run_command(["verify", str(tmp_path)]) == Exit.USAGE
    told = capsys.readouterr().err
    assert str(tmp_path) in told
    assert "a folder that holds some" in told
