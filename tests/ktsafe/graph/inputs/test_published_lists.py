"""Lists of ties as they are published: every kind of file tells the same network."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ktsafe.errors import InvalidGraph
from ktsafe.graph.inputs import Network, read_network
from tests.ktsafe.graph.inputs.reading import refused

N = 9
PAIRS = [(0, 1), (1, 2), (2, 0), (3, 7), (7, 4), (4, 3), (5, 6)]
"""Vertex 8 has no tie."""


def expected() -> set[frozenset[str]]:
    return {frozenset((f"{u}", f"{v}")) for u, v in PAIRS}


def ties(network: Network, shift: int = 0) -> set[frozenset[str]]:
    names = [str(int(name) - shift) for name in network.ids]
    return {frozenset((names[u], names[v])) for u, v in network.edges.tolist()}


def lines(separator: str, comment: str = "", header: str = "", more: str = "") -> str:
    rows = [f"{u}{separator}{v}{more}" for u, v in PAIRS]
    return "\n".join([*filter(None, [comment, header]), *rows, ""])


EDGE_LISTS = {
    "SNAP": ("Wiki.txt", lines("\t", "# Directed graph\n# FromNodeId\tToNodeId")),
    "SNAP's CSV": ("musae_edges.csv", lines(",", header="id_1,id_2")),
    "Network Repository": ("soc.edges", lines(" ", "% sym unweighted", more=" 1 1082040961")),
    "KONECT": ("out.net", lines(" ", "% asym positive\n% 7 8 8", more="  1")),
    "semicolons": ("net.csv", lines(";", header='"source";"target"')),
    "ours": ("edges.csv", lines(",", header="source,target")),
    "ours, weighted": ("edges.csv", lines(",", header="source,target,weight", more=",3")),
}
MORE = "columns behind the second"
IGNORED = {
    "Network Repository": (MORE,),
    "KONECT": (MORE,),
    "ours, weighted": ("weight",),
}


@pytest.mark.parametrize("kind", EDGE_LISTS)
def test_edge_lists(tmp_path: Path, kind: str) -> None:
    """Comments, headers, weights and times are passed over; gzip is known by its first bytes.

    What of it is a property of edges is named.
    """
    name, text = EDGE_LISTS[kind]
    (tmp_path / name).write_text(text)
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    for file in (name, f"{name}.gz"):
        network = read_network(tmp_path / file)
        assert ties(network) == expected()
        assert network.ids == list(dict.fromkeys(str(end) for pair in PAIRS for end in pair))
        assert (network.edges_repeated, network.loops) == (0, 0)
        assert set(network.ignored) - {"directions"} == {*IGNORED.get(kind, ())}
        assert network.directed == (len(PAIRS) if kind in {"SNAP", "KONECT"} else 0)


def test_repeated_edges_and_loops_are_counted(tmp_path: Path) -> None:
    """Both directions of a tie are one edge, and a vertex with a loop alone is there."""
    (tmp_path / "net.txt").write_text("a b\nb a\na b\nc c\n")
    network = read_network(tmp_path / "net.txt")
    assert network.ids == ["a", "b", "c"]
    assert (network.edges.tolist(), network.edges_repeated, network.loops) == ([[0, 1]], 2, 1)


BAD = {
    "one.txt": (b"1 2\n3\n", "line 2: no two ids"),
    "cut.txt.gz": (gzip.compress(b"1 2\n" * 99)[:-9], "no whole gzip file"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_network_is_refused(tmp_path: Path, name: str) -> None:
    """A damaged file ends in an error that names it, never in a network of less."""
    refused(tmp_path, name, *BAD[name])
    with pytest.raises(InvalidGraph, match="cannot be read"):
        read_network(tmp_path / "absent.txt")
