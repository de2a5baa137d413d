"""Doubts about a list without a header: its ids, and its kind.

Bounds may be tuned towards more refusals: a wrong guess publishes other ties, a refusal names
`--columns`. tests/ktsafe/graph/inputs/test_edge_lists.py and test_written_tables.py hold both
sides.

The ids stand in the first two columns, if no others may hold them.

A number, a time, a weight or a type may stand before the ids. Two other columns may hold them
unless, in this order,

1. one of them has a cell that is no id: a fraction, a time, a sign or nothing;
2. they differ in form: words and numbers, `7` and `7.0`, or all numbers of one are beyond those of
   the other;
3. they have words, and share no text, where the first two do;
4. they have numbers, the first two share more of theirs, other columns have few numbers, and
   neither of the first two columns rises as times do.

All of it needs lines enough: the fewer there are, the more may be meant.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from array import array
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidGraph
from ktsafe.graph.inputs.spelling import is_number, is_time, value_text
from ktsafe.graph.inputs.table_files import BLANKS, UNQUOTED, DelimitedFile

TEXTS_MAX: Final = 1 << 16
"""Different texts of a column that are kept."""
WORD, WHOLE, POINT, NO_ID = "word", "whole", "point", "no id"
_POINT: Final = re.compile(r"\d+\.0+")
_COMMA: Final = re.compile(r"-?\d+,\d+")
NUMBERS_MIN: Final = 12
"""Lines from which shares of numbers tell something."""
PEOPLE_MIN: Final = 6
"""Ids of both ends from which they are told from weights and types."""
SHARED_MIN: Final = 0.3
"""The share of ids that both ends of ties have, of all of them, from which it tells something."""
BEYOND: Final = 1000
"""How much larger numbers are that are of another kind, such as seconds."""


@dataclasses.dataclass(eq=False)
class Column:
    """What stands in a column.

    Its different texts, up to a bound, and their forms.
    """

    texts: set[str] = dataclasses.field(default_factory=set)
    forms: set[str] = dataclasses.field(default_factory=set)
    is_whole: bool = True

    def take(self, cell: str) -> None:
        """Take in a cell."""
        text = cell.strip()
        if text in self.texts:
            return
        self.forms.add(form(text))
        if len(self.texts) < TEXTS_MAX:
            self.texts.add(text)
        else:
            self.is_whole = False

    @property
    def are_measures(self) -> bool:
        """Whether it holds numbers and times alone."""
        return WORD not in self.forms


def other_ends(
    columns: Sequence[Column],
    ends: Sequence[AbstractSet[str]],
    n: int,
    steps: Sequence[NDArray[np.float64]],
) -> tuple[int, int] | None:
    """Return two columns, from 1, that may hold the ids instead.

    Parameters
    ----------
    ends:
        The ids in either of the first two columns, if these hold them.
    n:
        How many lines there are.
    steps:
        How numbers in either of them rise from line to line; negative if there are others.
    """
    texts = [*ends, *({value_text(x) or "" for x in column.texts} for column in columns[2:])]
    both, people = ends[0] & ends[1], ends[0] | ends[1]
    are_words = WORD in columns[0].forms & columns[1].forms
    ascends = bool(np.all(steps[0] >= 0))
    are_times = bool(np.all(steps[0] > 0) or np.all(steps[1] >= 0))
    are_numbers = n >= NUMBERS_MIN and len(both) >= PEOPLE_MIN and not are_times
    if _differ(columns[0], columns[1], n, is_sure=True):
        return 2, 3
    is_sure = are_numbers or (are_words and bool(both))
    for i, j in itertools.combinations(range(len(columns)), 2):
        one, other = columns[i], columns[j]
        if (i, j) == (0, 1) or _differ(one, other, n, is_sure=is_sure):
            continue
        if WORD in one.forms | other.forms:
            is_less = i < 2 or len(people) > 2 * max(len(texts[i]), len(texts[j]))
            if are_words and both and is_less and not texts[i] & texts[j]:
                continue
        elif are_numbers and not (ascends and i > 1):
            there = texts[j] | texts[i] if other.is_whole else texts[j]
            is_less = len(texts[i] & texts[j]) * len(people) <= len(both) * len(there)
            is_few = 3 * len(texts[j]) <= len(people) and other.is_whole
            if len(both) >= SHARED_MIN * len(people) and is_less and is_few:
                continue
        return i + 1, j + 1
    return None


def _differ(one: Column, other: Column, n: int, *, is_sure: bool) -> bool:
    """Whether two columns' forms rule out ids of the same people."""
    if NO_ID in one.forms | other.forms:
        return True
    if (one.forms == {WORD}) != (other.forms == {WORD}) and WORD not in one.forms & other.forms:
        return is_sure
    if {frozenset(one.forms), frozenset(other.forms)} == {frozenset({WHOLE}), frozenset({POINT})}:
        return True
    if WORD in one.forms | other.forms or n < 3:
        return False
    low, high = ([float(text) for text in column.texts] for column in (one, other))
    return any(max(1.0, *a) * BEYOND < min(b) for a, b in ((low, high), (high, low)))


