"""Matrix Market: cells of square matrices, or a refusal that names the line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.ktsafe.graph.inputs.reading import read, refused, ties


def mtx(body: str, kind: str = "coordinate real general", sizes: str | None = None) -> str:
    """Return a file of three vertices; its first cell stands in line 4."""
    told = f"3 3 {len(body.splitlines())}" if sizes is None else sizes
    return f"%%MatrixMarket matrix {kind}\n% made by hand\n{told}\n{body}"


@pytest.mark.parametrize("zero", ["0", "0.0", "-0.0", "0e5"])
@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
def test_stored_zeros_are_no_ties(tmp_path: Path, zero: str, symmetry: str) -> None:
    """On the diagonal they are no loops; people are there all the same."""
    text = mtx(f"2 1 1\n3 1 {zero}\n3 3 {zero}\n2 2 1\n", f"coordinate real {symmetry}")
    network = read(tmp_path, "n.mtx", text)
    assert (network.ids, ties(network)) == (["1", "2", "3"], {"1-2"})
    assert (network.loops, network.edges_repeated) == (1, 0)
    assert network.ignored == (*["directions"][: network.directed],)


@pytest.mark.parametrize("field", ["real", "integer", "unsigned-integer"])
def test_values_are_told(tmp_path: Path, field: str) -> None:
    """A weight is not read, and a sign neither."""
    network = read(tmp_path, "n.mtx", mtx("2 1 4\n1 2 4\n", f"coordinate {field} general"))
    assert (ties(network), network.ignored) == ({"1-2"}, ("values",))
    assert (network.edges_repeated, network.directed) == (1, 0)


def test_directions_are_counted(tmp_path: Path) -> None:
    """Of a general matrix that is not the same when mirrored; zeros do not mirror."""
    network = read(tmp_path, "n.mtx", mtx("2 1 1\n1 2 0\n3 2 1\n"))
    assert (ties(network), network.directed) == ({"1-2", "2-3"}, 2)


def test_both_triangles_of_a_symmetric_matrix(tmp_path: Path) -> None:
    """A tie that is given twice is one."""
    text = mtx("2 1\n1 2\n", "coordinate pattern symmetric")
    network = read(tmp_path, "n.mtx", text)
    assert (ties(network), network.edges_repeated, network.directed) == ({"1-2"}, 1, 0)


def test_spelling_of_the_head(tmp_path: Path) -> None:
    """Capitals, blank lines and ends of lines make no difference; nor do names and gzip."""
    text = "%%MatrixMarket MATRIX Coordinate Pattern Symmetric\r\n%\r\n\r\n2 2 1\r\n\r\n2 1\r\n"
    for name, content in (("n.mtx", text.encode()), ("n.txt", gzip.compress(text.encode()))):
        assert ties(read(tmp_path, name, content)) == {"1-2"}


def test_no_cells(tmp_path: Path) -> None:
    """People without ties, and no people at all."""
    assert read(tmp_path, "n.mtx", mtx("")).ids == ["1", "2", "3"]
    assert read(tmp_path, "n.mtx", mtx("", sizes="0 0 0")).ids == []


CELLS = "2 1 1\n"
REFUSED = {
    "no banner": ("3 3 1\n" + CELLS, "line 1: no banner"),
    "empty": ("", "line 1: no banner"),
    "short banner": (mtx(CELLS, "coordinate real"), "line 1: no banner"),
    "vector": (mtx(CELLS).replace("matrix", "vector", 1), "no banner"),
    "array": (mtx(CELLS, "array real general"), "line 1: a matrix in the format 'array'"),
    "complex": (mtx("2 1 1 0\n", "coordinate complex general"), "a matrix of 'complex' values"),
    "hermitian": (mtx(CELLS, "coordinate real hermitian"), "line 1: a hermitian matrix"),
    "skew-symmetric": (mtx(CELLS, "coordinate real skew-symmetric"), "a skew-symmetric matrix"),
    "rectangular": (mtx(CELLS, sizes="3 4 1"), "line 3: no square matrix, but 3 x 4"),
    "no sizes": (mtx(CELLS, sizes=""), "line 4: no square matrix, but 2 x 1"),
    "two sizes": (mtx(CELLS, sizes="3 3"), "line 3: no line of three sizes"),
    "negative size": (mtx(CELLS, sizes="-3 -3 1"), "line 3: no line of three sizes"),
    "fraction as size": (mtx(CELLS, sizes="3.0 3 1"), "no line of three sizes"),
    "too many rows": (mtx(CELLS, sizes="99999999999 99999999999 1"), "line 3: more than"),
    "digits beyond all": (mtx(CELLS, sizes="9" * 40 + " 3 1"), "no line of three sizes"),
    "head alone": (mtx("", sizes="3 3 1"), "line 3: 0 cells follow, and it tells 1"),
    "cells cut": (mtx(CELLS, sizes="3 3 2"), "line 3: 1 cells follow, and it tells 2"),
    "cells too many": (mtx(CELLS + CELLS, sizes="3 3 1"), "2 cells follow"),
    "row 0": (mtx("0 1 1\n"), "line 4: a cell is in a row and a column from 1 to 3"),
    "row beyond": (mtx("2 1 1\n\n4 1 1\n", sizes="3 3 2"), "line 6: a cell is in"),
    "row negative": (mtx("-1 1 1\n"), "line 4: a cell is in"),
    "row a fraction": (mtx("1.5 1 1\n"), "line 4: a cell is in"),
    "row a whole fraction": (mtx("2.0 1 1\n"), "line 4: a cell is in"),
    "row beyond all": (mtx("9" * 30 + " 1 1\n"), "line 4: a cell is in"),
    "no value": (mtx("2 1\n"), "line 4: 2 numbers, and a cell has 3"),
    "value of a pattern": (mtx(CELLS, "coordinate pattern general"), "line 4: 3 numbers"),
    "no number": (mtx("2 1 x\n"), "line 4: a value that is no number"),
    "comment between": (mtx("2 1 1\n% x\n", sizes="3 3 1"), "line 5: 2 numbers"),
    "bytes": (mtx("").encode() + b"\0\xff\n", "line 4: 1 numbers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_network_is_refused(tmp_path: Path, case: str) -> None:
    """The head and all cells are judged before anything is made of them."""
    refused(tmp_path, "n.mtx", *REFUSED[case])
