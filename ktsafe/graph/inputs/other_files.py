"""Refuse files that are no tables by name, and say what helps.

What a file is is told by how it begins, and by its ending where that says nothing.

Kinds may be added, and hints reworded; tests/ktsafe/graph/inputs/test_other_files.py has each by
its content, and people may be called like formats.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ktsafe.errors import InvalidGraph

_TIES: Final = "Write an edge list: a line with two ids for each tie."
_TABLES: Final = "Save its tables as CSV files of people and of ties."


def _loaded_by(call: str) -> str:
    """Return the hint for a file that a library of Python loads."""
    return (
        f"Export two tables (CSV), of people and of ties. Or in Python: graph = {call}; "
        "print(ktsafe.inspect(graph)); safe = ktsafe.protect(graph, ...)."
    )


_GRAPH: Final = _loaded_by("a graph of networkx or igraph")
_GEXF: Final = _loaded_by("networkx.read_gexf(FILE)")
_GML: Final = _loaded_by("networkx.read_gml(FILE)")
_GRAPHML: Final = _loaded_by("networkx.read_graphml(FILE)")
# networkx takes people of one name in a Pajek file for one.
_PAJEK: Final = "Export two tables (CSV), of people and of ties."
_NODE_LINK: Final = _loaded_by("networkx.node_link_graph(json.load(open(FILE)))")
_MATRIX_MARKET: Final = _loaded_by("scipy.io.mmread(FILE)")
_NPZ: Final = _loaded_by("scipy.sparse.load_npz(FILE)")
_NPY: Final = _loaded_by("scipy.sparse.csr_array(numpy.load(FILE))")
_MATLAB: Final = _loaded_by("scipy.io.loadmat(FILE)[NAME]")
_UNPACK: Final = "Unpack it, and name the file inside."
_BY_FIRST_BYTES: Final = (
    (
        rb"7z\xbc\xaf\x27\x1c|Rar!|BZh\d|\xfd7zXZ|\x28\xb5\x2f\xfd|.{257}ustar",
        "an archive",
        _UNPACK,
    ),
    (rb"PK\x03\x04.{26,80}?(\[Content_Types\]|mimetype|_rels)", "a spreadsheet", _TABLES),
    (rb"\xd0\xcf\x11\xe0", "a spreadsheet", _TABLES),
    (rb"PK\x03\x04.{26,80}?\.npy", "arrays of numpy", _NPZ),
    (rb"PK\x03\x04", "an archive", _UNPACK),
    (rb"SQLite format 3\0", "an SQLite database", _TABLES),
    (rb"MATLAB ", "a MATLAB file", _MATLAB),
    (rb"\x89HDF", "an HDF5 file", _TABLES),
    (rb"\x80[\x02-\x05]", "a pickle", f"Pickles are never loaded. {_GRAPH}"),
    (rb"\x93NUMPY", "one array of numpy", _NPY),
    (rb"ARROW1|FEA1|ORC|Obj\x01", "a table in a binary format", "Save it as CSV or Parquet."),
    (rb"RD[AX]\d\n", "a file of R", "Write tables by write.csv."),
    (rb"%PDF", "a PDF file", _TABLES),
    (rb"(?i:%%matrixmarket)", "a Matrix Market file", _MATRIX_MARKET),
    (rb"\xe2\x9b\xbe gt", "a file of graph-tool", _GRAPH),
    (rb"nkbg\d", "a file of NetworKit", _GRAPH),
    (rb">>(graph|sparse|digraph)6<<", "a graph6 file", _TIES),
)
"""How files begin, what they are, and what to do."""
_BY_TEXT: Final = (
    (r"\{[^\n]*\}\s*\n\{", "JSON lines", _TABLES),
    (r'\{(?s:.*)"nodes"\s*:', "node-link JSON", _NODE_LINK),
    (r"[\[{]", "JSON", _TABLES),
    (r"dl[\s,]+n[rcm]?\s*=", "a DL file of UCINET", _TIES),
    (r"nodedef\s*>", "a GDF file", _TABLES),
    (r'(strict\s+)?(di)?graph(\s+("[^"]*"|[\w.-]+))?\s*\{', "a DOT file", _GRAPH),
    (r"\(tlp\s", "a file of Tulip", _TABLES),
    (r"\*node data|\*tie data", "a VNA file", _TABLES),
    (r"\*\w", "a Pajek file", _PAJEK),
    (r'([a-z]\w*\s+("[^"]*"|[\d.]+)\s+(#[^\n]*\n\s*)*)*graph\s*\[', "GML", _GML),
)
_BY_ENDING: Final = {
    **dict.fromkeys((".zip", ".tar", ".tgz", ".7z", ".rar"), ("an archive", _UNPACK)),
    **dict.fromkeys((".bz2", ".xz", ".zst"), ("an archive", _UNPACK)),
    **dict.fromkeys((".xlsx", ".xls", ".ods"), ("a spreadsheet", _TABLES)),
    **dict.fromkeys((".h5", ".hdf5", ".hdf"), ("an HDF5 file", _TABLES)),
    **dict.fromkeys((".db", ".sqlite", ".sqlite3"), ("an SQLite database", _TABLES)),
    **dict.fromkeys((".graph", ".metis", ".chaco"), ("a METIS file", _TIES)),
    **dict.fromkeys((".dl", ".##h", ".##d"), ("a DL file of UCINET", _TIES)),
    **dict.fromkeys((".dot", ".gv"), ("a DOT file", _GRAPH)),
    **dict.fromkeys((".pkl", ".pickle", ".gpickle"), ("a pickle", _GRAPH)),
    **dict.fromkeys((".adjlist", ".multiadjlist", ".adj"), ("an adjacency list", _TIES)),
    **dict.fromkeys((".jsonl", ".ndjson"), ("JSON lines", _TABLES)),
    ".json": ("JSON", _TABLES),
    ".gexf": ("GEXF", _GEXF),
    ".gml": ("GML", _GML),
    ".paj": ("a Pajek file", _PAJEK),
    **dict.fromkeys((".g6", ".s6"), ("a graph6 file", _TIES)),
    **dict.fromkeys((".rds", ".rda", ".rdata"), ("a file of R", _TABLES)),
    ".mat": ("a MATLAB file", _MATLAB),
    ".graphml": ("GraphML", _GRAPHML),
    ".mtx": ("a Matrix Market file", _MATRIX_MARKET),
    ".npz": ("arrays of numpy", _NPZ),
    ".lgl": ("an LGL file", _TIES),
    ".gdf": ("a GDF file", _TABLES),
    ".tlp": ("a file of Tulip", _TABLES),
    ".gt": ("a file of graph-tool", _GRAPH),
    ".sif": ("a SIF file", _TIES),
    ".tgf": ("a TGF file", _TIES),
    ".vna": ("a VNA file", _TABLES),
    ".npy": ("one array of numpy", _NPY),
    ".hif": ("a hypergraph", "Ties are between two people: write pairs."),
}
_BY_ROOT: Final = {
    "gexf": ("GEXF", _GEXF),
    "graphml": ("GraphML", _GRAPHML),
    "html": ("a page of the web", "Download the file itself, not the page that shows it."),
}
"""Names of the first element of XML."""
_COMMENTS: Final = re.compile(r"\s+|//[^\n]*|/\*.*?\*/|#[^\n]*|%[^\n]*", re.DOTALL)
_NO_ELEMENTS: Final = re.compile(
    r"<!--.*?-->|<\?.*?\?>|<!doctype[^\[>]*(\[.*?\])?[^>]*>", re.DOTALL
)
_ROOT: Final = re.compile(r"\s*<([\w.-]+:)?([\w.-]+)")


def refuse_by_name(path: Path, head: bytes) -> None:
    """Refuse a file of another kind, by first bytes, text or ending.

    Parameters
    ----------
    head:
        How the file begins, unfolded if it is gzipped.

    Raises
    ------
    InvalidGraph
        If it is.
    """
    for what, hint in _found(path, head):
        raise InvalidGraph(f"{path} is {what}, which is not read.", hint=hint)


def _found(path: Path, head: bytes) -> Iterator[tuple[str, str]]:
    for begin, what, hint in _BY_FIRST_BYTES:
        if re.match(begin, head, re.DOTALL):
            yield what, hint
    text = head.decode("utf-8", "replace").removeprefix("\ufeff").lower()
    at = 0
    while at < len(text) and (found := _COMMENTS.match(text, at)):
        at = found.end()
    if text[at:].startswith("<"):
        root = _ROOT.match(_NO_ELEMENTS.sub("", text[at:]))
        yield _BY_ROOT.get(root[2] if root else "", ("XML", _GRAPH))
    for pattern, what, hint in _BY_TEXT:
        if re.match(pattern, text[at:]):
            yield what, hint
    if _is_lgl(text):
        yield "an LGL file", _TIES
    ending = (path.with_suffix("") if path.suffix.lower() == ".gz" else path).suffix.lower()
    if ending in _BY_ENDING and not path.name.startswith("out."):  # KONECT's names end in words.
        yield _BY_ENDING[ending]


def _is_lgl(text: str) -> bool:
    """Whether `#` lines of one name stand among the others.

    The first of them counts, too.
    """
    lines = text.splitlines()
    names = [i for i, line in enumerate(lines) if re.fullmatch(r"# \S+", line)]
    return len(names) > 1 and names[0] == 0 and names[1] < len(lines) - 1 and names[1] > 1
