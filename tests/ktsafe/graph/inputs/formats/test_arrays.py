"""Arrays: square sparse matrices and OGB's arrays, or a refusal that names the file."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from ktsafe.errors import InvalidGraph
from ktsafe.graph.inputs import read_network
from tests.ktsafe.graph.inputs.reading import read, refused, ties


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def saved(matrix: Any) -> bytes:
    file = io.BytesIO()
    sparse.save_npz(file, matrix)
    return file.getvalue()


def with_zeros(form: str, kind: str) -> Any:
    """Return a path of three, with a stored zero beside and one on the diagonal."""
    u, v = np.array([0, 1, 1, 2, 0, 2, 1]), np.array([1, 0, 2, 1, 2, 0, 1])
    cells = np.array([1, 1, 1, 1, 0, 0, 0])
    make = getattr(sparse, f"coo_{kind}")
    made = make((cells, (u, v)), shape=(4, 4)).asformat(form)
    made.data = made.data.copy()
    return made


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_stored_zeros_are_no_ties(tmp_path: Path, form: str, kind: str) -> None:
    """In all formats of scipy, and each tie of a matrix that is the same mirrored counts once."""
    network = read(tmp_path, "n.npz", saved(with_zeros(form, kind)))
    assert (network.ids, ties(network)) == (["0", "1", "2", "3"], {"0-1", "1-2"})
    assert (network.edges_repeated, network.loops, network.directed, network.ignored) == (
        0,
        0,
        0,
        (),
    )


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("number", [bool, np.uint8, np.int64, np.float32])
def test_directions_and_values_are_told(tmp_path: Path, form: str, number: type) -> None:
    """Whatever the numbers are; a loop is no tie."""
    made = sparse.coo_array((np.array([3, 3]).astype(number), ([0, 2], [1, 2])), shape=(3, 3))
    network = read(tmp_path, "n.npz", saved(made.asformat(form)))
    assert (ties(network), network.loops, network.directed) == ({"0-1"}, 1, 2)
    assert network.ignored == ("directions", *(() if number is bool else ("values",)))


def test_arrays_of_ogb(tmp_path: Path) -> None:
    """Features and labels are columns, whole numbers without fraction, and NaN is missing."""
    content = npz(
        edge_index=[[0, 1, 1], [1, 0, 2]],
        num_nodes=4,
        node_feat=[[0.5, 1], [np.nan, 2], [1e9, 3], [0, 4]],
        node_label=["x", "y", "", "z"],
        edge_feat=[1, 2, 3],
        train_mask=[True] * 4,
    )
    network = read(tmp_path, "n.npz", content)
    assert (ties(network), network.edges_repeated, network.directed) == ({"0-1", "1-2"}, 1, 3)
    assert network.columns == {
        "feat_0": ["0.5", None, "1000000000", "0"],
        "feat_1": ["1", "2", "3", "4"],
        "label": ["x", "y", None, "z"],
    }
    assert network.kinds == {"feat_0": "number", "feat_1": "number", "label": "text"}
    assert (network.ids, network.ignored) == (
        ["0", "1", "2", "3"],
        ("directions", "edge_feat", "train_mask"),
    )


@pytest.mark.parametrize("edges", [[[0, 1], [1, 0]], np.empty((2, 0), dtype=int), [[0.0], [1.0]]])
def test_edge_index_has_two_rows(tmp_path: Path, edges: Any) -> None:
    """Two ties are told from two rows by the format; whole fractions are whole numbers."""
    network = read(tmp_path, "n.npz", npz(edge_index=edges, num_nodes=2))
    assert ties(network) == ({"0-1"} if np.size(edges) else set())
    assert network.ids == ["0", "1"]


def csr(**changed: Any) -> bytes:
    """Return a sparse matrix of two vertices with one thing changed."""
    made = {"indptr": [0, 1, 2], "indices": [1, 0], "data": [1, 1], "shape": [2, 2]}
    return npz(**{"format": b"csr", **made, **changed})


def test_a_format_that_is_not_told(tmp_path: Path) -> None:
    """Rows or columns: directions are dropped, so it makes no difference."""
    arrays = {"indptr": [0, 1, 2], "indices": [1, 0], "data": [1, 1], "shape": [2, 2]}
    assert ties(read(tmp_path, "n.npz", npz(**arrays))) == {"0-1"}


REFUSED = {
    "not square": (saved(sparse.csr_array(np.ones((2, 4)))), "no square matrix, but 2 x 4"),
    "not square, coo": (saved(sparse.coo_array(np.ones((3, 2)))), "no square matrix, but 3 x 2"),
    "dia": (saved(sparse.dia_array(np.eye(2))), "in the format 'dia'"),
    "bsr": (saved(sparse.bsr_array(np.eye(2))), "in the format 'bsr'"),
    "index beyond": (csr(indices=[1, 2]), "before the first or behind the last"),
    "index negative": (csr(indices=[1, -1]), "before the first"),
    "indptr falls": (csr(indptr=[0, 2, 1]), "indptr does not fit"),
    "indptr too long": (csr(indptr=[0, 1, 2, 2]), "indptr does not fit"),
    "indptr beyond": (csr(indptr=[0, 1, 9]), "indptr does not fit"),
    "indptr late": (csr(indptr=[1, 1, 2]), "indptr does not fit"),
    "indices are fractions": (csr(indices=[1.5, 0]), "indices holds fractions"),
    "data too few": (csr(data=[1]), "not one number for each cell"),
    "data complex": (csr(data=[1j, 1]), "not one number for each cell"),
    "shape of three": (csr(shape=[2, 2, 2]), "no square matrix, but 2 x 2 x 2"),
    "shape beyond all": (csr(shape=[2**40, 2**40]), "more than"),
    "shape negative": (csr(shape=[-2, -2]), "fewer than none"),
    "neither": (npz(a=[1]), "neither edge_index nor a sparse matrix"),
    "one row": (npz(edge_index=[[0, 1, 2]]), "edge_index has no two rows"),
    "one number": (npz(edge_index=7), "edge_index has no two rows"),
    "fractions": (npz(edge_index=[[0.5], [1]]), "edge_index holds fractions"),
    "words": (npz(edge_index=[["a"], ["b"]]), "edge_index holds no whole numbers"),
    "negative": (npz(edge_index=[[0], [-1]]), "before the first or behind the last"),
    "beyond": (npz(edge_index=[[0], [5]], num_nodes=3), "before the first or behind the last"),
    "beyond all": (npz(edge_index=[[0], [2**40]]), "more than"),
    "features too few": (
        npz(edge_index=[[0], [1]], num_nodes=3, node_feat=[[1], [2]]),
        "2 rows for 3 vertices",
    ),
    "label infinite": (npz(edge_index=[[0], [1]], node_label=[np.inf, 1]), "Infinity"),
    "pickled": (npz(edge_index=np.array([[{}], [1]], dtype=object)), "no arrays of numbers"),
    "cut": (csr()[:-40], "no arrays of numbers"),
    "no zip": (b"PK\x03\x04none", "no arrays of numbers"),
    "another file": (b"0 1\n", "no arrays of numbers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_network_is_refused(tmp_path: Path, case: str) -> None:
    """Positions are judged before anything is made of them, and nothing pickled is loaded."""
    refused(tmp_path, "n.npz", *REFUSED[case])


TABLES = {
    "edge": "0,1\n1,2\n",
    "num-node-list": "4\n",
    "node-feat": "1,0.5\n2,1\n3,1\n4,1\n",
    "edge-feat": "1\n1\n",
}


def folder(path: Path, **changed: str) -> Path:
    for name, text in {**TABLES, **{k.replace("_", "-"): v for k, v in changed.items()}}.items():
        (path / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode()))
    return path


def test_a_folder_of_ogb(tmp_path: Path) -> None:
    """It holds one network, whose people are numbered."""
    network = read_network(folder(tmp_path))
    assert (network.ids, ties(network), network.directed) == (list("0123"), {"0-1", "1-2"}, 2)
    assert network.columns == {"feat_0": list("1234"), "feat_1": ["0.5", "1", "1", "1"]}
    assert network.ignored == ("directions", "edge_feat")


def test_another_folder_is_refused(tmp_path: Path) -> None:
    """What is looked for is named."""
    with pytest.raises(InvalidGraph, match="is a folder without edge"):
        read_network(tmp_path)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"edge": "0,1.5\n"}, "edge.csv.gz holds fractions"),
        ({"edge": "0,a\n"}, "edge.csv.gz is no table of numbers"),
        ({"edge": "0,1,2\n"}, "edge.csv.gz has no two columns"),
        ({"edge": "0,9\n"}, "behind the last"),
        ({"num_node_list": "2\n2\n"}, "2 networks"),
        ({"node_feat": "1\n2\n"}, "node_feat has 2 rows for 4 vertices"),
    ],
)
def test_a_folder_that_does_not_fit_is_refused(
    tmp_path: Path, changed: dict[str, str], told: str
) -> None:
    """The table is named."""
    with pytest.raises(InvalidGraph, match=told):
        read_network(folder(tmp_path, **changed))


def test_an_archive_with_a_password_is_refused(tmp_path: Path) -> None:
    """A bit of the directory says of each member that there is one."""
    sparse.save_npz(tmp_path / "n.npz", sparse.eye_array(3, format="csr"))
    content = bytearray((tmp_path / "n.npz").read_bytes())
    at = content.find(b"PK")
    while at >= 0:
        content[at + 8] |= 1
        at = content.find(b"PK", at + 1)
    refused(tmp_path, "n.npz", bytes(content), "RuntimeError")
