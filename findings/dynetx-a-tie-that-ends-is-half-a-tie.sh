#!/usr/bin/env bash
# dynetx counts half a tie where it was told until when the tie lasts
#
# Guess:    a tie until 4, which is not part of it, counts as ties at 1, 2 and 3 do
# Seen:     both graphs list one tie from 1 to 3, but it is half a tie in the count by moment;
#           a slice of moment 2 lists a tie that ends before it begins, and holds none at 2
# Versions: dynetx 0.3.2, networkx 3.6.1; Python 3.11.
# Output seen:
#   one by one: [[1, 3]], counts {1: 1.0, 2: 1.0, 3: 1.0}
#   until 4: [[1, 3]], counts {1: 0.5, 2: 0.5, 3: 0.5}
#   slice of 2: [[2, 1]], tie at 2 False
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check dynetx==0.3.2 networkx==3.6.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import dynetx


def listed(graph: dynetx.DynGraph) -> list:
    """Return when the only tie of a graph stands."""
    ((_, _, tie),) = graph.interactions()
    return tie["t"]


one_by_one, until = dynetx.DynGraph(), dynetx.DynGraph()
for moment in (1, 2, 3):
    one_by_one.add_interaction("ann", "bo", t=moment)
until.add_interaction("ann", "bo", t=1, e=4)
print(f"one by one: {listed(one_by_one)}, counts {one_by_one.interactions_per_snapshots()}")
print(f"until 4: {listed(until)}, counts {until.interactions_per_snapshots()}")
piece = until.time_slice(2)
print(f"slice of 2: {listed(piece)}, tie at 2 {piece.has_interaction('ann', 'bo', t=2)}")
assert listed(one_by_one) == listed(until) == [[1, 3]]
assert one_by_one.interactions_per_snapshots() == {1: 1, 2: 1, 3: 1}
assert until.interactions_per_snapshots() == {1: 0.5, 2: 0.5, 3: 0.5}
assert listed(piece) == [[2, 1]]
assert not piece.has_interaction("ann", "bo", t=2)
PY
