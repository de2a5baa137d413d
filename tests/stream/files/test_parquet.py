"""Releases as Parquet say what their CSV files say, and are judged with them."""

from __future__ import annotations

import csv
import hashlib
import json
from contextlib import suppress
from importlib import resources
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings

from ktsafe import AttributedGraph
from ktsafe.stream.config import settings as config
from ktsafe.stream.files import releases_write
from ktsafe.stream.files.release_tables import (
    EDGES_PARQUET,
    VERTICES_PARQUET,
    ParquetUnreadable,
    compare,
)
from ktsafe.stream.files.releases_read import Release, ReleaseUnreadable, read_release
from tests.stream.files.test_releases_write import graphs, header, small
from tests.test_schemas import schema

BOTH = ("csv", "parquet")


def written(folder: Path, graph: AttributedGraph | None = None) -> Path:
    """Return the folder of a release in both formats."""
    graph = small() if graph is None else graph
    ids = releases_write.random_ids(graph.n_vertices, seed=1)
    releases_write.write_release(folder, graph, ids, header(), BOTH)
    return folder


def rehash(folder: Path) -> None:
    """Make the manifest fit the files again, as a forger would."""
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["sha256"] = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.name != "manifest.json"
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))


@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(graph=graphs())
def test_both_formats_hold_the_same_table(graph, tmp_path_factory):
    """Rows, their order and their texts are those of the CSV files; so a reader may take either."""
    folder = written(tmp_path_factory.mktemp("release") / "r", graph)
    release = read_release(folder)
    vertices = pq.read_table(folder / VERTICES_PARQUET)
    assert vertices.column("id").to_pylist() == release.ids
    for name, column in release.columns.items():
        assert vertices.column(name).to_pylist() == column
    edges = pq.read_table(folder / EDGES_PARQUET).to_pylist()
    pairs = [(release.ids[u], release.ids[v]) for u, v in release.edges.tolist()]
    assert [(edge["source"], edge["target"]) for edge in edges] == pairs


def test_a_parquet_file_holds_its_table_and_nothing_else(tmp_path):
    """No compression, no metadata of ours, the same bytes whenever it is written."""
    folder = written(tmp_path / "r")
    again = written(tmp_path / "again")
    for name in (VERTICES_PARQUET, EDGES_PARQUET):
        found = pq.ParquetFile(folder / name).metadata
        assert found.metadata is None
        columns = [found.row_group(0).column(j) for j in range(found.num_columns)]
        assert {column.compression for column in columns} == {"UNCOMPRESSED"}
        assert (folder / name).read_bytes() == (again / name).read_bytes()
    manifest = json.loads((folder / "manifest.json").read_text())
    schema("release-manifest").validate(manifest)
    assert list(manifest["sha256"]) == [
        "vertices.csv",
        "edges.csv",
        "vertices.parquet",
        "edges.parquet",
        "README.txt",
    ]


ROWS = {"id": ["0", "1"], "a": ["x", "y"], "b": ["-", "z"], "s": ["ill", "well"]}


@pytest.mark.parametrize(
    "table",
    [
        pa.table(ROWS),
        pa.table(ROWS).slice(0, 1),
        pa.table(ROWS | {"inserted": ["no", "no"]}),
        pa.table(ROWS | {"a": [1, 2]}),
        pa.table(ROWS | {"a": [None, "y"]}),
        pa.table(ROWS | {"a": ["-", "y"]}),
    ],
)
def test_what_differs_from_the_csv_file_is_not_read(tmp_path, table):
    """Other rows, a further column, numbers, nothing: the gate sees it, whatever the hashes say."""
    folder = written(tmp_path / "r")
    pq.write_table(table, folder / VERTICES_PARQUET, store_schema=False)
    with pytest.raises(ReleaseUnreadable, match="sha256"):
        read_release(folder)
    rehash(folder)
    with pytest.raises(ReleaseUnreadable, match="vertices"):
        read_release(folder)


def test_hidden_metadata_and_rubbish_are_not_read(tmp_path):
    """A table with something beside it, or a file that is none."""
    folder = written(tmp_path / "r")
    table = pq.read_table(folder / VERTICES_PARQUET)
    pq.write_table(table.replace_schema_metadata({"seed": "7"}), folder / VERTICES_PARQUET)
    rehash(folder)
    with pytest.raises(ReleaseUnreadable, match="more than its table"):
        read_release(folder)
    (folder / VERTICES_PARQUET).write_bytes(b"PAR1")
    rehash(folder)
    with pytest.raises(ReleaseUnreadable, match="no Parquet file"):
        read_release(folder)


