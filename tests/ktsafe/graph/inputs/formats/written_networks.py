"""Random networks, written by libraries in all their formats, and what their files truly say.

A writer returns what a reader must understand, or the reason for which it must refuse the file. It
returns None where the library cannot write the network.
"""

from __future__ import annotations

import dataclasses
import json
import math
import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import igraph
import networkx as nx
import numpy as np
import rustworkx
from scipy import io, sparse
from sknetwork.data import Dataset, save

from ktsafe.errors import InvalidGraph
from ktsafe.graph.inputs import Network, read_network
from ktsafe.graph.inputs.spelling import id_text, value_text

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


@dataclasses.dataclass(frozen=True)
class Said:
    """What a file says."""

    ids: Sequence[str]
    columns: Mapping[str, Sequence[Any]]
    rows: Rows
    is_directed: bool
    ignored: frozenset[str] = frozenset()


Outcome = Said | str | None
Writer = Callable[[Drawn, Path, random.Random], Outcome]


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


def difference(said: Outcome, path: Path) -> tuple[str, str]:
    """Return "read", "refused" or "misread" with what differs or was told."""
    try:
        network = read_network(path)
    except InvalidGraph as error:
        is_meant = isinstance(said, str) and any(word in error.message for word in said.split("|"))
        return ("refused" if is_meant else "misread"), error.message
    if not isinstance(said, Said):
        return "misread", f"read, and to be refused: {said}"
    told = _told(said)
    found = (
        network.ids,
        _without_empty(network.columns),
        {frozenset((network.ids[u], network.ids[v])) for u, v in network.edges.tolist()},
        network.edges_repeated,
        network.loops,
        network.directed,
    )
    if found != told or not said.ignored <= {*network.ignored}:
        return "misread", f"{found} {network.ignored} for {told} {said.ignored}"
    return ("read", "") if _kinds_are_true(network) else ("misread", f"{network.kinds}")


def _kinds_are_true(network: Network) -> bool:
    """Whether each column that is told to be of numbers or booleans is."""
    for name, kind in network.kinds.items():
        there = [x for x in network.columns[name] if x is not None]
        if kind == "boolean" and not {*there} <= {"true", "false"}:
            return False
        if kind == "number" and not all(math.isfinite(float(x)) for x in there):
            return False
    return True


def _told(said: Said) -> tuple[Any, ...]:
    ids = [str(id_text(name)) for name in said.ids]
    ties = {frozenset((ids[u], ids[v])) for u, v in said.rows if u != v}
    loops = sum(u == v for u, v in said.rows)
    columns = {
        f"{name}_" if name in {"id", "source", "target"} else name: [*map(value_text, values)]
        for name, values in said.columns.items()
    }
    directed = len(said.rows) if said.is_directed else 0
    repeated = len(said.rows) - loops - len(ties)
    return ids, _without_empty(columns), ties, repeated, loops, directed


