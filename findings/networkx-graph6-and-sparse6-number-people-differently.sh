#!/usr/bin/env bash
# networkx numbers people in one order for graph6 and in another for sparse6
#
# Guess:    one graph has the same numbers in both formats, which hold numbers and no names
# Seen:     graph6 goes by the order in which people were added, sparse6 by their sorted names,
#           so that the tie of two people is that of two others, and nothing tells which is meant
# Versions: networkx 3.6.1; Python 3.11.
# Output seen:
#   written: ['di', 'ann', 'bo', 'ci'], tie of di and ann
#   graph6: 0-1
#   sparse6: 0-3
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check networkx==3.6.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import networkx as nx

people = nx.Graph()
people.add_nodes_from(["di", "ann", "bo", "ci"])
people.add_edge("di", "ann")
print(f"written: {list(people)}, tie of di and ann")

nx.write_graph6(people, "people.g6")
nx.write_sparse6(people, "people.s6")
found = [list(nx.read_graph6("people.g6").edges), list(nx.read_sparse6("people.s6").edges)]
for name, [(one, other)] in zip(["graph6", "sparse6"], found):
    print(f"{name}: {one}-{other}")
assert found == [[(0, 1)], [(0, 3)]]
PY
