#!/usr/bin/env bash
# Leiden of scikit-network finds other communities with one seed
#
# Guess:    with one random_state Leiden gives the same communities in each run, as Louvain does
# Seen:     it takes the seed and does not heed it: five runs, five results
# Versions: scikit-network 0.33.5, networkx 3.6.1; Python 3.11.
# Output seen:
#   Louvain: 1 result in 5 runs
#   Leiden: several results in 5 runs
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check scikit-network==0.33.5 networkx==3.6.1 scipy==1.17.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import networkx as nx
from scipy import sparse
from sknetwork.clustering import Leiden, Louvain

graph = nx.gnm_random_graph(300, 900, seed=1)
ties = sparse.csr_matrix(nx.to_scipy_sparse_array(graph), dtype=float)


def results(search) -> int:
    """Return how many results five runs with one seed have."""
    runs = (search(random_state=7, shuffle_nodes=True).fit_predict(ties) for _ in range(5))
    return len({tuple(labels) for labels in runs})


louvain, leiden = results(Louvain), results(Leiden)
print(f"Louvain: {louvain} result in 5 runs")
print(f"Leiden: {'several results' if leiden > 1 else '1 result'} in 5 runs")
assert louvain == 1
assert leiden > 1
PY
