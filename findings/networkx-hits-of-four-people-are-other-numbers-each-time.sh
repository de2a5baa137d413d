#!/usr/bin/env bash
# HITS of networkx gives four people in a row other scores in each call, some below 0
#
# Guess:    a score is a number from 0 to 1, the same in each call: power iteration, as it is told
# Seen:     where two answers are equally good (undirected graphs of two sides, or of two equal
#           parts), whatever a random start leads to is divided by its sum; igraph gives one answer
# Versions: networkx 3.6.1, scipy 1.17.1, igraph 1.0.0; Python 3.11.
# Output seen:
#   networkx, path: results 20 in 20 calls, some below 0: True
#   networkx, triangle: results 1 in 20 calls, some below 0: False
#   igraph, path: [0.618, 1.0, 1.0, 0.618]
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check networkx==3.6.1 scipy==1.17.1 igraph==1.0.0
cd "$room"
"$room/venv/bin/python" - <<'PY'
import warnings

import igraph
import networkx as nx

warnings.simplefilter("ignore")


def scores(graph: nx.Graph) -> list:
    """Return hub scores of twenty calls."""
    return [tuple(round(each, 6) for each in nx.hits(graph)[0].values()) for _ in range(20)]


found = {"path": scores(nx.path_graph(4)), "triangle": scores(nx.complete_graph(3))}
for name, calls in found.items():
    results, below = len(set(calls)), any(min(call) < 0 for call in calls)
    print(f"networkx, {name}: results {results} in 20 calls, some below 0: {below}")
steady = [round(each, 3) for each in igraph.Graph.Ring(4, circular=False).hub_score()]
print(f"igraph, path: {steady}")
assert len(set(found["path"])) > 1
assert any(min(call) < 0 for call in found["path"])
assert set(found["triangle"]) == {(0.333333,) * 3}
assert steady == [0.618, 1, 1, 0.618]
PY
