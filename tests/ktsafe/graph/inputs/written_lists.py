"""Random lists of ties without a header, and what their lines truly say.

A list has two to five columns. Two of them hold ids, the others a number or a time of the line, a
weight, a type or a text, in any order; comments of SNAP and KONECT may stand above.
"""

from __future__ import annotations

import csv
import io
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ktsafe.errors import InvalidGraph
from ktsafe.graph.inputs import read_network

_WORDS: Final = ("Ann", "Bo", "Cy", "Dee", "Eve", "Fay", "Gus", "Hal", "Ida", "Jon", "Kim", "Zoë")
_POOLS: Final[tuple[Callable[[int, random.Random], str], ...]] = (
    *(lambda v, _: str(v), lambda v, _: str(v + 1)) * 3,
    lambda v, _: str(37 * v % 1009),
    lambda v, _: str(100_003 * (v + 1)),
    lambda v, _: str(2**60 + 7 * v),
    lambda v, _: f"{v:03d}",
    lambda v, _: f"{v}.0",
    lambda v, _: _word(v),
    lambda v, _: _word(v).casefold(),
    lambda v, _: f"u{v}",
    lambda v, _: f"{_word(v)} Lee",
    lambda v, _: f"{_word(v)}, {'Dr' if v % 2 else 'MD'}",
    lambda v, _: f"{_word(v)}@x.org",
    lambda v, _: (str(v), f"n{v}", f"n-{v}", f"x y{v}")[v % 4],
    lambda v, _: f"#{v}" if v % 3 == 0 else str(v),
)
"""Spellings of the id of person v."""
_REASONS: Final = {
    "header": "may be a header, or a tie|a header that does not name|comments, a header, or ties",
    "columns": "which hold the ids",
    "measures": "holds (times|fractions), which are no ids",
    "separator": "may be separated by|ids may hold blanks|id of two numbers|columns, and the first",
    "marks": "a comment behind the first|quotation mark|readable CSV|no (two ids|id at|line of)",
    "looks": "looks like (an adjacency (list|matrix)|a METIS file)",
}
"""The closed list of reasons for which a list may be refused."""
Row = list[str]


