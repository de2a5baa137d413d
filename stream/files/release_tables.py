"""Tables of a release: noisy counts in statistics.json, and Parquet beside CSV.

{"format": 1, "epsilon_micro": 185185, "protects": "...", "tables": [
{"of": "ties", "by": "gender", "scale": [3, 1], "cells": [["f", "f"], ...], "counts": [...]}]}

A table of "across", ties between the values of two attributes, has the second one as `across`.

`PROTECTS` and the JSON are published: readers refuse another text or `format`, and
docs/statistics.md explains them. Parquet is compared in a process of its own, because pyarrow may
end it.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from ktsafe.connectors.bundles import open_regular, read_regular
from ktsafe.errors import KtsafeError
from ktsafe.statistics import NoisyTable

STATISTICS: Final = "statistics.json"
STATISTICS_BYTES_MAX: Final = 64 * 1024 * 1024
PROTECTS: Final = (
    "Given the published graph, the counts of ties and degrees of this file are differentially "
    "private for one tie: epsilon_micro millionths. The k ties of one person cost k times that. "
    "Files of several releases add up, to at most the epsilon per year that the owner configured. "
    "Counts of people are private likewise for one person with one value; a changed value costs "
    "twice that. Counts are noisy, unbiased, and may be negative."
)

Positive = Annotated[int, msgspec.Meta(ge=1)]


class Spent(msgspec.Struct, frozen=True):
    """The `statistics` part of a manifest.

    What the file costs, in millionths of epsilon.

    With `omitted` there is no file, since it would have cost more than was left of the year.
    """

    epsilon_micro: Annotated[int, msgspec.Meta(ge=0)]
    omitted: bool = False


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One table, see `ktsafe.statistics.NoisyTable`; `scale` is a fraction."""

    of: str
    by: str | None
    scale: tuple[Positive, Positive]
    cells: list[list[str | None]]
    counts: list[int]
    across: str | None = None

    def attributes(self) -> Sequence[str]:
        """Return of which attribute each value of a cell is.

        Nothing if cells have no values.
        """
        if self.by is None:
            return ()
        if self.of == "people":
            return (self.by,)
        return (self.by, self.by if self.across is None else self.across)


