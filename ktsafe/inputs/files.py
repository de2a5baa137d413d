"""Networks in the files in which they are published, read into ids, columns and edges.

| name ends in | what it is | where |
|---|---|---|
| `.graphml`, `.gexf` | vertices with attributes, edges | Gephi, networkx, repositories of data |
| `.mtx` | Matrix Market, coordinates | Network Repository, SuiteSparse |
| `.npz` | arrays `edge_index`, `node_feat`, `node_label`; or a sparse matrix | OGB, scipy |
| a folder with `edge.csv.gz` | with `node-feat.csv.gz`, `node-label.csv.gz` beside it | OGB |
| anything else | two ids in a line; behind `#` or `%` comments | SNAP, KONECT, and others |

Each but `.npz` may be gzipped. Directions, weights, types and times of edges are not read, and
named (`Network.ignored`); edges that are given again, in either direction, are one and counted.
"""

from __future__ import annotations

import csv
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ktsafe.errors import InvalidGraph
from ktsafe.inputs.edge_lists import read_edge_list
from ktsafe.inputs.matrices import OGB_EDGES, read_matrix_market, read_npz, read_ogb
from ktsafe.inputs.network import Network
from ktsafe.inputs.xml_graphs import read_gexf, read_graphml

_READ_ERRORS: Final = (OSError, EOFError, zlib.error, UnicodeDecodeError, csv.Error, ValueError)


def read_network(path: Path | str) -> Network:
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
    >>> network.ids, network.edges.tolist(), network.repeated
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


def _reader(path: Path) -> Callable[[Path], Network]:
    if path.is_dir() or path.name == OGB_EDGES:
        return read_ogb
    kind = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    if kind in {".zip", ".tar", ".tgz", ".7z"}:
        msg = f"{path} is an archive."
        raise InvalidGraph(msg, hint="Unpack it, and name the file inside.")
    kinds = {
        ".graphml": read_graphml,
        ".gexf": read_gexf,
        ".mtx": read_matrix_market,
        ".npz": read_npz,
    }
    return kinds.get(kind.lower(), read_edge_list)
