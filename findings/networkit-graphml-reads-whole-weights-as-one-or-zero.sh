#!/usr/bin/env bash
# NetworKit reads whole weights of a GraphML file as 1, or as 0
#
# Guess:    a weight that is declared long, as networkx declares whole numbers, is read as a number
# Seen:     only weights declared double are read: where all are whole, all are 1;
#           where some are fractions, those that are whole become 0
# Versions: networkit 11.3, networkx 3.6.1; Python 3.11.
# Output seen:
#   written [3, 2]: networkx [3, 2], NetworKit [1.0, 1.0]
#   identified graph as weighted
#   written [3, 2.5]: networkx [3, 2.5], NetworKit [0.0, 2.5]
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check networkit==11.3 networkx==3.6.1 scipy==1.17.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import networkit
import networkx as nx

for given in ([3, 2], [3, 2.5]):
    graph = nx.Graph()
    graph.add_edge("ann", "bo", weight=given[0])
    graph.add_edge("bo", "ci", weight=given[1])
    nx.write_graphml(graph, "ties.graphml")
    again = networkit.readGraph("ties.graphml", networkit.Format.GraphML)
    read = [weight for _, _, weight in again.iterEdgesWeights()]
    by_networkx = [weight for _, _, weight in nx.read_graphml("ties.graphml").edges(data="weight")]
    print(f"written {given}: networkx {by_networkx}, NetworKit {read}")
    assert by_networkx == given
    assert read == ([1, 1] if given == [3, 2] else [0, 2.5])
PY
