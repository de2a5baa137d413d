"""Edge lists: two ids in a line; behind `#` or `%` comments."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import numpy as np

from ktsafe.errors import InvalidGraph
from ktsafe.inputs.compressed import opened
from ktsafe.inputs.network import Network

_COMMENTS: Final = ("#", "%", "//")
_ENDS: Final = frozenset(
    {
        *("source", "target", "src", "dst", "from", "to", "from_id", "to_id"),
        *("fromnodeid", "tonodeid", "node_1", "node_2", "node1", "node2"),
        *("id_1", "id_2", "id1", "id2"),
    }
)
"""Names of the two first columns, in small letters, by which a header is known."""
_SAYS_DIRECTED: Final = re.compile(r"[#%]+\s*(directed\b|asym\b)", re.IGNORECASE)
"""Comments of SNAP and of KONECT."""
DIRECTIONS: Final = "directions"


def read_edge_list(path: Path) -> Network:
    """Read lines of two ids, between them commas, semicolons, TABs or blanks."""
    position: dict[str, int] = {}
    ends: list[int] = []
    ignored: set[str] = set()
    more, width = ["columns behind the second"], 0
    with opened(path) as raw, io.TextIOWrapper(raw, encoding="utf-8-sig", newline="") as file:
        is_first = True
        for line, row in _rows(file, ignored):
            if len(row) < 2 or not row[0] or not row[1]:
                msg = f"{path}, line {line}: no two ids."
                raise InvalidGraph(msg, hint="A line of an edge list begins with two ids.")
            if is_first and {row[0].lower(), row[1].lower()} <= _ENDS:
                more = row[2:] or more
            else:
                ends += (position.setdefault(end, len(position)) for end in row[:2])
                width = max(width, len(row))
            is_first = False
    directed = len(ends) // 2 if DIRECTIONS in ignored else 0
    ignored.discard(DIRECTIONS)
    ignored.update(more if width > 2 else ())
    pairs = np.array(ends, dtype=np.int64).reshape(-1, 2)
    return Network.of_rows("edge list", list(position), pairs, directed=directed, ignored=ignored)


def _rows(file: Iterable[str], ignored: set[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield number and values of each line; the first one that is no comment tells what separates.

    A quoted value may hold what separates, but no end of line. What comments say of directions is
    added to `ignored`.
    """
    mark: str | None = None
    is_first = True
    for number, text in enumerate(file, 1):
        line = text.strip()
        if not line or line.startswith(_COMMENTS):
            if _SAYS_DIRECTED.match(line):
                ignored.add(DIRECTIONS)
            continue
        if is_first:
            mark = next((mark for mark in "\t;,|" if mark in line), None)
            is_first = False
        if mark is None:
            yield number, line.split()
        elif '"' in line:
            yield number, next(csv.reader([line], delimiter=mark, strict=True))
        else:
            yield number, [value.strip() for value in line.split(mark)]
