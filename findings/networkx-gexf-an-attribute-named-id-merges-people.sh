#!/usr/bin/env bash
# A vertex attribute called id makes two people one in GEXF of networkx
#
# Guess:    a graph that networkx writes as GEXF has as many vertices when networkx reads it again
# Seen:     an attribute called id replaces the name of its vertex: two people with one value are one
# Versions: networkx 3.6.1; Python 3.11.
# Output seen:
#   written: 3 people, 1 tie
#   read: ['ward 1', 'ward 2'], ties [('ward 1', 'ward 1')]
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check networkx==3.6.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import networkx as nx

graph = nx.Graph()
graph.add_node("ann", id="ward 1")
graph.add_node("ben", id="ward 1")
graph.add_node("cyd", id="ward 2")
graph.add_edge("ann", "ben")
print(f"written: {len(graph)} people, {graph.number_of_edges()} tie")
nx.write_gexf(graph, "wards.gexf")
read = nx.read_gexf("wards.gexf")
print(f"read: {sorted(read)}, ties {list(read.edges)}")
assert sorted(read) == ["ward 1", "ward 2"]
assert list(read.edges) == [("ward 1", "ward 1")]
PY
