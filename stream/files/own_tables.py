"""Tables of texts as owners have them: CSV, plain or gzipped, and Parquet.

Implements `ktsafe.connectors.snapshots.dumps.TableReader`. Parquet files are an owner's own here,
and are read in this process; for those of others see `ktsafe.stream.files.parquet`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from ktsafe.connectors.errors import Misconfigured
from ktsafe.connectors.snapshots.dumps import cell_text
from ktsafe.errors import BadLines, KtsafeError
from ktsafe.stream.files.graphs import csv_header, csv_rows
from ktsafe.stream.files.parquet import pyarrow_modules

_PARQUET: Final = ".parquet"
_ROWS_AT_ONCE: Final = 10_000


class OwnTables:
    """Reads CSV and Parquet by the ends of names."""

    def header(self, path: Path) -> list[str]:
        """Return the names of the columns."""
        with _whole(path):
            if path.suffix != _PARQUET:
                return csv_header(path)
            with _parquet(path) as file:
                return list(file.schema_arrow.names)

    def rows(
        self, path: Path, names: Sequence[str], bad: BadLines
    ) -> Iterator[tuple[int, Sequence[str | None]]]:
        """Yield the line of each row, in Parquet its number, and its values of these columns."""
        with _whole(path):
            if path.suffix != _PARQUET:
                _check_last_line(path)
                with csv_rows(path, list(names), bad) as rows:
                    yield from rows
                return
            with _parquet(path) as file:
                if missing := [name for name in names if name not in file.schema_arrow.names]:
                    raise Misconfigured("read table", str(path), f"no column {missing[0]!r}.")
                number = itertools.count(1)
                for batch in file.iter_batches(_ROWS_AT_ONCE, columns=list(names)):
                    columns = [batch.column(name).to_pylist() for name in names]
                    for row in zip(*columns, strict=True):
                        yield next(number), [cell_text(value) for value in row]


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Name what is wrong with a file as connectors do."""
    try:
        yield
    except Misconfigured:
        raise
    except KtsafeError as error:
        hint = f"{error} Write the dump again."
        raise Misconfigured("read dump", path.parent.name, hint) from error


def _check_last_line(path: Path) -> None:
    """Refuse a plain file that ends in the middle of a line; a cut gzip file tells by itself."""
    if path.suffix == ".gz":
        return
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(size - 1, 0))
        if file.read(1) not in {b"\n", b"\r"}:
            hint = (
                f"{path.name} ends in the middle of a line: it is half-written. Write the dump "
                "again; its last line ends as all others do."
            )
            raise Misconfigured("read dump", path.parent.name, hint)


@contextmanager
def _parquet(path: Path) -> Iterator[Any]:
    arrow, parquet = pyarrow_modules()
    try:
        with parquet.ParquetFile(path) as file:
            yield file
    except (arrow.ArrowException, OSError) as error:
        hint = f"{path.name} is no whole Parquet file: it is half-written. Write the dump again."
        raise Misconfigured("read dump", path.parent.name, hint) from error
