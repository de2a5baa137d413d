"""Networks in the files in which they are published, read into ids, columns and edges.

| name ends in | what it is | where |
|---|---|---|
| `.graphml`, `.gexf` | vertices with attributes, edges | Gephi, networkx, repositories of data |
| `.mtx` | Matrix Market, coordinates | Network Repository, SuiteSparse |
| `.npz` | arrays `edge_index`, `node_feat`, `node_label`; or a sparse matrix | OGB, scipy |
| a folder with `edge.csv.gz` | with `node-feat.csv.gz`, `node-label.csv.gz` beside it | OGB |
| anything else | two ids in a line; behind `#` or `%` comments | SNAP, KONECT, and others |

Each but `.npz` may be gzipped. Directions, weights, types and times of edges are not read, and
named (`NetworkFile.ignored`); edges that are given again, in either direction, are one and counted.
"""

from __future__ import annotations

import csv
import dataclasses
import gzip
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidGraph

_GZIP: Final = b"\x1f\x8b"
_COMMENTS: Final = ("#", "%", "//")
_ENDS: Final = frozenset(
    {
        *("source", "target", "src", "dst", "from", "to", "from_id", "to_id"),
        *("fromnodeid", "tonodeid", "node_1", "node_2", "node1", "node2"),
        *("id_1", "id_2", "id1", "id2"),
    }
)
"""Names of the two first columns, in small letters, by which a header is known."""
_SAYS_DIRECTED: Final = re.compile(r"[#%]+\s*(directed\b|asym\b)", re.IGNORECASE)
"""Comments of SNAP and of KONECT."""
DIRECTIONS: Final = "directions"
_OGB_EDGES: Final = "edge.csv.gz"
_READ_ERRORS: Final = (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error, ValueError)


@dataclasses.dataclass(frozen=True, eq=False)
class NetworkFile:
    """A network as it was published; n vertices, m edges.

    Attributes
    ----------
    ids:
        What the file calls each vertex.
    columns:
        For each attribute of vertices that the file has, its values in the order of `ids`; None
        where missing.
    edges:
        int64, shape (m, 2): positions in `ids`, the smaller first, each once, ascending.
    edges_repeated:
        Edges that were given again, in either direction.
    loops:
        Edges from a vertex to itself, which were ignored.
    ignored:
        What the file says of edges and is not read, as far as it tells: "directions" (an edge in
        either direction, or in both, is one), and names of attributes, in ascending order.
    """

    ids: list[str]
    columns: dict[str, list[object]]
    edges: NDArray[np.int64]
    edges_repeated: int
    loops: int
    ignored: tuple[str, ...] = ()

    def to_networkx(self) -> Any:
        """Return an undirected networkx graph, which `ktsafe.protect` takes."""
        import networkx as nx  # noqa: PLC0415 -- only callers that need its graphs wait for it

        graph = nx.Graph()
        for v, name in enumerate(self.ids):
            graph.add_node(name, **{column: values[v] for column, values in self.columns.items()})
        graph.add_edges_from((self.ids[u], self.ids[v]) for u, v in self.edges.tolist())
        return graph


def read_network(path: Path | str) -> NetworkFile:
    r"""Read a network from a file as SNAP, Network Repository, OGB or Gephi write it.

    Parameters
    ----------
    path:
        The file, or a folder that holds `edge.csv.gz`.

    Raises
    ------
    InvalidGraph
        If it cannot be read as what its name says. A line is named, its content is not repeated.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "Wiki-Vote.txt")
    ...     _ = file.write_text("# FromNodeId\tToNodeId\n30\t1412\n30\t3352\n1412\t30\n")
    ...     network = read_network(file)
    >>> network.ids, network.edges.tolist(), network.edges_repeated
    (['30', '1412', '3352'], [[0, 1], [0, 2]], 1)
    """
    path = Path(path)
    try:
        return _reader(path)(path)
    except InvalidGraph:
        raise
    except _READ_ERRORS as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else ""
        msg = f"{path} cannot be read as a network ({why or type(error).__name__})."
        raise InvalidGraph(msg, hint="docs/library.md lists the kinds of files.") from error
    except (SyntaxError, KeyError, zipfile.BadZipFile) as error:  # of XML, of a GEXF, of an NPZ
        msg = f"{path} is not what its name says ({type(error).__name__})."
        raise InvalidGraph(msg, hint="docs/library.md lists the kinds of files.") from error


