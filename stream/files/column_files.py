"""columns.csv and edge_columns.csv beside a release: insensitive columns, for single releases.

    columns.csv        id,<columns...>             rows in the order of vertices.csv
    edge_columns.csv   source,target,<columns...>  rows in the order of edges.csv

A missing value is "-", as in the tables beside which they lie.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ktsafe.connectors.regular_files import open_regular
from ktsafe.graph import MISSING

COLUMNS: Final = "columns.csv"
EDGE_COLUMNS: Final = "edge_columns.csv"


def column_rows(
    names: Sequence[tuple[str, ...]], columns: Mapping[str, Sequence[Any]]
) -> Iterator[Sequence[str]]:
    """Yield the rows of a file: what names each row of a table, and its values, sorted by name."""
    values = zip(*columns.values(), strict=True)
    rows = ((*name, *row) for name, row in zip(names, values, strict=True))
    for row in sorted(rows, key=lambda row: row[: len(names[0])]):
        yield [MISSING if value is None else str(value) for value in row]


def read_columns(
    path: Path, header: Sequence[str], keys: Iterable[tuple[str, ...]], names: Sequence[str]
) -> dict[str, list[str]]:
    """Return the columns in a file, whose rows must be named as those of the table beside it.

    Parameters
    ----------
    header, keys:
        Names of the columns that name a row, and the names of all rows, in order.
    names:
        The columns that the manifest lists.

    Raises
    ------
    ValueError
        If it holds something else.
    """
    with open_regular(path) as file, io.TextIOWrapper(file, "utf-8", newline="") as text:
        first, *rows = csv.reader(text, strict=True)
    width = len(header) + len(names)
    if first != [*header, *names] or any(len(row) != width for row in rows):
        raise ValueError("its columns are not those of the manifest")
    if [tuple(row[: len(header)]) for row in rows] != list(keys):
        raise ValueError("its rows are not those of the table beside it")
    return {name: [row[j] for row in rows] for j, name in enumerate(names, start=len(header))}
