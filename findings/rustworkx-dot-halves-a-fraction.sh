#!/usr/bin/env bash
# rustworkx reads a weight of 2.5 in DOT as 2
#
# Guess:    a number with a point is one value, as in the grammar of DOT and in what to_dot() writes
# Seen:     the value ends before the point, and what follows is an attribute of that name
# Versions: rustworkx 0.18.1; Python 3.11.
# Output seen:
#   written: 0 -- 1 [weight=2.5];
#   read: [[('.5', ''), ('weight', '2')]]
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check rustworkx==0.18.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import rustworkx

graph = rustworkx.PyGraph()
graph.add_nodes_from(["ann", "bo"])
graph.add_edge(0, 1, 2.5)
text = graph.to_dot(edge_attr=lambda weight: {"weight": str(weight)})
read = rustworkx.from_dot(text).edges()
print("written:", text.splitlines()[3])
print("read:", [sorted(each.items()) for each in read])
assert "[weight=2.5]" in text
assert read == [{"weight": "2", ".5": ""}]
quoted = rustworkx.from_dot('graph { a -- b [weight="2.5"]; }').edges()
assert quoted == [{"weight": "2.5"}]
PY
