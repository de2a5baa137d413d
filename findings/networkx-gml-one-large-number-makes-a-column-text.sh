#!/usr/bin/env bash
# One number of 2**31 or more in GML changes the type of what is read
#
# Guess:    a whole number that was written is read as a whole number
# Seen:     networkx writes it as a text and reads a text; igraph makes texts of the whole column
# Versions: networkx 3.6.1, igraph 1.0.0; Python 3.11.
# Output seen:
#   networkx: [5, '2147483648']
#   igraph: ['5', '2147483648']; without the large one: [5.0, 7.0]
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


def both(large):
    graph = nx.Graph()
    graph.add_node("ann", views=5)
    graph.add_node("bo", views=large)
    nx.write_gml(graph, "people.gml")
    read = nx.read_gml("people.gml")
    return [read.nodes[v]["views"] for v in read], igraph.Graph.Read_GML("people.gml").vs["views"]


by_networkx, by_igraph = both(2**31)
_, small = both(7)
print("networkx:", by_networkx)
print(f"igraph: {by_igraph}; without the large one: {small}")
assert by_networkx == [5, "2147483648"]
assert by_igraph == ["5", "2147483648"]
assert small == [5.0, 7.0]
PY