def _reader(path: Path) -> Callable[[Path], NetworkFile]:
    if path.is_dir() or path.name == _OGB_EDGES:
        return _ogb
    kind = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    if kind in {".zip", ".tar", ".tgz", ".7z"}:
        msg = f"{path} is an archive."
        raise InvalidGraph(msg, hint="Unpack it, and name the file inside.")
    kinds = {".graphml": _graphml, ".gexf": _gexf, ".mtx": _matrix_market, ".npz": _npz}
    return kinds.get(kind.lower(), _edge_list)


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """Give the bytes of a file, plain or gzipped, whatever its name says."""
    with path.open("rb") as file:
        if file.peek(2)[:2] != _GZIP:
            yield file
            return
        with gzip.open(file) as unfolded:
            yield unfolded


def _network(
    ids: list[str],
    pairs: NDArray[np.int64],
    columns: Mapping[str, list[object]] | None = None,
    ignored: Collection[str] = (),
) -> NetworkFile:
    """Return a network of pairs of positions that may repeat."""
    low, high = np.minimum(pairs[:, 0], pairs[:, 1]), np.maximum(pairs[:, 0], pairs[:, 1])
    ties = low != high
    keys = np.unique(low[ties] << 32 | high[ties])
    edges = np.column_stack((keys >> 32, keys & 0xFFFFFFFF))
    loops = int((~ties).sum())
    repeated = len(pairs) - loops - len(edges)
    return NetworkFile(ids, dict(columns or {}), edges, repeated, loops, tuple(sorted(ignored)))


