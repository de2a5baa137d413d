#!/usr/bin/env bash
# networkx writes an edge list that it reads back without some of the people
#
# Guess:    a name that begins with # is quoted, escaped or refused, or read back
# Seen:     the reader takes the line for a comment: the person and the ties are gone, without a word
# Versions: networkx 3.6.1; Python 3.11.
# Output seen:
#   written 3 ties of 4 people, read 2 ties of 3 people
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

graph = nx.Graph([("ann", "bo"), ("bo", "cy"), ("#dee", "ann")])
nx.write_edgelist(graph, "ties.txt", data=False)
read = nx.read_edgelist("ties.txt")
print(
    f"written {graph.number_of_edges()} ties of {graph.number_of_nodes()} people,",
    f"read {read.number_of_edges()} ties of {read.number_of_nodes()} people",
)
assert "#dee ann" in open("ties.txt").read() or "ann #dee" in open("ties.txt").read()
assert (read.number_of_edges(), read.number_of_nodes()) == (2, 3)
assert "#dee" not in read
PY
