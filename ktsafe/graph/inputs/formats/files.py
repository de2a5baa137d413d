"""Find the format of a network file; refuse known others by name.

Each refusal says what to do instead.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from ktsafe.errors import BadLines, InvalidGraph
from ktsafe.graph.inputs.formats.graphml import read_graphml
from ktsafe.graph.inputs.formats.matrices import OGB_EDGES, read_matrix_market, read_npz, read_ogb
from ktsafe.graph.inputs.network import Network, opened
from ktsafe.graph.inputs.tables.edge_lists import placed, read_edge_list
from ktsafe.graph.inputs.tables.names import ENDS, NOTHING_CHOSEN, Chosen
from ktsafe.graph.inputs.tables.people_and_ties import People

_TIES: Final = "Write an edge list: a line with two ids for each tie."
_GRAPHML: Final = "Write it as GraphML."
_TABLES: Final = "Save its tables as CSV files of people and of ties."
_EXPORT: Final = (
    "Export it as GraphML or as two tables (CSV); ktsafe.protect takes a graph of networkx or "
    "igraph, too."
)
_UNPACK: Final = "Unpack it, and name the file inside."
_BY_FIRST_BYTES: Final = (
    (
        rb"7z\xbc\xaf\x27\x1c|Rar!|BZh\d|\xfd7zXZ|\x28\xb5\x2f\xfd|.{257}ustar",
        "an archive",
        _UNPACK,
    ),
    (rb"PK\x03\x04.{26,80}?(\[Content_Types\]|mimetype|_rels)", "a spreadsheet", _TABLES),
    (rb"\xd0\xcf\x11\xe0", "a spreadsheet", _TABLES),
    (rb"PK\x03\x04", "an archive", _UNPACK),
    (rb"SQLite format 3\0", "an SQLite database", _TABLES),
    (
        rb"MATLAB ",
        "a MATLAB file",
        "Read it by scipy.io.loadmat, and save by scipy.sparse.save_npz.",
    ),
    (rb"\x89HDF", "an HDF5 file", _TABLES),
    (rb"\x80[\x02-\x05]", "a pickle", "Pickles are never loaded. Write it as GraphML."),
    (rb"\x93NUMPY", "one array of numpy", "scipy.sparse.save_npz writes a sparse matrix."),
    (rb"ARROW1|FEA1|ORC|Obj\x01", "a table in a binary format", "Save it as CSV or Parquet."),
    (rb"RD[AX]\d\n", "a file of R", "Write a table by write.csv, or GraphML by igraph."),
    (rb"%PDF", "a PDF file", _TABLES),
    (rb"\xe2\x9b\xbe gt", "a file of graph-tool", _GRAPHML),
    (rb"nkbg\d", "a file of NetworKit", _GRAPHML),
    (rb">>(graph|sparse|digraph)6<<", "a graph6 file", _TIES),
)
"""How files begin, what they are, and what to do."""
_BY_TEXT: Final = (
    (r"\{[^\n]*\}\s*\n\{", "JSON lines", _TABLES),
    (r'\{(?s:.*)"nodes"\s*:', "node-link JSON", _EXPORT),
    (r"[\[{]", "JSON", _EXPORT),
    (r"dl[\s,]+n[rcm]?\s*=", "a DL file of UCINET", _TIES),
    (r"nodedef\s*>", "a GDF file", _GRAPHML),
    (r'(strict\s+)?(di)?graph(\s+("[^"]*"|[\w.-]+))?\s*\{', "a DOT file", _GRAPHML),
    (r"\(tlp\s", "a file of Tulip", _GRAPHML),
    (r"\*node data|\*tie data", "a VNA file", _TABLES),
    (r"\*\w", "a Pajek file", _EXPORT),
    (r'([a-z]\w*\s+("[^"]*"|[\d.]+)\s+(#[^\n]*\n\s*)*)*graph\s*\[', "GML", _EXPORT),
)
_OTHERS_BY_ENDING: Final = {
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z", ".rar"), ("an archive", _UNPACK)),
    **dict.fromkeys((".bz2", ".xz", ".zst"), ("an archive", _UNPACK)),
    **dict.fromkeys((".xlsx", ".xls", ".ods"), ("a spreadsheet", _TABLES)),
    **dict.fromkeys((".h5", ".hdf5", ".hdf"), ("an HDF5 file", _TABLES)),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3"), ("an SQLite database", _TABLES)),
    **dict.fromkeys((".graph", ".metis", ".chaco"), ("a METIS file", _TIES)),
    **dict.fromkeys((".dl", ".##h", ".##d"), ("a DL file of UCINET", _TIES)),
    **dict.fromkeys((".dot", ".gv"), ("a DOT file", _GRAPHML)),
    **dict.fromkeys((".pkl", ".pickle", ".gpickle"), ("a pickle", "Write it as GraphML.")),
    **dict.fromkeys((".adjlist", ".multiadjlist", ".adj"), ("an adjacency list", _TIES)),
    **dict.fromkeys((".jsonl", ".ndjson"), ("JSON lines", _TABLES)),
    ".json": ("JSON", _EXPORT),
    ".gexf": ("GEXF", _EXPORT),
    ".gml": ("GML", _EXPORT),
    ".paj": ("a Pajek file", _EXPORT),
    **dict.fromkeys((".g6", ".s6"), ("a graph6 file", _TIES)),
    **dict.fromkeys((".rds", ".rda", ".rdata"), ("a file of R", _TABLES)),
    ".mat": ("a MATLAB file", "Read it by scipy.io.loadmat, and save by scipy.sparse.save_npz."),
    ".lgl": ("an LGL file", _TIES),
    ".gdf": ("a GDF file", _GRAPHML),
    ".tlp": ("a file of Tulip", _GRAPHML),
    ".gt": ("a file of graph-tool", _GRAPHML),
    ".sif": ("a SIF file", _TIES),
    ".tgf": ("a TGF file", _TIES),
    ".vna": ("a VNA file", _TABLES),
    ".npy": ("one array of numpy", "scipy.sparse.save_npz writes a sparse matrix."),
    ".hif": ("a hypergraph", "Ties are between two people: write pairs."),
}
_COMMENTS: Final = re.compile(r"\s+|//[^\n]*|/\*.*?\*/|#[^\n]*|%[^\n]*", re.DOTALL)


def refuse_by_name(path: Path, ending: str, head: bytes) -> None:
    """Refuse a file of another kind, by first bytes or ending.

    Parameters
    ----------
    ending:
        In small letters, without that of gzip.
    head:
        How the file begins.

    Raises
    ------
    InvalidGraph
        If it is.
    """
    for what, hint in _found(path, ending, head):
        raise InvalidGraph(f"{path} is {what}, which is not read.", hint=hint)


def _found(path: Path, ending: str, head: bytes) -> Iterator[tuple[str, str]]:
    for begin, what, hint in _BY_FIRST_BYTES:
        if re.match(begin, head, re.DOTALL):
            yield what, hint
    if ending in _OTHERS_BY_ENDING and not path.name.startswith("out."):
        yield _OTHERS_BY_ENDING[ending]
    text = head.decode("utf-8", "replace").removeprefix("\ufeff").lower()
    at = 0
    while at < len(text) and (found := _COMMENTS.match(text, at)):
        at = found.end()
    for pattern, what, hint in _BY_TEXT:
        if re.match(pattern, text[at:]):
            yield what, hint
    if _is_lgl(text):
        yield "an LGL file", _TIES


def _is_lgl(text: str) -> bool:
    """Whether `#` lines of one name stand among the others.

    The first of them counts, too.
    """
    lines = text.splitlines()
    names = [i for i, line in enumerate(lines) if re.fullmatch(r"# \S+", line)]
    return len(names) > 1 and names[0] == 0 and names[1] < len(lines) - 1 and names[1] > 1


# Networks in the files in which they are published.
#
# What a file is is told by how it begins, and by its ending where that says nothing. Each may be
# gzipped. docs/files.md lists the formats, and what of each is not read.

Reader = Callable[[Path, BinaryIO], Network]
_HEAD_BYTES: Final = 1 << 16
_BY_ENDING: Final[dict[str, Reader]] = {
    ".graphml": read_graphml,
    ".mtx": read_matrix_market,
    ".npz": read_npz,
}
_NO_ELEMENTS: Final = re.compile(
    r"<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^\[>]*(\[.*?\])?[^>]*>", re.DOTALL
)
_ROOT: Final = re.compile(r"\s*<([\w.-]+:)?([\w.-]+)")
_LISTED: Final = "docs/files.md lists the formats that are read."


def read_network(
    path: Path | str,
    *,
    columns: Chosen = NOTHING_CHOSEN,
    people: People | None = None,
    bad: BadLines | None = None,
) -> Network:
    r"""Read a network from a file in any published format.

    Parameters
    ----------
    path:
        The file, or a folder that holds `edge.csv.gz`.
    columns:
        Of a table or a list of ties the columns of both ends, `{"source": "A", "target": "B"}`,
        where their names do not say so; numbers from 1 where there is no header.
    people:
        Those whom a table lists, once it is read: the network has these, and names nobody else.
    bad:
        Takes the lines of a table or list that are no ties, if others are to be told beside them.

    Raises
    ------
    InvalidGraph
        If it is in no format that is read, or anything in it is not understood. A line is named,
        its content is not repeated.

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
    network = _of_format(path)
    if network is None:
        return read_edge_list(path, chosen=columns, people=people, bad=bad)
    if {*ENDS} & {*columns}:
        msg = f"{path} is {network.format}, whose ties have no columns to choose."
        raise InvalidGraph(msg, hint="Leave out the columns source and target.")
    return network if people is None else placed(network, people, path)


