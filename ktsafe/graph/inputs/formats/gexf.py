"""Read GEXF, versions 1.1 to 1.3.

Vertices have typed attributes, which may have defaults.

Read here and not by a library: networkx knows neither the types of 1.3 nor the name spaces that
other programs write, passes over defaults, and refuses ties with and without direction in one file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from ktsafe.graph.inputs.formats.drafts import Attribute, Draft
from ktsafe.graph.inputs.formats.xml_elements import Element, elements, reading
from ktsafe.graph.inputs.network import Network

_WHOLE: Final = frozenset({"meta", "attributes", "node", "edge"})
_TYPES: Final = {"directed": True, "mutual": True, "undirected": False}
_BEGINS: Final = frozenset({"start", "startopen", "timestamp"})
_ENDS: Final = ("end", "endopen")
_NEVER: Final = frozenset({"", "infinity", "inf", "+infinity"})
_STEADY: Final = "Write the network as it is at one time."
_TIMES: Final = "times"
_WEIGHT: Final = "weight"
"""An attribute of ties that early versions of Gephi do not declare."""
_NUMBER: Final = "networkx_key"
"""What networkx numbers ties with, which nobody asked for."""


def read_gexf(path: Path, file: BinaryIO) -> Network:
    """Read a GEXF file.

    Raises
    ------
    InvalidGraph
        If there is anything in it that has no place in a network, or is not declared; or if
        somebody or something ends.
    """
    return _GexfReader(path).read(file)


class _GexfReader:
    """A file that is being read.

    Attributes may stand behind what uses them.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.draft = Draft("GEXF", path)
        self._graph: Element | None = None
        self._declared: dict[str, dict[str, Element]] = {"node": {}, "edge": {}}
        self._of_people: list[tuple[int, str, int, str]] = []
        """Line, attribute, row and text of all that is said of people."""
        self._of_ties: dict[str, int] = {}
        """Attributes that ties have, and the first line of each."""
        self._label = Attribute("label", "text")

    def read(self, file: BinaryIO) -> Network:
        """Return the network."""
        draft = self.draft
        for element in elements(self.path, file, _WHOLE):
            match element.parent, element.name:
                case ("", "gexf") | (_, "meta") | ("graph", "nodes" | "edges"):
                    pass
                case "gexf", "graph":
                    if self._graph is not None:
                        draft.refuse(element.line, "a second graph", "Write one graph in a file.")
                    self._graph = element
                case "graph", "attributes":
                    self._attributes(element)
                case "nodes", "node":
                    self._node(element)
                case "edges", "edge":
                    self._edge(element)
                case _:
                    self._refuse(element)
        if self._graph is None:
            draft.refuse(None, "there is no graph in it")
        self._finish()
        return draft.network()

    def _attributes(self, attributes: Element) -> None:
        declared = self._declared.get(attributes.get("class") or "")
        if declared is None:
            self.draft.refuse(attributes.line, "attributes are of the class node or edge")
        for attribute in attributes.named("attribute"):
            id_ = attribute.get("id") or ""
            if not id_ or id_ in declared:
                what = f"a second attribute {id_!r}" if id_ else "an attribute without an id"
                self.draft.refuse(attribute.line, what, "Declare each attribute once.")
            declared[id_] = attribute

    def _node(self, node: Element) -> None:
        draft, line = self.draft, node.line
        row = draft.person(line, node.get("id"))
        if node.get("pid") is not None:
            draft.refuse(line, "a person inside of another one (pid)", "Leave groups out.")
        if label := node.get("label"):
            draft.put(line, self._label, row, label)
        for value, key in self._values(node):
            text = value.get("value")
            if text is None:
                draft.refuse(value.line, "a value is missing")
            self._of_people.append((value.line, key, row, text))

    def _edge(self, edge: Element) -> None:
        type_ = edge.get("type") or (self._graph and self._graph.get("defaultedgetype"))
        if type_ and type_ not in _TYPES:
            self.draft.refuse(edge.line, "a type of ties that is not known")
        directed = _TYPES[type_] if type_ else False
        self.draft.tie(edge.line, edge.get("source"), edge.get("target"), directed=directed)
        self.draft.ignored.update({_WEIGHT, "label", "kind"} & edge.attributes.keys())
        for value, key in self._values(edge):
            if key == _WEIGHT:
                self.draft.ignored.add(_WEIGHT)
            else:
                self._of_ties.setdefault(key, value.line)

    def _values(self, element: Element) -> Iterator[tuple[Element, str]]:
        """Yield values of a vertex or an edge with their attributes.

        Others are refused.
        """
        spells = []
        for child in element.children:
            match child.name:
                case "attvalues":
                    for value in child.named("attvalue"):
                        self._check_lasting(value, [])
                        yield value, value.get("for") or value.get("id") or ""
                case "spells" | "slices":
                    spells = child.children
                case "parents":
                    self.draft.ignored.add("parents")
                case name if " " in name or name in {"color", "position", "size", "shape"}:
                    self.draft.ignored.add("viz")
                case "thickness":
                    self.draft.ignored.add("viz")
                case _:
                    self._refuse(child)
        self._check_lasting(element, spells)

    def _check_lasting(self, element: Element, spells: list[Element]) -> None:
        """Refuse what has ended when the graph ends."""
        times = spells or [element]
        if any(not _BEGINS.isdisjoint(time.attributes) for time in times):
            self.draft.ignored.add(_TIMES)
        graph_end = self._graph and self._graph.get("end")
        for time in times:
            ends = [end for name in _ENDS if (end := time.get(name)) is not None]
            if all(end.lower() in _NEVER or end == graph_end for end in ends):
                return
        self.draft.refuse(element.line, "a part that ends before the graph does", _STEADY)

    def _refuse(self, element: Element) -> None:
        """Refuse an element that has no place where it stands."""
        line, name = element.line, element.name
        if not element.parent:
            self.draft.refuse(line, f"it begins with <{name}>, not with <gexf>")
        if name in {"nodes", "edges", "node", "graph"}:
            self.draft.refuse(line, "vertices inside of another one", "Leave groups out.")
        self.draft.refuse(line, f"<{name.split()[-1]}> has no place there")

    def _finish(self) -> None:
        """Tell attributes by their keys, once all of these are known."""
        draft = self.draft
        for key, line in self._of_ties.items():
            draft.ignored.add(self._title(line, key, "edge"))
        draft.ignored.update(
            _title_of(key, each)
            for key, each in self._declared["edge"].items()
            if any(each.named("default"))
        )
        draft.ignored.discard(_NUMBER)
        found: dict[str, Attribute] = {}
        used = {key for _, key, _, _ in self._of_people}
        for key, element in self._declared["node"].items():
            if key in used or any(element.named("default")):
                found[key] = self._attribute(key, element)
        if self._label.values:
            self._add_label()
        for line, key, row, text in self._of_people:
            self._title(line, key, "node")
            draft.put(line, found[key], row, text)

    def _add_label(self) -> None:
        """Make vertices' labels a column, beside an attribute of that name."""
        if "label" in self.draft.attributes:
            self._label.name = "label_"
            self.draft.notes.append("An attribute is called 'label'; labels are 'label_'.")
        self.draft.attributes[self._label.name] = self._label

    def _attribute(self, key: str, element: Element) -> Attribute:
        title, type_ = _title_of(key, element), element.get("type") or "string"
        known = reading(type_)
        if known is None:
            self.draft.refuse(element.line, f"{title!r} is of the unknown type {type_!r}")
        attribute = Attribute(title, *known)
        for default in element.named("default"):
            attribute.default = self.draft.typed(default.line, attribute, default.text)
        if self.draft.attributes.setdefault(title, attribute) is not attribute:
            what = f"a second attribute is called {title!r}"
            self.draft.refuse(element.line, what, "Rename one of them.")
        return attribute

    def _title(self, line: int, key: str, class_: str) -> str:
        element = self._declared[class_].get(key)
        if element is None:
            hint = f'Write <attribute id="{key}" .../> in <attributes class="{class_}">.'
            self.draft.refuse(line, f"attribute {key!r} is not declared", hint)
        return _title_of(key, element)


def _title_of(key: str, element: Element) -> str:
    return element.get("title") or key
