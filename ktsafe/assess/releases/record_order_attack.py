"""Bytes: what releases tell beside content, by order or time.

The attacker reads the files as they lie, and knows how the service writes them.
"""

from __future__ import annotations

import csv
import datetime
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ktsafe.assess.attacks import Case, Result
from ktsafe.assess.attacks.common.result import auc_result, share_result
from ktsafe.connectors.base import WITHDRAWN
from ktsafe.stream.files.parquet import EDGES_PARQUET, VERTICES_PARQUET
from ktsafe.stream.files.releases_read import Release

MANIFEST: Final = "manifest.json"
VERTICES: Final = "vertices.csv"
EDGES: Final = "edges.csv"
ID: Final = re.compile(r"[0-9a-f]{16}")
LOW: Final = 1 << 16


def record_order_attack(folder: Path, release: Release, case: Case) -> list[Result]:
    """Return what the bytes of a release tell beside its content.

    Parameters
    ----------
    folder:
        The release.
    release, case:
        The same as read, and with its truth; vertices in the order of the file.

    Returns
    -------
    list of Result
        AUC of people above inserted vertices by the number of their row (`bytes.rows`), by their id
        as a number (`bytes.ids`) and by its low bits (`bytes.low_bits`), and of true above inserted
        ties by their row (`bytes.tie_rows`); one half tells nothing, above or below.
        `bytes.traces`: of the checks of `_checks`, the share that fails; its promise is none at
        all. `figures` has a 1 for each that fails.
    """
    is_real = case.original_of >= 0
    numbers = [int(name, 16) if ID.fullmatch(name) else 0 for name in release.ids]
    low = np.array([number % LOW for number in numbers], dtype=np.float64)
    results = [
        auc_result("bytes.rows", np.arange(len(is_real), dtype=np.float64), is_real),
        auc_result("bytes.ids", np.array(numbers, dtype=np.float64), is_real),
        auc_result("bytes.low_bits", low, is_real),
        auc_result("bytes.tie_rows", _rows_of_ties(folder, release, case), case.is_true_edge),
    ]
    checks = dict(_checks(folder, release))
    failed = np.array([not passed for passed in checks.values()], dtype=np.float64)
    traces = {name: 1.0 for name, passed in checks.items() if not passed}
    results.append(share_result("bytes.traces", failed, control=0.0, promise=0.0, figures=traces))
    return results


def _rows_of_ties(folder: Path, release: Release, case: Case) -> NDArray[np.float64]:
    """Return the row in the file of each of `case.released.edges`."""
    place = {name: v for v, name in enumerate(release.ids)}
    rows = np.array(
        [sorted((place[a], place[b])) for a, b in _table(folder / EDGES)[1:]], dtype=np.int64
    ).reshape(-1, 2)
    order = np.lexsort((rows[:, 1], rows[:, 0]))
    edges = case.released.edges
    row_of = np.empty(len(rows))
    row_of[np.lexsort((edges[:, 1], edges[:, 0]))] = order
    return row_of


def _checks(folder: Path, release: Release) -> Iterator[tuple[str, bool]]:
    """Yield each file's required form, with nothing but its table."""
    manifest = json.loads((folder / MANIFEST).read_bytes())
    ties = [tuple(row) for row in _table(folder / EDGES)[1:]]
    # A withdrawal is told later, and tells its own time.
    files = [path for path in folder.iterdir() if path.name != WITHDRAWN]
    names = {path.name for path in files}
    nominal = manifest["nominal_time"]
    yield "only the files of the manifest", names == {MANIFEST, *manifest["sha256"]}
    yield "ids of 64 bits", all(ID.fullmatch(name) for name in release.ids)
    yield "vertices sorted by id", release.ids == sorted(release.ids)
    yield "ties sorted, smaller end first", ties == sorted(ties) and all(a < b for a, b in ties)
    times = {path.stat().st_mtime for path in files}
    yield "times of files are the slot", nominal is None or times == {_seconds(nominal)}
    for name in (VERTICES, EDGES):
        raw = (folder / name).read_bytes()
        yield f"{name} is plain", b"\r" not in raw and not raw.startswith(b"\xef\xbb\xbf")
    for name, table in ((VERTICES_PARQUET, VERTICES), (EDGES_PARQUET, EDGES)):
        if name in names:
            yield f"{name} says the same and no more", _is_bare(folder / name, folder / table)


def _seconds(moment: str) -> float:
    return datetime.datetime.fromisoformat(moment).timestamp()


def _is_bare(path: Path, table: Path) -> bool:
    """Whether a Parquet file holds a table's rows alone, in order."""
    from pyarrow import parquet  # noqa: PLC0415 -- optional, and there if the file is

    file: Any = parquet.ParquetFile(path)
    about = file.metadata
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    chunks = [group.column(j) for group in groups for j in range(about.num_columns)]
    header, *rows = _table(table)
    found = [list(row.values()) for row in file.read().to_pylist()]
    return (
        not about.metadata
        and {chunk.compression for chunk in chunks} <= {"UNCOMPRESSED"}
        and len(groups) <= 1
        and file.schema_arrow.names == header
        and found == rows
    )


def _table(path: Path) -> list[list[str]]:
    """Return the rows of a CSV file, its header first."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))