def _word(v: int) -> str:
    return _WORDS[v % len(_WORDS)] + "" * (v < len(_WORDS)) + "x" * (v // len(_WORDS))


def _row_numbers(n: int, rng: random.Random) -> Row:
    first = rng.randint(0, 1)
    return [str(first + i) for i in range(n)]


def _times(n: int, rng: random.Random) -> Row:
    start, step = rng.choice([(0, 20), (0, 1), (1, 1), (1_082_040_961, 5_000), (0, 3), (1990, 2)])
    times, now = [], start
    for _ in range(n):
        now += step * rng.choice([0, 0, 1, 1, 2])
        times.append(now)
    if rng.random() < 0.2:
        rng.shuffle(times)
    form = rng.choice(["{}", "{}", "{}", "2026-01-{day:02d}", "2026-01-{day:02d}T10:00:00"])
    return [form.format(time, day=1 + time % 28) for time in times]


def _weights(n: int, rng: random.Random) -> Row:
    makes: list[Callable[[], Any]] = [
        lambda: rng.randint(1, 5),
        lambda: rng.randint(1, 5),
        lambda: int(1 / (0.02 + rng.random())),
        lambda: round(rng.random(), 2),
        lambda: f"{rng.randint(1, 9)}.0",
        lambda: rng.choice([-1, 1]),
        lambda: 1,
    ]
    make = rng.choice(makes)
    return [str(make()) for _ in range(n)]


def _types(n: int, rng: random.Random) -> Row:
    kinds = rng.choice(
        [
            ("friend", "foe"),
            ("a", "b", "c"),
            ("0", "1"),
            ("1", "2", "3"),
            ("pp",),
            ("MENTION", "RT"),
        ]
    )
    return [rng.choice(kinds) for _ in range(n)]


def _texts(n: int, rng: random.Random) -> Row:
    texts = rng.choice([("x y", "z"), ("hello", "bye", ""), ("a, b", "c; d"), ("NULL", "7")])
    return [rng.choice(texts) for _ in range(n)]


def _ties(pool: Row, n: int, rng: random.Random) -> list[tuple[str, str]]:
    """Return pairs: at random, sorted, in both directions, of a star, or between two sides."""
    kind = rng.choice(["any", "any", "any", "sorted", "sorted", "both", "star", "sides"])
    half = (len(pool) + 1) // 2
    found = []
    for _ in range(n):
        u, v = rng.randrange(len(pool)), rng.randrange(len(pool))
        if u == v and rng.random() < 0.8:
            v = (u + 1) % len(pool)
        if kind == "star":
            u = 0
        if kind == "sides":
            u, v = u % half, len(pool) - 1 - v % half
        found.append((u, v))
        if kind == "both":
            found.append((v, u))
    if kind == "sorted":
        found = sorted({(min(tie), max(tie)) for tie in found})
    return [(pool[u], pool[v]) for u, v in found[:n]]


def drawn(rng: random.Random) -> tuple[list[tuple[str, str]], str]:
    """Return ties, and the text of a file of them."""
    n = rng.choice([rng.randint(1, 6), rng.randint(1, 40)])
    spell = rng.choice(_POOLS)
    pool = list(dict.fromkeys(spell(v, rng) for v in range(rng.randint(2, 30))))
    rng.shuffle(pool)
    if rng.random() < 0.5:
        pool.sort(key=lambda name: (len(name), name))
    ties = _ties(pool, n, rng)
    n = len(ties)
    beside = [rng.choice([_times, _weights, _types, _texts]) for _ in range(rng.randint(0, 3))]
    columns = [make(n, rng) for make in beside]
    at = (0, 1) if rng.random() < 0.5 else sorted(rng.sample(range(len(columns) + 2), 2))
    for place, side in zip(at, zip(*ties, strict=True), strict=True):
        columns.insert(place, [*side])
    is_konect = tuple(at) == (0, 1) and not any(make in {_types, _texts} for make in beside)
    if len(columns) < 5 and rng.random() < 0.25:
        columns.insert(0, _row_numbers(n, rng))
        at, is_konect = (at[0] + 1, at[1] + 1), False
    comments = _comments(columns, tuple(at), rng, is_konect=is_konect)
    return ties, comments + _written([*map(list, zip(*columns, strict=True))], rng)


def _comments(
    columns: list[Row], at: tuple[int, ...], rng: random.Random, *, is_konect: bool
) -> str:
    names = [f"c{i}" for i in range(len(columns))]
    for place, name in zip(at, ("FromNodeId", "ToNodeId"), strict=True):
        names[place] = name
    given = ["", "", "", "# Nodes: 30 Edges: 40\n", "# saved on 2026-01-31\n#\n"]
    given.append(f"# Directed graph\n# {'  '.join(names)}\n")
    if is_konect:
        given.append("% sym weighted\n% 30 40\n")
    return rng.choice(given)


def _written(rows: list[Row], rng: random.Random) -> str:
    """Return the text of a file, cells with what separates in quotation marks, mostly."""
    mark = rng.choice(["\t", ",", ";", " "])
    end = rng.choice(["\n", "\n", "\r\n"])
    if mark == " ":
        joint = rng.choice([" ", " ", "  "])
        lines = [joint.join(f'"{x}"' if " " in x or not x else x for x in row) for row in rows]
        return end.join(lines) + end * rng.choice([1, 1, 0])
    if rng.random() < 0.5 and not any(mark in cell for row in rows for cell in row):
        return end.join(mark.join(row) for row in rows) + end
    file = io.StringIO()
    quoting = rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
    csv.writer(file, delimiter=mark, lineterminator=end, quoting=quoting).writerows(rows)
    return file.getvalue()


def outcome(seed: int, folder: Path) -> tuple[str, str]:
    """Write and read a list; return "read", a reason for which it is refused, or "misread"."""
    return _judged(*drawn(random.Random(f"list {seed}")), folder / "list.txt")


def plain_outcome(seed: int, folder: Path) -> tuple[str, str]:
    """Do the same with a list as it is published: two ids, a fraction, a moment or signs behind."""
    rng = random.Random(f"plain {seed}")
    n, spell = rng.randint(10, 40), rng.choice(_POOLS[:10])
    pool = [spell(v, rng) for v in range(rng.randint(8, 30))]
    ties = _ties(pool, n, rng)
    makes: list[Callable[[int], Any]] = [
        lambda _: f"{rng.random():.3f}",
        lambda i: 1_082_040_961 + 5_000 * i,
        lambda _: rng.choice([-1, 1]),
        lambda i: f"2026-01-{1 + i % 28:02d}",
    ]
    beside = rng.sample(makes, rng.randint(0, 2))
    rows = [[*tie, *(str(make(i)) for make in beside)] for i, tie in enumerate(ties)]
    names = "  ".join(("FromNodeId", "ToNodeId", "c2", "c3")[: 2 + len(beside)])
    comments = rng.choice(["", f"# {names}\n", "# Nodes: 30 Edges: 40\n", "% sym weighted\n"])
    return _judged(ties, comments + _written(rows, rng), folder / "list.txt")


def _judged(ties: list[tuple[str, str]], text: str, path: Path) -> tuple[str, str]:
    path.write_bytes(text.encode())
    try:
        network = read_network(path)
    except InvalidGraph as error:
        told = next((key for key, said in _REASONS.items() if re.search(said, error.message)), "")
        return told or "misread", f"{error.message}\n{text}"
    whole = [tuple(name.removesuffix(".0") for name in tie) for tie in ties]
    expected = {frozenset(tie) for tie in whole if tie[0] != tie[1]}
    loops = sum(one == other for one, other in whole)
    found = {frozenset((network.ids[u], network.ids[v])) for u, v in network.edges.tolist()}
    names = {name for tie in whole for name in tie}
    numbers = (network.loops, network.edges_repeated)
    if (found, {*network.ids}, *numbers) != (
        expected,
        names,
        loops,
        len(ties) - loops - len(expected),
    ):
        return "misread", text
    return "read", ""
