"""Find separator and first line of ties without a header.

Both are decided by all lines; see `ktsafe.graph.inputs.edge_lists`.

Like the doubts in `edge_list_doubts`, rules may become stricter; a file of which two readings are
possible is refused (tests/ktsafe/graph/inputs/test_written_tables.py draws such files).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from typing import Final

import numpy as np

from ktsafe.errors import BadLines, InvalidGraph
from ktsafe.graph.inputs.edge_list_doubts import (
    EARLY_MAX,
    WORD,
    Lines,
    fault_of_id,
    form,
    refuse_lines,
)
from ktsafe.graph.inputs.names import ENDS, Chosen, end_columns, is_word_of_names
from ktsafe.graph.inputs.people_and_ties import NO_END, Spelled, tell_spelt_twice
from ktsafe.graph.inputs.spelling import id_text, is_measure
from ktsafe.graph.inputs.table_files import (
    BLANKS,
    COMMENTS,
    MARKS,
    UNQUOTED,
    DelimitedFile,
    n_cells,
    names_in_comment,
)

NUMBERS_MIN: Final = 5
"""Below so many lines of numbers the letters above them may be ids as well."""
_COMMENT: Final = "a comment behind the first tie, or an id that looks like one"
_NO_IDS: Final = "no two ids"
_NO_DIGITS: Final = str.maketrans("", "", "0123456789")
_LETTERS: Final = re.compile(r"[^\W\d_]([\s_.:-]*[^\W\d_])*")
"""What may be a name of a column by its form: letters, and what joins words."""


@dataclasses.dataclass(eq=False)
class CutLines:
    """A file with lines that are all cut in one way.

    Attributes
    ----------
    number, first, first_ends:
        The first line, which may be a header: its number, its cells, and its ids if it is a tie.
    lines:
        All others.
    """

    file: DelimitedFile
    number: int
    first: list[str]
    first_ends: tuple[str, str]
    lines: Lines
    spelled: tuple[Spelled, Spelled]
    bad: BadLines


def cut(file: DelimitedFile, chosen: Chosen) -> CutLines:
    """Cut lines in the one way with equally many columns in all.

    Parameters
    ----------
    chosen:
        The numbers of the columns that hold the ends, from 1; none for the first two.

    Raises
    ------
    InvalidGraph
        If they can be cut in two ways that give other ids.
    """
    first = file.first()
    marks = [mark for mark in MARKS if n_cells(first, mark) > 1]
    if marks[:-1] and marks[-1] == BLANKS and " " not in first.strip():
        marks.pop()  # What separates is a TAB alone.
    tried = [_cut_by(file, mark, chosen) for mark in marks]
    if not tried:
        number = next(number for number, _ in file.lines())
        what = UNQUOTED if '"' in first else _NO_IDS
        msg = f"{file.path}, line {number}: {what}."
        raise InvalidGraph(msg, hint="A line of an edge list begins with two ids.")
    even = [found for found in tried if not found.bad]
    if not even:
        return min(tried, key=lambda found: sum(map(len, found.bad.values())))
    return _the_right_one(even, marks)


def as_ties(
    found: CutLines, chosen: Chosen, known: AbstractSet[str] | None, *, is_sure: bool
) -> Lines | None:
    """Return all lines as ties.

    None if the first one is a header that names them by letters.

    Parameters
    ----------
    known:
        The ids of all people, if they are known.
    is_sure:
        Whether the first two columns are known to be the ends.

    Raises
    ------
    InvalidGraph
        If the first line is another header or may be one, or the lines look like something else.
    """
    lines, path = found.lines, found.file.path
    if not lines.names and _is_header(found, known, is_meant=bool(chosen)):
        are_numbers = all(column.are_numbers for column in found.spelled)
        are_numbers &= len(lines) >= NUMBERS_MIN
        if end_columns(path, found.first, {}, are_numbers=are_numbers) is not None:
            return None
        raise _no_ends(found)
    for spelled, i in zip(found.spelled, lines.ends, strict=True):
        spelled(found.first[i])
        if measure := spelled.measure:
            msg = f"{path}: column {i + 1} holds {measure}, which are no ids."
            others = [j + 1 for j in range(len(found.first)) if j != i][:2]
            ends = others if len(others) > 1 else ["A", "B"]
            hint = f"Say which columns do: --columns source={ends[0]},target={ends[1]}."
            raise InvalidGraph(msg, hint=hint)
    whole = lines.with_first(found.first, found.first_ends)
    _refuse_ids(found)
    if not chosen and not lines.names and not is_sure:
        refuse_lines(whole)
    return whole


def rows_of(found: CutLines) -> Iterator[tuple[int, str, str]]:
    """Yield line and both ids of each tie, the first line included."""
    i, j = found.lines.ends
    one, other = found.spelled
    for number, row in found.file.rows(found.lines.separator, {}):
        if len(row) == found.lines.width and (a := one(row[i])) and (b := other(row[j])):
            yield number, a, b


def shape(name: str) -> str:
    """Return a text without its digits."""
    return name.translate(_NO_DIGITS)


def ambiguous(path: object) -> InvalidGraph:
    """Return a text where a first line may be header or tie."""
    hint = (
        "If it is a tie, say --columns source=1,target=2; if it is a header, say --columns with "
        "the names of its columns."
    )
    return InvalidGraph(f"{path}: its first line may be a header, or a tie.", hint=hint)


def _cut_by(file: DelimitedFile, separator: str, chosen: Chosen) -> CutLines:
    bad: BadLines = {}
    rows = file.rows(separator, bad)
    number, first = next(rows, (1, []))
    width = len(first)
    names = names_in_comment(file, separator, width)
    ends = _chosen_numbers(file, width, chosen) if chosen else None
    if ends is None and names:
        ends = end_columns(file.path, names, {})
    i, j = ends or (0, 1)
    lines = Lines(file.path, separator, width, (i, j))
    lines.names = names if ends and not chosen else []
    spelled = Spelled(id_text), Spelled(id_text)
    position, codes = lines.position, lines.codes
    first_ends = _ids(number, first, (i, j), (id_text, id_text), bad) or ("", "")
    for line, row in rows:
        if row[0].startswith(COMMENTS):
            bad.setdefault(_COMMENT, []).append(line)
        elif len(row) < 2:
            bad.setdefault(_NO_IDS, []).append(line)
        elif len(row) != width:
            bad.setdefault(f"{len(row)} columns, and the first line {width}", []).append(line)
        elif names_of_ends := _ids(line, row, (i, j), spelled, bad):
            codes.extend(position.setdefault(end, len(position)) for end in names_of_ends)
            if width > 2 or len(lines.early) < EARLY_MAX:
                lines.watch(row)
    found = CutLines(file, number, first, first_ends, lines, spelled, bad)
    for column, side in zip((i, j), spelled, strict=True):
        given = ((line, row[column]) for line, row in file.rows(separator, {}) if len(row) == width)
        tell_spelt_twice(given, f"column {column + 1}", side, bad)
    return found


def _ids(
    line: int,
    row: list[str],
    columns: tuple[int, int],
    spell: tuple[Callable[[str], str | None], Callable[[str], str | None]],
    bad: BadLines,
) -> tuple[str, str] | None:
    """Return the ids of a line, or say why it has none."""
    try:
        one, other = spell[0](row[columns[0]]), spell[1](row[columns[1]])
    except InvalidGraph as error:
        bad.setdefault(error.message.removesuffix("."), []).append(line)
        return None
    if one is None or other is None:
        bad.setdefault(NO_END, []).append(line)
        return None
    return one, other


def _the_right_one(even: list[CutLines], tried: list[str]) -> CutLines:
    """Return the way to cut that gives people's ids, or equal ones."""
    if len(even) == 1 and not (even[0].lines.separator == BLANKS and _holds(even[0], tried)):
        return even[0]
    marks = {found.lines.separator for found in even} | {",", ";", "|"}
    valid, faults = [], []
    for found in even:
        others = marks - {found.lines.separator, BLANKS}
        names = [*found.lines.position, *found.first_ends]
        try:
            _refuse_ids(found)
        except InvalidGraph as error:
            faults.append(error)
        else:
            if not any(mark in name for name in names for mark in others):
                valid.append(found)
    if not valid and faults:
        raise faults[0]
    if len(valid) == 1 and not _holds(valid[0], [found.lines.separator for found in even]):
        return valid[0]
    if len(valid) > 1 and all(_same_ends(valid[0], found) for found in valid):
        return valid[0]
    by_mark = {found.lines.separator: found for found in valid}
    if by_mark.keys() == {"\t", BLANKS} and all(
        any(" " in name for name in side) for side in _sides(by_mark["\t"])
    ):
        return by_mark["\t"]  # Names of people, as "Ann Lee".
    told = " or ".join(MARKS[mark] for mark in tried)
    msg = f"{even[0].file.path}: its columns may be separated by {told}."
    raise InvalidGraph(msg, hint="Separate all columns alike; put ids with blanks into quotes.")