def form(text: str) -> str:
    """Return what a cell looks like.

    A word, a whole number, one written as `7.0`, or no id.

    Examples
    --------
    >>> [form(text) for text in ("Ann", "007", "7.0", "0,5", "-1", "2026-01-31", "")]
    ['word', 'whole', 'point', 'no id', 'no id', 'no id', 'no id']
    """
    if text.isdecimal():
        return WHOLE
    if _POINT.fullmatch(text):
        return POINT
    is_no_id = not text or is_number(text) or is_time(text) or _COMMA.fullmatch(text)
    return NO_ID if is_no_id else WORD


# Ambiguous or false edge lists, refused by name.
#
# | looks like | because |
# |---|---|
# | a bipartite or a dynamic network of KONECT | its comments say so |
# | an adjacency list | networkx says so, or each line begins with another id and holds ids alone |
# | an adjacency matrix | as many lines as columns, all numbers, equal when mirrored |
# | METIS | the first line tells how many lines and ids follow |
# | ids in other columns than the first two | two others may hold them (`other_ends`) |
# | names with blanks | blanks separate, and words stand behind the second |

EARLY_MAX: Final = 4
"""Lines that are kept as they came."""
_KONECT: Final = re.compile(r"%\s*(sym|asym|bip)\b\s*(\w*)", re.IGNORECASE)
_OF_NETWORKX: Final = re.compile(r"#\s*GMT\s")
_SAYS_DIRECTED: Final = re.compile(r"[#%]+\s*(directed\b|asym\b)", re.IGNORECASE)
"""Comments of SNAP and of KONECT."""
_TWO_NUMBERS: Final = re.compile(r"[+-]?\d+[ \t]+[+-]?\d.*")
_TWO_QUOTED: Final = re.compile(r'"\s+"')
_WAY_ON: Final = "If it is an edge list, say which columns are ids: --columns source=1,target=2."


@dataclasses.dataclass(eq=False)
class Lines:
    """The lines of an edge list without a header.

    Attributes
    ----------
    ends:
        Which columns hold the ids.
    position:
        For each id its number, in the order in which they came.
    codes:
        The numbers of both ends of each line.
    columns:
        What stands in each column, if there are more than two.
    early:
        The first lines.
    names:
        What the last comment calls the columns, if it names the ends.
    """

    path: Path
    separator: str
    width: int
    ends: tuple[int, int]
    position: dict[str, int] = dataclasses.field(default_factory=dict)
    codes: array[int] = dataclasses.field(default_factory=lambda: array("q"))
    columns: list[Column] = dataclasses.field(default_factory=list)
    early: list[list[str]] = dataclasses.field(default_factory=list)
    names: list[str] = dataclasses.field(default_factory=list)

    def __post_init__(self) -> None:
        if self.width > 2 and not self.columns:
            self.columns = [Column() for _ in range(self.width)]

    def __len__(self) -> int:
        return len(self.codes) // 2

    @property
    def edges(self) -> NDArray[np.int64]:
        """The numbers of both ends, shape (lines, 2)."""
        return np.frombuffer(self.codes, dtype=np.int64).reshape(-1, 2)

    def watch(self, row: list[str]) -> None:
        """Take in what stands beside the ids of a line."""
        if len(self.early) < EARLY_MAX:
            self.early.append(row)
        for column, cell in zip(self.columns, row, strict=False):
            column.take(cell)

    def with_first(self, row: list[str], ends: tuple[str, str]) -> Lines:
        """Return all lines and one before them."""
        order = dict.fromkeys((*ends, *self.position))
        position = {name: v for v, name in enumerate(order)}
        moved = np.array([position[name] for name in self.position], dtype=np.int64)
        codes = array("q", (position[ends[0]], position[ends[1]]))
        codes.frombytes(moved[self.edges].tobytes())
        found = dataclasses.replace(
            self, position=position, codes=codes, early=[row, *self.early][:EARLY_MAX]
        )
        found.watch(row)
        return found


def says_directed(comments: Iterable[str]) -> bool:
    """Whether comments say that lines have a direction."""
    return any(_SAYS_DIRECTED.match(line.strip()) for line in comments)


