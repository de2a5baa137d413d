"""Lists of ties: what all lines say is read, and what they do not say is refused by name."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ktsafe.errors import InvalidGraph
from ktsafe.graph.inputs.edge_lists import read_network
from ktsafe.graph.inputs.network import Network

ABC = {("a1", "a2"), ("a2", "a3")}
NUMBERS = {("7", "8"), ("8", "9")}


def read(folder: Path, text: str | bytes, name: str = "net.txt", **options: object) -> Network:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_network(path, **options)  # type: ignore[arg-type]


def pairs(network: Network) -> set[tuple[str, str]]:
    return {
        tuple(sorted((network.ids[u], network.ids[v])))  # type: ignore[misc]
        for u, v in network.edges.tolist()
    }


READ = {
    "blanks": ("a1 a2\na2 a3\n", ABC),
    "TABs": ("a1\ta2\na2\ta3\n", ABC),
    "commas and blanks": ("a1, a2\na2, a3\n", ABC),
    "semicolons": ("a1;a2\na2;a3\n", ABC),
    "bars": ("a1|a2|x\na2|a3|y\n", ABC),
    "no end of the last line": ("7 8\n8 9", NUMBERS),
    "ends of lines of old": ("7 8\r8 9\r", NUMBERS),
    "a mark in front, and Windows": ("\ufeff7,8\r\n8,9\r\n", NUMBERS),
    "blanks around": ("  7   8  \n 8 9 \n", NUMBERS),
    "KONECT: a blank, then a blank and a TAB": ("% sym positive\n7 8 \t1\n8 9 \t1\n", NUMBERS),
    "a blank, then a TAB": ("7 8\t1.5\n8 9\t1\n", NUMBERS),
    "a semicolon in quotation marks": ('a1,a2,"x; y"\na2,a3,"z"\n', ABC),
    "decimal commas": ("7;8;0,5\n8;9;1,5\n", NUMBERS),
    "seconds behind": ("7 8 1082040961\n8 9 1082155839\n9 7 1082414391\n", NUMBERS | {("7", "9")}),
    "a relation behind": ("a1\ta2\tpp\na2\ta3\tpd\n", ABC),
    "a number behind words": ("a1 a2 4\na2 a3 1\n", ABC),
    "signs behind": ("7 8 -1\n8 9 1\n", NUMBERS),
    "names with blanks": (
        "Ann Lee\tBo Day\nBo Day\tCy Fox\n",
        {("Ann Lee", "Bo Day"), ("Bo Day", "Cy Fox")},
    ),
    "quoted names between blanks": (
        '"Ann Lee" "Bo Day"\n"Bo Day" \'Cy\'\n',
        {("Ann Lee", "Bo Day"), ("Bo Day", "Cy")},
    ),
    "a comma in a name": (
        'Ann, "Lee, Bo"\n"Lee, Bo", Cy\n',
        {("Ann", "Lee, Bo"), ("Cy", "Lee, Bo")},
    ),
    "networkx, no data": ("7 8 {}\n8 9 {}\n", NUMBERS),
    "networkx, two data": ("7 8 {'w': 1, 't': 'x, y'}\n8 9 {'w': 2, 't': '}'}\n", NUMBERS),
    "networkx, commas": ("7,8,{'w': 1}\n8,9,{'w': 2}\n", NUMBERS),
    "a header between blanks": ("source target w\n7 8 1\n8 9 1\n", NUMBERS),
    "a header, the ends behind": ("since,From,To\n2026-01-31,7,8\n2026-01-31,8,9\n", NUMBERS),
    "a header in a comment": ("# time source target\n3 7 8\n4 8 9\n", NUMBERS),
    "letters above numbers": ("t,i,j\n" + 3 * "20,7,8\n40,8,9\n", NUMBERS),
    "R's names above numbers": ('"V1","V2"\n' + 3 * '"7","8"\n"8","9"\n', NUMBERS),
    "a column without a name": (",source,target\n0,7,8\n1,8,9\n", NUMBERS),
    "LDBC": ("Person.id|Person.id|creationDate\n7|8|2010\n8|9|2010\n", NUMBERS),
    "Neo4j": (":START_ID,:END_ID,:TYPE\n7,8,KNOWS\n8,9,KNOWS\n", NUMBERS),
    "what a spreadsheet says first": ("sep=;\nsource;target\n7;8\n8;9\n", NUMBERS),
    "whole fractions": ("7.0,8.0\n8,9\n", NUMBERS),
    "whole fractions in one column": ("source,target\n7,8.0\n8,9.0\n", NUMBERS),
    "a tie of two who have no other": ("u1 u2\nu3 u4\n", {("u1", "u2"), ("u3", "u4")}),
    "mail": (
        "a@x.org b@x.org\nc@x.org d@x.org\n",
        {("a@x.org", "b@x.org"), ("c@x.org", "d@x.org")},
    ),
    "hashtags below a header": ("source,target\n#a,#b\n", {("#a", "#b")}),
}


@pytest.mark.parametrize("what", READ)
def test_lists_are_read(tmp_path: Path, what: str) -> None:
    """Whatever separates, whatever stands first; plain and gzipped."""
    text, expected = READ[what]
    assert pairs(read(tmp_path, text)) == expected
    network = read(tmp_path, gzip.compress(text.encode()), "net.txt.gz")
    assert pairs(network) == expected
    assert sorted(network.ids) == sorted({end for pair in expected for end in pair})


REFUSED = {
    "a blank, then a comma": ("1 2,0.5\n1 3,0.7\n", "line 1: an id of two numbers"),
    "a separator that changes": ("1,2\n1;3\n", "line 2: no two ids"),
    "a column more": (
        "a1 a2\na2 a3 x\na1 a3\na3 a4 y\n",
        "lines 2, 4: 3 columns, and the first line 2",
    ),
    "one id": ("a1 a2\na2\n", "line 2: no two ids"),
    "an empty id": ("a1,a2\na2,\n", "line 2: no id at one of its ends"),
    "an empty first id": (",a2\na2,a3\n", "line 1: no id at one of its ends"),
    "a date and a bar behind": (
        "7 8 2020-01-01|web\n8 9 2020-01-02|app\n",
        "may be separated by bars or blanks",
    ),
    "names, and what separates in them": ("Lee, A;7;Day, B\n", "may be separated by"),
    "few lines of numbers": ("7 8 1\n8 9 1\n", "not sure which hold the ids"),
    "numbers of lines before ids of two kinds": (
        "".join(f"{i},{1 + i % 2},#{i % 3}\n" for i in range(1, 20)),
        "not sure which hold the ids",
    ),
    "signs first": ("-1 7 8\n1 8 9\n", "not sure which hold the ids"),
    "types twice": ("foe foe Ann Bo\nfoe pal Ann Cy\n", "not sure which hold the ids"),
    "nothing": ("", "no line of two ids"),
    "comments alone": ("# a\n# b\n", "no line of two ids"),
    "a comment behind": ("a1 a2\n# a3\na2 a3\n", "line 2: a comment"),
    "a header above numbers": (
        "pal,buddy\n1,2\n2,3\n",
        "line 1: a header .* source=pal,target=buddy",
    ),
    "a header of words": ("user_name,mate\nAnn,Bo\nAnn,Cy\n", "line 1: a header"),
    "a header, by the third column": ("left,right,w\nAnn,Bo,1\nAnn,Cy,2\n", "line 1: a header"),
    "a header, by times": (
        "one,two,when\nAnn,Bo,2020-01-31\nAnn,Cy,2020-02-28\n",
        "line 1: a header",
    ),
    "words that stand nowhere else": ("mutant,prey\nAnn,Bo\nAnn,Cy\n", "header, or a tie"),
    "numbers above words": ("0,1\nAnn,Bo\nAnn,Cy\n", "header, or a tie"),
    "ids called like columns": ("node_1 node_2\nnode_2 node_3\n", "header, or a tie"),
    "R's names above words": ("V1,V2\nAnn,Bo\nAnn,Cy\n", "line 1: a header"),
    "one line": ("node1 node2\n", "header, or a tie"),
    "letters above few numbers": ("a,b\n1,2\n2,3\n", "line 1: a header"),
    "two pairs of ends": ("from,to,src,dst\n1,2,3,4\n", "'from' and 'to' or 'src' and 'dst'"),
    "a column twice": ("source,target,w,w\n1,2,3,4\n", "2 columns 'w'"),
    "an end twice": ("source,source,target\n1,2,3\n", "2 columns 'source'"),
    "a row too short": ("source,target\n1,2\n1\n", "line 3: 1 values for 2 columns"),
    "times first": ("2020-01-31 a1 a2\n2020-02-28 a2 a3\n", "column 1 holds times"),
    "weights first": ("0.5 1 2\n0.7 2 3\n", "column 1 holds fractions"),
    "a chosen column of times": (
        "source,target\n2020-01-31,a\n2020-02-28,b\n",
        "'source' holds times",
    ),
    "epochs first": (
        "20 7 8\n40 8 9\n60 7 9\n",
        "columns 1 and 2, or 1 and 3: it is not sure",
    ),
    "times first, few": ("0\t7\t8\n20\t7\t9\n40\t8\t9\n", "it is not sure which hold the ids"),
    "numbers of lines first": ("0,7,9,5\n1,8,7,2\n2,9,8,3\n", "it is not sure which hold the ids"),
    "numbers of lines, then times": (
        "0,10,a1,a2\n1,20,a2,a3\n2,30,a1,a3\n",
        "it is not sure which hold the ids",
    ),
    "numbers of lines, then words": (
        "0|Ann|Bo\n1|Bo|Cy\n",
        "column 1 holds numbers, and column 2 words",
    ),
    "a header of numbers": ("0,1\n7,8\n8,9\n", "header, or a tie"),
    "a header of numbers and a word": ("0,1,weight\n0,7,1\n7,8,1\n", "header, or a tie"),
    "ties that look like comments": ("#a,#b\n#a,c1\nc1,c2\n", "may be comments, a header, or ties"),
    "networkx, ids like comments": ("#a b {}\nb c {}\n", "may be comments, a header, or ties"),
    "a relation between": (
        "a1 pp a2\na2 pp a3\n",
        "not sure .* source=1,target=2, or source=1,target=3",
    ),
    "a relation before": ("e a1 a2\ne a2 a3\n", "not sure which hold the ids"),
    "names of two words": (
        "Ann Lee Bo Day\nBo Day Ann Lee\nAnn Lee Cy Fox\n",
        "not sure which hold the ids",
    ),
    "words behind": ("a1 a2 x\na2 a3 y\n", "ids may hold blanks"),
    "two ways to cut": ("a b\t3\nb c\t5\n", "may be separated by"),
    "a bipartite network": ("% bip unweighted\n1 1\n1 2\n", "bipartite network of KONECT"),
    "a network that shrinks": ("% asym dynamic\n1 2 1\n1 3 1\n1 2 -1\n", "removes ties"),
    "networkx's adjacency list": (
        "#me.py\n# GMT Sun Nov 29\n#\n1 2\n2 3\n3\n",
        "adjacency list of networkx",
    ),
    "an adjacency list": ("1 2 3\n2 3 1\n3 1 2\n4 1 3\n", "an adjacency list"),
    "an adjacency matrix": ("0,1,0\n1,0,1\n0,1,0\n", "an adjacency matrix"),
    "a wide one": (
        "0 1 0 0 1\n1 0 1 0 0\n0 1 0 1 0\n0 0 1 0 1\n1 0 0 1 0\n",
        "an adjacency matrix",
    ),
    "METIS of a ring": ("5 5\n2 5\n1 3\n2 4\n3 5\n1 4\n", "a METIS file"),
    "METIS of another one": ("4 4\n2\n1 3 4\n2 4\n2 3\n", "a METIS file"),
    "several ids in one cell": ('From,To\na,"b; c"\nb,c\n', "several ids stand in one cell"),
    "several in a list": ('a1,"a2, a3"\na2,a3\n', "several ids stand in one cell"),
    "JSON": ('{"directed": false, "multigraph": false}\n', "is JSON, which"),
    "lines of JSON": ('{"source": 1, "target": 2}\n', "is JSON, which"),
    "XML": ("<graphml>\n", "is GraphML, which"),
    "Pajek": ("*Vertices 2\n1 2\n", "is a Pajek file, which"),
    "networkx, an id with a blank": ("Ann Lee Bo {}\nBo Ann Lee {}\n", "two ids"),
    "networkx, data of some": ("1 2 {'w': 1}\n2 3\n", "line 2: no dictionary"),
    "UTF-16": ("a,b\n".encode("utf-16"), "UTF-16"),
    "Latin-1": ("a1 ä2\n".encode("latin-1"), "no UTF-8 text"),
    "an open quotation mark": ('a1,"a2\na2,a3\n', "quotation mark|unexpected end"),
    "an open one between blanks": ('a1 "a2\na2 a3\n', "no two ids|quotation mark"),
    "an id spelt twice": ("7 8\n7.0 9\n", "line 2: column 1 holds what is spelt otherwise before"),
    "an end spelt twice": ("source,target\nTrue,b\ntrue,c\nTRUE,d\n", "lines 3, 4: 'source' holds"),
    "digits that are lost": ("9007199254740994.0 1\n2 3\n", "2\\*\\*53"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_sure_list_is_refused(tmp_path: Path, what: str) -> None:
    """The error names the file, and the line or what the file seems to be."""
    text, told = REFUSED[what]
    with pytest.raises(InvalidGraph, match=told) as error:
        read(tmp_path, text)
    assert "net.txt" in error.value.message


def test_columns_that_are_chosen(tmp_path: Path) -> None:
    """By name with a header of any words, by number without one: the way on after each refusal."""
    by_number = {"source": "1", "target": "2"}
    words = "mutant,prey\nAnn,Bo\nAnn,Cy\n"
    assert len(pairs(read(tmp_path, words, columns=by_number))) == 3
    by_name = {"source": "mutant", "target": "prey"}
    assert pairs(read(tmp_path, words, columns=by_name)) == {("Ann", "Bo"), ("Ann", "Cy")}
    assert (
        pairs(read(tmp_path, "20 7 8\n40 8 9\n", columns={"source": "2", "target": "3"})) == NUMBERS
    )
    assert (
        pairs(read(tmp_path, "a1 pp a2\na2 pp a3\n", columns={"source": "1", "target": "3"})) == ABC
    )
    nodes = "node_1 node_2\nnode_2 node_3\n"
    assert len(pairs(read(tmp_path, nodes, columns=by_number))) == 2
    assert len(pairs(read(tmp_path, nodes, columns={"source": "node_1", "target": "node_2"}))) == 1
    with pytest.raises(InvalidGraph, match="line 1: a header"):
        read(tmp_path, "pal,buddy\n1,2\n", columns=by_number)
    with pytest.raises(InvalidGraph, match="no column 'x'"):
        read(tmp_path, "1,2\n", columns={"source": "x", "target": "y"})


def test_what_is_passed_over_is_told(tmp_path: Path) -> None:
    """Repetitions, loops, directions, other columns, signs, and comments that look like ties."""
    network = read(tmp_path, "# Directed graph\na1 a2 1\na2 a1 1\na1 a2 1\na3 a3 1\n")
    assert (network.edges_repeated, network.loops, network.directed) == (2, 1, 4)
    assert network.ignored == ("columns behind the second", "directions")
    network = read(tmp_path, "Source,Target,Type,w\n1,2,Directed,1\n2,3,Undirected,1\n")
    assert (network.directed, network.ignored) == (1, ("Type", "directions", "w"))
    network = read(tmp_path, "% asym signed\n1 2 -1\n2 3 1\n")
    assert network.directed == 2
    assert network.notes == ("Signs are not read: a negative tie is a tie.",)
    for zero in ("0", "-1.5", "0.0"):
        network = read(tmp_path, f"source,target,Weight,since\n1,2,2,0\n2,3,{zero},0\n")
        assert len(network.edges) == 2
        (note,) = network.notes
        assert note.startswith("'Weight' has zeros or negative numbers")
    assert not read(tmp_path, "source,target,weight\n1,2,2\n2,3,none\n").notes
    text, meant = "#a #b\n#a c1\nc1 c2\n", {"source": "1", "target": "2"}
    network = read(tmp_path, text, columns=meant)
    assert network.notes == ("2 of the first lines begin with # or %, and are no ties.",)
    assert read(tmp_path, "1 2 {'w': 3, 't': 4}\n").ignored == ("t", "w")


def test_a_pipe_is_read(tmp_path: Path) -> None:
    """What can be read only once is decided by all of its lines, too."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=("7 8 \t1.5\n8 9 \t1\n",))
    writer.start()
    try:
        assert pairs(read_network(pipe)) == NUMBERS
    finally:
        writer.join()


