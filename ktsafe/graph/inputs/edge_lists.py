"""Edge lists: two ids a line, with or without header and comments.

Words may be changed. A rule goes with its case in tests/ktsafe/graph/inputs/test_edge_lists.py, and
published lists must read as before (test_published_lists.py).

Comments begin with `#`, `%` or `//`.

What separates, and whether the first line is a header, is decided by all lines:

1. All lines have equally many columns, by one separator; anything else is refused by line.
2. A first line that names the ends of ties (`ktsafe.graph.inputs.names`) is a header.
3. Otherwise it is one if it is no number where all other lines are, or if it is made of words such
   as `user_id` that stand in no other line; such a header is refused, since it does not say which
   columns hold the ends. It is a tie if an id of it stands in another line, too, or if it has
   digits as others have. A first line of words that stand nowhere else may be both, and is refused.
4. What is or looks like another kind of file is refused by its name (`other_files`,
   `edge_list_doubts`).

`--columns source=A,target=B` says what the ends are: names, or numbers of columns where there is
no header.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from ktsafe.errors import BadLines, InvalidGraph, raise_together, told_lines
from ktsafe.graph.inputs.edge_list_doubts import (
    Lines,
    refuse_comments,
    refuse_metis,
    says_directed,
)
from ktsafe.graph.inputs.lists_without_header import ambiguous, as_ties, cut, rows_of, shape
from ktsafe.graph.inputs.names import (
    ENDS,
    NOTHING_CHOSEN,
    Chosen,
    check_names,
    column_of,
    end_columns,
    plain,
)
from ktsafe.graph.inputs.network import Network
from ktsafe.graph.inputs.other_files import refuse_by_name
from ktsafe.graph.inputs.people_and_ties import People, Ties
from ktsafe.graph.inputs.spelling import id_text
from ktsafe.graph.inputs.table_files import (
    MARKS,
    PARQUET,
    DelimitedFile,
    NamedTable,
    cells_of,
    n_cells,
    table_at,
)

_LIST: Final = "edge list"
MORE: Final = "columns behind the second"
_DATA: Final = re.compile(r"(.*?)[\s,;|]*(\{.*\})\s*")
"""Two ids and a dictionary, as networkx writes edges by default."""
_BETWEEN: Final = re.compile(r"\s*[,;|]\s*")
"""What stands between several ids in one cell."""
_TYPES: Final = frozenset({"directed", "undirected", "mutual", ""})
"""What Gephi says of ties."""
_SIGNED: Final = frozenset({"signed", "multisigned"})
_WEIGHTS: Final = frozenset({"weight", "value", "sign", "strength", "rating"})
"""Names of columns whose zeros and negative numbers may say that there is no tie."""
Rows = Iterator[tuple[int, str, str]]
"""Line and both ids of each tie."""


def read_network(
    path: Path | str,
    *,
    columns: Chosen = NOTHING_CHOSEN,
    people: People | None = None,
    bad: BadLines | None = None,
) -> Network:
    r"""Read a network from a table or a list of ties.

    Parameters
    ----------
    path:
        Text, plain or gzipped, with or without a header; or Parquet.
    columns:
        The columns of both ends, `{"source": "A", "target": "B"}`, where their names do not say so;
        numbers from 1 where there is no header.
    people:
        Those whom a table lists, once it is read: the network has them, and nobody else may be
        named.
    bad:
        Takes the lines that are no ties, if others are to be told beside them; the network then
        lacks them.

    Raises
    ------
    InvalidGraph
        If it is something else than ties, or may be read in two ways. A line is named, its content
        is not repeated.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "ties.csv")
    ...     _ = file.write_text("since,From,To\n2026-01-31,Ann,Bo\n2026-02-28,Bo,Cy\n")
    ...     network = read_network(file)
    >>> network.ids, network.edges.tolist(), network.ignored
    (['Ann', 'Bo', 'Cy'], [[0, 1], [1, 2]], ('since',))
    """
    path = Path(path)
    told: BadLines = {} if bad is None else bad
    ends = {end: columns[end] for end in ENDS if end in columns}
    if path.suffix == PARQUET:
        ties = Ties(table_at(path), chosen=ends)
        network = _of_table(ties, people, told, is_chosen=bool(ends))
    else:
        file = DelimitedFile(path)
        refuse_by_name(path, file.head())
        network = _of_text(file, ends, people, told)
    if bad is None:
        raise_together([InvalidGraph(f"{each}.") for each in told_lines(path, told)])
    return network


def _of_text(file: DelimitedFile, chosen: Chosen, people: People | None, bad: BadLines) -> Network:
    path, first, comments = file.path, file.first(), file.comments()
    weights = refuse_comments(path, comments)
    if not first:
        raise InvalidGraph(f"{path} has no line of two ids.")
    if _DATA.fullmatch(first):
        return _with_data(file, people, bad)
    if _names_ends(path, first, chosen):
        return _of_table(Ties(table_at(path), chosen=chosen), people, bad, is_chosen=bool(chosen))
    found = cut(file, chosen)
    if found.bad:
        refuse_metis(file)
        bad |= found.bad
        return Network.of_rows(_LIST, [], np.empty((0, 2), dtype=np.int64))
    known = None if people is None else people.position.keys()
    lines = as_ties(found, chosen, known, is_sure=bool(weights))
    if lines is None:
        return _of_table(Ties(table_at(path), are_numbers=True), people, bad, is_chosen=True)
    if weights == "dynamic" and lines.width > 2 and "-1" in lines.columns[2].texts:
        msg = f"{path} removes ties (-1), which a list of ties does not."
        raise InvalidGraph(msg, hint="Write the ties that are there in the end.")
    names = (
        [lines.names[i] for i in range(lines.width) if i not in lines.ends] if lines.names else []
    )
    more = [MORE] if lines.width > 2 and not lines.names else names
    notes = ["Signs are not read: a negative tie is a tie."] if weights in _SIGNED else []
    if n := sum(_may_be_tie(line, lines) for line in comments):
        if not chosen and not lines.names:
            raise _hidden(path)
        notes.append(f"{n:,} of the first lines begin with # or %, and are no ties.")
    directed = len(lines) if says_directed(comments) else 0
    network = Network.of_rows(
        _LIST, list(lines.position), lines.edges, directed=directed, ignored=more, notes=notes
    )
    _refuse_several(path, lines.position)
    return _placed(network, people, bad, lambda: rows_of(found))


def _names_ends(path: Path, first: str, chosen: Chosen) -> bool:
    """Whether the first line names the ends of ties."""
    for mark in MARKS:
        names = cells_of(first, mark) if n_cells(first, mark) > 1 else []
        if chosen:
            if all(column_of(path, names, chosen[end]) is not None for end in ENDS):
                return True
            continue
        try:
            found = end_columns(path, names, {})
        except InvalidGraph:
            check_names(path, names)
            raise
        if found is not None:
            return True
    return False


def _of_table(ties: Ties, people: People | None, bad: BadLines, *, is_chosen: bool) -> Network:
    """Read a table with a header that names the ends.

    A name that is an id, too, may be no header.
    """
    table, position = ties.table, dict[str, int]()
    edges = _coded(ties.rows(bad), position)
    ends = [table.header[i] for i in ties.columns]
    if not is_chosen and table.row_word == "line":
        shapes = {shape(name) for name in ends if shape(name) != name}
        if (shapes and not len(edges)) or any(
            name in ends or (shapes and shape(name) in shapes) for name in position
        ):
            raise ambiguous(table.path)
    _refuse_several(table.path, position)
    directed = _n_directed(ties)
    network = Network.of_rows(
        table.format,
        list(position),
        edges,
        directed=directed,
        ignored=ties.ignored,
        notes=_weight_notes(table),
    )
    return _placed(network, people, bad, lambda: ties.rows({}))


def _weight_notes(table: NamedTable) -> list[str]:
    """Return a sentence for each column with weights of zero or less."""
    rest = "has zeros or negative numbers, and each such row is a tie like any other."
    columns = [i for i, name in enumerate(table.header) if plain(name) in _WEIGHTS]
    return [
        f"{table.header[i]!r} {rest}"
        for i in columns
        if any(_is_no_more_than_zero(cell) for _, (cell,) in table.rows([i], {}))
    ]


def _is_no_more_than_zero(cell: str | float | None) -> bool:
    try:
        return float(str(cell)) <= 0
    except ValueError:
        return False


def _with_data(file: DelimitedFile, people: People | None, bad: BadLines) -> Network:
    """Read ids and a dictionary in each line, as networkx writes them."""
    pairs: list[tuple[int, str]] = []
    names: set[str] = set()
    for number, line in file.lines():
        if found := _DATA.fullmatch(line.strip()):
            pairs.append((number, found[1]))
            names.update(_keys(found[2]))
        else:
            bad.setdefault("no dictionary, which the first line has", []).append(number)
    if any(_DATA.fullmatch(line.strip()) for line in file.comments()):
        raise _hidden(file.path)
    marks = [mark for mark in MARKS if all(n_cells(pair, mark) == 2 for _, pair in pairs)]
    if len(marks) != 1:
        msg = f"{file.path}: before the dictionary there must be two ids, separated alike."
        raise InvalidGraph(msg, hint="Ids that hold what separates need quotation marks.")
    cells = [(number, cells_of(pair, marks[0])) for number, pair in pairs]

    def rows() -> Rows:
        for number, (one, other) in cells:
            yield number, id_text(one) or "", id_text(other) or ""

    position: dict[str, int] = {}
    edges = _coded(rows(), position)
    network = Network.of_rows(_LIST, list(position), edges, ignored=names)
    return _placed(network, people, bad, rows)


def _refuse_several(path: Path, position: Mapping[str, int]) -> None:
    """Refuse ids that are several in one cell, as of receivers."""
    for name in position:
        parts = _BETWEEN.split(name) if _BETWEEN.search(name) else []
        if parts and all(part in position for part in parts):
            msg = f"{path}: several ids stand in one cell."
            raise InvalidGraph(msg, hint="Write a line for each tie.")


def _keys(text: str) -> set[str]:
    """Return the names in a dictionary of Python."""
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return {MORE}
    return {str(name) for name in found} if isinstance(found, dict) else {MORE}


def _coded(rows: Rows, position: dict[str, int]) -> NDArray[np.int64]:
    """Return each end's number, in order of the ids' arrival."""
    codes = array("q")
    for _, one, other in rows:
        codes.append(position.setdefault(one, len(position)))
        codes.append(position.setdefault(other, len(position)))
    return np.frombuffer(codes, dtype=np.int64).reshape(-1, 2)


def _n_directed(ties: Ties) -> int:
    """Return how many ties Gephi marks as directed, in that column."""
    table = ties.table
    column = column_of(table.path, table.header, "type")
    if column is None:
        return 0
    said = Counter(str(cell or "").strip().casefold() for _, (cell,) in table.rows([column], {}))
    return said["directed"] if said.keys() <= _TYPES else 0


def among(network: Network, people: People) -> Network:
    """Return a network's ties among a table's people, at their places."""
    places = np.array([people.position.get(name, -1) for name in network.ids], dtype=np.int64)
    edges = places[network.edges]
    edges = np.sort(edges[(edges >= 0).all(axis=1)], axis=1)
    return dataclasses.replace(
        network, ids=list(people.position), columns={}, edges=np.unique(edges, axis=0)
    )


def _placed(
    network: Network, people: People | None, bad: BadLines, rows: Callable[[], Rows]
) -> Network:
    """Return a network of these people; lines that name others are bad."""
    if people is None:
        return network
    if people.is_whole and not people.position.keys() >= {*network.ids}:
        lines = [n for n, *ends in rows() if not all(end in people.position for end in ends)]
        bad.setdefault(people.unknown(network.ids), []).extend(lines)
        return network
    return among(network, people)


def _hidden(path: Path) -> InvalidGraph:
    msg = f"{path}: its first lines begin with # or %, and may be comments, a header, or ties."
    hint = "Say --columns source=1,target=2 if they are comments; else write a header above."
    return InvalidGraph(msg, hint=hint)


def _may_be_tie(comment: str, lines: Lines) -> bool:
    """Whether a comment has the ties' columns, and no blank at first."""
    bare = comment.strip()
    return bare[1:2].isalnum() and n_cells(bare, lines.separator) == lines.width
