"""Releases on disk: what is written is what is read, and nothing else is told."""

import csv
import dataclasses
import io
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ktsafe import AttributedGraph, PrivacyParams, Schema
from ktsafe.stream.files import releases_write
from ktsafe.stream.files.private_audits import read_owners
from ktsafe.stream.files.releases_read import ReleaseUnreadable, read_release
from tests.ktsafe.assess.report.examples import told

ODD = 'no,"quotes"'
ABSENT = frozenset({"ill", ODD, "a", "b", "s"})
SCHEMA = Schema(("a", "b"), "s", frozenset({"ill", ODD}), expect_absent=ABSENT)
PARAMS = PrivacyParams(k=3, t="0.25")
TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=5)


def header(release_id="r1"):
    return releases_write.ReleaseHeader(release_id, "seq", 1_767_225_600_000_000, PARAMS)


@st.composite
def graphs(draw):
    n = draw(st.integers(0, 8))
    columns = {name: draw(st.lists(TEXTS, min_size=n, max_size=n)) for name in SCHEMA.attributes}
    pairs = [(u, v) for u in range(n) for v in range(u)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return AttributedGraph.from_columns(SCHEMA, columns, np.array(edges).reshape(-1, 2))


def small():
    return AttributedGraph.from_columns(
        SCHEMA, {"a": ["x", "y"], "b": ["-", "z"], "s": ["ill", "well"]}, [(0, 1)]
    )


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graph=graphs())
def test_a_release_reads_back_as_written(graph, tmp_path_factory):
    """Attributes, ties, sensitivity and parameters survive the way through the bytes."""
    folder = tmp_path_factory.mktemp("release") / "r1"
    ids = releases_write.random_ids(graph.n_vertices)
    releases_write.write_release(folder, graph, ids, header())
    release = read_release(folder)
    given = graph.to_networkx(ids)
    told = zip(*release.columns.values(), strict=True)
    values = {
        name: dict(zip(release.columns, row, strict=True))
        for name, row in zip(release.ids, told, strict=True)
    }
    assert values == dict(given.nodes(data=True))
    ends = {frozenset((release.ids[u], release.ids[v])) for u, v in release.edges.tolist()}
    assert ends == {*map(frozenset, given.edges)}
    assert release.params == PARAMS
    assert release.ids == sorted(ids)
    sensitive = {ids[v] for v in np.flatnonzero(graph.is_sensitive)}
    assert {release.ids[v] for v in np.flatnonzero(release.is_sensitive())} == sensitive
    releases_write.write_release(folder.with_name("r2"), graph, list(ids), header())
    for name in ("vertices.csv", "edges.csv"):
        assert (folder.with_name("r2") / name).read_bytes() == (folder / name).read_bytes()


@given(
    rows=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3))),
    texts=st.lists(st.text(max_size=4), min_size=4, max_size=4),
)
def test_tables_of_numbered_texts_are_what_a_csv_writer_writes(rows, texts):
    """Whatever the texts: marks, line ends, letters of several bytes, nothing at all."""
    numbers = np.array(rows, dtype=np.int64).reshape(-1, 2)
    written = b"".join(releases_write.csv_blocks(["a", "b"], [(texts, x) for x in numbers.T]))
    named = [["a", "b"], *([texts[a], texts[b]] for a, b in rows)]
    lines = io.StringIO()
    csv.writer(lines, lineterminator="\n").writerows(named)
    assert written == lines.getvalue().encode()
    columns = releases_write.listed(2, named[1:])
    assert written == b"".join(releases_write.csv_blocks(["a", "b"], columns))


def test_the_order_of_records_tells_nothing(tmp_path):
    """Vertices and edges are sorted by released id, each edge's smaller end first."""
    graph = small()
    releases_write.write_release(tmp_path / "r", graph, ["f" * 16, "0" * 16], header())
    lines = (tmp_path / "r" / "vertices.csv").read_text().splitlines()
    assert lines == ["id,a,b,s", "0000000000000000,y,z,well", "ffffffffffffffff,x,-,ill"]
    edges = (tmp_path / "r" / "edges.csv").read_text().splitlines()
    assert edges == ["source,target", "0000000000000000,ffffffffffffffff"]


def test_the_manifest_says_what_is_public_only(tmp_path):
    """Exactly the documented fields, with the guarantee in words."""
    releases_write.write_release(tmp_path / "r", small(), ["a", "b"], header())
    manifest = json.loads((tmp_path / "r" / "manifest.json").read_text())
    assert set(manifest) == {
        "format",
        "release_id",
        "sequence_id",
        "nominal_time",
        "params",
        "guarantee",
        "schema",
        "values",
        "vertices",
        "edges",
        "lag",
        "age",
        "unchanged",
        "classes",
        "dark",
        "planned",
        "sha256",
    }
    assert manifest["nominal_time"] == "2026-01-01T00:00:00Z"
    assert manifest["guarantee"]["w"] == 1
    assert "one by one" in manifest["guarantee"]["text"]
    assert "know a vertex's quasi-identifiers" in manifest["guarantee"]["text"]
    assert manifest["values"] == "in place"
    assert manifest["params"]["t"] == "1/4"


