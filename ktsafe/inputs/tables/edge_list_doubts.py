"""What looks like an edge list and is something else, or may be read in two ways: refused by name.

| looks like | because |
|---|---|
| JSON, XML, Pajek | the first line begins with `{`, `[`, `<` or `*` |
| a bipartite or a dynamic network of KONECT | its comments say so |
| an adjacency list | networkx says so, or each line begins with another id and holds ids alone |
| an adjacency matrix | as many lines as columns, all numbers, equal when mirrored |
| METIS | the first line tells how many lines and ids follow |
| numbers of lines before the ids | the first column rises, and the third may hold ids |
| times or relations beside ids | a column shares no id with the other one, and the third does |
| names with blanks | blanks separate, and words stand behind the second |
"""

from __future__ import annotations

import dataclasses
import re
from array import array
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Final, NoReturn

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import InvalidGraph
from ktsafe.inputs.spelling import is_fraction, is_measure, is_number, is_time
from ktsafe.inputs.tables.delimited import BLANKS, UNQUOTED

EARLY_MAX: Final = 4
"""Lines that are kept as they came."""
TEXTS_MAX: Final = 1 << 16
"""Different texts of a column without ids that are kept."""
_OTHERS: Final = {"{": "JSON", "[": "JSON", "<": "XML", "*": "Pajek"}
_KONECT: Final = re.compile(r"%\s*(sym|asym|bip)\b\s*(\w*)", re.IGNORECASE)
_OF_NETWORKX: Final = re.compile(r"#\s*GMT\s")
_SAYS_DIRECTED: Final = re.compile(r"[#%]+\s*(directed\b|asym\b)", re.IGNORECASE)
"""Comments of SNAP and of KONECT."""
_TWO_NUMBERS: Final = re.compile(r"[+-]?\d+[ \t]+[+-]?\d.*")
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
    measures:
        The columns that hold numbers and times alone.
    third, fourth:
        What stands in these columns, up to a bound.
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
    measures: set[int] = dataclasses.field(default_factory=set)
    third: set[str] = dataclasses.field(default_factory=set)
    fourth: set[str] = dataclasses.field(default_factory=set)
    early: list[list[str]] = dataclasses.field(default_factory=list)
    names: list[str] = dataclasses.field(default_factory=list)

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
        if lost := [j for j in self.measures if row[j].strip() and not is_measure(row[j].strip())]:
            self.measures.difference_update(lost)
        for texts, cell in zip((self.third, self.fourth), row[2:4], strict=False):
            if len(texts) < TEXTS_MAX and (text := cell.strip()):
                texts.add(text)

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
    """Refuse what comments say to be no network of one kind of people; return KONECT's weights.

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


def refuse_first(path: Path, first: str) -> None:
    """Refuse a file whose first line begins as no line of ids does.

    Raises
    ------
    InvalidGraph
    """
    if name := _OTHERS.get(first.lstrip()[:1]):
        _refuse(path, name, "docs/files.md lists the formats that are read.")


def refuse_lines(lines: Lines) -> None:
    """Refuse lines that may be something else than pairs of ids, and others behind them.

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
    if len(one) == len(lines) and other <= one and len(lines.third) > 1 and lines.third <= one:
        _refuse(lines.path, "an adjacency list", _WAY_ON)
    _refuse_other_columns(lines, names, one, other)


