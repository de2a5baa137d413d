"""GEXF: what the format says, or a refusal that names what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ktsafe.graph.inputs.reading import read, refused, ties

SPACES = (
    "http://www.gexf.net/1.1draft",
    "http://www.gexf.net/1.2draft",
    "http://gexf.net/1.3",
    "http://www.gexf.net/1.3",
)


def gexf(
    nodes: str, edges: str = "", head: str = "", graph: str = "", space: str = SPACES[2]
) -> str:
    """Return a file; the nodes stand in line 3."""
    return (
        f'<gexf xmlns="{space}" xmlns:viz="{space}/viz"><meta><creator>x</creator></meta>\n'
        f"<graph {graph}>{head}\n<nodes>{nodes}</nodes>\n<edges>{edges}</edges></graph></gexf>"
    )


def node(id_: str, inner: str = "", more: str = "") -> str:
    return f'<node id="{id_}"{more}>{inner}</node>'


def value(text: str, for_: str = "0", more: str = "") -> str:
    return f'<attvalues><attvalue for="{for_}" value="{text}"{more}/></attvalues>'


def declared(type_: str, default: str = "", title: str = "state", id_: str = "0") -> str:
    inner = f"<default>{default}</default>" if default else ""
    attribute = f'<attribute id="{id_}" title="{title}" type="{type_}">{inner}</attribute>'
    return f'<attributes class="node">{attribute}</attributes>'


PEOPLE = node("a") + node("b") + node("c")


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(
    ("type_", "default", "own", "told"),
    [
        ("string", "sick", "well", ["well", "sick"]),
        ("boolean", "true", "false", ["false", "true"]),
        ("integer", "3", "04", ["4", "3"]),
        ("double", "30.0", "1e1", ["10", "30"]),
    ],
)
def test_defaults_are_applied(
    tmp_path: Path, space: str, type_: str, default: str, own: str, told: list[str]
) -> None:
    """In all versions, and whatever a program calls the name space."""
    text = gexf(node("a", value(own)) + node("b"), head=declared(type_, default), space=space)
    network = read(tmp_path, "n.gexf", text)
    assert (network.columns, network.ids) == ({"state": told}, ["a", "b"])


TYPES = {
    **dict.fromkeys(("byte", "short", "integer", "long", "biginteger"), ("30", "30", "number")),
    **dict.fromkeys(("float", "double", "bigdecimal"), ("30.0", "30", "number")),
    "boolean": ("True", "true", "boolean"),
    "string": ("x y", "x y", "text"),
    "char": ("x", "x", "text"),
    "anyURI": ("http://x", "http://x", "text"),
    "date": ("2020-01-31", "2020-01-31", "date"),
    "liststring": ("[a, b]", "[a, b]", "text"),
    "listinteger": ("1|2", "1|2", "text"),
}


@pytest.mark.parametrize("type_", TYPES)
def test_types(tmp_path: Path, type_: str) -> None:
    """All types of all versions are known; lists are the texts that stand there."""
    given, text, kind = TYPES[type_]
    network = read(
        tmp_path, "n.gexf", gexf(node("a", value(given)) + node("b"), head=declared(type_))
    )
    assert (network.columns, network.kinds) == ({"state": [text, None]}, {"state": kind})


@pytest.mark.parametrize("default", ["directed", "undirected", "mutual", ""])
def test_directions_are_dropped_and_counted(tmp_path: Path, default: str) -> None:
    """Ties of all types may stand in one file; a mutual one is one row."""
    edges = "".join(
        f'<edge id="{i}" source="{s}" target="{t}"{type_}/>'
        for i, (s, t, type_) in enumerate(
            [
                ("a", "b", ' type="directed"'),
                ("b", "c", ' type="mutual"'),
                ("c", "a", ' type="undirected"'),
                ("b", "a", ""),
            ]
        )
    )
    graph = f'defaultedgetype="{default}"' if default else ""
    network = read(tmp_path, "n.gexf", gexf(PEOPLE, edges, graph=graph))
    assert (ties(network), network.edges_repeated) == ({"a-b", "b-c", "a-c"}, 1)
    assert network.directed == (2 if default in {"undirected", ""} else 3)


def test_what_is_not_read_is_told(tmp_path: Path) -> None:
    """Weights, kinds, drawing, times that only begin, and attributes of ties are named."""
    head = (
        '<attributes class="edge"><attribute id="0" title="via" type="string"/>'
        '<attribute id="1" title="sure" type="float"><default>1</default></attribute></attributes>'
    )
    nodes = node("a", '<viz:size value="1"/><viz:color r="1"/>', ' start="2001"') + node("b")
    edges = (
        f'<edge id="1" source="a" target="b" label="x" kind="k">{value("mail")}</edge>'
        f'<edge id="2" source="a" target="b">{value("3", "weight")}</edge>'
    )
    network = read(tmp_path, "n.gexf", gexf(nodes, edges, head, 'mode="dynamic" end="2009"'))
    assert network.ignored == ("kind", "label", "sure", "times", "via", "viz", "weight")
    assert (ties(network), network.columns) == ({"a-b"}, {})


def test_labels_are_a_column(tmp_path: Path) -> None:
    """Ids are ids, also where labels are the same."""
    network = read(
        tmp_path, "n.gexf", gexf(node("1", "", ' label="Ann"') + node("2", "", ' label="Ann"'))
    )
    assert (network.ids, network.columns) == (["1", "2"], {"label": ["Ann", "Ann"]})
    text = gexf(node("a", value("x"), ' label="A"'), head=declared("string", title="label"))
    network = read(tmp_path, "n.gexf", text)
    assert network.columns == {"label": ["x"], "label_": ["A"]}
    assert network.notes == ("An attribute is called 'label'; labels are 'label_'.",)


def test_what_lasts_is_there(tmp_path: Path) -> None:
    """A part that ends with the graph, never, or in the last of its spells, is there at the end."""
    spells = '<spells><spell start="1" end="2"/><spell start="4"/></spells>'
    edges = (
        '<edge source="a" target="b" end="9"/><edge source="b" target="c" end="Infinity"/>'
        f'<edge source="a" target="c">{spells}</edge>'
    )
    network = read(tmp_path, "n.gexf", gexf(PEOPLE, edges, graph='mode="dynamic" end="9"'))
    assert ties(network) == {"a-b", "b-c", "a-c"}


def test_an_attribute_called_id_is_another_column(tmp_path: Path) -> None:
    """A reader that takes it for the id would merge these two people."""
    nodes = node("1", value("x")) + node("2", value("x"))
    network = read(tmp_path, "n.gexf", gexf(nodes, head=declared("string", title="id")))
    assert (network.ids, network.columns) == (["1", "2"], {"id_": ["x", "x"]})


SPELL = '<spells><spell start="1" end="2"/></spells>'
TIE = '<edge source="a" target="b"{}/>'
REFUSED = {
    "nodes in a node": (gexf(node("a", f"<nodes>{node('b')}</nodes>")), "line 3: vertices inside"),
    "edges in a node": (gexf(node("a", "<edges/>")), "vertices inside of another"),
    "group": (
        gexf(node("a") + node("b", "", ' pid="a"')),
        "line 3: a person inside of another one",
    ),
    "second graph": (gexf(PEOPLE).replace("</gexf>", "<graph/></gexf>"), "line 4: a second graph"),
    "no graph": ("<gexf></gexf>", "no graph"),
    "tie that ends": (gexf(PEOPLE, TIE.format(' end="5"')), "line 4: a part that ends before"),
    "tie that ended before the graph": (
        gexf(PEOPLE, TIE.format(' start="1" end="5"'), graph='end="9"'),
        "ends before the graph does",
    ),
    "person who leaves": (gexf(node("a", SPELL)), "ends before the graph does"),
    "open end": (gexf(node("a", "", ' endopen="3"')), "ends before the graph does"),
    "value that ends": (
        gexf(node("a", value("x", more=' end="3"')), head=declared("string")),
        "ends before",
    ),
    "values over time": (
        gexf(
            node(
                "a",
                '<attvalues><attvalue for="0" value="x"/><attvalue for="0" value="y"/></attvalues>',
            ),
            head=declared("string"),
        ),
        "'state' for the second time",
    ),
    "undeclared attribute": (gexf(node("a", value("x"))), "attribute '0' is not declared"),
    "attribute twice": (gexf(PEOPLE, head=declared("string") * 2), "a second attribute '0'"),
    "title twice": (
        gexf(
            node("a", value("x")) + node("b", value("y", "1")),
            head=declared("string") + declared("string", id_="1"),
        ),
        "a second attribute is called 'state'",
    ),
    "class of another kind": (
        gexf(PEOPLE, head='<attributes class="face"/>'),
        "class node or edge",
    ),
    "unknown type": (gexf(node("a", value("x")), head=declared("colour")), "unknown type 'colour'"),
    "no number": (gexf(node("a", value("x")), head=declared("integer")), "that is no number"),
    "no boolean": (gexf(node("a", value("2")), head=declared("boolean")), "that is no boolean"),
    "value without a value": (
        gexf(node("a", '<attvalues><attvalue for="0"/></attvalues>'), head=declared("string")),
        "a value is missing",
    ),
    "person twice": (gexf(PEOPLE + node("a")), "line 3: the same person for the second time"),
    "unknown end": (
        gexf(node("a"), TIE.format("")),
        "line 4: a tie of somebody who is not declared",
    ),
    "unknown type of ties": (gexf(PEOPLE, TIE.format(' type="both"')), "type of ties"),
    "unknown element": (
        gexf(PEOPLE).replace("<nodes>", "<cluster/><nodes>"),
        "<cluster> has no place",
    ),
    "cut": (gexf(PEOPLE)[:-20], "no well-formed XML"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_network_is_refused(tmp_path: Path, case: str) -> None:
    """The error names the file, the line where one can be told, and what is wrong there."""
    refused(tmp_path, "n.gexf", *REFUSED[case])