def refuse_comments(path: Path, comments: Iterable[str]) -> str:
    """Refuse networks that comments rule out; return KONECT's weights.

    Raises
    ------
    InvalidGraph
    """
    for line in comments:
        if _OF_NETWORKX.match(line):
            _refuse(path, "an adjacency list of networkx", "Write it by networkx.write_edgelist.")
        if found := _KONECT.match(line.strip()):
            if found[1].lower() == "bip":
                hint = (
                    "Both sides count from 1: give them ids of their own, and leave out the line."
                )
                _refuse(path, "a bipartite network of KONECT", hint)
            return found[2].lower()
    return ""


def refuse_metis(file: DelimitedFile) -> None:
    """Refuse lines of several lengths after a count of lines and ids.

    Raises
    ------
    InvalidGraph
    """
    told, *others = (line.split() for _, line in file.lines())
    if not 2 <= len(told) <= 4 or not all(map(str.isdecimal, told)) or int(told[0]) != len(others):
        return
    if len(told) > 2 or 2 * int(told[1]) == sum(map(len, others)):
        _refuse(file.path, "a METIS file", _WAY_ON)


def refuse_lines(lines: Lines) -> None:
    """Refuse lines that may not be pairs of ids, and others behind.

    Raises
    ------
    InvalidGraph
    """
    if _is_matrix(lines):
        _refuse(lines.path, "an adjacency matrix", _WAY_ON)
    if _is_metis(lines):
        _refuse(lines.path, "a METIS file", _WAY_ON)
    names = list(lines.position)
    one, other = ({names[v] for v in np.unique(side).tolist()} for side in lines.edges.T)
    third = lines.columns[2].texts if lines.columns else set()
    if len(one) == len(lines) and other <= one and len(third) > 1 and third <= one:
        _refuse(lines.path, "an adjacency list", _WAY_ON)
    words, other_words = (any(not is_number(name) for name in side) for side in (one, other))
    is_wide = lines.width > 2
    if words != other_words and (is_wide or not any(map(is_number, one if words else other))):
        told = ("words", "numbers") if words else ("numbers", "words")
        msg = f"{lines.path}: column 1 holds {told[0]}, and column 2 {told[1]}: which hold the ids?"
        raise InvalidGraph(msg, hint=_WAY_ON)
    if not is_wide:
        return
    steps = [_steps(names, side) for side in lines.edges.T]
    if found := other_ends(lines.columns, (one, other), len(lines), steps):
        i, j = found
        msg = f"{lines.path}: columns 1 and 2, or {i} and {j}: it is not sure which hold the ids."
        hint = f"Say which: --columns source=1,target=2, or source={i},target={j}."
        raise InvalidGraph(msg, hint=hint)
    if lines.separator == BLANKS and words and not all(c.are_measures for c in lines.columns[2:]):
        msg = f"{lines.path}: words stand behind the second, so ids may hold blanks."
        raise InvalidGraph(msg, hint=f"Put ids into quotation marks. {_WAY_ON}")


def fault_of_id(name: str) -> str:
    """Return why a text is no id, empty if it may.

    This is asked of lists without a header.

    Examples
    --------
    >>> fault_of_id("1 2"), fault_of_id("Ann Lee")
    ('an id of two numbers: columns are separated in two ways', '')
    """
    if "{" in name or "}" in name:
        return "JSON, or data that not all lines have"
    if name.count('"') % 2 or _TWO_QUOTED.search(name):
        return UNQUOTED
    if _TWO_NUMBERS.fullmatch(name):
        return "an id of two numbers: columns are separated in two ways"
    return ""


def _is_matrix(lines: Lines) -> bool:
    """Whether lines are as many as columns, and a mirrored square."""
    n = lines.width
    if n < 3 or len(lines) != n or not all(is_number(name) for name in lines.position):
        return False
    if n > EARLY_MAX:
        return all(column.are_measures for column in lines.columns)
    return all(lines.early[i][j] == lines.early[j][i] for i in range(n) for j in range(i))


def _is_metis(lines: Lines) -> bool:
    """Whether the first line counts the following lines and their ids."""
    first, n = lines.early[0], len(lines) - 1
    told = [int(text) if text.isdecimal() else -1 for text in first[:2]]
    if told[0] != n or 2 * told[1] != n * lines.width:
        return False
    return all(name.isdecimal() and 0 < int(name) <= n for name in lines.position)


def _steps(names: list[str], side: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how the numbers in a column rise from line to line.

    Negative if it has others.
    """
    column = [names[v] for v in side.tolist()]
    if not all(map(str.isdecimal, column)):
        return np.array([-1.0])
    return np.diff([float(name) for name in column])


def _refuse(path: Path, what: str, hint: str) -> NoReturn:
    msg = f"{path} looks like {what}, and no edge list."
    raise InvalidGraph(msg, hint=hint)
