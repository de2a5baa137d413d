#!/usr/bin/env bash
# Eigenvector centrality of NetworKit is none where ties join two sides only
#
# Guess:    the middle of a star with four rays is twice as central as a ray, as elsewhere
# Seen:     it is four times as central: the search swings to and fro in a bipartite graph,
#           and stops at a vector that is no eigenvector, without an error
# Versions: networkit 11.3, igraph 1.0.0, networkx 3.6.1; Python 3.11.
# Output seen:
#   networkx: the middle is 2.00 times as central as a ray
#   igraph: the middle is 2.00 times as central as a ray
#   NetworKit: the middle is 4.00 times as central as a ray
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check networkit==11.3 igraph==1.0.0 networkx==3.6.1 scipy==1.17.1
cd "$room"
"$room/venv/bin/python" - <<'PY'
import igraph
import networkit
import networkx as nx

star = nx.star_graph(4)
search = networkit.centrality.EigenvectorCentrality(networkit.nxadapter.nx2nk(star))
search.run()
scores = {
    "networkx": [each for _, each in sorted(nx.eigenvector_centrality_numpy(star).items())],
    "igraph": igraph.Graph(5, list(star.edges)).eigenvector_centrality(),
    "NetworKit": search.scores(),
}
for name, (middle, ray, *_) in scores.items():
    print(f"{name}: the middle is {middle / ray:.2f} times as central as a ray")
    assert abs(middle / ray - (4 if name == "NetworKit" else 2)) < 0.01
PY
