"""GML: what the format says, or a refusal that names what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ktsafe.graph.inputs.reading import read, refused, ties


def gml(*nodes: str, edges: tuple[str, ...] = (), head: str = "", graph: str = "") -> str:
    """Return a file; the first node stands in line 2."""
    inner = "\n".join([*(f"node [ {n} ]" for n in nodes), *(f"edge [ {e} ]" for e in edges)])
    return f"{head}graph [ {graph}\n{inner}\n]\n"


ABC = ("id 1", "id 2", "id 3")
TIES = ("source 1 target 2", "source 2 target 1 value 3", "source 3 target 3", "source 2 target 3")


@pytest.mark.parametrize("directed", [0, 1])
@pytest.mark.parametrize("head", ["", 'Creator "me"\nVersion 1\n', "# a comment\n"])
def test_ties_may_be_given_again(tmp_path: Path, head: str, directed: int) -> None:
    """Also without a word that there are several: networkx refuses such files."""
    text = gml(*ABC, edges=TIES, head=head, graph=f"directed {directed}")
    network = read(tmp_path, "n.gml", text)
    assert (network.ids, ties(network)) == (["1", "2", "3"], {"1-2", "2-3"})
    assert (network.edges_repeated, network.loops, network.directed) == (1, 1, 4 * directed)
    assert (network.ignored, network.notes) == ((*["directions"][:directed], "value"), ())


def test_empty_labels_call_nobody(tmp_path: Path) -> None:
    """Programs that draw write them; one alone may be the id of somebody who has none."""
    network = read(tmp_path, "n.gml", gml('id 7 label ""', 'id 3 label ""'))
    assert network.ids == ["7", "3"]
    refused(tmp_path, "n.gml", gml('id 7 label ""'), "line 2: label is missing")
    refused(tmp_path, "n.gml", gml('id 7 label ""', 'id 3 label "A"'), "line 2: label is missing")


def test_people_are_called_by_their_labels(tmp_path: Path) -> None:
    """If all have one; it is told, and ids serve ties only."""
    nodes = ('id 7 label "Ann" age 30', 'id 3 label "Bo & Co" age 2.50', "id 5 label 9 age NAN")
    network = read(tmp_path, "n.gml", gml(*nodes, edges=("source 7 target 3",)))
    assert (network.ids, ties(network)) == (["Ann", "Bo & Co", "9"], {"Ann-Bo & Co"})
    assert (network.columns, network.kinds) == ({"age": ["30", "2.5", None]}, {"age": "number"})
    assert network.notes == ("People are called by their labels; their numbers (id) are left out.",)


def test_texts(tmp_path: Path) -> None:
    """Entities, several lines, and letters beyond ASCII."""
    node = 'id 1 a "&#38;&quot;&#x41;&AMP;&none; AT&T" b "one\ntwo" c "Zoë" d "x # y"'
    network = read(tmp_path, "n.gml", gml(node, "id 2"))
    assert network.columns == {
        "a": ['&"A&&none; AT&T', None],
        "b": ["one\ntwo", None],
        "c": ["Zoë", None],
        "d": ["x # y", None],
    }


def test_what_is_drawn_is_told(tmp_path: Path) -> None:
    """Lists inside of vertices and ties are no attributes."""
    network = read(
        tmp_path,
        "n.gml",
        gml("id 1 graphics [ x 1 y 2 ]", "id 2", edges=("source 1 target 2 line [ ]",)),
    )
    assert (network.ignored, network.columns) == (("graphics", "line"), {})


REFUSED = {
    "label twice": (gml('id 1 label "A"', 'id 2 label "A"'), "line 3: the same person"),
    "label of some": (gml('id 1 label "A"', "id 2"), "line 3: no label, and others have one"),
    "id twice": (gml("id 1", "id 1"), "line 3: the same id for the second time"),
    "ids of one text": (gml("id 1", 'id "1"'), "line 3: the same id"),
    "no id": (gml("age 1"), "line 2: id is missing"),
    "no end": (gml("id 1", edges=("source 1",)), "line 3: target is missing"),
    "unknown end": (gml("id 1", edges=("source 1 target 2",)), "who is not declared"),
    "value twice": (gml('id 1 tag "a" tag "b"'), "'tag' for the second time"),
    "second graph": (gml("id 1") + gml("id 2"), "line 4: a second graph"),
    "vertices in a vertex": (gml("id 1 graph [ node [ id 2 ] ]"), "vertices inside"),
    "group of yEd": (gml("id 1 isGroup 1", "id 2 gid 1"), "vertices inside"),
    "word as a value": (gml("id 1 club red"), "'club' has no value"),
    "infinity": (gml("id 1 age +INF"), "'age': Infinity"),
    "direction of other kind": (gml("id 1", graph="directed 2"), "directed is neither"),
    "cut in a list": (gml("id 1")[:-3], "a bracket is open"),
    "bracket too many": (gml("id 1") + "]", "a bracket does not fit"),
    "cut in a text": ('graph [ node [ id 1 label "A ] ]', "text that GML does not have"),
    "no graph": ('Creator "x"\n', "no graph"),
    "vertex without brackets": ("graph [ node 1 ]", "without brackets"),
    "bytes of another encoding": (gml('id 1 label "Zo\xeb"').encode("latin-1"), "no UTF-8"),
    "too deep": ("graph [ a " + "[ b " * 500 + "] " * 500 + "]", "a bracket does not fit"),
    "other GML": ("<gml:FeatureCollection/>", "begins with <FeatureCollection>"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_network_is_refused(tmp_path: Path, case: str) -> None:
    """The error names the file, the line where one can be told, and what is wrong there."""
    refused(tmp_path, "n.gml", *REFUSED[case])
