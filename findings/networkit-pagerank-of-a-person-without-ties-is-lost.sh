#!/usr/bin/env bash
# PageRanks of NetworKit do not add up to 1 where somebody has no tie
#
# Guess:    the ranks of all vertices add up to 1, as those of networkx and igraph do
# Seen:     what a vertex without ties would give away is lost
# Versions: networkit 11.3, networkx 3.6.1, igraph 1.0.0; Python 3.11.
# Output seen:
#   networkx 1.00, igraph 1.00, NetworKit 0.72
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check networkit==11.3 networkx==3.6.1 igraph==1.0.0 scipy==1.17.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import igraph
import networkit
import networkx as nx

graph = nx.Graph([(0, 1)])
graph.add_node(2)
search = networkit.centrality.PageRank(networkit.nxadapter.nx2nk(graph))
search.run()
sums = {
    "networkx": sum(nx.pagerank(graph).values()),
    "igraph": sum(igraph.Graph(3, [(0, 1)]).pagerank()),
    "NetworKit": sum(search.scores()),
}
print(", ".join(f"{name} {total:.2f}" for name, total in sums.items()))
assert abs(sums["networkx"] - 1) < 1e-6
assert abs(sums["igraph"] - 1) < 1e-6
assert abs(sums["NetworKit"] - 0.7167) < 1e-3
PY
