"""GML: vertices with keys and values.

Read here and not by a library: networkx refuses ties given twice, vertices without labels, and all
texts but ASCII.
"""

from __future__ import annotations

import html.entities
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final, Union

from ktsafe.errors import InvalidGraph
from ktsafe.graph.inputs.formats.drafts import Draft
from ktsafe.graph.inputs.network import Network
from ktsafe.graph.inputs.spelling import id_text

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)|(?P<text>"[^"]*")|(?P<open>\[)|(?P<close>\])
    |(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[Ee][+-]?\d+)?(?![\w.])|[+-](?:INF|inf)\b)
    |(?P<word>[A-Za-z_][\w.-]*)""",
    re.VERBOSE | re.ASCII,
)
_NO_NUMBERS: Final = frozenset({"nan", "inf"})
_WHOLE: Final = re.compile(r"[+-]?\d{1,4000}", re.ASCII)
_ENTITY: Final = re.compile(r"&(#\d+|#[xX][0-9a-fA-F]+|\w+);")
_DEPTH_MAX: Final = 100
Value = Union[str, int, float, "list[Pair]"]
Pair = tuple[str, int, Value]
"""A key, its line, and its value."""
_CUT: Final = "Write or copy the file again."


def read_gml(path: Path, file: BinaryIO) -> Network:
    """Read a GML file; people are named by labels, else by ids.

    Raises
    ------
    InvalidGraph
        If it is no GML, or there is anything in it that has no place in a network.
    """
    draft = Draft("GML", path, are_texts=True)
    tokens = _tokens(draft, file.read().decode("utf-8-sig"))
    graphs = [
        (line, value)
        for key, line, value in _pairs(draft, tokens, 0)
        if key == "graph" and isinstance(value, list)
    ]
    if len(graphs) != 1:
        where = graphs[1][0] if graphs else None
        draft.refuse(where, "a second graph" if graphs else "there is no graph in it")
    _read_graph(draft, graphs[0][1])
    return draft.network()


def _read_graph(draft: Draft, graph: list[Pair]) -> None:
    of_graph = {key: value for key, _, value in graph if key not in {"node", "edge"}}
    directed = of_graph.get("directed", 0)
    if directed not in (0, 1):
        draft.refuse(None, "directed is neither 0 nor 1")
    draft.ignored.update(key for key, value in of_graph.items() if isinstance(value, list))
    nodes, edges = (
        [(line, _given_once(draft, line, value)) for key, line, value in graph if key == wanted]
        for wanted in ("node", "edge")
    )
    called, by_label = _called(draft, nodes)
    for line, node in nodes:
        row = draft.person(line, called[_key(draft, line, node, "id")])
        for name, value in node.items():
            if isinstance(value, list):
                draft.ignored.add(name)
            elif name not in ({"id", "label"} if by_label else {"id"}):
                draft.put_plain(line, name, row, value)
    for line, edge in edges:
        ends = [called.get(_key(draft, line, edge, end)) for end in ("source", "target")]
        if None in ends:
            draft.refuse(line, "a tie of somebody who is not declared")
        draft.tie(line, *ends, directed=directed == 1)
        draft.ignored.update(edge.keys() - {"source", "target", "id"})


def _called(draft: Draft, nodes: list[tuple[int, dict[str, Value]]]) -> tuple[dict[str, str], bool]:
    """Return vertices' names by id, and whether these are labels."""
    labels = [node["label"] for _, node in nodes if "label" in node]
    # Several may be called by their labels only if these are no empty texts.
    with_label = len(labels) if len(labels) < 2 or any(label != "" for label in labels) else 0
    by_label = 0 < with_label == len(nodes)
    if with_label and not by_label:
        line = next(line for line, node in nodes if "label" not in node)
        draft.refuse(line, "no label, and others have one", "Give all vertices one, or none.")
    called: dict[str, str] = {}
    for line, node in nodes:
        id_ = _key(draft, line, node, "id")
        if id_ in called:
            draft.refuse(line, "the same id for the second time", "Declare everybody once.")
        called[id_] = _key(draft, line, node, "label") if by_label else id_
    if by_label:
        draft.notes.append("People are called by their labels; their numbers (id) are left out.")
    return called, by_label


def _key(draft: Draft, line: int, pairs: dict[str, Value], key: str) -> str:
    """Return the text of an id."""
    value = pairs.get(key)
    try:
        text = None if isinstance(value, list) else id_text(value)
    except InvalidGraph as error:
        draft.refuse(line, f"{key}: {error.message[:-1]}", error.hint)
    if text is None:
        draft.refuse(line, f"{key} is missing")
    return text


def _given_once(draft: Draft, line: int, pairs: Value) -> dict[str, Value]:
    """Return what a vertex or an edge has."""
    if not isinstance(pairs, list):
        draft.refuse(line, "a node or an edge without brackets")
    found: dict[str, Value] = {}
    for key, at, value in pairs:
        if key in found:
            draft.refuse(at, f"{key!r} for the second time", "Give one value, not a list.")
        if key in {"node", "edge", "graph"} or (key == "isGroup" and value == 1):
            draft.refuse(at, "vertices inside of another one", "Leave groups out.")
        found[key] = value
    return found


def _pairs(draft: Draft, tokens: Iterator[tuple[str, str, int]], depth: int) -> Iterator[Pair]:
    """Yield keys and values up to the bracket that closes them."""
    for kind, key, line in tokens:
        if kind == "close" and depth:
            return
        if kind != "word" or depth > _DEPTH_MAX:
            draft.refuse(line, "a key is missing, or a bracket does not fit", _CUT)
        what, text, at = next(tokens, ("", "", line))
        match what:
            case "open":
                yield key, line, [*_pairs(draft, tokens, depth + 1)]
            case "text":
                yield key, line, _unescaped(text[1:-1])
            case "number":
                yield key, line, int(text) if _WHOLE.fullmatch(text) else float(text)
            case "word" if text.lower() in _NO_NUMBERS:
                yield key, line, float(text)
            case _:
                draft.refuse(at, f"{key!r} has no value that GML has", _CUT)
    if depth:
        draft.refuse(None, "a bracket is open at its end", _CUT)


def _tokens(draft: Draft, text: str) -> Iterator[tuple[str, str, int]]:
    """Yield kind, text and line of each token."""
    at, line = 0, 1
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            draft.refuse(line, "text that GML does not have", _CUT)
        if found.lastgroup != "space":
            yield str(found.lastgroup), found[0], line
        line += found[0].count("\n")
        at = found.end()


def _unescaped(text: str) -> str:
    """Return a text with the characters that its entities stand for."""
    return _ENTITY.sub(_character, text) if "&" in text else text


def _character(entity: re.Match[str]) -> str:
    name = entity[1]
    if not name.startswith("#"):
        return html.entities.html5.get(f"{name};", entity[0])
    code = int(f"0{name[1:]}", 16) if name[1] in "xX" else int(name[1:])
    return chr(code) if code < 0xD800 or 0xDFFF < code <= 0x10FFFF else entity[0]
