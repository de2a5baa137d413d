#!/usr/bin/env bash
# People who cannot be reached are finitely far in NetworKit
#
# Guess:    the distance to a vertex without a path is infinite, so that isfinite leaves it out of a mean
# Seen:     it is the largest float, which is finite: nothing is left out, and the mean is useless
# Versions: networkit 11.3, numpy 2.4.6; Python 3.11.
# Output seen:
#   distances: [0.0, 1.0, 1.7976931348623157e+308]
#   left out by isfinite: 0
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check networkit==11.3 numpy==2.4.6
cd "$room"
"$room/venv/bin/python" - <<'PY'
import networkit
import numpy as np

graph = networkit.Graph(3)
graph.addEdge(0, 1)
search = networkit.distance.BFS(graph, 0)
search.run()
distances = search.getDistances()
left_out = len(distances) - int(np.isfinite(distances).sum())
print(f"distances: {distances}")
print(f"left out by isfinite: {left_out}")
assert distances[2] == np.finfo(float).max
assert left_out == 0
PY