class Statistics(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    format: int
    epsilon_micro: Positive
    protects: str
    tables: list[Table]


def statistics_text(tables: Iterable[NoisyTable], epsilon_micro: int) -> str:
    """Return the file: a table a line."""
    lines = [
        json.dumps(
            {
                "of": table.of,
                "by": table.by,
                "scale": [table.scale.numerator, table.scale.denominator],
                "cells": table.cells,
                "counts": table.counts,
                **({} if table.across is None else {"across": table.across}),
            }
        )
        for table in tables
    ]
    head = json.dumps({"format": 1, "epsilon_micro": epsilon_micro, "protects": PROTECTS})
    return head[:-1] + ', "tables": [\n' + ",\n".join(lines) + "\n]}\n"


def read_statistics(path: Path) -> Statistics:
    """Return what a file holds.

    Raises
    ------
    OSError
        If it cannot be read.
    ValueError
        If it is no such file.
    """
    data = read_regular(path, STATISTICS_BYTES_MAX)
    found = msgspec.json.decode(data, type=Statistics)
    for table in found.tables:
        if len(table.cells) != len(table.counts):
            msg = "A table has not as many counts as cells."
            raise ValueError(msg)
    if found.format != 1 or found.protects != PROTECTS:
        msg = "It is of another version."
        raise ValueError(msg)
    return found


# A release's tables as Parquet, beside equal CSV files.
#
# Nothing is in such a file but the table: no compression, whose ratio would tell of the content, no
# schema of another library, no times. pyarrow is an optional extra.
#
# pyarrow ends its process at some files that nobody could have meant, so what comes from elsewhere
# is read in a process of its own:
#
#     python -m ktsafe.stream.files.release_tables FILE < header and rows

VERTICES_PARQUET: Final = "vertices.parquet"
EDGES_PARQUET: Final = "edges.parquet"
_SAME: Final = "the same"
_OTHER: Final = "another"
_MISSING: Final = "Parquet needs pyarrow, which is not installed."
_INSTALL: Final = "pip install 'ktsafe[parquet]'"
UNFOLDED_BYTES: Final = 64 * 1024 * 1024
"""What is read at once, if every text of a file were as long as the file."""


class ParquetMissing(KtsafeError):
    """pyarrow is not installed."""


class ParquetUnreadable(KtsafeError):
    """The file is no table of texts."""


def table_bytes(header: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """Return a table of texts as the bytes of a Parquet file.

    Raises
    ------
    ParquetMissing
    """
    arrow, parquet = pyarrow_modules()
    columns: list[list[str]] = [[] for _ in header]
    for row in rows:
        for column, text in zip(columns, row, strict=True):
            column.append(text)
    arrays = [arrow.array(column, type=arrow.string()) for column in columns]
    table = arrow.Table.from_arrays(arrays, names=list(header))
    buffer = io.BytesIO()
    parquet.write_table(table, buffer, compression="none", store_schema=False)
    return buffer.getvalue()


def holds_table(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether a Parquet file holds this table of texts.

    Raises
    ------
    ParquetMissing, ParquetUnreadable
        The latter if it is no Parquet file of texts alone, as `table_bytes` writes it: not
        compressed, no value missing, nothing beside the table.
    """
    if find_spec("pyarrow") is None:
        raise ParquetMissing(_MISSING, hint=_INSTALL)
    table = json.dumps([list(header), [list(row) for row in rows]]).encode()
    # Without the working folder, which anybody may have filled, on the path of modules.
    command = [sys.executable, "-P", "-m", __name__, str(path)]
    done = subprocess.run(command, input=table, capture_output=True, check=False)  # noqa: S603
    answer = done.stdout.decode(errors="replace").strip()
    if answer not in {_SAME, _OTHER}:
        raise ParquetUnreadable(answer or f"{path} is no Parquet file.")
    return answer == _SAME


def compare(path: Path, header: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Do what `holds_table` does, in this process.

    A small file may claim billions of rows, or unfold into gigabytes. So its own account of itself
    is compared first, and the rest is read in steps, as long as it is what it must be.
    """
    arrow, parquet = pyarrow_modules()
    try:
        with open_regular(path) as opened, parquet.ParquetFile(opened) as file:
            told = file.metadata
            if told.metadata:
                raise ParquetUnreadable(f"{path} holds more than its table.")
            if (told.num_rows, file.schema_arrow.names) != (len(rows), list(header)):
                return False
            if not all(field.type == arrow.string() for field in file.schema_arrow):
                raise ParquetUnreadable(f"{path} holds something else than texts.")
            if any(part.compression != "UNCOMPRESSED" for part in _parts(told)):
                raise ParquetUnreadable(f"{path} is compressed, and a release is not.")
            at = 0
            n_rows = min(max(16, UNFOLDED_BYTES // path.stat().st_size), 1024)
            for batch in file.iter_batches(batch_size=n_rows):
                expected = [
                    list(column) for column in zip(*rows[at : at + len(batch)], strict=True)
                ]
                if [column.to_pylist() for column in batch.columns] != expected:
                    return False
                at += len(batch)
            return at == len(rows)
    except (arrow.ArrowException, OSError, RuntimeError, ValueError, OverflowError) as error:
        # The others are what pyarrow makes of numbers and names that nobody could mean.
        raise ParquetUnreadable(f"{path} is no Parquet file.") from error


def _parts(told: Any) -> Iterator[Any]:
    """Yield a file's content by column and group of rows."""
    for group in range(told.num_row_groups):
        for column in range(told.num_columns):
            yield told.row_group(group).column(column)


def pyarrow_modules() -> tuple[Any, Any]:
    """Return pyarrow and pyarrow.parquet.

    Raises
    ------
    ParquetMissing
    """
    try:
        import pyarrow  # noqa: PLC0415 -- an optional extra, and slow to import
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError as error:
        raise ParquetMissing(_MISSING, hint=_INSTALL) from error
    return pyarrow, pyarrow.parquet


def main() -> None:
    """Compare a named file with standard input's table, and answer."""
    header, rows = json.load(sys.stdin.buffer)
    try:
        answer = _SAME if compare(Path(sys.argv[1]), header, rows) else _OTHER
    except KtsafeError as error:
        answer = str(error)
    sys.stdout.write(answer)


if __name__ == "__main__":
    main()
