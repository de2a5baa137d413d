"""Graphs in CSV files: what is read, what is passed over, what is refused and how."""

import gzip
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph, Schema
from ktsafe.errors import InvalidGraph, WrittenOtherwise
from ktsafe.stream.files.graphs import declaring_what_is_shown, read_graph, read_schema

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


def test_an_empty_graph_is_read(tmp_path):
    """Header lines alone are a graph without vertices."""
    found = read(tmp_path, "id,gender,health\n", "source,target\n")
    assert (found.graph.n_vertices, found.graph.n_edges) == (0, 0)


PEOPLE_FAULTS = {
    "1 values for 4 columns": "p{}",
    "5 values for 4 columns": "p{},20,f,well,SECRET",
    "an id for the second time": "first,20,f,ill",
    "no id": ",20,f,well",
    "'age' is bucketed": "p{},SECRET,f,well",
}
TIES_FAULTS = {
    "names a vertex that": "first,SECRET",
    "1 values for 2 columns": "first",
}


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.sampled_from(["", *PEOPLE_FAULTS]), max_size=14),
    st.lists(st.sampled_from(["", *TIES_FAULTS]), max_size=9),
    st.booleans(),
)
def test_all_faults_are_told_at_once_by_line(tmp_path, people, ties, is_absent):
    """Each kind with its first five lines and how many more; never what is in them."""
    vertices = ["id,age,gender,health", "first,20,f,ill"]
    vertices += [PEOPLE_FAULTS.get(x, "p{},20,f,well").format(i) for i, x in enumerate(people)]
    edges = ["source,target", *(TIES_FAULTS.get(fault, "first,first") for fault in ties)]
    sensitive = frozenset({"ill", "hvi"} if is_absent else {"ill"})
    schema = Schema(("age", "gender"), "health", sensitive, {"age": (18.0,)})
    expected = []
    is_short = any("values" in fault for fault in people)
    for name, rows, first in (("v.csv", people, 3), ("e.csv", ties, 2)):
        for fault in filter(None, dict.fromkeys(rows)):
            lines = [first + i for i, other in enumerate(rows) if other == fault]
            # Whom the ends of ties mean is unknown where rows of people cannot be read.
            if not (is_short and fault.startswith("names")):
                more = f" and {len(lines) - 5} more" if lines[5:] else ""
                plural = "s" if lines[1:] else ""
                said = f"{name}, line{plural} {', '.join(map(str, lines[:5]))}{more}: "
                expected.append((said, fault))
    (tmp_path / "v.csv").write_text("\n".join(vertices) + "\n")
    (tmp_path / "e.csv").write_text("\n".join(edges) + "\n")
    n_faults = len(expected) + (is_absent and not is_short)
    if not n_faults and not is_absent:
        assert read_graph(tmp_path / "v.csv", tmp_path / "e.csv", schema).graph.n_vertices > 0
        return
    with pytest.raises(InvalidGraph) as caught:
        read_graph(tmp_path / "v.csv", tmp_path / "e.csv", schema)
    text = str(caught.value)
    assert len(getattr(caught.value, "faults", [caught.value])) == n_faults
    assert all(where in text and what in text.partition(where)[2] for where, what in expected)
    assert "SECRET" not in text
    assert ("hvi" in text) == (is_absent and not is_short)


def test_faults_of_both_headers_are_told(tmp_path):
    """All columns that are missing, of both files."""
    with pytest.raises(InvalidGraph) as caught:
        read(tmp_path, "gender\n", "a,b\n")
    assert "no columns 'id', 'health'" in str(caught.value)
    assert "edges.csv: its first line may be a header, or a tie" in str(caught.value)


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


TWO_SENSITIVE = """[attributes]
quasi_identifiers = ["age"]
sensitive = ["health", "income"]
sensitive_values = { health = ["ill"], income = ["none"] }
buckets = { age = [30] }
"""


