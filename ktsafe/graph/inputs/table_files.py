"""Tables in files: lines that are cut into cells, and Parquet.

What separates is a comma, a semicolon, a TAB, a bar, or blanks (any number of blanks and TABs).
Cells may be quoted; blanks before a quotation mark are no part of a cell.

A mark is a row of `MARKS` and `FORMATS`. Where a file can be cut in several ways it is refused,
never guessed (tests/ktsafe/graph/inputs/test_people_and_ties.py, test_written_tables.py). Sizes may
be tuned.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, Protocol, TextIO

from ktsafe.errors import BadLines, InvalidGraph
from ktsafe.graph.inputs.names import check_names, end_columns, id_column
from ktsafe.graph.inputs.network import Kind

BLANKS: Final = " "
"""Blanks and TABs, any number of them."""
MARKS: Final = {",": "commas", ";": "semicolons", "\t": "TABs", "|": "bars", BLANKS: "blanks"}
"""What may separate, and how it is called."""
COMMENTS: Final = ("#", "%", "//")
Row = tuple[int, list[str]]
"""The number of a line, of the last one if a cell goes over several, and its cells."""
UNQUOTED: Final = "a quotation mark that does not open or close a value"

_SAYS_SEPARATOR: Final = re.compile(r'"?sep=([,;|\t])"?')
"""The first line that spreadsheets write for each other."""
_WORD: Final = re.compile(r"""[ \t]*(?:"((?:[^"]|"")*)"|'([^']*)'|([^\s"]\S*))(?=\s|$)""")
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
_GZIP: Final = b"\x1f\x8b"
_SNIFFED_BYTES: Final = 4096
_HEAD_BYTES: Final = 1 << 16
"""Kinds of files are told behind comments, too, which may be long."""
_UTF_8: Final = "Save it as UTF-8, in spreadsheets as 'CSV UTF-8'."


class DelimitedFile:
    """A text file of columns, plain or gzipped, readable several times.

    Parameters
    ----------
    path:
        A file; or a pipe, which is kept in memory.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._kept: bytes | None = None

    def head(self) -> bytes:
        """Return how the file begins."""
        with self._opened() as raw:
            return raw.read(_HEAD_BYTES)

    def comments(self) -> list[str]:
        """Return the lines of comments before all others, and those of nothing."""
        with self._text() as text:
            return list(itertools.takewhile(_says_nothing, text))

    def first(self) -> str:
        """Return the first line that is no comment.

        Empty if there is none.
        """
        with self._text() as text:
            return next((line for line in text if not _says_nothing(line)), "")

    def rows(self, separator: str, bad: BadLines) -> Iterator[Row]:
        """Yield the cells of each line behind the comments.

        Lines that cannot be cut are bad.

        Raises
        ------
        InvalidGraph
            If the file cannot be read.
        """
        with self._text() as text:
            n_passed = 0
            for line in text:
                if not _says_nothing(line):
                    break
                n_passed += 1
            else:
                return
            lines = itertools.chain((line,), text)
            if separator == BLANKS:
                yield from _cut_at_blanks(lines, n_passed, bad)
            else:
                reader = csv.reader(lines, delimiter=separator, strict=True, skipinitialspace=True)
                for row in reader:
                    if row and (len(row) > 1 or row[0].strip()):
                        yield n_passed + reader.line_num, row

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield number and text of each non-empty line behind comments.

        Raises
        ------
        InvalidGraph
            As `rows`.
        """
        with self._text() as text:
            lines = itertools.dropwhile(lambda each: _says_nothing(each[1]), enumerate(text, 1))
            yield from ((number, line) for number, line in lines if line.strip())

    @contextmanager
    def _text(self) -> Iterator[TextIO]:
        with self._opened() as raw:
            _check_begin(self.path, raw)
            with io.TextIOWrapper(raw, "utf-8-sig", newline="") as text:
                yield text

    @contextmanager
    def _opened(self) -> Iterator[io.BufferedReader | gzip.GzipFile]:
        """Yield the bytes, and report the file's faults."""
        path = self.path
        try:
            with self._bytes() as raw:
                yield raw
        except gzip.BadGzipFile as error:
            msg = f"{path} is no gzip file."
            raise InvalidGraph(msg, hint="A name that ends in .gz promises one.") from error
        except OSError as error:
            msg = f"{path} cannot be read ({error.strerror or type(error).__name__})."
            raise InvalidGraph(msg) from error
        except UnicodeDecodeError as error:
            raise InvalidGraph(f"{path} is no UTF-8 text.", hint=_UTF_8) from error
        except csv.Error as error:
            msg = f"{path} is no readable CSV file ({error})."
            hint = "A quotation mark that is opened and not closed does that."
            raise InvalidGraph(msg, hint=hint) from error
        except (EOFError, zlib.error) as error:
            msg = f"{path} is no whole gzip file."
            raise InvalidGraph(msg, hint="Copy or write it again.") from error

    @contextmanager
    def _bytes(self) -> Iterator[io.BufferedReader | gzip.GzipFile]:
        """Yield the bytes, unfolded; a file that is not regular, only once."""
        if self._kept is None and not self.path.is_file():
            self._kept = self.path.read_bytes()
        if self._kept is None:
            with self.path.open("rb") as file:
                if file.peek(len(_GZIP)).startswith(_GZIP):
                    with gzip.GzipFile(fileobj=file) as unfolded:
                        yield unfolded
                elif self.path.suffix == ".gz":
                    raise gzip.BadGzipFile
                else:
                    yield file
        else:
            kept = io.BytesIO(self._kept)
            yield (
                gzip.GzipFile(fileobj=kept)
                if self._kept.startswith(_GZIP)
                else io.BufferedReader(kept)
            )


