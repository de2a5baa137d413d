"""The tables of a release as Parquet, beside the CSV files that say the same.

Nothing is in such a file but the table: no compression, whose ratio would tell of the content, no
schema of another library, no times. pyarrow is an optional extra.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from ktsafe.errors import KtsafeError

VERTICES_PARQUET: Final = "vertices.parquet"
EDGES_PARQUET: Final = "edges.parquet"


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


def read_table(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return names and rows of a table of texts.

    Raises
    ------
    ParquetMissing, ParquetUnreadable
        The latter too if a value is missing or no text.
    """
    arrow, parquet = _pyarrow()
    try:
        file = parquet.ParquetFile(path)
        table = file.read()
    except (arrow.ArrowException, OSError) as error:
        msg = f"{path} is no Parquet file."
        raise ParquetUnreadable(msg) from error
    for field, column in zip(table.schema, table.columns, strict=True):
        if field.type != arrow.string() or column.null_count:
            msg = f"{path} holds something else than texts."
            raise ParquetUnreadable(msg)
    if file.metadata.metadata:
        msg = f"{path} holds more than its table."
        raise ParquetUnreadable(msg)
    columns = [column.to_pylist() for column in table.columns]
    return list(table.column_names), [list(row) for row in zip(*columns, strict=True)]


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow  # noqa: PLC0415 -- an optional extra, and slow to import
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError as error:
        msg = "Parquet needs pyarrow, which is not installed."
        raise ParquetMissing(msg, hint="pip install 'ktsafe[parquet]'") from error
    return pyarrow, pyarrow.parquet
