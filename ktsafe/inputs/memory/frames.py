"""Data frames of pandas, polars, pyarrow and others, all by narwhals.

Cells are taken out as they are, and spelt by `ktsafe.inputs.spelling`. Nothing is compared, grouped
or made a text inside of narwhals: there each library has an answer of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ktsafe.errors import InvalidGraph


def is_frame(table: Any) -> bool:
    """Whether this is a data frame with its rows in memory."""
    import narwhals  # noqa: PLC0415 -- only callers with data frames wait for it

    return narwhals.dependencies.is_into_dataframe(table)


def columns_of(table: Any, of: str) -> dict[str, list[object]]:
    """Return a data frame's columns, None where values are missing.

    Parameters
    ----------
    of:
        What the rows are, for errors.

    Raises
    ------
    InvalidGraph
        If two columns have one name.
    """
    import narwhals  # noqa: PLC0415

    given = getattr(table, "column_names", None)  # pyarrow calls its arrays `columns`.
    names = [str(name) for name in (table.columns if given is None else given)]
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        msg = f"The table of {of} has two columns {twice[0]!r}."
        raise InvalidGraph(msg, hint="Rename or remove one of them: which is meant?")
    frame = narwhals.from_native(table, eager_only=True)
    return {
        name: [
            None if is_missing else value
            for value, is_missing in zip(cells.to_list(), cells.is_null().to_list(), strict=True)
        ]
        for name, cells in zip(names, frame.iter_columns(), strict=True)
    }


def frame_like(table: Any, columns: Mapping[str, Sequence[Any]]) -> Any:
    """Return a data frame of the same library.

    `id`, `source` and `target` are numbers.
    """
    import narwhals  # noqa: PLC0415

    kind = narwhals.from_native(table, eager_only=True).implementation
    schema = {
        name: narwhals.Int64() if name in {"id", "source", "target"} else narwhals.String()
        for name in columns
    }
    return narwhals.from_dict(dict(columns), schema, backend=kind).to_native()
