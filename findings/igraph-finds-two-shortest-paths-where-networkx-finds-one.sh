#!/usr/bin/env bash
# Two ways of equal length are two shortest paths for igraph and one for networkx
#
# Guess:    0.1 + 0.2 and 0.15 + 0.15 are equally far for each library, or for none
# Seen:     networkx compares floats as they are, so that the person on the second way stands
#           between all others; igraph takes nearly equal lengths for equal, and halves that
# Versions: networkx 3.6.1, igraph 1.0.0; Python 3.11.
# Output seen:
#   networkx: 1 shortest path, betweenness of bo 0.0 and of ci 1.0
#   igraph: 2 shortest paths, betweenness of bo 0.5 and of ci 0.5
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

ties = [("ann", "bo", 0.1), ("bo", "di", 0.2), ("ann", "ci", 0.15), ("ci", "di", 0.15)]
first = nx.Graph()
first.add_weighted_edges_from(ties)
second = igraph.Graph.TupleList(ties, weights=True)

paths = len(list(nx.all_shortest_paths(first, "ann", "di", weight="weight")))
between = nx.betweenness_centrality(first, weight="weight", normalized=False)
print(f"networkx: {paths} shortest path, betweenness of bo {between['bo']} and of ci {between['ci']}")
assert (paths, between["bo"], between["ci"]) == (1, 0, 1)

paths = len(second.get_all_shortest_paths("ann", "di", weights="weight"))
between = dict(zip(second.vs["name"], second.betweenness(weights="weight")))
print(f"igraph: {paths} shortest paths, betweenness of bo {between['bo']} and of ci {between['ci']}")
assert (paths, between["bo"], between["ci"]) == (2, 0.5, 0.5)
PY
