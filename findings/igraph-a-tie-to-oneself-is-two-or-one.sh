#!/usr/bin/env bash
# igraph counts a tie to oneself twice in a dense matrix and once in a sparse one
#
# Guess:    get_adjacency() and get_adjacency_sparse() of a graph hold the same numbers
# Seen:     a self-loop is 2 in the first and 1 in the second;
#           pagerank() heeds it twice, that of networkx once
# Versions: igraph 1.0.0, networkx 3.6.1, scipy 1.17.1; Python 3.11.
# Output seen:
#   dense 2, sparse 1
#   PageRank of 0: igraph 0.456, networkx 0.382
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check igraph==1.0.0 networkx==3.6.1 scipy==1.17.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import igraph
import networkx as nx

ties = [(0, 0), (0, 1), (1, 2)]
graph = igraph.Graph(3, ties)
dense, sparse = graph.get_adjacency()[0][0], graph.get_adjacency_sparse()[0, 0]
print(f"dense {dense}, sparse {sparse}")
assert dense == 2
assert sparse == 1
by_igraph, by_networkx = graph.pagerank()[0], nx.pagerank(nx.Graph(ties))[0]
print(f"PageRank of 0: igraph {by_igraph:.3f}, networkx {by_networkx:.3f}")
assert by_igraph - by_networkx > 0.05
PY
