"""Graphs in CSV files: what is read, what is passed over, what is refused and how."""

import gzip

import pytest

from ktsafe import Schema
from ktsafe.errors import InvalidGraph
from stream.graph_files import read_graph, read_schema

SCHEMA = Schema(("gender",), "health", frozenset({"ill"}))
VERTICES = 'id,extra,gender,health\np1,x,f,ill\np2,x,m,\n"p,3",x,-,well\n'
EDGES = 'source,target\np1,p2\np2,p1\np1,p1\np2,"p,3"\n'


def read(folder, vertices=VERTICES, edges=EDGES, suffix=""):
    paths = []
    for name, text in (("vertices.csv", vertices), ("edges.csv", edges)):
        path = folder / (name + suffix)
        data = text.encode() if isinstance(text, str) else text
        path.write_bytes(gzip.compress(data) if suffix else data)
        paths.append(path)
    return read_graph(*paths, SCHEMA)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_a_graph_is_read(tmp_path, suffix):
    """Columns are found by name; repeated edges and loops are passed over and counted."""
    found = read(tmp_path, suffix=suffix)
    assert found.ids == ["p1", "p2", "p,3"]
    assert [found.graph.values(v) for v in range(3)] == [
        {"gender": "f", "health": "ill"},
        {"gender": "m", "health": "-"},
        {"gender": "-", "health": "well"},
    ]
    assert found.graph.edges.tolist() == [[0, 1], [1, 2]]
    assert (found.edges_repeated, found.loops) == (1, 1)


def test_the_mark_that_spreadsheets_put_first_is_no_part_of_a_name(tmp_path):
    """A byte order mark does not hide the first column."""
    found = read(tmp_path, vertices="\ufeff" + VERTICES, edges="\ufeff" + EDGES)
    assert found.ids == ["p1", "p2", "p,3"]


def test_an_empty_graph_is_read(tmp_path):
    """Header lines alone are a graph without vertices."""
    found = read(tmp_path, "id,gender,health\n", "source,target\n")
    assert (found.graph.n_vertices, found.graph.n_edges) == (0, 0)


@pytest.mark.parametrize(
    ("vertices", "edges", "message"),
    [
        ("id,gender\n", EDGES, "no column 'health'"),
        (VERTICES, "source,other\n", "no column 'target'"),
        (VERTICES + "p1,x,f,ill\n", EDGES, "line 5: an id for the second time"),
        (VERTICES + ",x,f,ill\n", EDGES, "line 5: no id"),
        (VERTICES + "p4,x\n", EDGES, "line 5: 2 values for 4 columns"),
        (VERTICES, EDGES + "p1,SECRET\n", "line 6: names a vertex"),
        (b"\xff\xfe", EDGES, "no readable CSV"),
    ],
)
def test_bad_files_are_refused_by_line(tmp_path, vertices, edges, message):
    """The error names file and line, never the content."""
    with pytest.raises(InvalidGraph, match=message) as caught:
        read(tmp_path, vertices, edges)
    assert "SECRET" not in str(caught.value)


def test_a_missing_file_is_named(tmp_path):
    """The error names the path and the reason."""
    with pytest.raises(InvalidGraph, match="nowhere"):
        read_graph(tmp_path / "nowhere", tmp_path / "edges", SCHEMA)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"no \[attributes\]"),
        ("[attributes]\nquasi_identifiers = 3\n", "quasi_identifiers"),
        ("[attributes]\nquasi_identifiers = []\nsensitive = 'a'\n", "sensitive_values"),
        ("[attributes]\nwhat = 1\n", "what"),
        ("=", "schema.toml"),
    ],
)
def test_bad_schemas_are_refused(tmp_path, text, message):
    """The error names what is missing or wrong."""
    path = tmp_path / "schema.toml"
    path.write_text(text)
    with pytest.raises(InvalidGraph, match=message):
        read_schema(path)


def test_a_schema_with_buckets_is_read(tmp_path):
    """Buckets turn numbers into ranges."""
    path = tmp_path / "schema.toml"
    path.write_text(
        "[attributes]\nquasi_identifiers = ['age']\nsensitive = 's'\n"
        "sensitive_values = ['x']\nbuckets = { age = [18, 65] }\n"
    )
    schema = read_schema(path)
    texts = [schema.category("age", x) for x in ("17", "18", "64.5", "65", "-", None)]
    assert texts == ["<18", "18..<65", "18..<65", ">=65", "-", "-"]
