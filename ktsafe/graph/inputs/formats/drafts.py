"""A network while its file is read: people, their values, their ties.

A file may name people before it declares them. Once all of it is read, `Draft.network` refuses
what does not fit together.
"""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

import numpy as np

from ktsafe.errors import InvalidGraph
from ktsafe.graph.inputs.network import Kind, Network
from ktsafe.graph.inputs.spelling import id_text, spelt_twice, value_text

Place = int | str
"""The number of a line, or what else tells where something stands."""
_ABSENT: Final = object()
_MEANT_OTHERWISE: Final = frozenset({"id", "source", "target"})


@dataclasses.dataclass(eq=False)
class Attribute:
    """An attribute of people.

    Attributes
    ----------
    name:
        What the file calls it.
    kind:
        What the file declares it to be; None if its values say so.
    default:
        What people have of whom the file says nothing.
    """

    name: str
    kind: Kind | None = None
    read: Callable[[str], str | None] = value_text
    default: str | None = None
    values: list[object] = dataclasses.field(default_factory=list)
    seen: set[Kind] = dataclasses.field(default_factory=set)

    def put(self, row: int, text: object) -> bool:
        """Set the value of the person at a row.

        False if it has one.
        """
        values = self.values
        if row >= len(values):
            values.extend([_ABSENT] * (row + 1 - len(values)))
        elif values[row] is not _ABSENT:
            return False
        values[row] = text
        return True

    def takes(self, other: Attribute) -> bool:
        """Take over another one's values; False if a person has both."""
        return all(each is _ABSENT or self.put(row, each) for row, each in enumerate(other.values))

    def texts(self, n: int) -> list[str | None]:
        """Return the values of n people."""
        there = [*self.values, *[_ABSENT] * (n - len(self.values))]
        return [self.default if each is _ABSENT else each for each in there]  # type: ignore[misc]

    @property
    def told_kind(self) -> Kind | None:
        """The type of its values, as far as the file says."""
        return self.kind or (next(iter(self.seen)) if len(self.seen) == 1 else None)


class Draft:
    """The part of a file that was read so far.

    Parameters
    ----------
    are_texts:
        Whether ids are given as the texts that they become.

    Attributes
    ----------
    directed:
        Rows of ties that have a direction.
    ignored, notes:
        As of `Network`.
    """

    def __init__(self, format_: str, path: Path, *, are_texts: bool = False) -> None:
        self.format = format_
        self.path = path
        self._are_texts = are_texts
        self.attributes: dict[str, Attribute] = {}
        self.directed = 0
        self.ignored: set[str] = set()
        self.notes: list[str] = []
        self._numbers: dict[str, int] = {}
        self._rows: dict[int, int] = {}
        self._ends = array("q")
        self._named_at: dict[int, Place] = {}

    def refuse(self, where: Place | None, what: str, hint: str = "") -> NoReturn:
        """Refuse the file for what stands at a place.

        Raises
        ------
        InvalidGraph
        """
        raise InvalidGraph(f"{self._told(where)}: {what}.", hint=hint)

    def person(self, where: Place, key: str | None) -> int:
        """Declare a person; return the row.

        Raises
        ------
        InvalidGraph
            If there is no id, or it was declared before.
        """
        row = len(self._rows)
        number = self._number(where, key)
        if self._rows.setdefault(number, row) != row:
            self.refuse(where, "the same person for the second time", "Declare everybody once.")
        return row

    def tie(self, where: Place, source: str | None, target: str | None, *, directed: bool) -> None:
        """Add a tie between people that are declared anywhere in the file.

        Raises
        ------
        InvalidGraph
            If an end has no id.
        """
        for key in (source, target):
            number = self._number(where, key)
            if number not in self._rows:
                self._named_at.setdefault(number, where)
            self._ends.append(number)
        self.directed += directed

    def put(self, where: Place, attribute: Attribute, row: int, text: str) -> None:
        """Set a person's value from the file by the attribute's type.

        Raises
        ------
        InvalidGraph
            If it is not of that type, or stands there twice.
        """
        self._set(where, attribute, row, self.typed(where, attribute, text))

    def typed(self, where: Place, attribute: Attribute, text: str) -> str | None:
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
            self.refuse(where, what, "Give it the type that its values have.")
        except InvalidGraph as error:
            self.refuse(where, f"{attribute.name!r}: {error.message[:-1]}", error.hint)

    def put_plain(self, where: Place, name: str, row: int, value: object) -> None:
        """Set a value by the type of the value itself.

        Raises
        ------
        InvalidGraph
            If it has no text, or stands there twice.
        """
        attribute = self.attributes.setdefault(name, Attribute(name))
        try:
            text = value_text(value)
        except InvalidGraph as error:
            self.refuse(where, f"{name!r}: {error.message[:-1]}", error.hint)
        if text is not None:
            attribute.seen.add(_kind_of(value))
        self._set(where, attribute, row, text)

    def network(self) -> Network:
        """Return the network.

        Raises
        ------
        InvalidGraph
            If ties name people who are not declared, two ids are one text, or two attributes have
            one name.
        """
        if unknown := [at for number, at in self._named_at.items() if number not in self._rows]:
            what = "a tie of somebody who is not declared"
            self.refuse(unknown[0], what, "Declare everybody, those without ties, too.")
        rows = np.zeros(len(self._numbers), dtype=np.int64)
        for number, row in self._rows.items():
            rows[number] = row
        columns: dict[str, list[str | None]] = {}
        kinds: dict[str, Kind] = {}
        for attribute in self.attributes.values():
            name = self._column_name(attribute.name)
            if name in columns:
                self.refuse(None, f"two attributes are called {name!r}", "Rename one of them.")
            columns[name] = attribute.texts(len(self._rows))
            if kind := attribute.told_kind:
                kinds[name] = kind
        return Network.of_rows(
            self.format,
            self._ids(),
            rows[np.frombuffer(self._ends, dtype=np.int64)],
            columns,
            kinds=kinds,
            directed=self.directed,
            ignored=self.ignored,
            notes=self.notes,
        )

    def _told(self, where: Place | None) -> str:
        if where is None:
            return str(self.path)
        return f"{self.path}, line {where}" if isinstance(where, int) else f"{self.path}, {where}"

    def _number(self, where: Place, key: str | None) -> int:
        bare = (key or "").strip()
        if not bare:
            self.refuse(where, "an id is missing")
        return self._numbers.setdefault(bare, len(self._numbers))

    def _set(self, where: Place, attribute: Attribute, row: int, text: str | None) -> None:
        if not attribute.put(row, text):
            self.refuse(where, f"{attribute.name!r} for the second time", "Give one value.")

    def _ids(self) -> list[str]:
        keys = list(self._numbers)
        given = [keys[number] for number in self._rows]
        if self._are_texts:
            return given
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
        self.notes.append(f"The attribute {name!r} is the column '{name}_'.")
        return f"{name}_"


def _kind_of(value: object) -> Kind:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else "text"
