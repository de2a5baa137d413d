#!/usr/bin/env bash
# A person is gone from a persistent graph of Raphtory with the last tie, or stays, by how it was loaded
#
# Guess:    a tie ends and its people stay, as nobody was removed; all are counted alike
# Seen:     who was only named in a tie is gone from the moment at which the last tie ends; who was also
#           added as a person stays, without ties: two loads of one network have other people at one time
# Docs:     tell that ties and people can be deleted, not that the first does the second
# Versions: raphtory 0.17.0; Python 3.11.
# Output seen:
#   named in ties: ann bo, then ann bo ci, then bo ci
#   added as people: ann bo ci, then ann bo ci, then ann bo ci
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check raphtory==0.17.0
cd "$room"
"$room/venv/bin/python" - <<'PY'
from raphtory import PersistentGraph


def ask(name, people):
    graph = PersistentGraph()
    for person in people:
        graph.add_node(1, person)
    graph.add_edge(1, "ann", "bo")
    graph.add_edge(2, "bo", "ci")
    graph.delete_edge(3, "ann", "bo")
    found = [" ".join(sorted(node.name for node in graph.at(time).nodes)) for time in (1, 2, 3)]
    print(f"{name}: {', then '.join(found)}")
    return found


assert ask("named in ties", []) == ["ann bo", "ann bo ci", "bo ci"]
assert ask("added as people", ["ann", "bo", "ci"]) == ["ann bo ci"] * 3
PY
