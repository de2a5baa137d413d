"""Lines of columns.

What a text file is opened as, and how a line is cut into cells.

What separates is a comma, a semicolon, a TAB, a bar, or blanks (any number of blanks and TABs).
Cells may be quoted; blanks before a quotation mark are no part of a cell.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TextIO

from ktsafe.errors import BadLines, InvalidGraph
from ktsafe.inputs.compressed import opened

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
        """Yield the text, and report its faults."""
        path = self.path
        try:
            with self._bytes() as raw:
                _check_begin(path, raw)
                with io.TextIOWrapper(raw, "utf-8-sig", newline="") as text:
                    yield text
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
            with opened(self.path) as file:
                if self.path.suffix == ".gz" and not isinstance(file, gzip.GzipFile):
                    raise gzip.BadGzipFile
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