def _of_format(path: Path) -> Network | None:
    """Return the network of a file; None for tables and edge lists."""
    try:
        if path.is_dir() and not (path / OGB_EDGES).exists():
            raise InvalidGraph(f"{path} is a folder without {OGB_EDGES}.", hint="Name one file.")
        if path.is_dir() or path.name == OGB_EDGES:
            return read_ogb(path)
        if path.exists() and not path.is_file():
            return None  # Of a pipe the head cannot be read twice.
        with opened(path) as file:
            head = file.read(_HEAD_BYTES)
            file.seek(0)
            reader = _reader(path, head)
            return None if reader is None else reader(path, file)
    except OSError as error:
        msg = f"{path} cannot be read ({error.strerror or 'no whole gzip file'})."
        raise InvalidGraph(msg) from error
    except (EOFError, zlib.error) as error:
        msg = f"{path} cannot be read (no whole gzip file)."
        raise InvalidGraph(msg, hint="Copy or write it again.") from error
    except UnicodeDecodeError as error:
        raise InvalidGraph(f"{path} is no UTF-8 text.", hint="Save it as UTF-8.") from error


def _reader(path: Path, head: bytes) -> Reader | None:
    """Return what reads a file; None for tables and edge lists.

    Raises
    ------
    InvalidGraph
        If nothing does.
    """
    ending = (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()
    if head.startswith(b"PK") and ending == ".npz":
        return read_npz
    text = _text(head)
    begin = text.lstrip()
    if begin.startswith("<"):
        _check_graphml(path, begin)
        return read_graphml
    refuse_by_name(path, ending, head)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InvalidGraph(f"{path} is a text in UTF-16.", hint="Save it as UTF-8.")
    if text.lower().startswith("%%matrixmarket"):
        return read_matrix_market
    return _BY_ENDING.get(ending)


def _text(head: bytes) -> str:
    encoding = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    return head.decode(encoding, "replace").removeprefix("\ufeff")


def _check_graphml(path: Path, begin: str) -> None:
    """Refuse XML of another kind.

    Raises
    ------
    InvalidGraph
        If it is.
    """
    found = _ROOT.match(_NO_ELEMENTS.sub("", begin))
    root = found[2] if found else ""
    if root.lower() == "html" or "<!doctype html" in begin.lower():
        hint = "Download the file itself, not the page that shows it."
        raise InvalidGraph(f"{path} is a page of the web.", hint=hint)
    if root == "gexf":
        raise InvalidGraph(f"{path} is GEXF, which is not read.", hint=_EXPORT)
    if root != "graphml":
        what = f"XML that begins with <{root}>" if root else "no whole XML"
        raise InvalidGraph(f"{path} is {what}, and not GraphML.", hint=_LISTED)
