"""Networks in the files in which they are published.

What a file is is told by how it begins, and by its ending where that says nothing. Each may be
gzipped. docs/files.md lists the formats, and what of each is not read.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final

from ktsafe.errors import BadLines, InvalidGraph
from ktsafe.inputs.compressed import opened
from ktsafe.inputs.formats.arrays import OGB_EDGES, read_npz, read_ogb
from ktsafe.inputs.formats.gexf import read_gexf
from ktsafe.inputs.formats.gml import read_gml
from ktsafe.inputs.formats.graphml import read_graphml
from ktsafe.inputs.formats.matrix_market import read_matrix_market
from ktsafe.inputs.formats.node_link import read_node_link
from ktsafe.inputs.formats.other_formats import refuse_by_name
from ktsafe.inputs.formats.pajek import read_pajek
from ktsafe.inputs.network import Network
from ktsafe.inputs.tables.edge_lists import placed, read_edge_list
from ktsafe.inputs.tables.names import ENDS, NOTHING_CHOSEN, Chosen
from ktsafe.inputs.tables.people_and_ties import People

Reader = Callable[[Path, BinaryIO], Network]
_HEAD_BYTES: Final = 1 << 16
_BY_ENDING: Final[dict[str, Reader]] = {
    ".graphml": read_graphml,
    ".gexf": read_gexf,
    ".gml": read_gml,
    ".paj": read_pajek,
    ".json": read_node_link,
    ".mtx": read_matrix_market,
    ".npz": read_npz,
}
_BY_ROOT: Final[dict[str, Reader]] = {"graphml": read_graphml, "gexf": read_gexf}
_NO_ELEMENTS: Final = re.compile(
    r"<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^\[>]*(\[.*?\])?[^>]*>", re.DOTALL
)
_ROOT: Final = re.compile(r"\s*<([\w.-]+:)?([\w.-]+)")
_GML: Final = re.compile(
    r'(\s+|#[^\n]*\n|[a-z]\w*\s+("[^"]*"|[\d.]+)(?=\s))*graph\s*\[', re.IGNORECASE
)
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
        return _of_xml(path, begin)
    if begin.startswith(("{", "[")) and ending not in {".jsonl", ".ndjson"}:
        return read_node_link
    refuse_by_name(path, ending, head)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InvalidGraph(f"{path} is a text in UTF-16.", hint="Save it as UTF-8.")
    if text.lower().startswith("%%matrixmarket"):
        return read_matrix_market
    if re.match(r"(%[^\n]*\n|\s+)*\*\w", text):
        return read_pajek
    if _GML.match(text):
        return read_gml
    return _BY_ENDING.get(ending)


def _text(head: bytes) -> str:
    encoding = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    return head.decode(encoding, "replace").removeprefix("\ufeff")


def _of_xml(path: Path, begin: str) -> Reader:
    found = _ROOT.match(_NO_ELEMENTS.sub("", begin))
    root = found[2] if found else ""
    if root.lower() == "html" or "<!doctype html" in begin.lower():
        hint = "Download the file itself, not the page that shows it."
        raise InvalidGraph(f"{path} is a page of the web.", hint=hint)
    if root not in _BY_ROOT:
        what = f"XML that begins with <{root}>" if root else "no whole XML"
        raise InvalidGraph(f"{path} is {what}, and not GraphML or GEXF.", hint=_LISTED)
    return _BY_ROOT[root]