def _edge_list(path: Path) -> NetworkFile:
    """Read lines of two ids, between them commas, semicolons, TABs or blanks."""
    position: dict[str, int] = {}
    ends: list[int] = []
    ignored: set[str] = set()
    more, width = ["columns behind the second"], 0
    with _opened(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as file:
        is_first = True
        for line, row in _rows(file, ignored):
            if len(row) < 2 or not row[0] or not row[1]:
                msg = f"{path}, line {line}: no two ids."
                raise InvalidGraph(msg, hint="A line of an edge list begins with two ids.")
            if is_first and {row[0].lower(), row[1].lower()} <= _ENDS:
                more = row[2:] or more
            else:
                ends += (position.setdefault(end, len(position)) for end in row[:2])
                width = max(width, len(row))
            is_first = False
    ignored.update(more if width > 2 else ())
    pairs = np.array(ends, dtype=np.int64).reshape(-1, 2)
    return _network(list(position), pairs, ignored=ignored)


def _rows(file: Iterable[str], ignored: set[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield number and values of each line; the first one that is no comment tells what separates.

    A quoted value may hold what separates, but no end of line. What comments say of directions is
    added to `ignored`.
    """
    mark: str | None = None
    is_first = True
    for number, text in enumerate(file, 1):
        line = text.strip()
        if not line or line.startswith(_COMMENTS):
            if _SAYS_DIRECTED.match(line):
                ignored.add(DIRECTIONS)
            continue
        if is_first:
            mark = next((mark for mark in "\t;,|" if mark in line), None)
            is_first = False
        if mark is None:
            yield number, line.split()
        elif '"' in line:
            yield number, next(csv.reader([line], delimiter=mark, strict=True))
        else:
            yield number, [value.strip() for value in line.split(mark)]


def _matrix_market(path: Path) -> NetworkFile:
    """Read the positions of a square matrix; rows are named 1..n, as the format counts."""
    from scipy.io import mmread  # noqa: PLC0415 -- only for files of this kind

    with _opened(path) as file:
        matrix = mmread(file)
    if matrix.shape[0] != matrix.shape[1] or not hasattr(matrix, "row"):
        msg = f"{path} is no square matrix of coordinates."
        raise InvalidGraph(msg, hint="A network has a row and a column for each vertex.")
    pairs = np.column_stack((matrix.row, matrix.col)).astype(np.int64)
    ignored = {"values"} if np.any(matrix.data != 1) else set()
    if _is_symmetric(path):
        pairs = pairs[pairs[:, 0] >= pairs[:, 1]]  # What scipy mirrors was given once.
    elif not _is_mirrored(pairs[:, 0], pairs[:, 1]):
        ignored.add(DIRECTIONS)
    return _network([str(v + 1) for v in range(matrix.shape[0])], pairs, ignored=ignored)


def _is_symmetric(path: Path) -> bool:
    with _opened(path) as file:
        return b"general" not in file.readline().lower()


def _graphml(path: Path) -> NetworkFile:
    import networkx as nx  # noqa: PLC0415

    with _opened(path) as file:
        return _of_networkx(nx.read_graphml(io.BytesIO(file.read())))


def _gexf(path: Path) -> NetworkFile:
    import networkx as nx  # noqa: PLC0415

    try:
        with _opened(path) as file:
            return _of_networkx(nx.read_gexf(io.BytesIO(file.read())))
    except nx.NetworkXException as error:
        raise ValueError("no GEXF") from error


def _of_networkx(graph: Any) -> NetworkFile:
    nodes = list(graph.nodes)
    position = {node: v for v, node in enumerate(nodes)}
    names = dict.fromkeys(name for _, data in graph.nodes(data=True) for name in data)
    columns = {
        _column_name(name): [graph.nodes[node].get(name) for node in nodes] for name in names
    }
    pairs = [(position[u], position[v]) for u, v in graph.edges()]
    # Readers of networkx number edges, which their owner did not ask for.
    ignored = {str(name) for *_, data in graph.edges(data=True) for name in data} - {"id"}
    if graph.is_directed():
        ignored.add(DIRECTIONS)
    return _network([str(node) for node in nodes], _positions(pairs), columns, ignored)


def _column_name(name: str) -> str:
    """Return the name of an attribute of vertices; `id`, `source` and `target` mean something."""
    return f"{name}_" if name in {"id", "source", "target"} else name


def _npz(path: Path) -> NetworkFile:
    """Read arrays of OGB, or a sparse matrix as scipy saves it. Nothing pickled is loaded."""
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        if "edge_index" in arrays:
            pairs = np.asarray(arrays["edge_index"], dtype=np.int64)
            pairs = pairs.T if pairs.shape[0] == 2 else pairs
            found = {name: arrays[name] for name in ("node_feat", "node_label") if name in arrays}
            n = int(arrays["num_nodes"]) if "num_nodes" in arrays else None
            return _of_arrays(path, pairs, found, n, {"edge_feat"} & set(arrays))
        if not {"indptr", "indices", "shape"} <= set(arrays):
            msg = f"{path} holds neither edge_index nor a sparse matrix."
            raise InvalidGraph(msg, hint="scipy.sparse.save_npz writes one.")
        indptr, indices = arrays["indptr"], arrays["indices"].astype(np.int64)
        n = int(arrays["shape"][0])
        ignored = {"values"} if np.any(arrays["data"] != 1) else set()
    rows = np.repeat(np.arange(n, dtype=np.int64), np.diff(indptr))
    pairs = np.column_stack((rows, indices))
    if _is_mirrored(rows, indices):
        pairs = pairs[rows <= indices]
    else:
        ignored.add(DIRECTIONS)
    return _of_arrays(path, pairs, {}, n, ignored)


def _is_mirrored(rows: NDArray[np.int64], columns: NDArray[np.int64]) -> bool:
    """Whether each position of a matrix is there in either direction."""
    there, turned = (
        np.unique(a.astype(np.int64) << 32 | b) for a, b in ((rows, columns), (columns, rows))
    )
    return np.array_equal(there, turned)


def _ogb(path: Path) -> NetworkFile:
    """Read a folder of tables without headers, as OGB keeps one network."""
    folder = path if path.is_dir() else path.parent
    pairs = _table(folder / _OGB_EDGES).astype(np.int64)
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
    return _of_arrays(folder, pairs, found, n, ignored)


def _table(path: Path) -> NDArray[np.float64]:
    with _opened(path) as file:
        return np.loadtxt(file, delimiter=",", ndmin=2)


def _of_arrays(
    path: Path,
    pairs: NDArray[np.int64],
    found: Mapping[str, NDArray[Any]],
    n: int | None,
    ignored: Collection[str],
) -> NetworkFile:
    """Return a network of vertices 0..n-1 with features and labels as columns."""
    n = max(n or 0, int(pairs.max(initial=-1)) + 1, *map(len, found.values()), 0)
    columns: dict[str, list[object]] = {}
    for name, array in found.items():
        if len(array) != n:
            msg = f"{path}: {name} has {len(array)} rows for {n} vertices."
            raise InvalidGraph(msg)
        wide = array.reshape(n, -1)
        stem = name.removeprefix("node_")
        for j in range(wide.shape[1]):
            column = stem if wide.shape[1] == 1 else f"{stem}_{j}"
            columns[column] = [_plain(value) for value in wide[:, j].tolist()]
    if len(pairs) and pairs.min() < 0:
        raise InvalidGraph(f"{path} names a vertex before the first.")
    return _network([str(v) for v in range(n)], pairs, columns, ignored)


def _plain(value: object) -> object:
    """Return a whole number without its fraction, as categories are told; None for NaN."""
    if isinstance(value, float):
        if value != value:  # noqa: PLR0124 -- NaN
            return None
        return int(value) if value.is_integer() else value
    return value


def _positions(pairs: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)
