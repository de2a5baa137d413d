#!/usr/bin/env bash
# rustworkx and scipy refuse each other's Matrix Market files
#
# Guess:    each reads what the other writes of an unweighted graph
# Seen:     rustworkx writes the first line in small letters, which scipy refuses;
#           scipy writes whole numbers or a pattern, which rustworkx refuses
# Versions: rustworkx 0.18.1, scipy 1.17.1; Python 3.11.
# Output seen:
#   %%matrixmarket in scipy: Line 1: Not a Matrix Market file. Missing banner.
#   rustworkx of integer: Matrix Market error
#   rustworkx of pattern: Matrix Market error
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check rustworkx==0.18.1 scipy==1.17.1 numpy==2.4.6
cd "$room"
"$room/venv/bin/python" - <<'PY'
import io

import numpy
import rustworkx
from scipy import io as matrices
from scipy import sparse

graph = rustworkx.PyGraph()
graph.add_nodes_from(range(2))
graph.add_edge(0, 1, None)
text = rustworkx.write_matrix_market(graph)
try:
    matrices.mmread(io.StringIO(text))
    by_scipy = ""
except ValueError as error:
    by_scipy = str(error)
print(f"{text.split()[0]} in scipy: {by_scipy}")
assert "Not a Matrix Market file" in by_scipy
assert matrices.mmread(io.StringIO(text.replace("%%matrixmarket", "%%MatrixMarket"))).nnz == 2

for field in ("integer", "pattern"):
    target = io.BytesIO()
    matrices.mmwrite(target, sparse.coo_array(numpy.array([[0, 1], [1, 0]])), field=field)
    try:
        rustworkx.read_matrix_market(target.getvalue().decode())
        refused = ""
    except ValueError as error:
        refused = str(error)
    print(f"rustworkx of {field}: {refused.partition(': ')[0]}")
    assert "real type" in refused
PY
