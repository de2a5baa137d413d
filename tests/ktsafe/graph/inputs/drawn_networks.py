"""Random networks: whatever ids, values and ties a file or a graph may hold."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable
from typing import Any, Final

import networkx as nx

PEOPLE_MAX: Final = 9
_LETTERS: Final = "abcXYZ01 .,;:-_/&<>'\"\\#%{}[]=éßЖ中🙂\u00a0"
_TEXTS: Final = (
    *("007", "7", "7.0", "1e3", "true", "True", "NaN", "None", "null", "-", "", " ", "x y", "é"),
    *("'ill'", '"ill"', "a,b", "a & b", "<b>", "#1", "%", "[1]", "Ж中", "0", "-1", "1_000"),
)
_NAMES: Final = ("age", "club", "label", "name", "Score", "source", "x_1", "vip")
Rows = list[tuple[int, int]]


@dataclasses.dataclass(frozen=True)
class Drawn:
    """A network: its people, what they have, and its ties, which may repeat."""

    ids: list[str]
    columns: dict[str, list[Any]]
    rows: Rows
    is_directed: bool
    is_weighted: bool


def drawn(rng: random.Random) -> Drawn:
    """Return a random network."""
    n = rng.randint(0, PEOPLE_MAX)
    ids: dict[str, None] = {}
    of_ids = rng.choice([_number, _number_with_zeros, _word, _word, _any_id])
    while len(ids) < n:
        ids[of_ids(rng)] = None
    rows = [(rng.randrange(n), rng.randrange(n)) for _ in range(rng.randint(0, 2 * n))] if n else []
    if rng.random() < 0.5:
        rows = list({tuple(sorted(row)): row for row in rows if row[0] != row[1]}.values())
    makes: list[Callable[[random.Random], Any]] = [_text, _whole, _fraction, _boolean]
    columns = {
        name: [None if rng.random() < missing else make(rng) for _ in range(n)]
        for name in rng.sample(_NAMES, rng.randint(0, 3))
        for make, missing in [(rng.choice(makes), rng.choice([0, 0, 0.3]))]
    }
    return Drawn([*ids], columns, rows, rng.random() < 0.4, rng.random() < 0.3)


def _number(rng: random.Random) -> str:
    return str(rng.choice([rng.randint(-5, 30), rng.randint(0, 2**60)]))


def _number_with_zeros(rng: random.Random) -> str:
    return rng.choice(["", "0", "00"]) + str(rng.randint(0, 30))


def _word(rng: random.Random) -> str:
    words = ("Ann", "Bo", "Cy Lee", "Zoë", "Ж中", "d-7", "x_y", "Σ")
    return rng.choice(words) + str(rng.randint(0, 99))


def _any_id(rng: random.Random) -> str:
    return "".join(rng.choice(_LETTERS) for _ in range(rng.randint(1, 5)))


def _text(rng: random.Random) -> str:
    return rng.choice(_TEXTS)


def _whole(rng: random.Random) -> int:
    return rng.choice([rng.randint(-3, 90), 2**53 + 1, -(2**40)])


def _fraction(rng: random.Random) -> float:
    return rng.choice([rng.random(), 30.0, -2.5, 1e-7, 1e20, math.nan, rng.choice([0.1, math.inf])])


def _boolean(rng: random.Random) -> bool:
    return rng.random() < 0.5


def as_networkx(network: Drawn) -> Any:
    """Return a graph of the class that holds the network; what is missing is left out."""
    is_multiple = len({*map(frozenset, network.rows)}) < len(network.rows)
    kinds = {(0, 0): nx.Graph, (0, 1): nx.DiGraph, (1, 0): nx.MultiGraph, (1, 1): nx.MultiDiGraph}
    graph = kinds[is_multiple, network.is_directed]()
    for v, name in enumerate(network.ids):
        values = {key: each[v] for key, each in network.columns.items() if each[v] is not None}
        graph.add_node(name, **values)
    more = {"since": 2} if network.is_weighted else {}
    graph.add_edges_from((network.ids[u], network.ids[v], more) for u, v in network.rows)
    return graph
