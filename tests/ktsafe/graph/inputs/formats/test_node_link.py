"""Node-link JSON: what networkx, d3 and others write, or a refusal that names what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from tests.ktsafe.graph.inputs.reading import read, refused, ties


def node_link(nodes: list[Any], ties_: list[Any], word: str = "links", **more: Any) -> str:
    return json.dumps({"nodes": nodes, word: ties_, **more})


AB = [{"id": "a"}, {"id": "b"}]
TIE = {"source": "a", "target": "b"}


@pytest.mark.parametrize("name", ["n.json", "n.txt", "n.json5"])
def test_positions_are_ids_where_there_are_none(tmp_path: Path, name: str) -> None:
    """As in d3's first files, in which people have names; it is told."""
    text = node_link(
        [{"name": "Ann", "group": 1}, {"name": "Bo", "group": 2}], [{"source": 1, "target": 0}]
    )
    network = read(tmp_path, name, "\ufeff \n" + text)
    assert (network.ids, ties(network)) == (["0", "1"], {"0-1"})
    assert network.columns == {"name": ["Ann", "Bo"], "group": ["1", "2"]}
    assert network.notes == ("No node has an id, so people are called by their positions from 0.",)


def test_ids_are_texts(tmp_path: Path) -> None:
    """Numbers and texts alike; lists are the tuples that networkx writes so."""
    nodes = [{"id": 7}, {"id": "007"}, {"id": [0, "x"]}, {"id": 9007199254740993}]
    links = [{"source": "7", "target": "007"}, {"source": [0, "x"], "target": 7.0}]
    network = read(tmp_path, "n.json", node_link(nodes, links))
    assert network.ids == ["7", "007", "(0, 'x')", "9007199254740993"]
    assert ties(network) == {"007-7", "(0, 'x')-7"}


def test_what_is_not_read_is_told(tmp_path: Path) -> None:
    """Values made of others, attributes of ties, and what else a file holds."""
    nodes = [{"id": "a", "at": [1, 2], "tag": "x"}, {"id": "b", "at": None, "tag": {"x": 1}}]
    more = {"graph": {"name": "x"}, "tag": "v1", "groups": [1], "empty": []}
    network = read(tmp_path, "n.json", node_link(nodes, [TIE | {"id": 1, "value": 3}], **more))
    assert (network.columns, network.ignored) == ({}, ("at", "groups", "tag", "value"))


def test_what_a_file_holds_beside_is_no_attribute(tmp_path: Path) -> None:
    """An attribute of people may have the name of something else in the file."""
    network = read(tmp_path, "n.json", node_link([{"id": "a", "note": "x"}], [], note="y"))
    assert (network.columns, network.ignored) == ({"note": ["x"]}, ("note",))


TWICE = '{"nodes": [{"id": "a", "age": 1, "age": 2}], "links": []}'
REFUSED = {
    "value twice": (TWICE, "'age' for the second time in one object"),
    "nodes twice": ('{"nodes": [], "nodes": [], "links": []}', "'nodes' for the second time"),
    "both lists": (node_link(AB, [TIE], edges=[]), "both links and edges"),
    "person twice": (node_link([*AB, {"id": "a"}], []), r"nodes\[2\]: the same person"),
    "ids of one text": (node_link([{"id": 1}, {"id": "1"}], []), r"nodes\[1\]: the same person"),
    "ids spelt in two ways": (node_link([{"id": "1"}, {"id": "1.0"}], []), "the same person"),
    "id of some": (node_link([{"id": "a"}, {"name": "b"}], []), r"nodes\[1\]: no id, and others"),
    "id is null": (node_link([{"id": None}], []), r"nodes\[0\]: an id is missing"),
    "id is an object": (node_link([{"id": {}}], []), "of the type dict"),
    "digits lost": ('{"nodes": [{"id": 9007199254740993.0}], "links": []}', "a fraction from 2"),
    "unknown end": (
        node_link(AB, [TIE, {"source": "a", "target": "x"}]),
        r"links\[1\]: a tie of somebody",
    ),
    "positions though there are ids": (
        node_link(AB, [{"source": 0, "target": 1}]),
        "who is not declared",
    ),
    "ends of other names": (node_link(AB, [{"from": "a", "to": "b"}]), "a source and a target"),
    "direction of another kind": (node_link(AB, [], directed="yes"), "neither true nor false"),
    "nodes by name": (node_link({"a": {}}, []), "nodes and links are lists"),  # type: ignore[arg-type]
    "node is a text": (node_link(["a"], []), "a node is an object"),
    "infinity": ('{"nodes": [{"id": "a", "x": Infinity}], "links": []}', "'x': Infinity"),
    "JSON lines": ('{"source": 1, "target": 2}\n{"source": 2, "target": 3}\n', "is JSON lines"),
    "list": ('[{"source": 1, "target": 2}]', "is a list of JSON"),
    "Cytoscape": ('{"elements": {"nodes": []}}', "is Cytoscape's JSON"),
    "JSON Graph Format": ('{"graph": {"nodes": {}, "edges": []}}', "is JSON Graph Format"),
    "adjacency": (json.dumps(nx.adjacency_data(nx.path_graph(3))), "is adjacency data of networkx"),
    "tree": ('{"id": 1, "children": []}', "is a tree"),
    "JSON of another kind": ('{"a": 1}', "is JSON of another kind"),
    "cut": (node_link(AB, [TIE])[:-9], "line 1: no JSON"),
    "half of a letter": (node_link([{"id": "\ud800"}], []), "half of a letter"),
    "too deep": ("[" * 100_000, "nests too deep"),
    "bytes of another encoding": (b'{"nodes": [{"id": "Zo\xeb"}], "links": []}', "no UTF-8"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_network_is_refused(tmp_path: Path, case: str) -> None:
    """The error names the file, the place where one can be told, and what is wrong there."""
    refused(tmp_path, "n.json", *REFUSED[case])