def bombs() -> dict[str, tuple[pa.Table, dict[str, object]]]:
    """Return small files that unfold into half a gigabyte and more, by how they do it."""
    long = "x" * 300_000
    many = pa.array([long]).dictionary_encode()
    repeated = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), many.dictionary)
    names = ("id", "a", "b", "s")
    columns = dict.fromkeys(names, repeated)
    plain = pa.table(dict.fromkeys(names, pa.array([long] * 400)))
    return {
        "dictionary": (pa.table(columns), {"compression": "none"}),
        "prefixes": (
            plain,
            {
                "compression": "none",
                "use_dictionary": False,
                "column_encoding": "DELTA_BYTE_ARRAY",
            },
        ),
        "compression": (plain, {"compression": "zstd", "use_dictionary": False}),
    }


@pytest.mark.parametrize("kind", ["dictionary", "prefixes", "compression"])
@pytest.mark.parametrize("rows", ["its own", "as many as the CSV file"])
def test_a_small_file_that_unfolds_is_refused_in_little_memory(tmp_path, kind, rows):
    """It is not unfolded beyond the first rows that differ from the CSV file beside it."""
    table, options = bombs()[kind]
    n = len(table)
    folder = written(tmp_path / "r")
    if rows != "its own":
        ids = [f"{i:016x}" for i in range(n)]
        text = "id,a,b,s\n" + "".join(f"{name},x,y,well\n" for name in ids)
        (folder / "vertices.csv").write_text(text)
    pq.write_table(table, folder / VERTICES_PARQUET, store_schema=False, **options)
    size = (folder / VERTICES_PARQUET).stat().st_size
    assert size < 5_000_000
    rehash(folder)
    with pytest.raises(ReleaseUnreadable, match="vertices"):
        read_release(folder)
    # The same again, but in this process, where its memory can be watched.
    with (folder / "vertices.csv").open(encoding="utf-8", newline="") as file:
        names, *lines = csv.reader(file)
    pool, watched = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    pa.set_memory_pool(watched)
    try:
        with suppress(ParquetUnreadable):
            assert not compare(folder / VERTICES_PARQUET, names, lines)
    finally:
        pa.set_memory_pool(pool)
    assert watched.max_memory() < 200_000_000


def test_a_file_at_which_pyarrow_ends_its_process_is_refused(tmp_path):
    """A codec that does not exist is an exception nobody catches there; ours goes on."""
    folder = written(tmp_path / "r")
    data = (folder / VERTICES_PARQUET).read_bytes()
    forged = data.replace(b"\x02id\x15\x00", b"\x02id\x15\x7e")
    assert forged != data
    (folder / VERTICES_PARQUET).write_bytes(forged)
    rehash(folder)
    with pytest.raises(ReleaseUnreadable, match="is no Parquet file"):
        read_release(folder)


def test_modules_in_the_working_folder_are_not_run(tmp_path, monkeypatch):
    """Whoever may write where a command is started does not choose its code."""
    (tmp_path / "json.py").write_text("open('ran', 'w').close()")
    monkeypatch.chdir(tmp_path)
    read_release(written(tmp_path / "r"))
    assert not (tmp_path / "ran").exists()


def test_what_cannot_be_judged_is_not_read(tmp_path):
    """A further file in a release would be published unseen."""
    folder = written(tmp_path / "r")
    (folder / "vertices.avro").write_text("true ids")
    rehash(folder)
    with pytest.raises(ReleaseUnreadable, match=r"vertices\.avro"):
        read_release(folder)


def test_arrays_for_other_libraries(tmp_path):
    """Ties in both directions, attributes as numbers; networkx sees the same graph."""
    graph = AttributedGraph.from_columns(
        small().schema,
        {"a": list("xyx"), "b": list("uvw"), "s": ["ill", "well", "ill"]},
        [(0, 1), (1, 2)],
    )
    release = read_release(written(tmp_path / "r", graph))
    assert isinstance(release, Release)
    codes, meanings = release.codes()
    for j, name in enumerate(meanings):
        assert [meanings[name][code] for code in codes[:, j]] == release.columns[name]
        assert meanings[name] == sorted(set(release.columns[name]))


def test_the_configuration_asks_for_parquet_beside_csv(tmp_path):
    """CSV is always there; Parquet only where it is asked for."""
    text = resources.files("ktsafe.stream").joinpath("example.toml").read_text(encoding="utf-8")
    path = tmp_path / "ktsafe.toml"
    path.write_text(text)
    assert config.load(path).config.release.format == ("csv",)
    path.write_text(text.replace('format = ["csv"]', 'format = ["csv", "parquet"]'))
    assert config.load(path).config.release.format == ("csv", "parquet")
    path.write_text(text.replace('format = ["csv"]', 'format = ["parquet"]'))
    with pytest.raises(config.ConfigError, match="csv"):
        config.load(path)
