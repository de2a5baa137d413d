"""Pajek: what all sections say together, or a refusal that names what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ktsafe.graph.inputs.reading import read, refused, ties

ABC = '*Vertices 3\n1 "a"\n2 "b"\n3 "c"\n'
ARCS, EDGES = "*Arcs\n1 2\n", "*Edges\n2 3\n"
SECTIONS = {
    "arcs, then edges": (ARCS + EDGES, {"a-b", "b-c"}, 1),
    "edges, then arcs": (EDGES + ARCS, {"a-b", "b-c"}, 1),
    "relations": ('*Arcs :1 "likes"\n1 2 1\n*Arcs :2 "knows"\n1 3 1\n', {"a-b", "a-c"}, 2),
    "relations by line": ("*Arcs\n1: 1 2\n2: 1 3 1\n", {"a-b", "a-c"}, 2),
    "numbers of lines": ("*Arcs 1\n1 2\n*Edges 1\n2 3\n", {"a-b", "b-c"}, 1),
    "ends of lines": ("*Arcs\r1 2\r*Edges\r\n2 3\r", {"a-b", "b-c"}, 1),
    "lists": ("*Arcslist\n1 2 3\n*Edgeslist\n2 3\n", {"a-b", "a-c", "b-c"}, 2),
    "matrix": ("*Matrix\n0 1 0\n1 0 0.5\n0 0.5 0\n", {"a-b", "b-c"}, 0),
    "matrix of one direction": ("*Matrix\n0 1 0\n0 0 0\n0 0 0\n", {"a-b"}, 1),
    "loops and again": ("*Edges\n1 2\n2 1\n3 3\n1 2 -4\n", {"a-b"}, 0),
    "no ties": ("*Edges\n", set(), 0),
    "comments": ("% x\n\n*edges\n% y\n1 2 1.5 c Blue\n", {"a-b"}, 0),
}


@pytest.mark.parametrize("case", SECTIONS)
@pytest.mark.parametrize("begin", ["", "*Network two words\r\n", "% made by hand\n", "\ufeff"])
def test_sections(tmp_path: Path, case: str, begin: str) -> None:
    """Each section counts, whatever stands before it; directions are counted."""
    body, found, directed = SECTIONS[case]
    network = read(tmp_path, "n.net", begin + ABC + body)
    assert (network.format, network.ids) == ("Pajek", ["a", "b", "c"])
    assert (ties(network), network.directed) == (found, directed)
    if case == "loops and again":
        assert (network.edges_repeated, network.loops) == (2, 1)
    assert ("relations" in network.ignored) == case.startswith("relations")
    assert ("values of ties" in network.ignored) == (
        case in {"matrix", "loops and again", "comments"}
    )


def test_names(tmp_path: Path) -> None:
    """With blanks and codes of letters; a vertex without a name is called by its number."""
    text = (
        '*Vertices 6\n4 word\n1 "Ann Lee" 0.1 0.2 0.5\n3 "B&#34;o\\"\n5 ""\n6\n*Edges\n1 4\n2 3\n'
    )
    network = read(tmp_path, "n.paj", text)
    assert network.ids == ["Ann Lee", "2", 'B"o\\', "word", "5", "6"]
    assert ties(network) == {"Ann Lee-word", '2-B"o\\'}
    assert network.ignored == ("coordinates",)


def test_attributes(tmp_path: Path) -> None:
    """Words of drawing are told; other pairs are attributes, as networkx writes them."""
    text = (
        '*Vertices 3\n1 "a" 0.1 0.2 0.5 ellipse x_fact 2 ic Red\n'
        '2 b 0.0 0.0 box age 30 club "x y"\n3 c club z\n'
    )
    network = read(tmp_path, "n.net", text)
    assert network.columns == {"age": [None, "30", None], "club": [None, "x y", "z"]}
    assert (network.kinds, network.ignored) == ({}, ("coordinates", "drawing", "shapes"))


REFUSED = {
    "two kinds": ("*Vertices 3 1\n", "line 1: two kinds of vertices"),
    "no number of vertices": ("*Vertices\n", "line 1: .*without their number"),
    "too many": ("*Vertices 999999999\n", "line 1: more than"),
    "second network": (ABC + EDGES + ABC, "line 7: a second network"),
    "partition": (ABC + "*Partition sex\n*Vertices 3\n1\n2\n1\n", "line 5: a section that is no"),
    "vector": (ABC + "*Vector x\n", "a section that is no network"),
    "no vertices": ("*Network x\n", "no \\*Vertices"),
    "ties first": (EDGES + ABC, "line 1: ties before"),
    "name twice": ('*Vertices 2\n1 "a"\n2 "a"\n', "line 3: the same person"),
    "name is another's number": ('*Vertices 2\n1 "2"\n', "the same person"),
    "number twice": ("*Vertices 2\n1 a\n1 b\n", "line 3: a vertex for the second time"),
    "number too great": (ABC + "*Edges\n1 4\n", "line 6: a vertex is a number from 1 to 3"),
    "number 0": (ABC + "*Edges\n0 1\n", "number from 1 to 3"),
    "vertex too many": ("*Vertices 1\n1 a\n2 b\n", "line 3: a vertex is a number from 1 to 1"),
    "names as ends": (ABC + "*Edges\na b\n", "line 6: a vertex is a number"),
    "one end": (ABC + "*Edges\n1\n", "line 6: a tie has two ends"),
    "times": ('*Vertices 1\n1 "a" [1-3]\n', "line 2: values behind the name"),
    "times of ties": (ABC + "*Edges\n1 2 1 [1-3]\n", "line 6: a tie at some times"),
    "quotation mark": ('*Vertices 1\n1 "a\n', "line 2: a quotation mark"),
    "coordinate alone": ("*Vertices 1\n1 a 0.5\n", "two or three coordinates"),
    "value without a word": ("*Vertices 1\n1 a 0 0 box club\n", "an attribute without a value"),
    "value twice": ("*Vertices 1\n1 a club x club y\n", "'club' for the second time"),
    "matrix cut": (ABC + "*Matrix\n0 1 0\n", "line 5: a matrix of 1 lines for 3"),
    "matrix of words": (ABC + "*Matrix\n0 1 x\n0 0 0\n0 0 0\n", "line 6: a line of a matrix"),
    "ids spelt in two ways": ("*Vertices 2\n1 1\n2 1.0\n", "spelt in two ways"),
    "bytes of another encoding": ('*Vertices 1\n1 "Zo\xeb"\n'.encode("latin-1"), "no UTF-8"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_network_is_refused(tmp_path: Path, case: str) -> None:
    """The error names the file, the line where one can be told, and what is wrong there."""
    refused(tmp_path, "n.net", *REFUSED[case])
