#!/usr/bin/env bash
# A missing truth value in GraphML of igraph is false, and a missing text is None in letters
#
# Guess:    a value that is missing is left out of the file, as igraph leaves out a missing number
# Seen:     only numbers are left out: who gave no answer has answered false, and is called None
# Versions: igraph 1.0.0; Python 3.11.
# Output seen:
#   {'smokes': False, 'home': 'None', 'age': nan}
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
people.vs["smokes"] = [True, None]
people.vs["home"] = ["Ulm", None]
people.vs["age"] = [30, None]
people.write_graphml("people.graphml")
ann, bo = (vertex.attributes() for vertex in igraph.Graph.Read_GraphML("people.graphml").vs)
print({name: bo[name] for name in ("smokes", "home", "age")})
assert ann["smokes"] is True
assert bo["smokes"] is False
assert bo["home"] == "None"
assert bo["age"] != bo["age"]  # Missing, that is: not a number.
PY