def _holds(found: CutLines, tried: list[str]) -> bool:
    """Whether a cell holds another separator, and is no number."""
    marks = {*tried} - {found.lines.separator, BLANKS}
    cells = (cell for row in (found.first, *found.lines.early) for cell in row)
    return any(mark in cell and shape(cell) != mark for mark in marks for cell in cells)


def _refuse_ids(found: CutLines) -> None:
    for name in (*found.first_ends, *found.lines.position):
        if fault := fault_of_id(name):
            line = next(number for number, *ends in rows_of(found) if name in ends)
            msg = f"{found.file.path}, line {line}: {fault}."
            raise InvalidGraph(msg, hint="Separate the columns of all lines alike.")


def _same_ends(one: CutLines, other: CutLines) -> bool:
    return (one.first_ends, list(one.lines.position), one.lines.codes) == (
        other.first_ends,
        list(other.lines.position),
        other.lines.codes,
    )


def _sides(found: CutLines) -> list[set[str]]:
    """Return the ids of either column, the first line with them."""
    names = list(found.lines.position)
    sides = [{names[v] for v in np.unique(side).tolist()} for side in found.lines.edges.T]
    for side, name in zip(sides, found.first_ends, strict=True):
        side.add(name)
    return sides


def _is_header(found: CutLines, known: AbstractSet[str] | None, *, is_meant: bool) -> bool:
    """Whether the first line is a header.

    `is_meant`: the owner says that there is none.

    Raises
    ------
    InvalidGraph
        If it may be.
    """
    lines, first, ends = found.lines, found.first, found.first_ends
    position, n = lines.position, len(lines)
    doubt = ambiguous(found.file.path)
    if known is not None and all(name in known for name in ends):
        return False
    recurs = any(name in position for name in ends)
    beside = [j for j in range(len(first)) if j not in lines.ends]
    measures = [j for j in beside if lines.columns[j].are_measures]
    is_named = any(
        column.are_numbers and not is_measure(name)
        for column, name in zip(found.spelled, ends, strict=True)
    ) or any(form(first[j].strip()) == WORD for j in measures)
    if any(is_measure(cell.strip()) for cell in first):
        # Tables whose columns have no names have a header of numbers.
        is_odd = all(map(is_measure, ends)) and not any(map(is_measure, position))
        is_range = not recurs and first[:2] == ["0", "1"]
        names_third = (
            first[2:] and first[2] not in lines.columns[2].texts and is_word_of_names(first[2])
        )
        if n and (is_named or is_odd or is_range or names_third):
            raise doubt
        return False
    if n and is_named:
        if recurs:
            raise doubt
        return True
    shapes = {shape(name) for name in position}
    if recurs or any(shape(name) != name and shape(name) in shapes for name in ends):
        return False
    if any(map(is_word_of_names, ends)):
        return True
    if known is not None and known.isdisjoint(ends) and not is_meant:
        return True
    if is_meant or not all(map(_LETTERS.fullmatch, ends)):
        return False
    raise doubt


def _no_ends(found: CutLines) -> InvalidGraph:
    path, header = found.file.path, found.first
    i, j = found.lines.ends
    msg = f"{path}, line {found.number}: a header that does not name the ends of ties."
    hint = (
        f"Name the columns source and target, or say --columns source={header[i]},"
        f"target={header[j]}. A table of people belongs behind --vertices."
    )
    return InvalidGraph(msg, hint=hint)


def _chosen_numbers(file: DelimitedFile, width: int, chosen: Chosen) -> tuple[int, int]:
    """Return the columns that were chosen by numbers, from 1."""
    found = []
    for name in (chosen[end] for end in ENDS):
        if not name.isdecimal() or not 0 < int(name) <= width:
            msg = f"{file.path} has no column {name!r}, which --columns names."
            hint = "Say a name of its first line or, where that is no header, a number from 1."
            raise InvalidGraph(msg, hint=hint)
        found.append(int(name) - 1)
    return found[0], found[1]
