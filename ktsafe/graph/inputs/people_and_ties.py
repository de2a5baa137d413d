"""Columns of people and of ties, one text for each cell.

Messages may be reworded; they tell lines, never cells. Commands, dumps and imports read through
these two classes, so what one accepts all do.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ktsafe.errors import ID_AGAIN, NO_ID, BadLines, InvalidGraph
from ktsafe.graph.inputs.names import (
    ENDS,
    ID,
    NOTHING_CHOSEN,
    Chosen,
    column_of,
    end_columns,
    id_column,
)
from ktsafe.graph.inputs.spelling import (
    BOOLEANS,
    as_given,
    code_text,
    id_text,
    is_fraction,
    is_measure,
    is_time,
    looks_missing,
    value_text,
)
from ktsafe.graph.inputs.table_files import NamedTable, table_at


class Spelled:
    """The texts of one column, each made once.

    Attributes
    ----------
    otherwise:
        The texts that something was given for that is not this text.
    has_words:
        Whether a text is neither a number nor a time.
    """

    def __init__(self, spell: Callable[[object], str | None]) -> None:
        self._spell = spell
        self._known: dict[object, str | None] = {}
        self._has_plain = False
        self.has_words = False
        self.otherwise: set[str] = set()

    def __call__(self, given: Any) -> str | None:
        """Return the text of a cell."""
        if isinstance(given, str) and given.isalnum() and given not in BOOLEANS:
            self._has_plain = True
            self.has_words = self.has_words or not given.isdecimal()
            return given
        if isinstance(given, Hashable) and given in self._known:
            return self._known[given]
        text = self._spell(given)
        if text is not None:
            self.has_words = self.has_words or not is_measure(text)
            if isinstance(given, str) and as_given(given) != as_given(text):
                self.otherwise.add(text)
        self._known[given] = text
        return text

    @property
    def are_numbers(self) -> bool:
        """Whether there are texts, and all are numbers."""
        others = [text for text in self._known.values() if text is not None]
        is_there = self._has_plain or bool(others)
        return is_there and not self.has_words and not any(map(is_time, others))

    @property
    def measure(self) -> str:
        """What the texts tell if they are no ids: "times" or "fractions".

        Else empty.
        """
        others = [text for text in self._known.values() if text is not None]
        if self.has_words or not others:
            return ""
        if not self._has_plain and all(map(is_time, others)):
            return "times"
        return "fractions" if any(map(is_fraction, others)) else ""


def tell_spelt_twice(
    given: Iterable[tuple[int, Any]], what: str, spelled: Spelled, bad: BadLines
) -> None:
    """Add the lines where a column spells an earlier text otherwise."""
    if not spelled.otherwise:
        return
    first: dict[str, Hashable] = {}
    for line, cell in given:
        try:
            text = spelled(cell)
        except InvalidGraph:
            continue  # That line is told already.
        if text in spelled.otherwise:
            spelt = as_given(cell)
            if first.setdefault(text, spelt) != spelt:
                told = f"{what} holds what is spelt otherwise before, as 7 and 7.0"
                bad.setdefault(told, []).append(line)


# Tables of people and their attributes, and of ties.
#
# Columns are found by their names (`ktsafe.graph.inputs.names`), cells have one text
# whatever they come as (`ktsafe.graph.inputs.spelling`), and every row must have a cell for each
# column. What is wrong with rows is told by their lines, in Parquet by their numbers, all at once;
# never what is in them.

NO_END: Final = "no id at one of its ends"
MATCHES_MIN: Final = 0.9
"""The share of ids of ties that another column of people must hold to be told."""


class People:
    """The rows of a table of people, read once.

    Parameters
    ----------
    attributes:
        The columns to read; all but the id by default.
    chosen:
        What `--columns` says.
    nominal:
        Those of them whose texts are codes: they are taken as they are written.

    Attributes
    ----------
    names:
        The attributes in the order in which values come.
    columns, spelled:
        Where the id and the attributes stand, and their texts.
    ignored:
        Names of columns that are not read.
    position:
        For each id that was read so far its place among the rows.
    is_whole:
        Whether all rows were read, and each has an id.

    Raises
    ------
    InvalidGraph
        If the file cannot be read or lacks a column.
    """

    def __init__(
        self,
        path: Path,
        attributes: Sequence[str] | None = None,
        *,
        chosen: Chosen = NOTHING_CHOSEN,
        nominal: Collection[str] = (),
    ) -> None:
        self.table = table_at(path)
        self.position: dict[str, int] = {}
        self.is_whole = False
        header = self.table.header
        at = id_column(path, header, chosen)
        if attributes is None:
            attributes = [name for i, name in enumerate(header) if name and i != at]
        found = [(ID, at), *((name, column_of(path, header, name)) for name in attributes)]
        if missing := [name for name, i in found if i is None]:
            raise _lacks(self.table, missing, [ID, *attributes])
        self.columns = [i for _, i in found if i is not None]
        self.names = tuple(attributes)
        self.ignored = [name for i, name in enumerate(header) if name and i not in self.columns]
        self.id_name = header[self.columns[0]]
        self.spelled = [Spelled(id_text)]
        self.spelled += [
            Spelled(code_text if name in nominal else value_text) for name in attributes
        ]

    def rows(self, bad: BadLines) -> Iterator[tuple[int, str, list[str | None]]]:
        """Yield line, id and values of each person.

        Rows that are none are bad.
        """
        id_of, *spelled = self.spelled
        unread: BadLines = {}
        for line, (given, *cells) in self.table.rows(self.columns, unread):
            try:
                found = id_of(given)
                values = [text_of(cell) for text_of, cell in zip(spelled, cells, strict=True)]
            except InvalidGraph as error:
                unread.setdefault(error.message.removesuffix("."), []).append(line)
                continue
            if found is None or found in self.position:
                bad.setdefault(NO_ID if found is None else ID_AGAIN, []).append(line)
                continue
            self.position[found] = len(self.position)
            yield line, found, values
        self.is_whole = not unread
        bad |= unread
        names = (self.id_name, *self.names)
        for name, column, of_column in zip(names, self.columns, self.spelled, strict=True):
            _tell_spelt_twice(self.table, column, name, of_column, bad)
        _refuse_measures(self.table, self.id_name, id_of)

    def unknown(self, ids: Collection[str]) -> str:
        """Return a text on ties of unknown people, and of another column.

        Parameters
        ----------
        ids:
            All ids that ties name.
        """
        told = f"names a vertex that {self.table.path} does not list"
        wanted = set(ids)
        known = len(wanted & self.position.keys())
        for column, name in enumerate(self.table.header):
            if name and column != self.columns[0]:
                spell = Spelled(_safe_id)
                cells = (cell for _, (cell,) in self.table.rows([column], {}))
                found = len(wanted & {spell(cell) for cell in cells})
                if found > known and found >= MATCHES_MIN * len(wanted):
                    return f"{told}; its column {name!r} does: --columns id={name}"
        return told


def missing_notes(columns: Mapping[str, Iterable[str | None]]) -> list[str]:
    """Return a sentence for each column with texts of missing values.

    Examples
    --------
    >>> missing_notes({"age": ["30", "NULL", None], "town": ["Ulm"]})
    ["'age' has 'NULL', which may mean that it is missing, and is a value like any other."]
    """
    found = {}
    for name, values in columns.items():
        texts = sorted(text for text in {*values} if text and looks_missing(text))
        if texts:
            found[name] = ", ".join(map(repr, texts))
    rest = "which may mean that it is missing, and is a value like any other"
    return [f"{name!r} has {texts}, {rest}." for name, texts in found.items()]


class Ties:
    """The rows of a table of ties, read once.

    Parameters
    ----------
    table:
        As `table_at` returns it.
    chosen:
        What `--columns` says.
    are_numbers:
        Whether all ids are numbers, see `ktsafe.graph.inputs.names.end_columns`.
    kind:
        The column with the kind of a tie, if that is asked for.

    Attributes
    ----------
    columns:
        Where the ends stand, and the kind.
    ignored:
        Names of columns that are not read.

    Raises
    ------
    InvalidGraph
        If no columns hold the ends of ties, or several pairs of columns may.
    """

    def __init__(
        self,
        table: NamedTable,
        *,
        chosen: Chosen = NOTHING_CHOSEN,
        are_numbers: bool = False,
        kind: str | None = None,
    ) -> None:
        self.table = table
        ends = end_columns(table.path, table.header, chosen, are_numbers=are_numbers)
        if ends is None:
            raise _lacks(table, ENDS, ENDS)
        if kind is not None and kind not in table.header:
            raise _lacks(table, (kind,), (kind,))
        self.columns: tuple[int, ...] = ends
        self._kinds = () if kind is None else (table.header.index(kind),)
        self.ignored = [name for i, name in enumerate(table.header) if name and i not in ends]
        self.ends = Spelled(id_text), Spelled(id_text)

    def rows(self, bad: BadLines) -> Iterator[tuple[int, str, str]]:
        """Yield line and both ends of each tie.

        Rows that are none are bad.
        """
        return ((line, one, other) for line, one, other, _ in self.rows_of_kinds(bad))

    def rows_of_kinds(self, bad: BadLines) -> Iterator[tuple[int, str, str, str | None]]:
        """Yield what `rows` does, and the kind.

        None where it has none, or is not asked for.
        """
        source, target = self.ends
        for line, (one, other, *kinds) in self.table.rows((*self.columns, *self._kinds), bad):
            try:
                ends = source(one), target(other)
            except InvalidGraph as error:
                bad.setdefault(error.message.removesuffix("."), []).append(line)
                continue
            if ends[0] is None or ends[1] is None:
                bad.setdefault(NO_END, []).append(line)
            else:
                yield line, ends[0], ends[1], code_text(kinds[0]) if kinds else None
        for column, spelled in zip(self.columns, self.ends, strict=True):
            name = self.table.header[column]
            _tell_spelt_twice(self.table, column, name, spelled, bad)
            _refuse_measures(self.table, name, spelled)


def _refuse_measures(table: NamedTable, name: str, spelled: Spelled) -> None:
    """Refuse times or fractions for ids.

    Raises
    ------
    InvalidGraph
    """
    if measure := spelled.measure:
        msg = f"{table.path}: {name!r} holds {measure}, which are no ids."
        raise InvalidGraph(msg, hint="Say which columns do: --columns source=A,target=B,id=C.")


def _tell_spelt_twice(
    table: NamedTable, column: int, name: str, spelled: Spelled, bad: BadLines
) -> None:
    given = ((line, cell) for line, (cell,) in table.rows([column], {}))
    tell_spelt_twice(given, repr(name), spelled, bad)


def _lacks(table: NamedTable, missing: Sequence[str], wanted: Sequence[str]) -> InvalidGraph:
    named = f"column{'s' * (len(missing) > 1)} {', '.join(map(repr, missing))}"
    empty = "" if table.header else "It is empty. "
    said = set(missing) & {ID, *ENDS}
    how = f", or say --columns {','.join(f'{name}=COLUMN' for name in missing if name in said)}"
    hint = f"{empty}Its header must name {', '.join(wanted)}{how if said and not empty else ''}."
    return InvalidGraph(f"{table.path} has no {named}.", hint=hint)


def _safe_id(value: object) -> str | None:
    try:
        return id_text(value)
    except InvalidGraph:
        return None
