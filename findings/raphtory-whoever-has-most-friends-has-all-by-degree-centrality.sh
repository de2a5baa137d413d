#!/usr/bin/env bash
# Whoever has the most friends has degree centrality 1 in Raphtory, however few they are
#
# Guess:    the number of friends is divided by how many one can have: 2 friends of 9 others are 0.22
# Seen:     it is divided by the most that anybody has: in each graph somebody has 1, so that values of
#           two releases, or of two windows of time, cannot be compared, and networkx has others
# Docs:     say that the divisor is the largest degree possible
# Versions: raphtory 0.17.0, networkx 3.6.1; Python 3.11.
# Output seen:
#   3 people in a row: Raphtory 1.00, networkx 1.00
#   with 7 others: Raphtory 1.00, networkx 0.22
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check raphtory==0.17.0 networkx==3.6.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import networkx as nx
from raphtory import Graph, algorithms


def ask(name, others):
    graph, same = Graph(), nx.Graph()
    for one, other in (("ann", "bo"), ("bo", "ci")):
        graph.add_edge(1, one, other)
        same.add_edge(one, other)
    for each in range(others):
        graph.add_node(1, f"other {each}")
        same.add_node(f"other {each}")
    scores = {
        node.name: score["degree_centrality"]
        for node, score in algorithms.degree_centrality(graph).items()
    }
    right = nx.degree_centrality(same)
    print(f"{name}: Raphtory {scores['bo']:.2f}, networkx {right['bo']:.2f}")
    return round(scores["bo"], 2), round(right["bo"], 2)


assert ask("3 people in a row", 0) == (1, 1)
assert ask("with 7 others", 7) == (1, 0.22)
PY
