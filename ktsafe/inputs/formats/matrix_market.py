"""Matrix Market: a square matrix's cells, rows counted from 1.

All of a file is judged here, and numbers are read by numpy: the reader of scipy ends the process
at some files that are cut or damaged.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, BinaryIO, Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidGraph
from ktsafe.inputs.formats.matrix_cells import PEOPLE_MAX, is_mirrored
from ktsafe.inputs.network import Network

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
