"""Elements of XML with their lines, and their typed values."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import BinaryIO, Final
from xml.parsers import expat

from ktsafe.errors import InvalidGraph
from ktsafe.graph.inputs.network import Kind
from ktsafe.graph.inputs.spelling import value_text

_CHUNK_BYTES: Final = 1 << 16
_NAME_BYTES: Final = 64
_ENTITY: Final = re.compile(
    rb"&\0?(?!(amp|lt|gt|quot|apos|#[0-9]{1,9}|#x[0-9a-fA-F]{1,9});)[^;\s]{1,60};"
)
"""An entity of a type of document that lies elsewhere: in attributes the parser drops it."""


class Element:
    """An element of XML.

    Attributes
    ----------
    name:
        Its name, without the name space if that is the root's; otherwise both, a blank between.
    parent:
        The name of the element that it stands in; empty for the root.
    attributes:
        Those without a name space.
    line:
        Where it begins.
    text, children:
        What stands in it, if it was asked for as a whole.
    """

    __slots__ = ("attributes", "children", "line", "name", "parent", "text")

    def __init__(self, name: str, parent: str, attributes: dict[str, str], line: int) -> None:
        self.name = name
        self.parent = parent
        self.attributes = attributes
        self.line = line
        self.text = ""
        self.children: list[Element] = []

    def get(self, name: str) -> str | None:
        """Return an attribute."""
        return self.attributes.get(name)

    def named(self, name: str) -> Iterator[Element]:
        """Yield the children of a name."""
        return (child for child in self.children if child.name == name)


def elements(path: Path, file: BinaryIO, whole: Collection[str]) -> Iterator[Element]:
    """Yield beginning elements, and ended ones named in `whole`.

    The latter come with all in them.

    Raises
    ------
    InvalidGraph
        If the file is no well-formed XML, or declares entities.
    """
    handler = _XmlHandler(path, whole)
    try:
        end = b""
        while chunk := file.read(_CHUNK_BYTES):
            handler.parser.Parse(chunk, False)
            if handler.is_typed and _ENTITY.search(end + chunk):
                handler.refuse_entity()
            end = chunk[-_NAME_BYTES:]
            yield from handler.taken()
        handler.parser.Parse(b"", True)
        yield from handler.taken()
    except expat.ExpatError as error:
        msg = f"{path}, line {error.lineno}: no well-formed XML ({expat.ErrorString(error.code)})."
        raise InvalidGraph(msg, hint="Write or copy the file again.") from error
    except (LookupError, ValueError) as error:
        msg = f"{path}, line 1: XML in an encoding that is not known."
        raise InvalidGraph(msg, hint="Save it as UTF-8.") from error


class _XmlHandler:
    """What the parser calls."""

    def __init__(self, path: Path, whole: Collection[str]) -> None:
        self.path = path
        self.parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters
        parser.StartDoctypeDeclHandler = self.begin_type
        parser.EntityDeclHandler = parser.SkippedEntityHandler = self.refuse_entity
        self.is_typed = False
        self._whole = whole
        self._prefix = ""
        self._open: list[Element] = []
        self._inside = 0
        """How many elements that are asked for as a whole are open."""
        self._ready: list[Element] = []

    def begin_type(self, _name: str, system_id: str | None, *_: object) -> None:
        """Note that another file holds parts of the document."""
        self.is_typed = system_id is not None

    def taken(self) -> list[Element]:
        """Return the finished elements, once."""
        ready, self._ready = self._ready, []
        return ready

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Open an element."""
        if not self._open:
            self._prefix = name.rpartition(" ")[0] + " " * (" " in name)
        local = name.removeprefix(self._prefix)
        parent = self._open[-1].name if self._open else ""
        element = Element(local, parent, attributes, self.parser.CurrentLineNumber)
        if self._inside:
            self._open[-1].children.append(element)
            self._inside += 1
        elif local in self._whole:
            self._inside = 1
        else:
            self._ready.append(element)
        self._open.append(element)

    def end(self, _name: str) -> None:
        """Close an element."""
        element = self._open.pop()
        if self._inside:
            self._inside -= 1
            if not self._inside:
                self._ready.append(element)

    def characters(self, text: str) -> None:
        """Take a text in."""
        if self._inside:
            self._open[-1].text += text

    def refuse_entity(self, *_: object) -> None:
        """Refuse what stands for other text."""
        msg = f"{self.path}, line {self.parser.CurrentLineNumber}: an entity of its own."
        raise InvalidGraph(msg, hint="Write the text itself in its place.")


# Values that a file declares a type for.

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,4000}")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_NO_NUMBER: Final = frozenset({"nan", "-nan", "+nan"})
_BOOLEANS: Final = {"true": "true", "1": "true", "false": "false", "0": "false"}


def number_text(text: str) -> str | None:
    """Return the text of a number.

    None for NaN, and where there is none.

    Whole numbers keep all their digits, fractions those that a float has.

    Raises
    ------
    InvalidGraph
        If it is infinite.
    ValueError
        If it is no number.

    Examples
    --------
    >>> [number_text(text) for text in ("30.0", "007", "9007199254740993", "1.50", "NaN", "")]
    ['30', '7', '9007199254740993', '1.5', None, None]
    """
    bare = text.strip()
    if not bare or bare.lower() in _NO_NUMBER:
        return None
    if _WHOLE.fullmatch(bare):
        return str(int(bare))
    if not _NUMBER.fullmatch(bare) and bare.lower().lstrip("+-") not in {"inf", "infinity"}:
        raise ValueError("no number")
    return value_text(float(bare))


def boolean_text(text: str) -> str | None:
    """Return `true` or `false`; None where there is neither.

    Raises
    ------
    ValueError
        If it is another word.

    Examples
    --------
    >>> boolean_text("True"), boolean_text("0"), boolean_text("")
    ('true', 'false', None)
    """
    bare = text.strip()
    try:
        return _BOOLEANS[bare.lower()] if bare else None
    except KeyError:
        raise ValueError("no boolean") from None


Reading = tuple[Kind, Callable[[str], str | None]]
"""What a column of a type is, and what makes the text of its values."""
_NUMBERS: Final[Reading] = ("number", number_text)
_TEXTS: Final[Reading] = ("text", value_text)
_OF_TYPES: Final[dict[str, Reading]] = {
    "boolean": ("boolean", boolean_text),
    "bool": ("boolean", boolean_text),
    **dict.fromkeys(("date", "datetime"), ("date", value_text)),
    **dict.fromkeys(("byte", "short", "int", "integer", "long", "biginteger"), _NUMBERS),
    **dict.fromkeys(("float", "double", "real", "decimal", "bigdecimal"), _NUMBERS),
    **dict.fromkeys(("string", "char", "character", "anyuri"), _TEXTS),
}


def reading(type_: str) -> Reading | None:
    """Return how values of a type are read.

    None if the type is not known.

    Examples
    --------
    >>> reading("double")[0], reading("complex")
    ('number', None)
    """
    return _OF_TYPES.get(type_.strip().lower())
