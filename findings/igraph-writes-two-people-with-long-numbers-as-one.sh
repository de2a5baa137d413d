#!/usr/bin/env bash
# igraph writes numbers with 15 digits, so two people with 16 digits have one number
#
# Guess:    a whole number below 2**53, which a 64-bit fraction holds exactly, is written as it is
# Seen:     GraphML and GML get 15 digits: two numbers become one, and 0.1 + 0.2 becomes 0.3
# Versions: igraph 1.0.0; Python 3.11.
# Output seen:
#   people.graphml: 1 card of 2, 1 share of 2
#   people.gml: 1 card of 2, 1 share of 2
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check igraph==1.0.0
cd "$room"
"$room/venv/bin/python" - <<'PY'
import igraph

people = igraph.Graph(2)
people.vs["card"] = [4000123412341234, 4000123412341233]
people.vs["share"] = [0.1 + 0.2, 0.3]
people.write_graphml("people.graphml")
people.write_gml("people.gml")
for read, file in (
    (igraph.Graph.Read_GraphML, "people.graphml"),
    (igraph.Graph.Read_GML, "people.gml"),
):
    again = read(file)
    cards, shares = len(set(again.vs["card"])), len(set(again.vs["share"]))
    print(f"{file}: {cards} card of 2, {shares} share of 2")
    assert cards == shares == 1
assert max(people.vs["card"]) < 2**53
PY
