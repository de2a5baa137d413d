#!/usr/bin/env bash
# rustworkx writes Matrix Market with weights of 1, and reads no weights from it
#
# Guess:    weights of ties are the values of the matrix, and values of a matrix the weights
# Seen:     every weight is written as 1 and read as None;
#           a tie that is two-way comes back as two that are one-way
# Versions: rustworkx 0.18.1; Python 3.11.
# Output seen:
#   written: [['1', '2', '1'], ['2', '1', '1'], ['2', '3', '1'], ['3', '2', '1']]
#   read: PyDiGraph [(0, 1, None), (1, 0, None), (1, 2, None), (2, 1, None)]
#   weights of a file that has them: [None, None, None, None]
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
graph.add_nodes_from(range(3))
graph.add_edges_from([(0, 1, 2.5), (1, 2, 4.0)])
text = rustworkx.write_matrix_market(graph)
again = rustworkx.read_matrix_market(text)
entries = [line.split() for line in text.splitlines() if not line.startswith("%")][1:]
print("written:", sorted(entries))
print("read:", type(again).__name__, list(again.weighted_edge_list()))
given = "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n2 1 2.5\n3 2 4.0\n"
weights = [weight for _, _, weight in rustworkx.read_matrix_market(given).weighted_edge_list()]
print("weights of a file that has them:", weights)
assert sorted(entries) == [["1", "2", "1"], ["2", "1", "1"], ["2", "3", "1"], ["3", "2", "1"]]
assert isinstance(again, rustworkx.PyDiGraph)
assert again.num_edges() == 4
assert set(weights) == {None}
PY