def _refuse_other_columns(
    lines: Lines, names: Sequence[str], one: set[str], other: set[str]
) -> None:
    """Refuse lines of which other columns than the first two may be the ids."""
    words, other_words = (any(not is_number(name) for name in side) for side in (one, other))
    is_wide = lines.width > 2
    if words != other_words and (is_wide or not any(map(is_number, one if words else other))):
        told = ("words", "numbers") if words else ("numbers", "words")
        msg = f"{lines.path}: column 1 holds {told[0]}, and column 2 {told[1]}."
        raise InvalidGraph(msg, hint=f"Say which columns hold ids. {_WAY_ON}")
    if not is_wide:
        return
    rises = _rises(lines, names)
    are_later = bool(lines.fourth & lines.third) and not words
    is_apart = not one & other or bool(other & lines.third)
    if (are_later and (rises or not lines.measures & {2, 3})) or (
        rises and is_apart and _may_be_ids(lines.third)
    ):
        msg = f"{lines.path}: column 1 may number or date the lines, and others may hold the ids."
        raise InvalidGraph(msg, hint="Say which do: --columns source=2,target=3, or 1 and 2.")
    is_alone = not one & other
    is_between = is_alone and lines.width == 3 and other_words and bool(one & lines.third)
    is_before = is_alone and (words or _ascends(lines, names)) and bool(other & lines.third)
    if is_between or is_before:
        first, no = (1, 2) if is_between else (2, 1)
        msg = f"{lines.path}: column {no} shares no id with the other one, and column 3 does."
        raise InvalidGraph(msg, hint=f"Say which do: --columns source={first},target=3.")
    has_more_words = len(lines.measures) < lines.width - 2
    if lines.separator == BLANKS and (words or other_words) and has_more_words:
        msg = f"{lines.path}: words stand behind the second, so ids may hold blanks."
        raise InvalidGraph(msg, hint=f"Put ids into quotation marks. {_WAY_ON}")


def fault_of_id(name: str) -> str:
    """Return why a text is no id of a list without a header; empty if it may be one.

    Examples
    --------
    >>> fault_of_id("1 2"), fault_of_id("Ann Lee")
    ('an id of two numbers: columns are separated in two ways', '')
    """
    if "{" in name or "}" in name:
        return "JSON, or data that not all lines have"
    if name.count('"') % 2:
        return UNQUOTED
    if _TWO_NUMBERS.fullmatch(name):
        return "an id of two numbers: columns are separated in two ways"
    return ""


def _is_matrix(lines: Lines) -> bool:
    """Whether there are as many lines as columns, and they are equal when mirrored."""
    n = lines.width
    if n < 3 or len(lines) != n or not all(is_number(name) for name in lines.position):
        return False
    if n > EARLY_MAX:
        return len(lines.measures) == n - 2
    return all(lines.early[i][j] == lines.early[j][i] for i in range(n) for j in range(i))


def _is_metis(lines: Lines) -> bool:
    """Whether the first line tells how many lines follow, and how many ids they hold."""
    first, n = lines.early[0], len(lines) - 1
    told = [int(text) if text.isdecimal() else -1 for text in first[:2]]
    if told[0] != n or 2 * told[1] != n * lines.width:
        return False
    return all(name.isdecimal() and 0 < int(name) <= n for name in lines.position)


def _rises(lines: Lines, names: Sequence[str]) -> bool:
    """Whether the first column holds whole numbers that rise from line to line, as counts do."""
    if len(lines) < 2 or not all(names[v].isdecimal() for v in lines.edges[:, 0].tolist()):
        return False
    return bool(np.all(np.diff(_values(lines, names)) > 0))


def _may_be_ids(texts: Collection[str]) -> bool:
    """Whether there are several texts, and they are neither measures nor signs."""
    if len(texts) < 2 or any(text.startswith("-") for text in texts):
        return False
    return not all(is_fraction(text) or is_time(text) for text in texts)


def _values(lines: Lines, names: Sequence[str]) -> NDArray[np.float64]:
    """Return the numbers in the first column."""
    return np.array([float(names[v]) for v in lines.edges[:, 0].tolist()])


def _ascends(lines: Lines, names: Sequence[str]) -> bool:
    """Whether the first column holds whole numbers that never fall, and are not all the same."""
    if not all(name.isdecimal() for name in names):
        return False
    values = _values(lines, names)
    return bool(np.all(np.diff(values) >= 0) and values[0] < values[-1])


def _refuse(path: Path, what: str, hint: str) -> NoReturn:
    msg = f"{path} looks like {what}, and no edge list."
    raise InvalidGraph(msg, hint=hint)
