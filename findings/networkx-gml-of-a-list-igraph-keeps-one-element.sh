#!/usr/bin/env bash
# A list in a GML file of networkx is its last element in igraph
#
# Guess:    igraph reads the list, or refuses or warns of a key that stands several times
# Seen:     igraph keeps one element and says nothing
# Versions: networkx 3.6.1, igraph 1.0.0; Python 3.11.
# Output seen:
#   networkx: [['chess', 'go'], ['golf', 'go']]
#   igraph: ['go', 'go'], 0 warnings
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check networkx==3.6.1 igraph==1.0.0
cd "$room"
"$room/venv/bin/python" - <<'PY'
import warnings

import igraph
import networkx as nx

graph = nx.Graph()
graph.add_node("ann", clubs=["chess", "go"])
graph.add_node("bo", clubs=["golf", "go"])
nx.write_gml(graph, "people.gml")
read = nx.read_gml("people.gml")
print("networkx:", [read.nodes[v]["clubs"] for v in read])
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    clubs = igraph.Graph.Read_GML("people.gml").vs["clubs"]
print(f"igraph: {clubs}, {len(said)} warnings")
assert [read.nodes[v]["clubs"] for v in read] == [["chess", "go"], ["golf", "go"]]
assert clubs == ["go", "go"]
assert not said
PY
