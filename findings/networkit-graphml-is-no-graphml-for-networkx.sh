#!/usr/bin/env bash
# networkx cannot read GraphML that NetworKit writes
#
# Guess:    a GraphML file of one library is read by the other
# Seen:     NetworKit misspells the attribute of the namespace, so that no element is GraphML's;
#           networkx refuses the file, igraph and rustworkx read it
# Versions: networkit 11.3, networkx 3.6.1, igraph 1.0.0, rustworkx 0.18.1; Python 3.11.
# Output seen:
#   root: graphml ['xmlnsi']
#   networkx: file not successfully read as graphml
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check networkit==11.3 networkx==3.6.1 igraph==1.0.0 rustworkx==0.18.1 scipy==1.17.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
from xml.etree import ElementTree

import igraph
import networkit
import networkx as nx
import rustworkx

graph = networkit.Graph(2)
graph.addEdge(0, 1)
networkit.writeGraph(graph, "ties.graphml", networkit.Format.GraphML)
root = ElementTree.parse("ties.graphml").getroot()
print("root:", root.tag, sorted(key for key in root.attrib if "}" not in key))
try:
    nx.read_graphml("ties.graphml")
    refused = ""
except nx.NetworkXError as error:
    refused = str(error)
print("networkx:", refused)
assert root.tag == "graphml"
assert "xmlnsi" in root.attrib
assert "not successfully read" in refused
assert igraph.Graph.Read_GraphML("ties.graphml").ecount() == 1
assert rustworkx.read_graphml("ties.graphml")[0].num_edges() == 1
PY
