"""Matrix Market, arrays of numpy, and folders of OGB."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidGraph
from ktsafe.inputs.compressed import opened
from ktsafe.inputs.network import Network
from ktsafe.inputs.spelling import value_text

OGB_EDGES: Final = "edge.csv.gz"


def read_matrix_market(path: Path) -> Network:
    """Read the positions of a square matrix; rows are named 1..n, as the format counts."""
    from scipy.io import mmread  # noqa: PLC0415 -- only for files of this kind

    with opened(path) as file:
        matrix = mmread(file)
    if matrix.shape[0] != matrix.shape[1] or not hasattr(matrix, "row"):
        msg = f"{path} is no square matrix of coordinates."
        raise InvalidGraph(msg, hint="A network has a row and a column for each vertex.")
    pairs = np.column_stack((matrix.row, matrix.col)).astype(np.int64)
    ignored = {"values"} if np.any(matrix.data != 1) else set()
    if _is_symmetric(path):
        pairs = pairs[pairs[:, 0] >= pairs[:, 1]]  # What scipy mirrors was given once.
    is_directed = not _is_symmetric(path) and not _is_mirrored(pairs[:, 0], pairs[:, 1])
    ids = [str(v + 1) for v in range(matrix.shape[0])]
    directed = len(pairs) if is_directed else 0
    return Network.of_rows("Matrix Market", ids, pairs, directed=directed, ignored=ignored)


def _is_symmetric(path: Path) -> bool:
    with opened(path) as file:
        return b"general" not in file.readline().lower()


def read_npz(path: Path) -> Network:
    """Read arrays of OGB, or a sparse matrix as scipy saves it. Nothing pickled is loaded."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        if "edge_index" in arrays:
            pairs = np.asarray(arrays["edge_index"], dtype=np.int64)
            pairs = pairs.T if pairs.shape[0] == 2 else pairs
            found = {name: arrays[name] for name in ("node_feat", "node_label") if name in arrays}
            n = int(arrays["num_nodes"]) if "num_nodes" in arrays else None
            return _of_arrays("NPZ", path, pairs, found, n, ignored={"edge_feat"} & set(arrays))
        if not {"indptr", "indices", "shape"} <= set(arrays):
            msg = f"{path} holds neither edge_index nor a sparse matrix."
            raise InvalidGraph(msg, hint="scipy.sparse.save_npz writes one.")
        indptr, indices = arrays["indptr"], arrays["indices"].astype(np.int64)
        n = int(arrays["shape"][0])
        ignored = {"values"} if np.any(arrays["data"] != 1) else set()
    rows = np.repeat(np.arange(n, dtype=np.int64), np.diff(indptr))
    pairs = np.column_stack((rows, indices))
    directed = len(pairs)
    if _is_mirrored(rows, indices):
        pairs, directed = pairs[rows <= indices], 0
    return _of_arrays("NPZ", path, pairs, {}, n, directed=directed, ignored=ignored)


def _is_mirrored(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> bool:
    """Whether each position of a matrix is there in either direction."""
    there, turned = (
        np.unique(a.astype(np.int64) << 32 | b) for a, b in ((rows, columns), (columns, rows))
    )
    return np.array_equal(there, turned)


def read_ogb(path: Path) -> Network:
    """Read a folder of tables without headers, as OGB keeps one network."""
    folder = path if path.is_dir() else path.parent
    pairs = _table(folder / OGB_EDGES).astype(np.int64)
    counts = folder / "num-node-list.csv.gz"
    n = None
    if counts.exists():
        sizes = _table(counts).astype(np.int64).reshape(-1)
        if len(sizes) != 1:
            msg = f"{folder} holds {len(sizes)} networks."
            raise InvalidGraph(msg, hint="Give one network.")
        n = int(sizes[0])
    names = {"node_feat": "node-feat.csv.gz", "node_label": "node-label.csv.gz"}
    found = {
        name: _table(folder / file) for name, file in names.items() if (folder / file).exists()
    }
    ignored = {"edge_feat"} if (folder / "edge-feat.csv.gz").exists() else set[str]()
    return _of_arrays("OGB", folder, pairs, found, n, ignored=ignored)


def _table(path: Path) -> NDArray[np.float64]:
    with opened(path) as file:
        return np.loadtxt(file, delimiter=",", ndmin=2)


def _of_arrays(
    format_: str,
    path: Path,
    pairs: NDArray[np.int64],
    found: Mapping[str, NDArray[Any]],
    n: int | None,
    *,
    directed: int = 0,
    ignored: Collection[str] = (),
) -> Network:
    """Return a network of vertices 0..n-1 with features and labels as columns."""
    n = max(n or 0, int(pairs.max(initial=-1)) + 1, *map(len, found.values()), 0)
    columns: dict[str, list[str | None]] = {}
    for name, array in found.items():
        if len(array) != n:
            msg = f"{path}: {name} has {len(array)} rows for {n} vertices."
            raise InvalidGraph(msg)
        wide = array.reshape(n, -1)
        stem = name.removeprefix("node_")
        for j in range(wide.shape[1]):
            column = stem if wide.shape[1] == 1 else f"{stem}_{j}"
            columns[column] = [value_text(value) for value in wide[:, j].tolist()]
    if len(pairs) and pairs.min() < 0:
        raise InvalidGraph(f"{path} names a vertex before the first.")
    ids = [str(v) for v in range(n)]
    return Network.of_rows(format_, ids, pairs, columns, directed=directed, ignored=ignored)
