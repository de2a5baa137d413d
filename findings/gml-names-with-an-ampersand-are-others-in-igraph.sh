#!/usr/bin/env bash
# A name with & in GML is another name for igraph than for networkx
#
# Guess:    both libraries read the name that was written
# Seen:     networkx writes a numeric character reference and undoes it; igraph keeps it as letters
# Versions: networkx 3.6.1, igraph 1.0.0; Python 3.11.
# Output seen:
#   networkx: ['H&M', 'bo']
#   igraph: ['H&#38;M', 'bo']
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check networkx==3.6.1 igraph==1.0.0
cd "$room"
"$room/venv/bin/python" - <<'PY'
import warnings

import igraph
import networkx as nx

nx.write_gml(nx.Graph([("H&M", "bo")]), "ties.gml")
by_networkx = list(nx.read_gml("ties.gml"))
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # It warns of an unknown entity.
    by_igraph = igraph.Graph.Read_GML("ties.gml").vs["label"]
print("networkx:", by_networkx)
print("igraph:", by_igraph)
assert by_networkx == ["H&M", "bo"]
assert by_igraph == ["H&#38;M", "bo"]
PY
