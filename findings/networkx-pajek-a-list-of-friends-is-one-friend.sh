#!/usr/bin/env bash
# networkx reads a list of friends in a Pajek file as one friend and a weight
#
# Guess:    *Edgeslist, with somebody and all friends in a line, is read or refused
# Seen:     the third number is taken for the weight of a single tie, the others are dropped
# Versions: networkx 3.6.1, igraph 1.0.0; Python 3.11.
# Output seen:
#   networkx: [('a', 'b', 3.0)]
#   igraph: [(0, 1), (0, 2), (0, 3)]
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

with open("ties.net", "w") as file:
    file.write('*Vertices 4\n1 "a"\n2 "b"\n3 "c"\n4 "d"\n*Edgeslist\n1 2 3 4\n')
by_networkx = list(nx.read_pajek("ties.net").edges(data="weight"))
by_igraph = igraph.Graph.Read_Pajek("ties.net").get_edgelist()
print("networkx:", by_networkx)
print("igraph:", by_igraph)
assert by_networkx == [("a", "b", 3.0)]
assert by_igraph == [(0, 1), (0, 2), (0, 3)]
PY
