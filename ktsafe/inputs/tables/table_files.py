"""Files that hold a table with a header.

Text in columns, or Parquet.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol

from ktsafe.errors import BadLines, InvalidGraph
from ktsafe.inputs.network import Kind
from ktsafe.inputs.tables.delimited import BLANKS, MARKS, DelimitedFile, cells_of, n_cells
from ktsafe.inputs.tables.names import check_names, end_columns, id_column

FORMATS: Final = {
    ",": "CSV",
    ";": "CSV with semicolons",
    "\t": "TSV",
    "|": "CSV with bars",
    BLANKS: "table with blanks",
}
PARQUET: Final = ".parquet"
_ROWS_AT_ONCE: Final = 10_000
Cells = Sequence[Any]


class NamedTable(Protocol):
    """A table with a header.

    Attributes
    ----------
    row_word:
        What its rows are counted in: "line" or "row".
    """

    path: Path
    format: str
    header: list[str]
    kinds: dict[str, Kind]
    row_word: str

    def rows(self, columns: Sequence[int], bad: BadLines) -> Iterator[tuple[int, Cells]]:
        """Yield number and some cells of each row.

        Rows of another length are bad.
        """


def table_at(path: Path) -> NamedTable:
    """Return the table in a file.

    Raises
    ------
    InvalidGraph
        If it cannot be read, what separates its columns is not sure, or two have one name.
    """
    found: NamedTable = ParquetTable(path) if path.suffix == PARQUET else TextTable(path)
    check_names(path, found.header)
    return found


class TextTable:
    """A table in lines of text. Implements `NamedTable`.

    The header tells what separates; where it could be cut in several ways, all lines do. A header
    may be the last of the comments, as some programs write it.
    """

    row_word = "line"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.kinds: dict[str, Kind] = {}
        self._file = DelimitedFile(path)
        first = self._file.first()
        self._separator = separator_of(self._file, first)
        self.format = FORMATS[self._separator]
        self.header = [name.strip() for name in cells_of(first, self._separator)]
        above = self._names_above()
        self._n_passed = 1 - bool(above)
        self.header = above or self.header

    def rows(self, columns: Sequence[int], bad: BadLines) -> Iterator[tuple[int, Cells]]:
        """Yield line and cells of each row."""
        width = len(self.header)
        rows = itertools.islice(self._file.rows(self._separator, bad), self._n_passed, None)
        for line, row in rows:
            if len(row) == width:
                yield line, [row[i] for i in columns]
            else:
                bad.setdefault(f"{len(row)} values for {width} columns", []).append(line)

    def _names_above(self) -> list[str]:
        """Return the names in the last comment that name people or ends."""
        if _names_anything(self.path, self.header):
            return []
        return names_in_comment(self._file, self._separator, len(self.header))


class ParquetTable:
    """A table in a Parquet file of the owner. Implements `NamedTable`."""

    row_word = "row"
    format = "Parquet"

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._opened() as (arrow, file):
            schema = file.schema_arrow
            self.header = list(schema.names)
            kinds = {field.name: _kind(arrow, field.type) for field in schema}
        self.kinds = {name: kind for name, kind in kinds.items() if kind is not None}

    def rows(self, columns: Sequence[int], bad: BadLines) -> Iterator[tuple[int, Cells]]:
        """Yield number and cells of each row."""
        del bad
        names = [self.header[i] for i in columns]
        number = itertools.count(1)
        with self._opened() as (_, file):
            for batch in file.iter_batches(_ROWS_AT_ONCE, columns=list(dict.fromkeys(names))):
                cells = [batch.column(name).to_pylist() for name in names]
                for row in zip(*cells, strict=True):
                    yield next(number), row

    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, Any]]:
        try:
            import pyarrow as arrow  # noqa: PLC0415 -- an optional extra, and slow to import
            from pyarrow import parquet  # noqa: PLC0415
        except ImportError as error:
            msg = f"{self.path}: Parquet needs pyarrow, which is not installed."
            raise InvalidGraph(msg, hint="pip install 'ktsafe[parquet]'") from error
        try:
            with parquet.ParquetFile(self.path) as file:
                yield arrow, file
        except FileNotFoundError as error:
            msg = f"{self.path} cannot be read ({error.strerror or 'No such file or directory'})."
            raise InvalidGraph(msg) from error
        except (arrow.ArrowException, OSError) as error:
            msg = f"{self.path} is no whole Parquet file."
            raise InvalidGraph(msg, hint="Write it again.") from error


def separator_of(file: DelimitedFile, first: str) -> str:
    """Return what separates the columns of a file with a header.

    Raises
    ------
    InvalidGraph
        If it may be two things.
    """
    found = [mark for mark in MARKS if mark != BLANKS and n_cells(first, mark) > 1]
    if not found:
        width = n_cells(first, BLANKS)
        return BLANKS if width > 1 and _is_even(file, BLANKS, width) else ","
    if len(found) > 1:
        even = [mark for mark in found if _is_even(file, mark, n_cells(first, mark))]
        if len(even) != 1:
            names = " or ".join(MARKS[mark] for mark in even or found)
            msg = f"{file.path}: its columns may be separated by {names}."
            raise InvalidGraph(msg, hint="Put values that hold one of them into quotation marks.")
        found = even
    return found[0]


def names_in_comment(file: DelimitedFile, separator: str, width: int) -> list[str]:
    """Return column names in the last comment before the lines, if any."""
    last = next((line for line in reversed(file.comments()) if line.strip()), "")
    for mark in dict.fromkeys((separator, BLANKS)):
        try:
            names = [name.strip() for name in cells_of(last.strip().lstrip("#%/"), mark)]
        except csv.Error:
            continue
        if len(names) == width and _names_anything(file.path, names):
            return names
    return []


def _names_anything(path: Path, header: Sequence[str]) -> bool:
    try:
        return id_column(path, header, {}) is not None or end_columns(path, header, {}) is not None
    except InvalidGraph:
        return True


def _is_even(file: DelimitedFile, separator: str, width: int) -> bool:
    """Whether all lines have this many cells."""
    bad: BadLines = {}
    return all(len(row) == width for _, row in file.rows(separator, bad)) and not bad


def _kind(arrow: Any, type_: Any) -> Kind | None:
    types = arrow.types
    if types.is_dictionary(type_):
        type_ = type_.value_type
    if types.is_boolean(type_):
        return "boolean"
    if types.is_integer(type_) or types.is_floating(type_) or types.is_decimal(type_):
        return "number"
    if types.is_date(type_) or types.is_timestamp(type_):
        return "date"
    return "text" if types.is_string(type_) or types.is_large_string(type_) else None