def cells_of(line: str, separator: str) -> list[str]:
    """Return the cells of one line.

    Raises
    ------
    csv.Error
        If a quotation mark does not open or close a value.

    Examples
    --------
    >>> cells_of('"Ann Lee" "Bo Day"', BLANKS), cells_of('Ann, "Lee, Bo"', ",")
    (['Ann Lee', 'Bo Day'], ['Ann', 'Lee, Bo'])
    """
    if separator != BLANKS:
        lines = csv.reader([line], delimiter=separator, strict=True, skipinitialspace=True)
        return next(lines, [])
    bad: BadLines = {}
    for _, cells in _cut_at_blanks([line], 0, bad):
        return cells
    if bad:
        raise csv.Error(UNQUOTED)
    return []


def n_cells(line: str, separator: str) -> int:
    """Return how many cells a line has.

    None if a quotation mark does not close.
    """
    try:
        return len(cells_of(line, separator))
    except csv.Error:
        return 0


def _cut_at_blanks(lines: Iterable[str], n_before: int, bad: BadLines) -> Iterator[Row]:
    for number, line in enumerate(lines, n_before + 1):
        if '"' not in line and "'" not in line and line.isascii():
            if cells := line.split():
                yield number, cells
            continue
        bare = line.strip(" \t\r\n")
        cells, end = [], 0
        for found in _WORD.finditer(bare):
            if found.start() != end:
                break
            quoted, single, word = found.groups()
            cells.append(word or single or (quoted or "").replace('""', '"'))
            end = found.end()
        if end != len(bare):
            bad.setdefault(UNQUOTED, []).append(number)
        elif cells:
            yield number, cells


def _says_nothing(line: str) -> bool:
    bare = line.strip()
    return not bare or bare.startswith(COMMENTS) or _SAYS_SEPARATOR.fullmatch(bare) is not None


def _check_begin(path: Path, raw: io.BufferedReader | gzip.GzipFile) -> None:
    """Refuse a file that begins like no text."""
    begin = raw.peek(_SNIFFED_BYTES)[:_SNIFFED_BYTES]
    if begin.startswith(_UTF_16) or b"\0" in begin:
        raise InvalidGraph(f"{path} is no UTF-8 text, but UTF-16 or no text at all.", hint=_UTF_8)


# Files that hold a table with a header.
#
# Text in columns, or Parquet.

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
        try:
            self.header = [name.strip() for name in cells_of(first, self._separator)]
        except csv.Error:
            raise InvalidGraph(f"{path} begins with {UNQUOTED}.") from None
        above = self._names_above()
        self._n_passed = 1 - bool(above)
        self.header = above or self.header

    def rows(self, columns: Sequence[int], bad: BadLines) -> Iterator[tuple[int, Cells]]:
        """Yield line and cells of each row."""
        width = len(self.header)
        rows = itertools.islice(self._file.rows(self._separator, bad), self._n_passed, None)
        for line, row in rows:
            if len(row) != width:
                bad.setdefault(f"{len(row)} values for {width} columns", []).append(line)
            elif row == self.header:
                bad.setdefault("the header again, as where files were joined", []).append(line)
            else:
                yield line, [row[i] for i in columns]

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
