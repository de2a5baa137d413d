#!/usr/bin/env bash
# One graph with a tie that stands twice has three transitivities
#
# Guess:    libraries that take parallel ties agree on how a graph clusters, or refuse it
# Seen:     for igraph the second tie changes nothing, for rustworkx the value rises,
#           for NetworKit it falls
# Versions: igraph 1.0.0, rustworkx 0.18.1, networkit 11.3; Python 3.11.
# Output seen:
#   igraph, rustworkx, NetworKit: [0.6, 0.6, 0.6]
#   one tie twice: [0.6, 0.8, 0.556]
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check igraph==1.0.0 rustworkx==0.18.1 networkit==11.3 scipy==1.17.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import igraph
import networkit
import rustworkx


def transitivities(ties: list[tuple[int, int]]) -> list[float]:
    """Return the transitivity of a graph of four by each library."""
    for_rustworkx, for_networkit = rustworkx.PyGraph(), networkit.Graph(4)
    for_rustworkx.add_nodes_from(range(4))
    for_rustworkx.add_edges_from([(*tie, None) for tie in ties])
    for tie in ties:
        for_networkit.addEdge(*tie)
    found = (
        igraph.Graph(4, ties).transitivity_undirected(),
        rustworkx.transitivity(for_rustworkx),
        networkit.globals.ClusteringCoefficient.exactGlobal(for_networkit),
    )
    return [round(each, 3) for each in found]


ties = [(0, 1), (1, 2), (2, 0), (2, 3)]
once, twice = transitivities(ties), transitivities([*ties, (0, 1)])
print("igraph, rustworkx, NetworKit:", once)
print("one tie twice:", twice)
assert once == [0.6, 0.6, 0.6]
assert twice == [0.6, 0.8, 0.556]
PY
