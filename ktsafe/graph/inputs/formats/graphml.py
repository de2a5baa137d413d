"""GraphML: vertices with typed attributes that may have defaults.

Read here and not by a library: those drop nested and second graphs, people declared twice and
defaults, and refuse a file in which some ties have a direction and others none.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from ktsafe.graph.inputs.formats.drafts import Attribute, Draft
from ktsafe.graph.inputs.formats.xml_elements import Element, elements, reading
from ktsafe.graph.inputs.network import Network

_WHOLE: Final = frozenset({"key", "node", "edge", "data", "desc"})
_FLAT: Final = "Write one graph without others in it."
_LABELS: Final = (" NodeLabel", " Label.Text")
"""Where yEd and yFiles write what stands on a vertex."""


def read_graphml(path: Path, file: BinaryIO) -> Network:
    """Read a GraphML file.

    Raises
    ------
    InvalidGraph
        If there is anything in it that has no place in a network, or is not declared.
    """
    return _GraphmlReader(path).read(file)


class _GraphmlReader:
    """A file that is being read.

    Keys may stand behind what uses them.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.draft = Draft("GraphML", path)
        self._keys: dict[str, dict[str, Element]] = {"node": {}, "edge": {}}
        """Keys of people and of ties: rustworkx numbers them apart, so that ids may recur."""
        self._of_people: list[tuple[int, str, int, str]] = []
        """Line, key, row and text of all that is said of people."""
        self._drawn: list[tuple[int, int, Element]] = []
        self._of_ties: dict[str, int] = {}
        """Keys that ties have, and the first line of each."""
        self._is_directed: bool | None = None

    def read(self, file: BinaryIO) -> Network:
        """Return the network."""
        draft = self.draft
        for element in elements(self.path, file, _WHOLE):
            match element.parent, element.name:
                case ("", "graphml") | (_, "desc"):
                    pass
                case "graphml", "key":
                    self._key(element)
                case "graphml", "graph":
                    if self._is_directed is not None:
                        draft.refuse(element.line, "a second graph", _FLAT)
                    self._is_directed = element.get("edgedefault") == "directed"
                case "graph", "node":
                    self._node(element)
                case "graph", "edge":
                    self._edge(element)
                case (("graphml" | "graph"), "data"):
                    pass  # Of the graph, not of people.
                case _:
                    self._refuse(element)
        if self._is_directed is None:
            draft.refuse(None, "there is no graph in it")
        self._finish()
        return draft.network()

    def _key(self, key: Element) -> None:
        id_, for_ = key.get("id") or "", key.get("for") or "all"
        for what, keys in self._keys.items():
            if for_ not in {"all", what}:
                continue
            if not id_ or id_ in keys:
                told = f"a second key {id_!r}" if id_ else "a key without an id"
                self.draft.refuse(key.line, told, "Declare each key once.")
            keys[id_] = key

    def _node(self, node: Element) -> None:
        row = self.draft.person(node.line, node.get("id"))
        for data in self._data(node):
            key = data.get("key") or ""
            if data.children:
                self._drawn.append((data.line, row, data))
            else:
                self._of_people.append((data.line, key, row, data.text))

    def _edge(self, edge: Element) -> None:
        says = edge.get("directed")
        if says not in {None, "true", "false"}:
            self.draft.refuse(edge.line, "directed is neither true nor false")
        directed = bool(self._is_directed) if says is None else says == "true"
        self.draft.tie(edge.line, edge.get("source"), edge.get("target"), directed=directed)
        for end in ("sourceport", "targetport"):
            if edge.get(end) is not None:
                self.draft.ignored.add("ports")
        for data in self._data(edge):
            self._of_ties.setdefault(data.get("key") or "", data.line)

    def _data(self, element: Element) -> Iterator[Element]:
        """Yield the data of a vertex or of an edge.

        Refuse what it may not hold.
        """
        for child in element.children:
            match child.name:
                case "data":
                    yield child
                case "desc":
                    pass
                case "port":
                    self.draft.ignored.add("ports")
                case _:
                    self._refuse(child)

    def _refuse(self, element: Element) -> None:
        """Refuse an element that has no place where it stands."""
        line, name = element.line, element.name
        if not element.parent:
            self.draft.refuse(line, f"it begins with <{name}>, not with <graphml>")
        named = {
            "graph": ("a graph in a vertex or an edge", _FLAT),
            "hyperedge": ("a hyperedge", "Ties are between two people: write pairs."),
            "locator": ("a part that lies in another file", "Write all of it in one file."),
        }
        what, hint = named.get(name, (f"<{name.split()[-1]}> has no place there", ""))
        self.draft.refuse(line, what, hint)

    def _finish(self) -> None:
        """Tell attributes by their keys, once all of these are known."""
        for id_, line in self._of_ties.items():
            key = self._declared(line, id_, "edge")
            self.draft.ignored.add(_name_of(id_, key))
        for id_, key in self._keys["edge"].items():
            if key.get("for") == "edge" and any(key.named("default")):
                self.draft.ignored.add(_name_of(id_, key))
        found = {
            id_: self._attribute(id_, key)
            for id_, key in self._keys["node"].items()
            if any(key.named("default"))
        }
        for line, id_, row, text in self._of_people:
            key = self._declared(line, id_, "node")
            if key.get("yfiles.type") is None:
                if id_ not in found:
                    found[id_] = self._attribute(id_, key)
                self.draft.put(line, found[id_], row, text)
        self._finish_drawn()
        for id_, key in self._keys["node"].items():
            if id_ in found:
                self._add(key.line, found[id_])

    def _finish_drawn(self) -> None:
        """Recognize the values' parts, and read the drawn labels."""
        label = Attribute("label", "text")
        for line, row, data in self._drawn:
            id_ = data.get("key") or ""
            key = self._declared(line, id_, "node")
            if key.get("attr.type") is not None:
                self.draft.refuse(line, "a value made of elements", "Values are texts.")
            self.draft.ignored.add(_name_of(id_, key))
            if text := _label_of(data):
                self.draft.put(line, label, row, text)
        names = {_name_of(id_, key) for id_, key in self._keys["node"].items()}
        if label.values and label.name not in names:
            self.draft.attributes[label.name] = label

    def _declared(self, line: int, id_: str, what: str) -> Element:
        key = self._keys[what].get(id_)
        if key is None:
            whom = "people" if what == "node" else "ties"
            hint = f'Write <key id="{id_}" for="{what}" .../> before the graph.'
            self.draft.refuse(line, f"key {id_!r} is not declared for {whom}", hint)
        return key

    def _attribute(self, id_: str, key: Element) -> Attribute:
        name, type_ = _name_of(id_, key), key.get("attr.type") or "string"
        found = reading(type_)
        if found is None:
            self.draft.refuse(key.line, f"{name!r} is of the unknown type {type_!r}")
        attribute = Attribute(name, *found)
        for default in key.named("default"):
            attribute.default = self.draft.typed(default.line, attribute, default.text)
        return attribute

    def _add(self, line: int, attribute: Attribute) -> None:
        """Add an attribute.

        Numbers of two types, as networkx writes them, are one.
        """
        other = self.draft.attributes.setdefault(attribute.name, attribute)
        if other is attribute:
            return
        is_one = {attribute.kind, other.kind} == {"number"} and not (
            attribute.default or other.default
        )
        if not is_one or not other.takes(attribute):
            what = f"a second key is called {attribute.name!r}"
            self.draft.refuse(line, what, "Rename one of them.")


def _name_of(id_: str, key: Element) -> str:
    return key.get("attr.name") or key.get("yfiles.type") or id_


def _label_of(data: Element) -> str:
    """Return the first label that is drawn."""
    waiting = [*data.children]
    while waiting:
        element = waiting.pop(0)
        if element.name.endswith(_LABELS):
            return element.text
        waiting += element.children
    return ""
