#!/usr/bin/env bash
# Communities of NetworKit are gone when they are read a second time
#
# Guess:    getPartition() of a community search that has run returns the same communities each time
# Seen:     the first call takes them away: the second returns a partition of nobody, without an error
# Versions: networkit 11.3; Python 3.11.
# Output seen:
#   first: 34 people in communities
#   second: 0
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check networkit==11.3 networkx==3.6.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import networkit
import networkx as nx

club = networkit.nxadapter.nx2nk(nx.karate_club_graph())
search = networkit.community.PLM(club, par="none")
search.run()
first, second = (search.getPartition().numberOfElements() for _ in range(2))
print(f"first: {first} people in communities")
print(f"second: {second}")
assert first == 34
assert second == 0
PY