IDS = st.one_of(
    st.integers(0, 30).map(str),
    st.sampled_from(["007", "7", "a", "b", "Ann", "Bo", "x1", "x2", "Zoë", "a-b", "O'Brien"]),
)


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.tuples(IDS, IDS, st.integers(0, 3)), min_size=1, max_size=12),
    st.sampled_from([" ", ",", "\t", ";"]),
    st.sampled_from(["plain", "data", "weight", "header"]),
)
def test_what_networkx_writes_is_read_or_refused(
    tmp_path: Path, rows: list[tuple[str, str, int]], separator: str, kind: str
) -> None:
    """Never another network, whatever separates, with and without data."""
    graph = nx.MultiDiGraph()
    graph.add_edges_from((u, v, {"w": w, "kind": "x, y"}) for u, v, w in rows)
    path = tmp_path / "net.txt"
    data = {"plain": False, "data": True, "weight": ["w"], "header": ["w"]}[kind]
    nx.write_edgelist(graph, path, delimiter=separator, data=data)
    if kind == "header":
        path.write_text(separator.join(("source", "target", "w\n")) + path.read_text())
    expected = {tuple(sorted((u, v))) for u, v, _ in rows if u != v}
    try:
        network = read_network(path)
    except InvalidGraph:
        return
    assert pairs(network) == expected
    assert set(network.ids) == {end for u, v, _ in rows for end in (u, v)}
