#!/usr/bin/env bash
# rustworkx finds people in DOT who are not there
#
# Guess:    node and edge set defaults, and a person who is named again is the same person
# Seen:     the words node and edge become people, and so does each further line of somebody
# Versions: rustworkx 0.18.1, pygraphviz 2.0.4; Python 3.11.
# Output seen:
#   rustworkx ['node', 'edge', 'ann', 'bo'], Graphviz ['ann', 'bo']
#   rustworkx ['ann', 'bo', 'ann', 'ann'], Graphviz ['ann', 'bo']
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check rustworkx==0.18.1 pygraphviz==2.0.4
cd "$room"
"$room/venv/bin/python" - <<'PY'
import pygraphviz
import rustworkx

for text, expected in (
    ("graph { node [health=well]; edge [weight=2]; ann -- bo; }", ["node", "edge", "ann", "bo"]),
    ("graph { ann -- bo; ann [age=30]; ann [health=ill]; }", ["ann", "bo", "ann", "ann"]),
):
    by_rustworkx = rustworkx.from_dot(text).nodes()
    by_graphviz = pygraphviz.AGraph(text).nodes()
    print(f"rustworkx {by_rustworkx}, Graphviz {by_graphviz}")
    assert by_graphviz == ["ann", "bo"]
    assert by_rustworkx == expected
PY
