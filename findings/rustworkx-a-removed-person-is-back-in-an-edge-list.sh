#!/usr/bin/env bash
# Somebody who was removed is back in what rustworkx reads of its own edge list
#
# Guess:    a graph that is written as an edge list has as many people when it is read
# Seen:     the others keep their numbers, and the reader fills each gap with somebody
#           without ties; GraphML counts anew
# Versions: rustworkx 0.18.1; Python 3.11.
# Output seen:
#   {'written': 3, 'edge list': 4, 'GraphML': 3}
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check rustworkx==0.18.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import rustworkx

graph = rustworkx.PyGraph()
graph.add_nodes_from(["gone", "ann", "bo", "ci"])
graph.add_edges_from([(1, 2, None), (2, 3, None)])
graph.remove_node(0)
graph.write_edge_list("ties.txt")
rustworkx.write_graphml(graph, "ties.graphml")
counts = {
    "written": graph.num_nodes(),
    "edge list": rustworkx.PyGraph.read_edge_list("ties.txt").num_nodes(),
    "GraphML": rustworkx.read_graphml("ties.graphml")[0].num_nodes(),
}
print(counts)
assert counts == {"written": 3, "edge list": 4, "GraphML": 3}
PY
