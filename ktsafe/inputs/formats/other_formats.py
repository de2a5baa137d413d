"""Files that are known and not read.

Each is refused by its name, with the way on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ktsafe.errors import InvalidGraph

_TIES: Final = "Write an edge list: a line with two ids for each tie."
_GRAPHML: Final = "Write it as GraphML."
_TABLES: Final = "Save its tables as CSV files of people and of ties."
_UNPACK: Final = "Unpack it, and name the file inside."
_UTF_8: Final = "Save it as UTF-8."
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
    (r"dl[\s,]+n[rcm]?\s*=", "a DL file of UCINET", _TIES),
    (r"nodedef\s*>", "a GDF file", _GRAPHML),
    (r'(strict\s+)?(di)?graph(\s+("[^"]*"|[\w.-]+))?\s*\{', "a DOT file", _GRAPHML),
    (r"\(tlp\s", "a file of Tulip", _GRAPHML),
    (r"\*node data|\*tie data", "a VNA file", _TABLES),
)
_BY_ENDING: Final = {
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
    **dict.fromkeys((".jsonl", ".ndjson"), ("JSON lines", "Write node-link JSON, or a table.")),
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
    if ending in _BY_ENDING and not path.name.startswith("out."):
        yield _BY_ENDING[ending]
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
