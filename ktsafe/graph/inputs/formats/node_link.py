"""Read node-link JSON, as networkx and d3 write it.

It has a list of nodes, and one of links or edges.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO, Final, NoReturn

from ktsafe.errors import InvalidGraph
from ktsafe.graph.inputs.formats.drafts import Draft
from ktsafe.graph.inputs.network import Network
from ktsafe.graph.inputs.spelling import id_text

_TIES: Final = ("links", "edges")
_NUMBERED: Final = frozenset({"id", "key"})
"""What numbers ties, and says nothing of them."""
_OTHERS: Final = {
    "elements": "Cytoscape's JSON",
    "adjacency": "adjacency data of networkx",
    "children": "a tree",
    "vertices": "JSON of another kind",
    "features": "GeoJSON",
}
_HALF_LETTER: Final = re.compile(r"\\u[dD][89a-fA-F]")
_WAY_ON: Final = "networkx.node_link_data writes what is read, and so does d3."


def read_node_link(path: Path, file: BinaryIO) -> Network:
    """Read node-link JSON.

    Where no node has an id, ties name nodes by their positions from 0.

    Raises
    ------
    InvalidGraph
        If it is JSON of another kind, or anything in it is given twice or has no place in a
        network.
    """
    draft = Draft("node-link JSON", path, are_texts=True)
    data = _parsed(draft, file.read().decode("utf-8-sig"))
    nodes, links, word = _lists(draft, data)
    directed = data.get("directed", False)
    if not isinstance(directed, bool):
        draft.refuse(None, "directed is neither true nor false")
    called = _people(draft, nodes)
    for i, link in enumerate(links):
        where = f"{word}[{i}]"
        if not isinstance(link, dict) or not {"source", "target"} <= link.keys():
            draft.refuse(where, "a tie has a source and a target")
        ends = [_end(draft, where, link[end], called) for end in ("source", "target")]
        draft.tie(where, *ends, directed=directed)
        draft.ignored.update(link.keys() - {"source", "target", *_NUMBERED})
    return draft.network()


def _people(draft: Draft, nodes: list[Any]) -> dict[str, str]:
    """Declare everybody; return the names in ties, and their own."""
    with_id = sum(isinstance(node, dict) and "id" in node for node in nodes)
    called: dict[str, str] = {}
    made_of_others: set[str] = set()
    for i, node in enumerate(nodes):
        where = f"nodes[{i}]"
        if not isinstance(node, dict):
            draft.refuse(where, "a node is an object")
        if 0 < with_id < len(nodes) and "id" not in node:
            draft.refuse(where, "no id, and others have one", "Give all nodes one, or none.")
        id_ = _text(draft, where, node["id"] if with_id else i)
        row = draft.person(where, id_)
        called[id_] = id_
        for name, value in _attributes(node):
            if isinstance(value, dict | list):
                made_of_others.add(name)
            else:
                draft.put_plain(where, name, row, value)
    for name in made_of_others:
        draft.attributes.pop(name, None)
    draft.ignored |= made_of_others
    if nodes and not with_id:
        draft.notes.append("No node has an id, so people are called by their positions from 0.")
    return called


def _attributes(node: dict[str, Any]) -> Iterable[tuple[str, Any]]:
    """Return what a node has.

    Rustworkx puts it into an object of its own.
    """
    data = node.get("data")
    if node.keys() == {"id", "data"} and isinstance(data, dict):
        return data.items()
    return ((name, value) for name, value in node.items() if name != "id")


def _end(draft: Draft, where: str, value: Any, called: dict[str, str]) -> str:
    end = called.get(_text(draft, where, value))
    if end is None:
        draft.refuse(where, "a tie of somebody who is not declared", "Ties name ids of nodes.")
    return end


def _text(draft: Draft, where: str, value: Any) -> str:
    """Return the text of an id.

    Lists are the tuples that networkx writes so.
    """
    if isinstance(value, list):
        value = tuple(value)
    try:
        text = id_text(value)
    except InvalidGraph as error:
        draft.refuse(where, error.message[:-1], error.hint)
    if text is None:
        draft.refuse(where, "an id is missing")
    return text


def _lists(draft: Draft, data: Any) -> tuple[list[Any], list[Any], str]:
    """Return nodes and ties, and what the latter are called."""
    if not isinstance(data, dict):
        _refuse(draft, "a list of JSON")
    ties = [name for name in _TIES if name in data]
    if len(ties) != 1 or "nodes" not in data:
        if "nodes" in data and len(ties) == 2:
            draft.refuse(None, "both links and edges", "Write the ties in one list.")
        graph = data.get("graph")
        is_jgf = "graphs" in data or (isinstance(graph, dict) and "nodes" in graph)
        found = (name for key, name in _OTHERS.items() if key in data)
        _refuse(draft, "JSON Graph Format" if is_jgf else next(found, "JSON of another kind"))
    nodes, links = data["nodes"], data[ties[0]]
    if not isinstance(nodes, list) or not isinstance(links, list):
        draft.refuse(None, f"nodes and {ties[0]} are lists")
    known = {"nodes", *ties, "directed", "multigraph", "graph", "attrs"}
    draft.ignored.update(key for key in data.keys() - known if data[key])
    return nodes, links, ties[0]


def _parsed(draft: Draft, text: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            draft.refuse(None, f"{twice!r} for the second time in one object", "Give it once.")
        return found

    try:
        data = json.loads(text, object_pairs_hook=once)
        if _HALF_LETTER.search(text):
            json.dumps(data, ensure_ascii=False).encode()
        return data
    except json.JSONDecodeError as error:
        if error.msg == "Extra data":
            _refuse(draft, "JSON lines")
        draft.refuse(error.lineno, f"no JSON ({error.msg})", "Write or copy the file again.")
    except UnicodeEncodeError:
        draft.refuse(
            None, "half of a letter (\\ud800 to \\udfff)", "Write letters, not their halves."
        )
    except (ValueError, RecursionError):
        draft.refuse(None, "JSON that nests too deep, or a number of too many digits")


def _refuse(draft: Draft, what: str) -> NoReturn:
    msg = f"{draft.path} is {what}, which is not read."
    raise InvalidGraph(msg, hint=_WAY_ON)
