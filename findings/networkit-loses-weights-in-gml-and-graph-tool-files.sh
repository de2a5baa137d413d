#!/usr/bin/env bash
# NetworKit writes weights to some formats and drops them in others
#
# Guess:    weights of ties are written, or a format that cannot hold them is refused
# Seen:     METIS, GraphML and its own format keep them; GML and graph-tool's, which can
#           hold them, lose them without a word
# Versions: networkit 11.3; Python 3.11.
# Output seen:
#   identified graph as weighted
#   METIS: [2.5, 4.0]
#   GraphML: [2.5, 4.0]
#   NetworkitBinary: [2.5, 4.0]
#   GML: [1.0, 1.0]
#   GraphToolBinary: [1.0, 1.0]
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check networkit==11.3 scipy==1.17.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import networkit

graph = networkit.Graph(3, weighted=True)
graph.addEdge(0, 1, 2.5)
graph.addEdge(1, 2, 4)
kept = {}
for name in ("METIS", "GraphML", "NetworkitBinary", "GML", "GraphToolBinary"):
    form = getattr(networkit.Format, name)
    networkit.writeGraph(graph, f"ties.{name}", form)
    again = networkit.readGraph(f"ties.{name}", form)
    kept[name] = sorted(weight for _, _, weight in again.iterEdgesWeights())
for name, weights in kept.items():
    print(f"{name}: {weights}")
for name in ("METIS", "GraphML", "NetworkitBinary"):
    assert kept[name] == [2.5, 4]
for name in ("GML", "GraphToolBinary"):
    assert kept[name] == [1, 1]
with open("ties.GML") as file:
    assert "4" not in file.read()
PY