def test_the_manifest_says_how_stale_a_release_may_be(tmp_path):
    """Its lag, whether anything changed, and which pairs of classes are dark, by their values."""
    columns = {"a": ["x", "x", "y", "y"], "b": ["-"] * 4, "s": ["well"] * 4}
    graph = AttributedGraph.from_columns(SCHEMA, columns, [(0, 2), (1, 3)])
    ids = list("abcd")
    planned = [(("y", "-"), ("x", "-"), 3), (("gone", "-"), ("x", "-"), 1)]
    first = releases_write.write_release(tmp_path / "1", graph, ids, header())
    then = dataclasses.replace(header(), before=first, planned=planned, lag=12)
    releases_write.write_release(tmp_path / "2", graph, ids, then)
    before, manifest = (read_release(tmp_path / name).manifest for name in "12")
    assert (before.lag, before.unchanged, before.planned) == (0, False, None)
    assert (manifest.lag, manifest.unchanged) == (12, True)
    assert manifest.classes == [("x", "-"), ("y", "-")]
    assert manifest.dark == [(0, 0), (1, 1)]
    assert manifest.planned == [(0, 1, 3)]
    text = (tmp_path / "2" / "manifest.json").read_text()
    assert "[0, 1, 3]" in text


@pytest.mark.parametrize("told", [[], [[0, 1]], None])
def test_a_manifest_that_is_wrong_about_dark_pairs_is_refused(tmp_path, told):
    """What readers take for shown must be shown."""
    columns = {"a": ["x", "x", "y", "y"], "b": ["-"] * 4, "s": ["well"] * 4}
    graph = AttributedGraph.from_columns(SCHEMA, columns, [(0, 2), (1, 3)])
    releases_write.write_release(tmp_path / "r", graph, list("abcd"), header())
    path = tmp_path / "r" / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(manifest | {"dark": told}))
    with pytest.raises(ReleaseUnreadable, match="dark pairs"):
        read_release(tmp_path / "r")


def test_manifests_of_older_versions_are_read(tmp_path):
    """They say nothing of lag and dark pairs, and are judged by what they say."""
    releases_write.write_release(tmp_path / "r", small(), ["a", "b"], header())
    path = tmp_path / "r" / "manifest.json"
    manifest = json.loads(path.read_text())
    for name in ("lag", "age", "unchanged", "classes", "dark", "planned"):
        del manifest[name]
    path.write_text(json.dumps(manifest))
    found = read_release(tmp_path / "r").manifest
    assert (found.lag, found.age, found.unchanged, found.dark) == (None,) * 4


def test_texts_that_look_like_rows_of_numbers_are_kept(tmp_path):
    """Only the layout of the manifest is changed, never a text in it."""
    columns = {"a": ["[1,  2]"] * 2, "b": ["[\\n1]"] * 2, "s": ["well"] * 2}
    graph = AttributedGraph.from_columns(SCHEMA, columns, [])
    releases_write.write_release(tmp_path / "r", graph, ["a", "b"], header())
    assert read_release(tmp_path / "r").manifest.classes == [("[1,  2]", "[\\n1]")]


def test_what_a_spreadsheet_takes_for_a_formula_is_published_as_it_is(tmp_path):
    """Decided: the files are for programs. An escape would be another value, and not in Parquet."""
    formulas = ["=cmd|' /C calc'!A0", "@SUM(1+1)", "+1+1", "-2+3"]
    columns = {"a": formulas, "b": ["x"] * 4, "s": ["well"] * 4}
    graph = AttributedGraph.from_columns(small().schema, columns, [])
    ids = releases_write.random_ids(4, seed=1)
    releases_write.write_release(tmp_path / "r", graph, ids, header())
    assert sorted(read_release(tmp_path / "r").columns["a"]) == sorted(formulas)
    releases_write.write_audit(tmp_path / "audit", ids, formulas, np.arange(4), told().audit)
    assert sorted(read_owners(tmp_path / "audit", "r").values()) == sorted(formulas)


def test_ids_are_distinct_and_drawn_afresh():
    """No two draws agree, unless a test's seed makes them."""
    assert len(set(releases_write.random_ids(10_000))) == 10_000
    assert releases_write.random_ids(5) != releases_write.random_ids(5)
    assert releases_write.random_ids(5, seed=1) == releases_write.random_ids(5, seed=1)
    assert all(len(i) == 16 for i in releases_write.random_ids(100))


def test_release_ids_sort_in_publication_order():
    """Later index, greater id, whatever the slots."""
    assert releases_write.release_id(9, 2_000_000) == "000009-19700101T000002Z"
    assert releases_write.release_id(9, 2_000_000) < releases_write.release_id(10, 1_000_000)
