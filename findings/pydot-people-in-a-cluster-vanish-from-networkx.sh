#!/usr/bin/env bash
# networkx finds fewer people in DOT by pydot than by pygraphviz
#
# Guess:    both readers of networkx find the same people, ties and values
# Seen:     who stands in a cluster only is gone by pydot, with the ties there, and without a word;
#           a value of two words keeps its quotation marks
# Versions: networkx 3.6.1, pydot 4.0.1, pygraphviz 2.0.4; Python 3.11.
# Output seen:
#   pydot: people ['ann', 'ci'], ties 1, job "night nurse"
#   pygraphviz: people ['ann', 'bo', 'ci'], ties 2, job night nurse
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check networkx==3.6.1 pydot==4.0.1 pygraphviz==2.0.4
cd "$room"
"$room/venv/bin/python" - <<'PY'
import networkx as nx

with open("ties.dot", "w") as file:
    file.write('graph { subgraph cluster_x { ann -- bo } ann -- ci; ann [job="night nurse"] }')
found = {}
for name, read in (("pydot", nx.nx_pydot.read_dot), ("pygraphviz", nx.nx_agraph.read_dot)):
    graph = read("ties.dot")
    found[name] = sorted(graph), graph.number_of_edges(), graph.nodes["ann"]["job"]
    print(f"{name}: people {found[name][0]}, ties {found[name][1]}, job {found[name][2]}")
assert found["pydot"] == (["ann", "ci"], 1, '"night nurse"')
assert found["pygraphviz"] == (["ann", "bo", "ci"], 2, "night nurse")
PY
