"""Networks as matrices: Matrix Market, npz files, folders of OGB."""

from __future__ import annotations

import warnings
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidGraph
from ktsafe.graph.inputs.network import Kind, Network, distinct, opened
from ktsafe.graph.inputs.spelling import value_text

PEOPLE_MAX: Final = 2**25
"""People that a file may have by its number alone, so that a wrong number does not fill memory."""


def is_mirrored(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> bool:
    """Whether each cell is there in either direction.

    Examples
    --------
    >>> is_mirrored(np.array([0, 1]), np.array([1, 0])), is_mirrored(np.array([0]), np.array([1]))
    (True, False)
    """
    cells = distinct(np.column_stack((rows, columns)))
    return np.array_equal(cells, distinct(cells[:, ::-1]))


# Matrix Market: a square matrix's cells, rows counted from 1.
#
# All of a file is judged here, and numbers are read by numpy: the reader of scipy ends the process
# at some files that are cut or damaged.

_FIELDS: Final = frozenset({"pattern", "real", "integer", "unsigned-integer"})
_SYMMETRIES: Final = frozenset({"general", "symmetric"})
_LINE_BYTES_MAX: Final = 1 << 16
_WHOLE_MAX: Final = 15
"""Digits of a size or of a count."""


def read_matrix_market(path: Path, file: BinaryIO) -> Network:
    """Read a square matrix of coordinates; a stored zero is no tie.

    Raises
    ------
    InvalidGraph
        If it is another kind of matrix, or its cells are not as its head tells.
    """
    lines = _Lines(path, file)
    banner = lines.following().lower().split()
    field, symmetry = _judged(lines, banner)
    n, count = _sizes(lines)
    cells, values = _cells(lines, n, count, has_values=field != "pattern")
    cells = cells[values != 0]
    is_directed = symmetry == "general" and not is_mirrored(cells[:, 0], cells[:, 1])
    return Network.of_rows(
        "Matrix Market",
        [str(v) for v in range(1, n + 1)],
        cells - 1,
        directed=len(cells) if is_directed else 0,
        ignored={"values"} if np.any(values[values != 0] != 1) else set(),
    )


class _Lines:
    """The lines of a file, and the last one that was read."""

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self.file = file
        self.number = 0

    def following(self) -> str:
        """Return the next line; empty at the end."""
        self.number += 1
        return self.file.readline(_LINE_BYTES_MAX).decode("latin-1")

    def refuse(self, what: str, hint: str = "", number: int | None = None) -> NoReturn:
        """Refuse the file for a line.

        Raises
        ------
        InvalidGraph
        """
        msg = f"{self.path}, line {number or self.number}: {what}."
        raise InvalidGraph(msg, hint=hint)


def _judged(lines: _Lines, banner: list[str]) -> tuple[str, str]:
    """Return the field and the symmetry that a banner tells.

    Raises
    ------
    InvalidGraph
        If the matrix is of another kind.
    """
    if len(banner) != 5 or banner[:2] != ["%%matrixmarket", "matrix"]:
        hint = "It begins with %%MatrixMarket matrix coordinate FIELD SYMMETRY."
        lines.refuse("no banner of a Matrix Market matrix", hint)
    form, field, symmetry = banner[2:]
    if form != "coordinate":
        hint = "Write it in coordinates: scipy.io.mmwrite does, of a sparse matrix."
        lines.refuse(f"a matrix in the format {form!r}", hint)
    if field not in _FIELDS:
        lines.refuse(f"a matrix of {field!r} values", "Ties are real, integer or pattern.")
    if symmetry not in _SYMMETRIES:
        lines.refuse(f"a {symmetry} matrix", "Write it as general or symmetric.")
    return field, symmetry


def _sizes(lines: _Lines) -> tuple[int, int]:
    """Return how many rows there are, and how many cells."""
    text = lines.following()
    while text.startswith("%") or (text and not text.strip()):
        text = lines.following()
    words = text.split()
    if len(words) != 3 or not all(word.isdecimal() and len(word) <= _WHOLE_MAX for word in words):
        lines.refuse("no line of three sizes: rows, columns, cells")
    rows, columns, count = map(int, words)
    if rows != columns:
        hint = "A network has a row and a column for each vertex; bipartite ones are not read."
        lines.refuse(f"no square matrix, but {rows:,} x {columns:,}", hint)
    if rows > PEOPLE_MAX:
        lines.refuse(f"more than {PEOPLE_MAX:,} rows")
    return rows, count


def _cells(
    lines: _Lines, n: int, count: int, *, has_values: bool
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return rows and columns, counted from 1, and values.

    Raises
    ------
    InvalidGraph
        If a line is no cell of the matrix, or there are more or fewer than its head tells.
    """
    begin, at = lines.number, lines.file.tell()
    fields: list[Any] = [("row", np.int64), ("column", np.int64)]
    fields += [("value", np.float64)] if has_values else []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)  # A fraction as a row.
            warnings.filterwarnings("ignore", "loadtxt: input contained no data")
            read = np.loadtxt(lines.file, dtype=fields, comments=None, ndmin=1, encoding="latin-1")
    except (ValueError, DeprecationWarning):
        _refuse_first(lines, at, n, len(fields))
    cells = np.column_stack((read["row"], read["column"]))
    if len(cells) and (cells.min() < 1 or cells.max() > n):
        _refuse_first(lines, at, n, len(fields))
    if len(cells) != count:
        what = f"{len(cells):,} cells follow, and it tells {count:,}"
        lines.refuse(what, "The file is cut or was edited: copy it again.", begin)
    return cells, read["value"] if has_values else np.ones(len(cells))


def _refuse_first(lines: _Lines, at: int, n: int, width: int) -> NoReturn:
    """Refuse the first line behind a position that is no cell."""
    lines.file.seek(at)
    while text := lines.following():
        words = text.split()
        if not words:
            continue
        if len(words) != width:
            lines.refuse(f"{len(words)} numbers, and a cell has {width}")
        if not all(word.isdecimal() and 0 < int(word) <= n for word in words[:2]):
            lines.refuse(f"a cell is in a row and a column from 1 to {n:,}")
        if not _is_number(words[-1]):
            lines.refuse("a value that is no number")
    lines.refuse("an invalid cell")


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


# Arrays: scipy's sparse matrices, OGB's arrays and tables.
#
# People are numbered from 0. Nothing pickled is loaded, and all positions are judged here.

OF_PEOPLE: Final = ("node_feat", "node_label")
"""Arrays of OGB that become columns."""
_OF_MATRIX: Final = frozenset({"row", "col", "indptr", "indices", "data", "shape", "format"})
_KNOWN: Final = _OF_MATRIX | {"_is_array", "edge_index", "num_nodes", *OF_PEOPLE}
_WAY_ON: Final = "scipy.sparse.save_npz writes one, of a matrix in the format csr, csc or coo."
OGB_EDGES: Final = "edge.csv.gz"
_COUNTS: Final = "num-node-list.csv.gz"
_BY_LINES: Final = {"indptr", "indices"}
_KINDS: Final[dict[str, Kind]] = {
    **dict.fromkeys("iuf", "number"),
    "b": "boolean",
    "M": "date",
}
_NONE: Final = np.empty(0)
# The last one, since archives with a password are refused by it.
_FAULTS: Final = (ValueError, TypeError, KeyError, EOFError, SyntaxError, RuntimeError)
"""What numpy raises at a file that is damaged or holds pickled objects."""


def read_npz(path: Path, file: BinaryIO) -> Network:
    """Read arrays of OGB, or a sparse matrix as scipy saves it.

    A stored zero is no tie.

    Raises
    ------
    InvalidGraph
        If the matrix is not square, or arrays do not fit together. Nothing pickled is loaded.
    """
    try:
        with np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files if name in _KNOWN}
            ignored = set(archive.files) - _KNOWN
    except (*_FAULTS, zipfile.BadZipFile, zlib.error, OverflowError, MemoryError) as error:
        msg = f"{path} holds no arrays of numbers and texts ({type(error).__name__})."
        raise InvalidGraph(
            msg, hint="numpy.savez writes them; pickled objects are not read."
        ) from error
    try:
        if "edge_index" not in arrays:
            return _of_matrix(arrays, ignored)
        pairs = _whole("edge_index", arrays["edge_index"])
        if pairs.ndim != 2 or 2 not in pairs.shape:
            raise InvalidGraph("edge_index has no two rows.")
        pairs = pairs.T if len(pairs) == 2 else pairs
        n = int(_whole("num_nodes", arrays["num_nodes"])) if "num_nodes" in arrays else None
        return _of_arrays("NPZ", pairs, _features(arrays), n, ignored)
    except InvalidGraph as error:
        raise InvalidGraph(f"{path}: {error.message}", hint=error.hint) from None


def read_ogb(path: Path) -> Network:
    """Read a folder of tables without headers, as OGB keeps one network.

    Raises
    ------
    InvalidGraph
        If a table holds no numbers, or they do not fit together.
    """
    folder = path if path.is_dir() else path.parent
    names = {"node_feat": "node-feat.csv.gz", "node_label": "node-label.csv.gz"}
    try:
        pairs = _whole(OGB_EDGES, _table(folder / OGB_EDGES))
        if len(pairs) and pairs.shape[1] != 2:
            raise InvalidGraph(f"{OGB_EDGES} has no two columns.")
        n = None
        if (folder / _COUNTS).exists():
            sizes = _whole(_COUNTS, _table(folder / _COUNTS)).reshape(-1)
            if len(sizes) != 1:
                raise InvalidGraph(f"it holds {len(sizes)} networks.", hint="Give one network.")
            n = int(sizes[0])
        found = {
            name: _table(folder / file) for name, file in names.items() if (folder / file).exists()
        }
        ignored = {"edge_feat"} if (folder / "edge-feat.csv.gz").exists() else set[str]()
        return _of_arrays("OGB", pairs.reshape(-1, 2), found, n, ignored)
    except InvalidGraph as error:
        raise InvalidGraph(f"{folder}: {error.message}", hint=error.hint) from None


def _table(path: Path) -> NDArray[np.float64]:
    try:
        with opened(path) as file, warnings.catch_warnings():
            warnings.filterwarnings("ignore", "loadtxt: input contained no data")
            return np.loadtxt(file, delimiter=",", ndmin=2)
    except ValueError as error:
        raise InvalidGraph(f"{path.name} is no table of numbers.") from error


def _of_matrix(arrays: Mapping[str, NDArray[Any]], ignored: set[str]) -> Network:
    """Return the network of a sparse matrix.

    Raises
    ------
    InvalidGraph
        If it is not square, of another format, or damaged.
    """
    form = _form(arrays)
    shape = _whole("shape", arrays.get("shape", np.empty(0)))
    if shape.shape != (2,) or shape[0] != shape[1]:
        told = " x ".join(map(str, shape.reshape(-1).tolist()))
        hint = "A network has a row and a column for each vertex; bipartite ones are not read."
        raise InvalidGraph(f"it holds no square matrix, but {told}.", hint=hint)
    n = _bounded(int(shape[0]))
    if form == "coo":
        rows, columns = (_whole(name, arrays[name]) for name in ("row", "col"))
    else:
        # Of a matrix that is kept by columns, the sides change places, as directions are dropped.
        indptr, columns = (_whole(name, arrays[name]) for name in ("indptr", "indices"))
        lengths = np.diff(indptr)
        if len(indptr) != n + 1 or indptr[0] or (lengths < 0).any() or indptr[-1] != len(columns):
            raise InvalidGraph("its indptr does not fit its shape and indices.")
        rows = np.repeat(np.arange(n, dtype=np.int64), lengths)
    data = arrays["data"]
    if not len(rows) == len(columns) == len(data) or data.dtype.kind not in "biuf":
        raise InvalidGraph("its data are not one number for each cell.")
    there = data != 0
    cells = np.column_stack((rows, columns))[there]
    if np.any(data[there] != 1):
        ignored = ignored | {"values"}
    directed = len(cells)
    if is_mirrored(cells[:, 0], cells[:, 1]):
        cells, directed = cells[cells[:, 0] <= cells[:, 1]], 0
    return _of_arrays("NPZ", cells, {}, n, ignored, directed=directed)


def _form(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Return the format of a sparse matrix.

    Without one it is known by its arrays.
    """
    told = arrays["format"].item() if arrays.get("format", _NONE).shape == () else ""
    form = told.decode("latin-1") if isinstance(told, bytes) else str(told)
    of_form = {"csr": _BY_LINES, "csc": _BY_LINES, "coo": {"row", "col"}}
    form = form or ("csr" if arrays.keys() >= _BY_LINES else "coo")
    if form in of_form and {*of_form[form], "data", "shape"} <= arrays.keys():
        return form
    if "format" in arrays:
        raise InvalidGraph(f"it holds a sparse matrix in the format {form!r}.", hint=_WAY_ON)
    raise InvalidGraph("it holds neither edge_index nor a sparse matrix.", hint=_WAY_ON)


def _features(arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return {name: arrays[name] for name in OF_PEOPLE if name in arrays}


def _whole(name: str, array: NDArray[Any]) -> NDArray[np.int64]:
    """Return an array of whole numbers as such.

    Raises
    ------
    InvalidGraph
        If it holds anything else.
    """
    if array.dtype.kind not in "iuf":
        raise InvalidGraph(f"{name} holds no whole numbers.")
    with np.errstate(invalid="ignore"):
        whole = array.astype(np.int64)
    if not np.array_equal(whole, array):
        raise InvalidGraph(f"{name} holds fractions, or numbers that are too great.")
    return whole


def _bounded(n: int) -> int:
    if not 0 <= n <= PEOPLE_MAX:
        raise InvalidGraph(f"it has more than {PEOPLE_MAX:,} people, or fewer than none.")
    return n


def _of_arrays(
    format_: str,
    pairs: NDArray[np.int64],
    found: Mapping[str, NDArray[Any]],
    n: int | None,
    ignored: set[str],
    *,
    directed: int | None = None,
) -> Network:
    """Return a network of vertices 0..n-1 with features and labels as columns.

    Raises
    ------
    InvalidGraph
        If a position lies outside, or there is not a row of features for each vertex.
    """
    least = int(pairs.max(initial=-1)) + 1
    if pairs.min(initial=0) < 0 or (n is not None and least > n):
        raise InvalidGraph("a tie names a vertex before the first or behind the last.")
    n = _bounded(n if n is not None else max(least, *map(len, found.values()), 0))
    columns: dict[str, list[str | None]] = {}
    kinds: dict[str, Kind] = {}
    for name, array in found.items():
        if len(array) != n:
            raise InvalidGraph(f"{name} has {len(array)} rows for {n} vertices.")
        wide = array.reshape(n, -1) if n else np.empty((0, 0))
        stem = name.removeprefix("node_")
        for j in range(wide.shape[1]):
            column = stem if wide.shape[1] == 1 else f"{stem}_{j}"
            columns[column] = [value_text(value) for value in wide[:, j].tolist()]
            kinds[column] = _KINDS.get(array.dtype.kind, "text")
    if directed is None:
        directed = 0 if is_mirrored(pairs[:, 0], pairs[:, 1]) else len(pairs)
    ids = [str(v) for v in range(n)]
    return Network.of_rows(
        format_, ids, pairs, columns, kinds=kinds, directed=directed, ignored=ignored
    )
