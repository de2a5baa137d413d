"""The tables of a release as Parquet, beside the CSV files that say the same.

Nothing is in such a file but the table: no compression, whose ratio would tell of the content, no
schema of another library, no times. pyarrow is an optional extra.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from connectors.regular_files import open_regular
from ktsafe.errors import KtsafeError

VERTICES_PARQUET: Final = "vertices.parquet"
EDGES_PARQUET: Final = "edges.parquet"
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
    arrow, parquet = _pyarrow()
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

    A small file may claim billions of rows, or unfold into gigabytes. So its own account of itself
    is compared first, and the rest is read in steps, as long as it is what it must be.

    Raises
    ------
    ParquetMissing, ParquetUnreadable
        The latter if it is no Parquet file of texts alone, as `table_bytes` writes it: not
        compressed, no value missing, nothing beside the table.
    """
    arrow, parquet = _pyarrow()
    try:
        with open_regular(path) as opened, parquet.ParquetFile(opened) as file:
            told = file.metadata
            if told.metadata:
                msg = f"{path} holds more than its table."
                raise ParquetUnreadable(msg)
            if (told.num_rows, file.schema_arrow.names) != (len(rows), list(header)):
                return False
            if not all(field.type == arrow.string() for field in file.schema_arrow):
                msg = f"{path} holds something else than texts."
                raise ParquetUnreadable(msg)
            if any(part.compression != "UNCOMPRESSED" for part in _parts(told)):
                msg = f"{path} is compressed, and a release is not."
                raise ParquetUnreadable(msg)
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
    except (arrow.ArrowException, OSError) as error:
        msg = f"{path} is no Parquet file."
        raise ParquetUnreadable(msg) from error


def _parts(told: Any) -> Iterator[Any]:
    """Yield what a file says of each column of each group of rows."""
    for group in range(told.num_row_groups):
        for column in range(told.num_columns):
            yield told.row_group(group).column(column)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow  # noqa: PLC0415 -- an optional extra, and slow to import
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError as error:
        msg = "Parquet needs pyarrow, which is not installed."
        raise ParquetMissing(msg, hint="pip install 'ktsafe[parquet]'") from error
    return pyarrow, pyarrow.parquet
