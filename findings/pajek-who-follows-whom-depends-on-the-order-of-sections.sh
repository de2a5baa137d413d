#!/usr/bin/env bash
# Ties of a Pajek file are one-way for networkx where they are two-way for igraph, and vice versa
#
# Guess:    a file with *Arcs (one-way) and *Edges (two-way) is read alike whichever comes first
# Seen:     networkx goes by the section that comes first, igraph by the one that comes last;
#           neither makes an edge two arcs, so that one direction is lost or invented
# Versions: networkx 3.6.1, igraph 1.0.0; Python 3.11.
# Output seen:
#   *Arcs then *Edges: directed in networkx True, in igraph False
#   *Edges then *Arcs: directed in networkx False, in igraph True
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check networkx==3.6.1 igraph==1.0.0
cd "$room"
"$room/venv/bin/python" - <<'PY'
import igraph
import networkx as nx

people = '*Vertices 4\n1 "a"\n2 "b"\n3 "c"\n4 "d"\n'
sections = {"*Arcs": "*Arcs\n1 2\n", "*Edges": "*Edges\n3 4\n"}
for order in (["*Arcs", "*Edges"], ["*Edges", "*Arcs"]):
    with open("ties.net", "w") as file:
        file.write(people + "".join(sections[each] for each in order))
    read = nx.read_pajek("ties.net"), igraph.Graph.Read_Pajek("ties.net")
    one_way = [each.is_directed() for each in read]
    counts = [read[0].number_of_edges(), read[1].ecount()]
    print(f"{' then '.join(order)}: directed in networkx {one_way[0]}, in igraph {one_way[1]}")
    assert counts == [2, 2]
    assert one_way == [order[0] == "*Arcs", order[0] == "*Edges"]
PY
