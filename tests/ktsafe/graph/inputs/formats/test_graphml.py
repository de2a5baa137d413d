"""GraphML: what the format says, or a refusal that names what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ktsafe.graph.inputs.reading import read, refused, ties

OPEN = '<?xml version="1.0"?>\n<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
GROUP = '<key id="g" for="node" attr.name="group" attr.type="string"/>'


def graphml(body: str, keys: str = "", default: str = "undirected") -> str:
    """Return a file; its graph begins in line 4."""
    return f'{OPEN}{keys}\n<graph edgedefault="{default}">{body}</graph></graphml>'


def nodes(*names: str) -> str:
    return "".join(f'<node id="{name}"/>' for name in names)


@pytest.mark.parametrize(
    ("type_", "default", "own", "told"),
    [
        ("string", "sick", "well", ["well", "sick", "sick"]),
        ("boolean", "false", "True", ["true", "false", "false"]),
        ("boolean", "1", "0", ["false", "true", "true"]),
        ("int", "007", "3", ["3", "7", "7"]),
        ("double", "30", "1.50", ["1.5", "30", "30"]),
        ("double", "NaN", "2", ["2", None, None]),
        ("string", "", "x", ["x", None, None]),
    ],
)
@pytest.mark.parametrize("for_", ["node", "all"])
def test_defaults_are_applied(
    tmp_path: Path, type_: str, default: str, own: str, told: list[str | None], for_: str
) -> None:
    """People of whom a file says nothing have what it declares for them."""
    key = (
        f'<key id="k" for="{for_}" attr.name="state" attr.type="{type_}">'
        f"<default>{default}</default></key>"
    )
    body = f'<node id="a"><data key="k">{own}</data></node>{nodes("b", "c")}'
    assert read(tmp_path, "n.graphml", graphml(body, key)).columns == {"state": told}


def test_an_empty_value_is_missing_and_no_default(tmp_path: Path) -> None:
    """A person whose value is there and empty does not have the default."""
    key = '<key id="k" for="node" attr.name="state"><default>sick</default></key>'
    body = '<node id="a"><data key="k"></data></node><node id="b"><data key="k"/></node>'
    network = read(tmp_path, "n.graphml", graphml(body + nodes("c"), key))
    assert network.columns == {"state": [None, None, "sick"]}


@pytest.mark.parametrize("default", ["directed", "undirected"])
def test_directions_are_dropped_and_counted(tmp_path: Path, default: str) -> None:
    """Ties with and without a direction may stand in one file."""
    edges = (
        '<edge source="a" target="b" directed="true"/><edge source="b" target="c"/>'
        '<edge source="c" target="a" directed="false"/><edge source="b" target="a"/>'
        '<edge source="c" target="c"/>'
    )
    network = read(tmp_path, "n.graphml", graphml(nodes(*"abc") + edges, default=default))
    assert ties(network) == {"a-b", "b-c", "a-c"}
    assert (network.edges_repeated, network.loops) == (1, 1)
    assert network.directed == (4 if default == "directed" else 1)


def test_what_is_not_read_is_told(tmp_path: Path) -> None:
    """Attributes of ties and ports are named; descriptions and data of the graph are not read."""
    keys = (
        '<key id="w" for="edge" attr.name="weight" attr.type="double"><default>1</default></key>'
        '<key id="s" for="edge" attr.name="since" attr.type="int"/>'
        '<key id="t" for="graph" attr.name="title" attr.type="string"/>'
        '<key id="z" for="node" attr.name="unused" attr.type="string"/>'
    )
    body = (
        '<desc>friends</desc><data key="t">x</data><node id="a"><port name="p"/><desc/></node>'
        '<node id="b"/><edge source="a" target="b" sourceport="p"><data key="s">3</data></edge>'
    )
    network = read(tmp_path, "n.graphml", graphml(body, keys))
    assert (network.ignored, network.columns) == (("ports", "since", "weight"), {})


def test_kinds_and_texts_are_those_of_the_format(tmp_path: Path) -> None:
    """Numbers keep their digits, and whole ones lose their fraction; texts stay texts."""
    types = {"n": "long", "f": "float", "s": "string", "b": "boolean"}
    keys = "".join(
        f'<key id="{k}" for="node" attr.name="{k}" attr.type="{t}"/>' for k, t in types.items()
    )
    values = {"n": "9007199254740993", "f": "30.0", "s": " 007 ", "b": "TRUE"}
    body = "".join(f'<data key="{k}">{v}</data>' for k, v in values.items())
    network = read(tmp_path, "n.graphml", graphml(f'<node id="a">{body}</node>', keys))
    assert {k: v[0] for k, v in network.columns.items()} == {
        "n": "9007199254740993",
        "f": "30",
        "s": "007",
        "b": "true",
    }
    assert network.kinds == {"n": "number", "f": "number", "s": "text", "b": "boolean"}


def test_numbers_of_two_types_are_one_column(tmp_path: Path) -> None:
    """As networkx writes whole numbers and fractions of one attribute: nobody has both."""
    keys = (
        '<key id="a" for="node" attr.name="score" attr.type="long"/>'
        '<key id="b" for="node" attr.name="score" attr.type="double"/>'
    )
    body = '<node id="x"><data key="a">1</data></node><node id="y"><data key="b">2.5</data></node>'
    network = read(tmp_path, "n.graphml", graphml(body, keys))
    assert (network.columns, network.kinds) == ({"score": ["1", "2.5"]}, {"score": "number"})


@pytest.mark.parametrize(
    ("key", "drawn", "ignored"),
    [
        (
            'yfiles.type="nodegraphics"',
            '<y:ShapeNode><y:Geometry x="1"/><y:NodeLabel>Ann</y:NodeLabel></y:ShapeNode>',
            "nodegraphics",
        ),
        (
            'attr.name="NodeLabels"',
            "<y:List><y:Label><y:Label.Text>Ann</y:Label.Text></y:Label></y:List>",
            "NodeLabels",
        ),
    ],
)
def test_labels_that_yed_draws(tmp_path: Path, key: str, drawn: str, ignored: str) -> None:
    """The label is a column, unless there is one; all else of the drawing is told."""
    value = f'<data key="d">{drawn}</data>'
    body = f'<node id="a">{value}<port name="p"><data key="d"/></port></node><node id="b"/>'
    text = graphml(body, f'<key id="d" for="node" {key}/>')
    text = text.replace("<graphml ", '<graphml xmlns:y="http://www.yworks.com/xml/graphml" ')
    network = read(tmp_path, "n.graphml", text)
    assert (network.columns, network.ignored) == ({"label": ["Ann", None]}, (ignored, "ports"))
    other = '<key id="l" for="node" attr.name="label" attr.type="string"/></graphml>'
    network = read(tmp_path, "n.graphml", text.replace("</graphml>", other))
    assert (network.columns, network.ignored) == ({}, (ignored, "ports"))


@pytest.mark.parametrize("name", ["n.graphml", "n.xml", "n.txt"])
@pytest.mark.parametrize("space", [' xmlns="http://graphml.graphdrawing.org/xmlns/graphml"', ""])
def test_the_root_tells_the_format(tmp_path: Path, name: str, space: str) -> None:
    """Whatever the file and the name space are called; and keys may stand behind the graph."""
    text = (
        f"<!-- <gexf> --><graphml{space}><graph>{nodes('b')}<node id=' a '><data key='g'>x</data>"
        f"</node><edge source='a' target='b'/></graph>{GROUP}</graphml>"
    )
    network = read(tmp_path, name, text)
    assert (network.format, network.ids, ties(network)) == ("GraphML", ["b", "a"], {"a-b"})
    assert network.columns == {"group": [None, "x"]}


def test_a_type_of_document_is_no_entity(tmp_path: Path) -> None:
    """It is named by some programs, and never loaded."""
    told = '<!DOCTYPE graphml SYSTEM "http://graphml.graphdrawing.org/dtds/graphml.dtd">'
    text = f"{told}\n<graphml><graph>{nodes('a&amp;b', '&#38;&#x3b;')}</graph></graphml>"
    assert read(tmp_path, "n.graphml", text).ids == ["a&b", "&;"]


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1", "ascii"])
def test_the_file_tells_its_encoding(tmp_path: Path, encoding: str) -> None:
    """As XML does."""
    text = f'<?xml version="1.0" encoding="{encoding}"?><graphml><graph>{nodes("Zo&#235;")}'
    text = text if encoding == "ascii" else text.replace("&#235;", "ë")
    network = read(tmp_path, "n.graphml", f"{text}</graph></graphml>".encode(encoding))
    assert network.ids == ["Zoë"]


def test_an_attribute_called_id_is_another_column(tmp_path: Path) -> None:
    """It never takes the place of the id, and it is told."""
    key = '<key id="k" for="node" attr.name="id" attr.type="string"/>'
    network = read(
        tmp_path, "n.graphml", graphml('<node id="a"><data key="k">b</data></node>', key)
    )
    assert (network.ids, network.columns) == (["a"], {"id_": ["b"]})
    assert network.notes == ("The attribute 'id' is the column 'id_'.",)


def data(text: str, key: str = "g") -> str:
    return f'<data key="{key}">{text}</data>'


def typed(type_: str, value: str) -> str:
    key = f'<key id="k" for="node" attr.name="age" attr.type="{type_}"/>'
    return graphml(f'<node id="a">{data(value, "k")}</node>', key)


TWO_KEYS = GROUP + '<key id="h" for="node" attr.name="group" attr.type="string"/>'
BARE = "<graphml><graph/></graphml>"
REFUSED = {
    "nested graph": (
        graphml('<node id="a"><graph>' + nodes("x") + "</graph></node>"),
        "line 4: a graph in a vertex",
    ),
    "graph in an edge": (
        graphml(nodes("a", "b") + '<edge source="a" target="b"><graph/></edge>'),
        "a graph in a vertex or an edge",
    ),
    "second graph": (
        graphml(nodes("a")).replace("</graphml>", f"<graph>{nodes('b')}</graph></graphml>"),
        "line 4: a second graph",
    ),
    "no graph": (f"{OPEN}</graphml>", "no graph"),
    "hyperedge": (
        graphml(nodes("a", "b") + '<hyperedge><endpoint node="a"/></hyperedge>'),
        "line 4: a hyperedge",
    ),
    "undeclared key": (
        graphml(f'<node id="a">{data("x")}</node>'),
        "key 'g' is not declared for people",
    ),
    "undeclared key of ties": (
        graphml(nodes("a") + f'<edge source="a" target="a">{data("x")}</edge>', GROUP),
        "key 'g' is not declared for ties",
    ),
    "key twice": (graphml(nodes("a"), GROUP + GROUP), "a second key 'g'"),
    "key twice, for all": (
        graphml(nodes("a"), GROUP + GROUP.replace("node", "all")),
        "a second key 'g'",
    ),
    "two keys of one name": (
        graphml(f'<node id="a">{data("x")}{data("y", "h")}</node>', TWO_KEYS),
        "a second key is called 'group'",
    ),
    "two keys of one name, of different people": (
        graphml(f'<node id="a">{data("x")}</node><node id="b">{data("y", "h")}</node>', TWO_KEYS),
        "a second key is called 'group'",
    ),
    "person twice": (graphml(nodes("a", "b", "a")), "line 4: the same person for the second time"),
    "person without an id": (graphml("<node/>"), "an id is missing"),
    "blank id": (graphml('<node id=" "/>'), "an id is missing"),
    "ids spelt in two ways": (graphml(nodes("1", "1.0")), "1 id is spelt in two ways"),
    "value twice": (
        graphml(f'<node id="a">{data("x")}{data("y")}</node>', GROUP),
        "'group' for the second time",
    ),
    "unknown end": (graphml(nodes("a") + '<edge source="a" target="b"/>'), "who is not declared"),
    "no end": (graphml(nodes("a") + '<edge source="a"/>'), "an id is missing"),
    "no boolean": (typed("boolean", "perhaps"), "a value of 'age' that is no boolean"),
    "no number": (typed("int", "1_000"), "line 4: a value of 'age' that is no number"),
    "infinity": (typed("double", "Infinity"), "'age': Infinity"),
    "unknown type": (typed("complex", "1"), "unknown type 'complex'"),
    "part in another file": (
        graphml('<node id="a"><locator href="b.graphml"/></node>'),
        "lies in another file",
    ),
    "unknown element": (graphml('<vertex id="a"/>'), "<vertex> has no place there"),
    "elements as a value": (
        graphml('<node id="a"><data key="g"><b>x</b></data></node>', GROUP),
        "made of elements",
    ),
    "entity": (
        '<!DOCTYPE graphml [<!ENTITY e "x">]>' + graphml('<node id="&e;"/>').partition("\n")[2],
        "line 1: an entity",
    ),
    "encoding": (f'<?xml version="1.0" encoding="utf-9"?>{BARE}', "encoding that is not known"),
    "encoding of several bytes": (
        f'<?xml version="1.0" encoding="big5"?>{BARE}',
        "encoding that is not known",
    ),
    "undefined entity": (
        f'<!DOCTYPE graphml SYSTEM "x">{graphml(nodes("Zo&euml;"))[22:]}',
        "entity",
    ),
    "cut": (graphml(nodes("a"))[:-30], "no well-formed XML"),
    "another root": ("<gxl><graph/></gxl>", "XML that begins with <gxl>"),
    "direction in other words": (
        graphml(nodes("a") + '<edge source="a" target="a" directed="yes"/>'),
        "neither true nor false",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_network_is_refused(tmp_path: Path, case: str) -> None:
    """The error names the file, the line where one can be told, and what is wrong there."""
    refused(tmp_path, "n.graphml", *REFUSED[case])