def test_several_sensitive_attributes_become_one(tmp_path):
    """A combined value is sensitive where any part is; missing parts are values like others."""
    (tmp_path / "schema.toml").write_text(TWO_SENSITIVE)
    schema = read_schema(tmp_path / "schema.toml")
    (tmp_path / "v.csv").write_text(
        "id,age,health,income\np1,20,ill,low\np2,40,well,none\np3,50,well,\np4,10,,low\n"
    )
    (tmp_path / "e.csv").write_text("source,target\np1,p2\n")
    graph = read_graph(tmp_path / "v.csv", tmp_path / "e.csv", schema).graph
    assert graph.schema.attributes == ("age", "health+income")
    assert [graph.values(v) for v in range(4)] == [
        {"age": "<30", "health+income": "ill|low"},
        {"age": ">=30", "health+income": "well|none"},
        {"age": ">=30", "health+income": "well|-"},
        {"age": "<30", "health+income": "-|low"},
    ]
    assert graph.is_sensitive.tolist() == [True, True, False, False]


def test_values_of_several_attributes_may_be_almost_sensitive_on_purpose(tmp_path):
    """Each attribute is judged by itself, and `harmless_values` holds for its own values."""
    (tmp_path / "v.csv").write_text("id,age,health,income\np1,20,ill,none\np2,40,Ill,low\n")
    (tmp_path / "e.csv").write_text("source,target\np1,p2\n")
    for harmless in ([], ["Ill"]):
        text = f"{TWO_SENSITIVE}harmless_values = {json.dumps(harmless)}\n"
        (tmp_path / "schema.toml").write_text(text)
        schema = read_schema(tmp_path / "schema.toml")
        if not harmless:
            with pytest.raises(WrittenOtherwise, match="'Ill' almost like 'ill'"):
                read_graph(tmp_path / "v.csv", tmp_path / "e.csv", schema)
    graph = read_graph(tmp_path / "v.csv", tmp_path / "e.csv", schema).graph
    assert graph.is_sensitive.tolist() == [True, False]


def test_a_release_declares_only_combinations_that_it_shows(tmp_path):
    """Who is not published does not show in the list of sensitive values."""
    (tmp_path / "schema.toml").write_text(TWO_SENSITIVE)
    schema = read_schema(tmp_path / "schema.toml")
    (tmp_path / "v.csv").write_text("id,age,health,income\np1,20,ill,low\np2,40,well,none\n")
    (tmp_path / "e.csv").write_text("source,target\n")
    graph = read_graph(tmp_path / "v.csv", tmp_path / "e.csv", schema).graph
    assert graph.schema.sensitive_values == {"ill|low", "well|none"}
    one = AttributedGraph.from_codes(graph.schema, graph.categories, graph.codes[:1], [])
    shown = declaring_what_is_shown(one)
    assert shown.schema.sensitive_values == {"ill|low"}
    assert shown.is_sensitive.tolist() == [True]


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('["health", "income"]', '"health"', "both be of one attribute"),
        ('{ health = ["ill"], income = ["none"] }', '["ill"]', "both be of one attribute"),
        (', income = ["none"]', "", "a table that names each"),
        ('["age"]', '["health"]', "names an attribute twice"),
    ],
)
def test_mismatched_sensitive_attributes_are_refused(tmp_path, old, new, words):
    """One name needs a list of values, several need a table that names each."""
    text = TWO_SENSITIVE.replace(old, new, 1).replace("buckets = { age = [30] }\n", "")
    (tmp_path / "schema.toml").write_text(text)
    with pytest.raises(InvalidGraph, match=words):
        read_schema(tmp_path / "schema.toml")


def test_published_networks_beside_a_file_of_vertices(tmp_path):
    """Edges of another kind of file are placed among the vertices that are listed."""
    (tmp_path / "v.csv").write_text(VERTICES)
    (tmp_path / "net.txt").write_text("# tab separated\np,3\tp2\np2\tp1\n")
    found = read_graph(tmp_path / "v.csv", tmp_path / "net.txt", SCHEMA)
    assert found.ids == ["p1", "p2", "p,3"]
    assert found.graph.edges.tolist() == [[0, 1], [1, 2]]
    (tmp_path / "net.txt").write_text("p1 p9\n")
    with pytest.raises(InvalidGraph, match=r"net.txt, line 1: names a vertex .*v.csv"):
        read_graph(tmp_path / "v.csv", tmp_path / "net.txt", SCHEMA)


