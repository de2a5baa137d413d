"""Files of other kinds are refused by their names, whatever they are called."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import random
import re
import sqlite3
import tarfile
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
import scipy
from pyarrow import feather
from scipy import io as scipy_io
from scipy import sparse

from ktsafe.errors import InvalidGraph
from ktsafe.graph.inputs import of_memory, read_network
from ktsafe.graph.inputs.inspected import lists_people
from ktsafe.graph.inputs.names import NOTHING_CHOSEN
from tests.ktsafe.graph.inputs.drawn_networks import as_networkx, drawn
from tests.ktsafe.graph.inputs.reading import read, refused

DL = "dl n=3 format=edgelist1\nlabels:\na,b,c\ndata:\n1 2\n"
GDF = "nodedef>name VARCHAR,label VARCHAR\ns1,Site 1\nedgedef>node1 VARCHAR,node2 VARCHAR\ns1,s1\n"
DOT = "// by hand\nstrict digraph x {\n  a -> b;\n}\n"
LGL = "# a\nb 1.0\n# b\nc 1.0\n"
GML = 'Creator "me" # by hand\nVersion 1.0\n# of\n\nGraph\n[ node [ id 1 ] ]\n'
NODE_LINK = '{"directed": false, "nodes": [{"id": "1"}], "links": []}'
TLP = '(tlp "2.3"\n(nodes 0..1))\n'


def zipped(name: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, "1 2\n")
    return file.getvalue()


def tarred() -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("edges.txt"), io.BytesIO())
    return file.getvalue()


def database() -> bytes:
    connection = sqlite3.connect(":memory:")
    connection.execute("create table ties (a, b)")
    return connection.serialize()


def matlab() -> bytes:
    file = io.BytesIO()
    scipy_io.savemat(file, {"A": np.eye(3)})
    return file.getvalue()


def numpy_array() -> bytes:
    file = io.BytesIO()
    np.save(file, np.eye(3))
    return file.getvalue()


def npz() -> bytes:
    file = io.BytesIO()
    sparse.save_npz(file, sparse.csr_array(np.eye(3)))
    return file.getvalue()


def arrow() -> bytes:
    file = io.BytesIO()
    feather.write_feather(pa.table({"source": [1], "target": [2]}), file)
    return file.getvalue()


BY_CONTENT: dict[str, tuple[str | bytes, str]] = {
    "DL": (DL, "is a DL file of UCINET"),
    "DL in capitals": (DL.upper(), "is a DL file of UCINET"),
    "GDF": (GDF, "is a GDF file"),
    "DOT": (DOT, "is a DOT file"),
    "GraphML": ('<?xml version="1.0"?>\n<graphml><graph/></graphml>', "is GraphML, which"),
    "Matrix Market": ("%%MatrixMarket matrix coordinate pattern\n", "is a Matrix Market file"),
    "NPZ": (npz(), "is arrays of numpy"),
    "GEXF": ('<?xml version="1.0"?><!-- <graphml> --><gexf><graph/></gexf>', "is GEXF, which"),
    "GEXF of a space": ('<g:gexf xmlns:g="http://www.gexf.net/1.3">', "is GEXF, which"),
    "GML": (GML, "is GML, which is not read"),
    "GML at once": ("\n\ngraph [ directed 0 ]", "is GML, which"),
    "Pajek": ("% a\n\n*Vertices 2\n1 a\n2 b\n*Edges\n1 2\n", "is a Pajek file, which"),
    "node-link JSON": (NODE_LINK, "is node-link JSON, which is not read"),
    "a list of JSON": ("[1, 2]", "is JSON, which"),
    "DL on lines": ("DL\nN = 3\nDATA:\n0 1 0\n1 0 1\n0 1 0\n", "is a DL file of UCINET"),
    "DOT on lines": ('digraph "a b"\n{\n a -> b;\n}\n', "is a DOT file"),
    "DOT without a name": ("/* x */ graph { a -- b }\n", "is a DOT file"),
    "LGL": (LGL, "is an LGL file"),
    "Tulip": (TLP, "is a file of Tulip"),
    "VNA": ("*Node data\nid sex\na f\n*Tie data\nfrom to\na a\n", "is a VNA file"),
    "MATLAB": (matlab(), "is a MATLAB file"),
    "HDF5": (b"\x89HDF\r\n\x1a\n" + bytes(64), "is an HDF5 file"),
    "SQLite": (database(), "is an SQLite database"),
    "pickle": (pickle.dumps(nx.path_graph(3)), "is a pickle"),
    "numpy": (numpy_array(), "is one array of numpy"),
    "Arrow": (arrow(), "is a table in a binary format"),
    "spreadsheet": (zipped("[Content_Types].xml"), "is a spreadsheet"),
    "old spreadsheet": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is a spreadsheet"),
    "zip": (zipped("edges.txt"), "is an archive"),
    "tar": (tarred(), "is an archive"),
    "bzip2": (b"BZh91AY&SY", "is an archive"),
    "xz": (b"\xfd7zXZ\x00", "is an archive"),
    "zstd": (b"\x28\xb5\x2f\xfd\x00", "is an archive"),
    "7z": (b"7z\xbc\xaf\x27\x1c", "is an archive"),
    "PDF": (b"%PDF-1.7\n", "is a PDF file"),
    "R": (b"RDX3\nX\n", "is a file of R"),
    "graph6": (b">>graph6<<Bw\n", "is a graph6 file"),
    "graph-tool": ("⛾ gt".encode() + b"\x01", "is a file of graph-tool"),
    "NetworKit": (b"nkbg003\x00\x01", "is a file of NetworKit"),
    "page": ("<!DOCTYPE html>\n<html><body>Sign in</body></html>", "is a page of the web"),
    "XGMML": ('<?xml version="1.0"?><graph label="x"><node/></graph>', "is XML, which"),
    "UTF-16": ("1 2\n".encode("utf-16"), "UTF-16"),
    "JSON lines": ('{"source": 1, "target": 2}\n{"source": 1, "target": 3}\n', "is JSON lines"),
}


@pytest.mark.parametrize("name", ["net.txt", "net", "net.csv.gz"])
@pytest.mark.parametrize("case", BY_CONTENT)
def test_by_what_they_hold(tmp_path: Path, case: str, name: str) -> None:
    """The first bytes tell, and the way on is told, too; nobody takes it for people."""
    content, told = BY_CONTENT[case]
    raw = content.encode() if isinstance(content, str) else content
    refused(tmp_path, name, gzip.compress(raw) if name.endswith(".gz") else raw, told)
    assert not lists_people(tmp_path / name, NOTHING_CHOSEN)


RING = nx.cycle_graph(5)
LOADED: dict[str, Callable[[Path], object]] = {
    "net.graphml": lambda path: nx.write_graphml(RING, path),
    "net.gexf": lambda path: nx.write_gexf(RING, path),
    "net.gml": lambda path: nx.write_gml(RING, path),
    "net": lambda path: path.write_text(json.dumps(nx.node_link_data(RING, edges="edges"))),
    "net.mtx": lambda path: scipy_io.mmwrite(path, nx.to_scipy_sparse_array(RING)),
    "net.npz": lambda path: sparse.save_npz(path, nx.to_scipy_sparse_array(RING)),
    "net.npy": lambda path: np.save(path, nx.to_numpy_array(RING)),
    "net.mat": lambda path: scipy_io.savemat(path, {"A": nx.to_scipy_sparse_array(RING)}),
}


@pytest.mark.parametrize("name", LOADED)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_the_error_says_what_loads_the_file(tmp_path: Path, name: str) -> None:
    """`protect` takes what the call in the hint returns."""
    LOADED[name](tmp_path / name)
    with pytest.raises(InvalidGraph) as error:
        read_network(tmp_path / name)
    call = re.search(
        r"in Python: graph = (.*); print\(ktsafe\.inspect\(graph\)\); safe = ", error.value.hint
    )
    assert call is not None
    words = {"networkx": nx, "scipy": scipy, "numpy": np, "json": json}
    graph = eval(call[1], {**words, "FILE": tmp_path / name, "NAME": "A"})  # noqa: S307
    network = of_memory(graph)
    assert (len(network.ids), len(network.edges)) == (5, 5)


NOT_READ: dict[str, Callable[[nx.Graph], Iterable[str]]] = {
    "GEXF": nx.generate_gexf,
    "GraphML": nx.generate_graphml,
    "GML": nx.generate_gml,
    "a Pajek file": nx.generate_pajek,
    "node-link JSON": lambda graph: [json.dumps(nx.node_link_data(graph, edges="links"))],
}


@pytest.mark.parametrize("name", NOT_READ)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_networkx_writes_is_recognized(tmp_path: Path, name: str) -> None:
    """Whatever they hold, networks of networkx in them are never read as an edge list."""
    n = 0
    for seed in range(20):
        try:
            text = "\n".join(NOT_READ[name](as_networkx(drawn(random.Random(seed)))))
        except (nx.NetworkXError, TypeError, ValueError):
            continue
        n += 1
        refused(tmp_path, "net.txt", text, f"is {name}, which is not read")
    assert n > 10


def test_blanks_do_not_hold_the_reader_up(tmp_path: Path) -> None:
    """A pattern that tried all ways to divide 60 blanks would never end."""
    refused(tmp_path, "net.txt", f"ann 1{' ' * 60}\nbob 2\n", "which hold the ids")


@pytest.mark.parametrize("first", ["dl", "graph", "digraph", "nodedef", "strict"])
def test_people_may_be_called_like_formats(tmp_path: Path, first: str) -> None:
    """A word alone does not make a file of another kind."""
    network = read(tmp_path, "net.txt", f"{first} u1\nu1 u2\nu2 u3\n")
    assert "u1" in network.ids


BY_NAME = {
    "star.graph": ("4 6\n2 3 4\n1 3 4\n1 2 4\n1 2 3\n", "is a METIS file"),
    "x.metis": ("3 2\n2\n1 3\n2\n", "is a METIS file"),
    "x.dl": ("n=3\n1 2\n", "is a DL file"),
    "x.lgl": ("# a\nb\n", "is an LGL file"),
    "x.dot": ("a -- b\n", "is a DOT file"),
    "x.graphml": ("1 2\n", "is GraphML"),
    "x.mtx": ("1 2\n", "is a Matrix Market file"),
    "x.npz": ("1 2\n", "is arrays of numpy"),
    "x.gexf": ("1 2\n", "is GEXF"),
    "x.gml": ("1 2\n", "is GML"),
    "x.paj": ("1 2\n", "is a Pajek file"),
    "x.json": ("1 2\n", "is JSON"),
    "x.gv": ("a -- b\n", "is a DOT file"),
    "x.gdf": ("a,b\n", "is a GDF file"),
    "x.mat": ("1 2\n", "is a MATLAB file"),
    "x.adjlist": ("1 2 3\n2 4\n", "is an adjacency list"),
    "x.multiadjlist": ("1 2\n", "is an adjacency list"),
    "x.jsonl": ("source target\n", "is JSON lines"),
    "x.ndjson.gz": (gzip.compress(b"1 2\n"), "is JSON lines"),
    "x.g6": ("Bw\n", "is a graph6 file"),
    "x.sif": ("a pp b\n", "is a SIF file"),
    "x.tgf": ("1 a\n2 b\n#\n1 2\n", "is a TGF file"),
    "x.h5": ("", "is an HDF5 file"),
    "x.xlsx": ("", "is a spreadsheet"),
    "x.sqlite": ("", "is an SQLite database"),
    "x.pkl": ("1 2\n", "is a pickle"),
    "X.ZIP": ("", "is an archive"),
    "x.rds": ("", "is a file of R"),
}


@pytest.mark.parametrize("name", BY_NAME)
def test_by_their_endings(tmp_path: Path, name: str) -> None:
    """Where what they hold may be something else, too."""
    refused(tmp_path, name, *BY_NAME[name])


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.parametrize(
    "content", ["", "\n", "\0\0", "[", "{", "<", "*", "%", "%%", "graph [", "PK"]
)
def test_what_is_cut_is_refused_or_a_network(tmp_path: Path, name: str, content: str) -> None:
    """However a file of a known ending begins."""
    refused(tmp_path, name, content, ".")