def _without_empty(columns: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    return {name: [*each] for name, each in columns.items() if any(x is not None for x in each)}


def _judged(said: Said) -> Outcome:
    """Return what a file says, or why it is refused whatever its format."""
    ids = [id_text(name) for name in said.ids]
    reasons = ["an id is missing", "label is missing"] if None in ids else []
    if len(set(ids)) < len(ids):
        reasons += ["spelt in two ways", "for the second time"]
    values = (x for each in said.columns.values() for x in each)
    if any(isinstance(x, float) and math.isinf(x) for x in values):
        reasons.append("Infinity")
    return "|".join(reasons) or said


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


def _of_networkx(network: Drawn, columns: Mapping[str, Sequence[Any]]) -> Outcome:
    ignored = frozenset({"since"} if network.is_weighted and network.rows else ())
    return _judged(Said(network.ids, columns, network.rows, network.is_directed, ignored))


def networkx_graphml(network: Drawn, path: Path, _rng: random.Random) -> Outcome:
    """Two attributes of numbers of one name do not come up: columns have one type."""
    nx.write_graphml(as_networkx(network), path)
    return _of_networkx(network, network.columns)


def _as_igraph(network: Drawn, columns: Mapping[str, Sequence[Any]]) -> Any:
    graph = igraph.Graph(len(network.ids), network.rows, directed=network.is_directed)
    graph.vs["name"] = network.ids
    for name, values in columns.items():
        graph.vs[name] = values
    if network.is_weighted:
        graph.es["since"] = [2] * len(network.rows)
    return graph


def _of_igraph(network: Drawn) -> dict[str, list[Any]]:
    """Return the columns as igraph writes them: numbers of 15 digits, None as a text or false."""
    columns: dict[str, list[Any]] = {}
    for name, values in network.columns.items():
        there = [x for x in values if x is not None]
        if name == "name" or not there:
            continue
        if isinstance(there[0], str):
            columns[name] = ["None" if x is None else x for x in values]
        elif isinstance(there[0], bool):
            columns[name] = [bool(x) for x in values]
        else:
            columns[name] = [None if x is None else float(f"{x:.15g}") for x in values]
    return columns


def igraph_graphml(network: Drawn, path: Path, _rng: random.Random) -> Outcome:
    """Ids are n0, n1, and so on, and names are an attribute."""
    columns = _of_igraph(network)
    graph = _as_igraph(network, columns)
    graph.write_graphml(str(path))
    return _igraph_said(network, [f"n{v}" for v in range(len(network.ids))], columns)


def _igraph_said(network: Drawn, ids: list[Any], columns: Mapping[str, Sequence[Any]]) -> Outcome:
    ignored = frozenset({"since"} if network.is_weighted and network.rows else ())
    return _judged(
        Said(ids, {**columns, "name": network.ids}, network.rows, network.is_directed, ignored)
    )


def _cells(network: Drawn, rng: random.Random) -> tuple[Any, Rows]:
    """Return a matrix with stored zeros, and the cells that are none."""
    n = len(network.ids)
    values = rng.choice([[1], [1, 0], [1, 2.5, 0, -1]])
    cells = {}
    for u, v in network.rows:
        cells[u, v] = rng.choice(values)
        if not network.is_directed:
            cells[v, u] = cells[u, v]
    at = np.array([*cells], dtype=np.int64).reshape(-1, 2).T
    made = sparse.coo_array(([*cells.values()], (at[0], at[1])), shape=(n, n))
    return made, [cell for cell, value in cells.items() if value]


def _matrix_said(n: int, rows: Rows, first: int, *, is_once: bool) -> Said:
    is_mirrored = {*rows} == {(v, u) for u, v in rows}
    if is_mirrored and is_once:
        rows = [(u, v) for u, v in rows if u <= v]
    return Said([str(v + first) for v in range(n)], {}, rows, not is_mirrored)


def scipy_mtx(network: Drawn, path: Path, rng: random.Random) -> Outcome:
    """The symmetry is told or found by scipy."""
    made, rows = _cells(network, rng)
    io.mmwrite(path, made, symmetry=rng.choice([None, "general"]))
    head = path.read_text().partition("\n")[0]
    if "skew-symmetric" in head:
        return "a skew-symmetric matrix"
    return _matrix_said(len(network.ids), rows, 1, is_once="general" not in head)


def scipy_npz(network: Drawn, path: Path, rng: random.Random) -> Outcome:
    """In the three formats that hold each cell once."""
    made, rows = _cells(network, rng)
    sparse.save_npz(path, made.asformat(rng.choice(["csr", "csc", "coo"])))
    return _matrix_said(len(network.ids), rows, 0, is_once=True)


def numpy_npz(network: Drawn, path: Path, _rng: random.Random) -> Outcome:
    """As OGB and PyTorch Geometric keep a network."""
    n = len(network.ids)
    edges = np.array(network.rows, dtype=np.int64).reshape(-1, 2).T
    np.savez(path, edge_index=edges, num_nodes=n)
    is_mirrored = {*network.rows} == {(v, u) for u, v in network.rows}
    return Said([str(v) for v in range(n)], {}, network.rows, not is_mirrored)


def _as_rustworkx(network: Drawn, nodes: list[dict[str, Any]]) -> Any:
    graph = rustworkx.PyDiGraph() if network.is_directed else rustworkx.PyGraph()
    graph.add_nodes_from(nodes)
    more = {"since": 2} if network.is_weighted else {}
    graph.add_edges_from([(u, v, more) for u, v in network.rows])
    return graph


def _nodes(network: Drawn) -> list[dict[str, Any]]:
    """Return what each person has, with the id as the attribute `called`."""
    columns = {**network.columns, "called": network.ids}
    return [
        {name: each[v] for name, each in columns.items() if each[v] is not None}
        for v in range(len(network.ids))
    ]


def rustworkx_graphml(network: Drawn, path: Path, _rng: random.Random) -> Outcome:
    """Ids are n0, n1, and so on; keys of people and of ties share names; fractions have 32 bits."""
    rustworkx.write_graphml(_as_rustworkx(network, _nodes(network)), str(path))
    ids = [f"n{v}" for v in range(len(network.ids))]
    columns = {name: [*map(_of_32_bits, each)] for name, each in network.columns.items()}
    return _of_rustworkx(network, ids, {**columns, "called": network.ids})


def _of_32_bits(value: Any) -> Any:
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    rounded = float(str(np.float32(value)))
    return int(rounded) if rounded.is_integer() else rounded


def rustworkx_mtx(network: Drawn, path: Path, _rng: random.Random) -> Outcome:
    """Each tie of an undirected network is two cells, a loop twice the same."""
    rustworkx.write_matrix_market(_as_rustworkx(network, _nodes(network)), str(path))
    if not network.ids:
        return _matrix_said(0, [], 1, is_once=False)
    rows = [*network.rows]
    if not network.is_directed:
        rows += [(v, u) for u, v in rows]
    return _matrix_said(len(network.ids), rows, 1, is_once=False)


def _of_rustworkx(
    network: Drawn, ids: list[str], columns: Mapping[str, Sequence[Any]], ignored: str = "since"
) -> Outcome:
    told = frozenset({ignored} if network.is_weighted and network.rows else ())
    return _judged(Said(ids, columns, network.rows, network.is_directed, told))


def sknetwork_npz(network: Drawn, path: Path, rng: random.Random) -> Outcome:
    """A folder of arrays, of which the adjacency is a file of scipy; names are beside it."""
    made, rows = _cells(network, rng)
    folder = path.with_suffix("")
    bundle = Dataset(adjacency=sparse.csr_matrix(made), names=np.array(network.ids))
    save(folder.resolve(), bundle)
    (folder / "adjacency.npz").rename(path)
    shutil.rmtree(folder)
    return _matrix_said(len(network.ids), rows, 0, is_once=True)


WRITERS: Final[dict[str, tuple[str, Writer]]] = {
    "networkx GraphML": (".graphml", networkx_graphml),
    "igraph GraphML": (".graphml", igraph_graphml),
    "rustworkx GraphML": (".graphml", rustworkx_graphml),
    "rustworkx Matrix Market": (".mtx", rustworkx_mtx),
    "scikit-network NPZ": (".npz", sknetwork_npz),
    "scipy Matrix Market": (".mtx", scipy_mtx),
    "scipy NPZ": (".npz", scipy_npz),
    "numpy NPZ": (".npz", numpy_npz),
}
_CANNOT_WRITE: Final = (nx.NetworkXError, igraph.InternalError, ValueError, TypeError)


def written(writer: str, seed: int, folder: Path) -> tuple[str, str, Path]:
    """Return how a reader takes a random network: "read", "refused", "misread" or "not written"."""
    rng = random.Random(f"{writer} {seed}")
    network = drawn(rng)
    ending, write = WRITERS[writer]
    path = folder / f"{seed}{ending}"
    try:
        said = write(network, path, rng)
    except _CANNOT_WRITE as error:
        return "not written", str(error), path
    if said is None:
        return "not written", "", path
    return *difference(said, path), path


_PIECES: Final = (
    *(b'"', b"<", b">", b"&", b"[", b"]", b"{", b"}", b"*", b"%", b"0", b"-1", b"nan", b"1e999"),
    *(b"\0", b"\xff", b"\n", b"<graph>", b"<default>", b"id", b"label", b'"nodes"', b"null"),
    *(b"99999999999999999999", b"\\ud800", b"&#55296;", b"encoding='x'"),
)


def read_damaged(writer: str, seed: int, folder: Path) -> str:
    """Return what comes of a file that is damaged in a few places: "read" or "refused".

    Whatever is read can be written again as text.
    """
    _, _, path = written(writer, seed, folder)
    rng = random.Random(seed)
    content = bytearray(path.read_bytes() if path.exists() else b"")
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(content) + 1)
        match rng.randrange(4):
            case 0:
                content[at : at + 1] = bytes([rng.randrange(256)])
            case 1:
                del content[at : at + rng.randint(1, 20)]
            case 2:
                content[at:at] = rng.choice(_PIECES)
            case _:
                content[at:at] = content[at : at + rng.randint(1, 40)]
    path.write_bytes(content)
    try:
        network = read_network(path)
    except InvalidGraph as error:
        str(error).encode()
        return "refused"
    json.dumps([network.ids, network.columns, network.ignored], ensure_ascii=False).encode()
    return "read"