PUBLISHED = {
    "Gephi's": (
        "Id;Label;Gender;HEALTH\np1;x;f;ill\np2;x;m;\np3;x;;well\n",
        "Source\tTarget\tType\n",
    ),
    "SNAP's": ("Gender,health,node_id\nf,ill,p1\nm,,p2\n,well,p3\n", "node_1,node_2\n"),
    "Neo4j's": ("gender|:ID|health\nf|p1|ill\nm|p2|\n|p3|well\n", ":START_ID|:END_ID|:TYPE\n"),
}


@pytest.mark.parametrize("whose", PUBLISHED)
def test_tables_of_others_are_read_beside_each_other(tmp_path, whose):
    """A file of vertices does not make that of edges stricter, nor the other way round."""
    vertices, header = PUBLISHED[whose]
    mark = next(mark for mark in "\t|," if mark in header)
    more = mark + "Directed" if header.count(mark) > 1 else ""
    edges = header + "".join(f"{u}{mark}{v}{more}\n" for u, v in (("p1", "p2"), ("p2", "p3")))
    found = read(tmp_path, vertices, edges)
    assert found.ids == ["p1", "p2", "p3"]
    assert found.graph.categories == (("-", "f", "m"), ("-", "ill", "well"))
    assert found.graph.edges.tolist() == [[0, 1], [1, 2]]


def test_texts_that_look_missing_are_named(tmp_path):
    """They are values like any other; which ones there are is told."""
    found = read(tmp_path, "id,gender,health\np1,f,ill\np2,NULL,n/a\np3,\\N,\n", "source,target\n")
    assert found.graph.categories[0] == ("NULL", "\\N", "f")
    assert [note.partition(",")[0] for note in found.notes] == [
        "'gender' has 'NULL'",
        "'health' has 'n/a'",
    ]
    assert "'\\\\N'" in found.notes[0]


CODES = """[attributes]
quasi_identifiers = ["country", "age"]
nominal = ["country"]
buckets = { age = [30] }
[attributes.groups.country]
far = ["1.0", "2"]
"""


def test_a_schema_of_codes_and_nothing_sensitive(tmp_path):
    """Codes are taken as they are written, in the table and in the schema; nobody is sensitive."""
    (tmp_path / "schema.toml").write_text(CODES)
    schema = read_schema(tmp_path / "schema.toml")
    assert schema.columns == ("country", "age")
    (tmp_path / "v.csv").write_text("id,country,age\np1,1.0,20\np2,1,40.0\np3,2,41\n")
    (tmp_path / "e.csv").write_text("source,target\np1,p2\n")
    graph = read_graph(tmp_path / "v.csv", tmp_path / "e.csv", schema).graph
    assert [graph.values(v) for v in range(3)] == [
        {"country": "far", "age": "<30", "none": "-"},
        {"country": "1", "age": ">=30", "none": "-"},
        {"country": "far", "age": ">=30", "none": "-"},
    ]
    assert not graph.is_sensitive.any()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('nominal = ["country"]', 'nominal = ["age"]', "has buckets, and is declared nominal"),
        ('nominal = ["country"]', 'nominal = ["town"]', "'town' is declared nominal"),
        ('nominal = ["country"]', 'sensitive_values = ["x"]', "no sensitive attribute"),
        ('nominal = ["country"]', 'sensitive = "x"', "sensitive_values is missing"),
    ],
)
def test_roles_that_do_not_fit_are_refused(tmp_path, old, new, words):
    """Codes have no order and a role; a sensitive attribute and its values come together."""
    (tmp_path / "schema.toml").write_text(CODES.replace(old, new))
    with pytest.raises(InvalidGraph, match=words):
        read_schema(tmp_path / "schema.toml")
