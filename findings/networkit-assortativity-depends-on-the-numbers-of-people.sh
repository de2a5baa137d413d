#!/usr/bin/env bash
# Assortativity of NetworKit changes when people get other numbers
#
# Guess:    whether the well-connected know each other is the same whatever numbers people have
# Seen:     each tie counts in one direction only, which goes by the numbers of its two people:
#           with other numbers the sign of one graph's coefficient changes
# Versions: networkit 11.3, networkx 3.6.1, igraph 1.0.0; Python 3.11.
# Output seen:
#   as made: networkx -0.154, igraph -0.154, NetworKit 0.216
#   other numbers: networkx -0.154, igraph -0.154, NetworKit -0.157
#
# Fails if the behaviour changes. Installs the pinned packages in a temporary folder.
set -euo pipefail
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
python3 -m venv "$room/venv"
"$room/venv/bin/pip" install --quiet --disable-pip-version-check \
  networkit==11.3 networkx==3.6.1 igraph==1.0.0
cd "$room"
"$room/venv/bin/python" - <<'PY'
import igraph
import networkit
import networkx as nx

people = 60
ties = list(nx.barabasi_albert_graph(people, 2, seed=1).edges())


def coefficients(name: str, ties: list[tuple[int, int]]) -> list[float]:
    """Return degree assortativity in three libraries."""
    theirs = networkit.Graph(people)
    for one, other in ties:
        theirs.addEdge(one, other)
    degrees = [float(theirs.degree(each)) for each in range(people)]
    search = networkit.correlation.Assortativity(theirs, degrees)
    search.run()
    found = [
        nx.degree_assortativity_coefficient(nx.Graph(ties)),
        igraph.Graph(people, ties).assortativity_degree(directed=False),
        search.getCoefficient(),
    ]
    found = [round(each, 3) for each in found]
    print("{}: networkx {}, igraph {}, NetworKit {}".format(name, *found))
    return found


others = [(one * 7 % people, other * 7 % people) for one, other in ties]
assert coefficients("as made", ties) == [-0.154, -0.154, 0.216]
assert coefficients("other numbers", others) == [-0.154, -0.154, -0.157]
PY
