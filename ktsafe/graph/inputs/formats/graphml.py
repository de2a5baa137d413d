"""GraphML: vertices with typed attributes that may have defaults.

Read here and not by a library: those drop nested and second graphs, people declared twice and
defaults, and refuse a file in which some ties have a direction and others none.

A file may name people before it declares them. Once all of it is read, `_Draft.network` refuses
what does not fit together.
"""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final, NoReturn

import numpy as np

from ktsafe.errors import InvalidGraph
from ktsafe.graph.inputs.formats.xml_elements import Element, elements, reading
from ktsafe.graph.inputs.network import Kind, Network
from ktsafe.graph.inputs.spelling import id_text, spelt_twice, value_text

_WHOLE: Final = frozenset({"key", "node", "edge", "data", "desc"})
_FLAT: Final = "Write one graph without others in it."
_LABELS: Final = (" NodeLabel", " Label.Text")
"""Where yEd and yFiles write what stands on a vertex."""
_MEANT_OTHERWISE: Final = frozenset({"id", "source", "target"})
"""Names that have a meaning in tables of people and of ties."""


def read_graphml(path: Path, file: BinaryIO) -> Network:
    """Read a GraphML file.

    Raises
    ------
    InvalidGraph
        If there is anything in it that has no place in a network, or is not declared.
    """
    return _GraphmlReader(path).read(file)


@dataclasses.dataclass(eq=False)
class _Attribute:
    """An attribute of people; `default` holds for those without a value."""

    name: str
    kind: Kind
    read: Callable[[str], str | None]
    default: str | None = None
    values: dict[int, str | None] = dataclasses.field(default_factory=dict)


class _Draft:
    """People and ties that were read so far."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.attributes: dict[str, _Attribute] = {}
        self.directed = 0
        self.ignored: set[str] = set()
        self._notes: list[str] = []
        self._numbers: dict[str, int] = {}
        self._rows: dict[int, int] = {}
        self._ends = array("q")
        self._named_at: dict[int, int] = {}
        """Lines of the first ties of people who were not declared before."""

    def refuse(self, line: int | None, what: str, hint: str = "") -> NoReturn:
        """Refuse the file for what stands in a line.

        Raises
        ------
        InvalidGraph
        """
        where = self.path if line is None else f"{self.path}, line {line}"
        raise InvalidGraph(f"{where}: {what}.", hint=hint)

    def person(self, line: int, key: str | None) -> int:
        """Declare a person; return the row.

        Raises
        ------
        InvalidGraph
            If there is no id, or it was declared before.
        """
        row = len(self._rows)
        if self._rows.setdefault(self._number(line, key), row) != row:
            self.refuse(line, "the same person for the second time", "Declare everybody once.")
        return row

    def tie(self, line: int, source: str | None, target: str | None, *, directed: bool) -> None:
        """Add a tie between people that are declared anywhere in the file.

        Raises
        ------
        InvalidGraph
            If an end has no id.
        """
        for key in (source, target):
            number = self._number(line, key)
            if number not in self._rows:
                self._named_at.setdefault(number, line)
            self._ends.append(number)
        self.directed += directed

    def put(self, line: int, attribute: _Attribute, row: int, text: str) -> None:
        """Set a person's value from the file by the attribute's type.

        Raises
        ------
        InvalidGraph
            If it is not of that type, or stands there twice.
        """
        if row in attribute.values:
            self.refuse(line, f"{attribute.name!r} for the second time", "Give one value.")
        attribute.values[row] = self.typed(line, attribute, text)

    def typed(self, line: int, attribute: _Attribute, text: str) -> str | None:
        """Return the text of a value of an attribute.

        Raises
        ------
        InvalidGraph
            If it is not of the attribute's type.
        """
        try:
            return attribute.read(text)
        except ValueError:
            what = f"a value of {attribute.name!r} that is no {attribute.kind}"
            self.refuse(line, what, "Give it the type that its values have.")
        except InvalidGraph as error:
            self.refuse(line, f"{attribute.name!r}: {error.message[:-1]}", error.hint)

    def network(self) -> Network:
        """Return the network.

        Raises
        ------
        InvalidGraph
            If ties name people who are not declared, two ids are one text, or two attributes have
            one name.
        """
        if unknown := [line for number, line in self._named_at.items() if number not in self._rows]:
            what = "a tie of somebody who is not declared"
            self.refuse(unknown[0], what, "Declare everybody, those without ties, too.")
        rows = np.zeros(len(self._numbers), dtype=np.int64)
        rows[list(self._rows)] = list(self._rows.values())
        columns: dict[str, list[str | None]] = {}
        kinds: dict[str, Kind] = {}
        for attribute in self.attributes.values():
            name = self._column_name(attribute.name)
            if name in columns:
                self.refuse(None, f"two attributes are called {name!r}", "Rename one of them.")
            values, default = attribute.values, attribute.default
            columns[name] = [values.get(row, default) for row in range(len(self._rows))]
            kinds[name] = attribute.kind
        return Network.of_rows(
            "GraphML",
            self._ids(),
            rows[np.frombuffer(self._ends, dtype=np.int64)],
            columns,
            kinds=kinds,
            directed=self.directed,
            ignored=self.ignored,
            notes=self._notes,
        )

    def _number(self, line: int, key: str | None) -> int:
        bare = (key or "").strip()
        if not bare:
            self.refuse(line, "an id is missing")
        return self._numbers.setdefault(bare, len(self._numbers))

    def _ids(self) -> list[str]:
        keys = list(self._numbers)
        given = [keys[number] for number in self._rows]
        texts = []
        for key in given:
            try:
                text = id_text(key)
            except InvalidGraph as error:
                self.refuse(None, error.message[:-1], error.hint)
            if text is None:
                self.refuse(None, "an id is missing")
            texts.append(text)
        if n := len(spelt_twice(given, texts)):
            what = f"{n} {'ids are' if n > 1 else 'id is'} spelt in two ways, such as 1 and 1.0"
            self.refuse(None, what, "Give everybody an id that differs in more than that.")
        return texts

    def _column_name(self, name: str) -> str:
        """Return the name of a column; `id`, `source` and `target` mean something."""
        if name not in _MEANT_OTHERWISE:
            return name
        self._notes.append(f"The attribute {name!r} is the column '{name}_'.")
        return f"{name}_"


class _GraphmlReader:
    """A file that is being read.

    Keys may stand behind what uses them.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.draft = _Draft(path)
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
        label = _Attribute("label", "text", value_text)
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

    def _attribute(self, id_: str, key: Element) -> _Attribute:
        name, type_ = _name_of(id_, key), key.get("attr.type") or "string"
        found = reading(type_)
        if found is None:
            self.draft.refuse(key.line, f"{name!r} is of the unknown type {type_!r}")
        attribute = _Attribute(name, *found)
        for default in key.named("default"):
            attribute.default = self.draft.typed(default.line, attribute, default.text)
        return attribute

    def _add(self, line: int, attribute: _Attribute) -> None:
        """Add an attribute.

        Numbers of two types, as networkx writes them, are one.
        """
        other = self.draft.attributes.setdefault(attribute.name, attribute)
        if other is attribute:
            return
        is_one = {attribute.kind, other.kind} == {"number"} and not (
            attribute.default or other.default
        )
        if not is_one or other.values.keys() & attribute.values.keys():
            what = f"a second key is called {attribute.name!r}"
            self.draft.refuse(line, what, "Rename one of them.")
        other.values |= attribute.values


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
